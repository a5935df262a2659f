"""RunConfig: all settings of a run, validated. The message for an invalid value says in one sentence what is allowed."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast, get_args

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model, model_validator

from mgem_core import learners, networks
from mgem_core.config.field_values import domain_names, parse_domains, parse_modules, parse_strength, whole_number
from mgem_core.learners import METHODS
from mgem_core.restriction import partition
from mgem_core.restriction.restriction import (
    RIDGE,
    Restriction,
    RidgeKind,
    Solver,
    StepLength,
    StrengthKind,
    StrengthPer,
    Trigger,
)
from mgem_core.streams import BENCHMARKS, Benchmark

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream

DEFAULT_LR = 0.1
MOST_ITERATIONS = 1_000_000  # per task; the paper uses 500, so a larger number is probably a typing error


def _decided_by_benchmark(**options: Any) -> Any:
    """Declare a field whose default comes from the benchmark. It is None only before validation."""
    return Field(None, validate_default=True, **options)


class _CommonFields(BaseModel):
    """The fields that all methods share. Fields that are not given get the benchmark's defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    benchmark: str = Field("mnist5k-permutations", description=f"which tasks to learn: {', '.join(BENCHMARKS)}")
    method: str = Field("gem", description=f"{', '.join(METHODS)}; gem is the whole family, the knobs below decide which")
    network: str = _decided_by_benchmark(description=f"the network: {', '.join(networks.NETWORKS)}")

    modules: Annotated[int | partition.Each | dict[str, int], BeforeValidator(parse_modules)] = Field(
        1,
        description="number D of parameter modules; or layers, or tensors, for a module each; or a mapping of layers, "
        "tensors or what their names begin with, like fc1=0,fc2=0,fc3=1",
    )
    splits: int = Field(1, ge=1, description="memory splits K per past task")
    split_by: Literal["random", "class", "order"] = Field("random", description="how a task's memory is split")
    strength: Annotated[float | tuple[float, ...], BeforeValidator(parse_strength)] = Field(
        0.5, description="memory strength, or one per past task, separated by commas"
    )
    strength_kind: StrengthKind = Field("dual-floor", description="v ≥ strength, or ⟨ĝ,z⟩ ≥ strength")
    strength_per: StrengthPer = Field(
        "split", description="every split of a task's memory has the strength, or they share it (strength / K each)"
    )
    solver: Solver = Field("exact", description="quadprog, or the closed form")
    trigger: Trigger = Field(
        "violation", description="restrict a module only when the gradient violates a constraint of its memory, or always"
    )
    step_length: StepLength = Field(
        "free", description="the length of z: as the restriction makes it, or rescaled to that of the gradient"
    )
    ridge: float = Field(RIDGE, ge=0, description="added to the diagonal of the dual problem")
    ridge_kind: RidgeKind = Field("relative", description="to each row's ‖ĝ‖², or absolute (GEM's code: 1e-3)")

    domains: Annotated[str, BeforeValidator(parse_domains)] = Field(
        "",
        description="the domains to learn, in this order, like mnist+usps; by default, the seed draws them "
        f"({', '.join(name for name, benchmark in BENCHMARKS.items() if benchmark.domains)} only)",
    )
    tasks: int = _decided_by_benchmark(ge=1, description="tasks in the stream")
    order: Literal["sorted", "shuffled"] = Field(
        "sorted",
        description="order of the tasks: as the benchmark lists them, such as by rising angle, or shuffled by the seed",
    )
    iterations: int = _decided_by_benchmark(ge=1, le=MOST_ITERATIONS, description="steps per task")
    batch_size: int = _decided_by_benchmark(ge=1, description="samples per step")
    memory: int = _decided_by_benchmark(ge=1, description="samples kept per task")
    validation: float = Field(
        0, ge=0, le=0.5, description="share of each task's training images held out, on which to choose strengths and rates"
    )
    lr: float = _decided_by_benchmark(gt=0, le=1e30, description="learning rate")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of everything random")

    device: str = Field(
        "auto", pattern=r"^(auto|cpu|mps|cuda(:[0-9]{1,3})?)$", description="auto, cpu, cuda, cuda:N or mps"
    )
    precision: Literal["fp32", "bf16"] = Field(
        "fp32",
        description="of forward and backward passes; bf16 needs a CUDA device, and z is computed in fp32 all the same",
    )
    threads: int = Field(1, ge=1, le=256, description="torch threads; they change ACC by up to a point")
    probe_every: int = Field(10, ge=0, description="steps between probes of ⟨g_s,z⟩ and ⟨g_t,z⟩; 0 for none")
    probe_samples: int = Field(
        400,
        ge=1,
        description="images per task for true gradients; drawn again at each measured step, and a large number takes all",
    )
    snap_every: int = Field(0, ge=0, description="steps between snapshots for the lens (GEM family only); 0 for none")
    snap_splits: int = Field(0, ge=0, description="memory splits in snapshots; 0 for those of the run")

    @model_validator(mode="before")
    @classmethod
    def _fill_in_defaults(cls, given: Any) -> Any:
        """Fill in the benchmark's defaults for fields that are not given or None, so that equal runs have equal configs."""
        if not isinstance(given, Mapping):
            return given
        given = {name: value for name, value in given.items() if value is not None}
        name = given.get("benchmark", cls.model_fields["benchmark"].default)
        benchmark = BENCHMARKS.get(name) if isinstance(name, str) else None
        if benchmark is None:
            raise ValueError(f"benchmark is {name!r}; it must be one of {', '.join(BENCHMARKS)}")
        method = str(given.get("method", cls.model_fields["method"].default))
        filled = {**benchmark.defaults, "lr": _learning_rate(benchmark, method), **given}
        if benchmark.domains and "tasks" not in given and (names := domain_names(given.get("domains", ""))):
            filled["tasks"] = len(names)
        steps, size = whole_number(filled["iterations"]), whole_number(filled["batch_size"])
        if "memory" not in given and steps and size and steps * size > 0:
            filled["memory"] = min(filled["memory"], steps * size)  # a short task shows fewer samples
        return filled

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        """Check conditions that depend on several fields, or on the benchmark and the network."""
        info = self.benchmark_info
        self._require("method", self.method in METHODS, f"it must be one of {', '.join(METHODS)}")
        self._require("network", self.network in networks.NETWORKS, f"it must be one of {', '.join(networks.NETWORKS)}")
        network = networks.NETWORKS[self.network]
        has = f"{self.benchmark} has {networks.shape_text(info.shape)}"
        self._require("network", network.fits(info.shape), f"{network.requirement}, and {has}")
        self._require("tasks", self.tasks <= info.max_tasks, f"{self.benchmark} has at most {info.max_tasks}")
        if names := self.domain_names:
            are_known = all(name in info.domains for name in names)  # it may accept more than it lists
            self._require("domains", are_known, f"{self.benchmark} has {', '.join(info.domains)}")
            self._require("domains", len(set(names)) == len(names), "it must name each domain once")
            self._require("tasks", self.tasks == len(names), f"domains names {len(names)}, so it must be that many")
        held_out = round(self.validation * info.train_per_task)
        smallest = info.train_per_task - held_out  # images that the smallest task trains on
        self._require("validation", not self.validation or held_out > 0, f"of {smallest} images, that holds out none")
        shown = min(self.iterations * self.batch_size, smallest)
        task_shows = f"a task of {self.iterations} iterations × {self.batch_size} samples shows {shown} different ones"
        fits = not METHODS[self.method].keeps_samples_per_task or self.memory <= shown
        self._require("memory", fits, f"{task_shows}, so it must be at most that")
        self._require("batch_size", self.batch_size <= smallest, f"a task has {smallest} images")
        for field in ("splits", "snap_splits"):
            self._require(field, getattr(self, field) <= self.memory, f"memory holds {self.memory} samples per task")
            if self.split_by == "class":
                fits = getattr(self, field) <= info.classes_per_task
                self._require(field, fits, f"a task has {info.classes_per_task} classes, and splits are by class")
        fits = self.precision == "fp32" or self._may_use_cuda
        self._require("precision", fits, f"only CUDA devices compute in it, and device is {self.device!r}; use fp32")
        if isinstance(self.strength, tuple):
            enough = len(self.strength) == self.tasks - 1
            self._require(
                "strength", enough, f"{self.tasks} tasks have {self.tasks - 1} past tasks, so it must be that many"
            )
        try:
            _ = self.module_of
        except ValueError as error:
            raise ValueError(f"modules is {self.modules!r}; {error}") from None
        return self

    def canonical(self) -> Self:
        """Return the normal form of this run, equal for equal runs: fields that do not matter have their defaults."""
        values = {name: getattr(self, name) for name in self.relevant_fields()}
        if "strength" in values:
            strengths = tuple(map(abs, np.atleast_1d(self.strength).tolist()))  # abs: −0 is 0
            values["strength"] = strengths[0] if len(set(strengths)) == 1 else strengths
        if "modules" in values:
            info = self.benchmark_info
            values["modules"] = _simplest_modules(self.network, info.shape, info.classes, self.module_of)
        if "probe_samples" in values:
            values["probe_samples"] = min(self.probe_samples, self._largest_task)
        if values.get("snap_splits") == self.splits:
            values["snap_splits"] = 0
        return type(self).model_validate(values)

    def stored(self) -> str:
        """Return JSON of the fields that matter only, because later versions may not know fields of other methods."""
        return self.model_dump_json(include=set(self.relevant_fields()))

    def relevant_fields(self) -> list[str]:
        """Return the fields that affect this run."""
        irrelevant = self._irrelevant_fields()
        return [name for name in type(self).model_fields if name not in irrelevant]

    def _irrelevant_fields(self) -> set[str]:
        """Return the fields of other methods, and those that have no effect because of other fields of this run."""
        others = {name for name in learners.method_specific_fields() if not learners.uses(self.method, name)}
        info = self.benchmark_info
        others.add("order" if info.domains else "domains")  # domains are in the order in which they are named or drawn
        are_always_all = self._largest_task <= min(self.probe_samples, type(self).model_fields["probe_samples"].default)
        if are_always_all or not (self.probe_every or self.snap_every):
            others.add("probe_samples")
        if not self._may_use_cuda:
            others.add("precision")
        return others | METHODS[self.method].fields_without_effect(cast("RunConfig", self))

    @property
    def _largest_task(self) -> int:
        return self.benchmark_info.largest_task or self.benchmark_info.train_per_task

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    def _require(self, field: str, is_valid: bool, requirement: str) -> None:
        if not is_valid:
            raise ValueError(f"{field} is {getattr(self, field)!r}; {requirement}")

    @property
    def _may_use_cuda(self) -> bool:
        return self.device == "auto" or self.device.startswith("cuda")

    @property
    def benchmark_info(self) -> Benchmark:
        """Return the description of the benchmark."""
        return BENCHMARKS[self.benchmark]

    @property
    def domain_names(self) -> tuple[str, ...]:
        """Return the domains that this run names; empty if the seed draws them."""
        return tuple(self.domains.split("+")) if self.domains and self.benchmark_info.domains else ()

    def missing_data(self, thorough: bool = False) -> str:
        """Return one sentence on what data is missing and how to get it; empty if nothing is missing."""
        return self.benchmark_info.missing(self.domain_names, thorough)

    def open_stream(self) -> "Stream":
        """Return the tasks of this run; needs torch."""
        info = self.benchmark_info
        stream = info.open(self.tasks, self.seed, *([self.domain_names] if info.domains else []))
        if self.order == "shuffled" and not info.domains:
            stream.shuffle(self.seed)
        return stream.hold_out(self.validation, self.seed)

    @property
    def restriction(self) -> Restriction:
        """Return the settings with which this run restricts its gradient."""
        return Restriction.of(dict(self))

    @property
    def module_of(self) -> partition.Partition:
        """Return the module of each parameter tensor."""
        wanted = tuple(self.modules.items()) if isinstance(self.modules, dict) else self.modules
        return _module_of(self.network, self.benchmark_info.shape, self.benchmark_info.classes, wanted)

    @property
    def module_count_text(self) -> str:
        """Return the number of modules as text; a star marks a partition that the user gave as a mapping."""
        count = max(self.module_of) + 1
        return f"{count}*" if isinstance(self.modules, dict) and count > 1 else f"{count}"

    @property
    def caution(self) -> str:
        """Return a warning if settings like these have failed before; otherwise an empty string."""
        return METHODS[self.method].caution(cast("RunConfig", self))

    @property
    def label(self) -> str:
        """Return the name of this configuration in tables, e.g. "p-mGEM(4)"."""
        return METHODS[self.method].label(cast("RunConfig", self))


_method_fields: dict[str, Any] = {name: option for method in METHODS.values() for name, option in method.options.items()}
if TYPE_CHECKING:

    class RunConfig(_CommonFields):
        def __getattr__(self, name: str) -> Any: ...  # fields of the methods

else:
    RunConfig = create_model("RunConfig", __base__=_CommonFields, __module__=__name__, **_method_fields)


def _learning_rate(benchmark: Benchmark, method: str) -> float:
    """Return the learning rate measured for a method on a benchmark, from the description of either, or the default."""
    found = METHODS[method].learning_rates.get(benchmark.name) if method in METHODS else None
    return found or benchmark.learning_rates.get(method, DEFAULT_LR)


@lru_cache(maxsize=1000)
def _module_of(
    network: str, shape: networks.Shape, classes: int, wanted: int | partition.Each | tuple[tuple[str, int], ...]
) -> partition.Partition:
    layers = networks.layers(network, shape, classes)
    return partition.modules(layers, dict(wanted) if isinstance(wanted, tuple) else wanted)


@lru_cache(maxsize=1000)
def _simplest_modules(
    network: str, shape: networks.Shape, classes: int, module_of: partition.Partition
) -> int | dict[str, int]:
    return partition.simplest_modules(networks.layers(network, shape, classes), module_of)


def explain(error: ValidationError) -> str:
    """Describe the first error in one sentence: the field, what was given, what is allowed."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return f"{message}."
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return f"{field} is no field of a run; there are {', '.join(RunConfig.model_fields)}."
    if first["type"] == "literal_error":
        message = f"it must be one of {', '.join(get_args(RunConfig.model_fields[field].annotation))}"
    if first["type"] == "string_pattern_mismatch":
        message = f"it must be {RunConfig.model_fields[field].description}"
    message = message.split(", unable to parse")[0].replace("Input should be", "it must be")
    return f"{field} is {first['input']!r}; {message}."
