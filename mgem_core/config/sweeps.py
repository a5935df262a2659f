"""A sweep: a grid over the fields of a run, and the distinct runs in it."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mgem_core.config import RunConfig
from mgem_core.config.recorded_runs import default_record, without_recorded
from mgem_core.config.reference_speeds import evaluation_work, pass_work, sample_work
from mgem_core.learners import METHODS, shares_network, uses
from mgem_core.streams import BENCHMARKS

SEED = re.compile(r'"seed":[0-9]+,')  # in a stored config; removed before a cache is asked, so that seeds share an entry
SNAPSHOT = 1.0  # cost of each memory row of a snapshot, in passes and without its samples (docs/lens.md)


class SweepSpec(BaseModel):
    """All combinations of the values in `grid`, added to `base`; if there are several grids, one after the other.

    A sweep can also have recordings: runs with snapshots, along which the lens draws curves. They are the combinations with
    the fields in `record` instead of their own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, list[Any]] | list[dict[str, list[Any]]] = Field(default_factory=dict)
    record: dict[str, Any] | None = None  # None: no recordings

    @property
    def grids(self) -> list[dict[str, list[Any]]]:
        return self.grid if isinstance(self.grid, list) else [self.grid]

    def count_combinations(self) -> int:
        """Return the number of combinations; several may be the same run."""
        return sum(math.prod(map(len, grid.values())) for grid in self.grids)

    def _combinations(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of each combination."""
        for grid in self.grids:
            for values in product(*grid.values()):
                yield {**self.base, **dict(zip(grid, values, strict=True))}

    def runs(self, show: Callable[[Iterator[RunConfig]], Iterator[RunConfig]] = iter) -> list[RunConfig]:
        """Return the distinct runs: the recordings, then all others.

        They are in the order of the grid, but seed after seed, so that a result for every configuration comes first and
        then its error shrinks. A recording replaces a run that would have the same results. `show` may report the progress
        while the combinations pass through it.
        """
        distinct = _distinct(show(RunConfig(**fields) for fields in self._combinations()))
        recordings = self.recordings()
        return [*recordings, *_seed_after_seed(without_recorded(distinct, recordings))]

    def recordings(self) -> list[RunConfig]:
        """Return the distinct recordings: one per seed, and per benchmark, network and so on if the sweep has several.

        A field of the restriction that varies in the sweep and is not in `record` has all its values (`default_record`
        names these fields). Combinations of other methods do not count, because they may have other learning rates.
        """
        if self.record is None:
            return []
        combinations = list(self._combinations())
        method = _method({**self.base, **self.record})
        chosen = [fields for fields in combinations if _method(fields) == method] or combinations
        recorded = [{**fields, **self.record} for fields in chosen]
        different = {json.dumps(fields, sort_keys=True, default=str): fields for fields in recorded}
        return _seed_after_seed(_distinct(RunConfig(**fields) for fields in different.values()))

    def without_recordings(self) -> "SweepSpec":
        return self.model_copy(update={"record": None})

    def with_default_record(self) -> "SweepSpec":
        """Return the sweep with the default recordings; without any if no curves can be drawn for its runs."""
        first_seeds = [{**grid, "seed": grid["seed"][:1]} if "seed" in grid else grid for grid in self.grids]  # they decide
        return self.model_copy(update={"record": default_record(SweepSpec(base=self.base, grid=first_seeds).runs())})

    def with_more_seeds(self, count: int) -> "SweepSpec":
        """Return the sweep with `count` more seeds: the smallest that it does not have."""
        used = {config.seed for config in self.runs()}
        new = [seed for seed in range(len(used) + count) if seed not in used][:count]
        seeds = [*sorted(used), *new]
        base = {name: value for name, value in self.base.items() if name != "seed"}
        return SweepSpec(base=base, grid=[{**grid, "seed": seeds} for grid in self.grids], record=self.record)


def _method(fields: Mapping[str, Any]) -> Any:
    return fields.get("method") or RunConfig.model_fields["method"].default


def _distinct(configs: Iterable[RunConfig]) -> list[RunConfig]:
    return list(dict.fromkeys(config.canonical() for config in configs))


def _seed_after_seed(configs: Sequence[RunConfig]) -> list[RunConfig]:
    turn = {seed: number for number, seed in enumerate(dict.fromkeys(config.seed for config in configs))}
    return sorted(configs, key=lambda config: turn[config.seed])


def missing_data(configs: Iterable[RunConfig], thorough: bool = False) -> str:
    """Return a message about the first run whose data is missing, or an empty string."""
    distinct = {(config.benchmark, config.domains): config for config in configs}
    return next(filter(None, (config.missing_data(thorough) for config in distinct.values())), "")


def domains_without_effect(domains: str | None, configs: Iterable[RunConfig]) -> str:
    """Return a message if domains were given but none of these runs uses them; otherwise an empty string.

    A config accepts domains that its benchmark does not have, because in a sweep they may be meant for another benchmark.
    """
    benchmarks = {config.benchmark: config.benchmark_info for config in configs}
    if not domains or any(benchmark.domains for benchmark in benchmarks.values()):
        return ""
    have = " and ".join(benchmarks) + (" has" if len(benchmarks) == 1 else " have")
    others = ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.domains)
    return f"domains is {domains!r}, but {have} none; leave it out, or take one of the benchmarks {others}."


def cautions(configs: Iterable[RunConfig]) -> list[str]:
    """Return the distinct warnings about these runs."""
    return list(dict.fromkeys(filter(None, (config.caution for config in configs))))


def configuration_of(config: str) -> str:
    """Return the configuration of a stored config as text: the fields that matter, without the seed.

    Stores contain configs of several versions, which have more or fewer fields of other methods.
    """
    return _without_seed(SEED.sub("", config, count=1))


def trained_configuration_of(config: str) -> str:
    """Return the configuration of a stored config as if it recorded nothing, because snapshots change no result.

    Results are grouped by this text: a recording and a run without snapshots are two seeds of one configuration.
    """
    return _without_seed(SEED.sub("", config, count=1), with_snapshots=False)


@lru_cache(maxsize=20_000)
def _without_seed(config: str, with_snapshots: bool = True) -> str:
    fields = json.loads(config)
    fields.pop("seed", None)
    if not with_snapshots and fields.get("snap_every"):
        fields = {**fields, "snap_every": 0}
        fields.pop("snap_splits", None)
    try:
        canonical = RunConfig.model_validate(fields).canonical()
    except ValidationError:  # written by a version with other benchmarks or methods
        return json.dumps(fields)
    return canonical.model_dump_json(include=set(canonical.relevant_fields()) - {"seed"})


def relative_work(config: RunConfig) -> float:
    """Return the cost of a run: steps, measurements and evaluations.

    The unit is a sample of the network's reference benchmark (`reference_speeds`), passed forward and backward.
    """
    steps = sum(step_work(config, task) for task in range(config.tasks)) * config.iterations
    measurements = sum(_measurement_work(config, task) for task in range(1, config.tasks))
    tests = evaluation_work(config.network) * config.benchmark_info.test_per_task * config.tasks**2  # all, after each task
    return steps + measurements + sample_work(config) * tests


def step_work(config: RunConfig, task: int) -> float:
    """Return the cost of one step of a task: its samples, and the overhead of each pass through the network."""
    method = METHODS[config.method]
    samples = config.batch_size + method.cost(config, task)
    return method.passes(config, task) * pass_work(config.network) + sample_work(config) * samples


def _measurement_work(config: RunConfig, task: int) -> float:
    """Return the cost of the probes and snapshots in a task: gradients of it and of all earlier tasks, memory rows."""
    samples, a_pass = min(config.probe_samples, config.benchmark_info.train_per_task), pass_work(config.network)
    probe = (task + 1) * (a_pass + sample_work(config) * samples)
    rows = task * (config.snap_splits or config.splits)
    snapshot = SNAPSHOT * a_pass * rows + sample_work(config) * task * config.memory
    return _measured_steps(config) * probe + snapshots_per_task(config) * snapshot


def _measured_steps(config: RunConfig) -> int:
    """Return the number of steps with a probe, a snapshot or both, in each task except the first."""
    if not shares_network(config.method):
        return 0
    intervals = [config.probe_every, _snapshot_interval(config)]
    both = math.ceil(config.iterations / math.lcm(*intervals)) if all(intervals) else 0
    return sum(math.ceil(config.iterations / every) for every in intervals if every) - both


def snapshots_per_task(config: RunConfig) -> int:
    """Return the number of snapshots that a run records in each task except the first."""
    every = _snapshot_interval(config)
    return math.ceil(config.iterations / every) if every else 0


def _snapshot_interval(config: RunConfig) -> int:
    return int(config.snap_every) if uses(config.method, "snap_every") else 0


def estimate_seconds(configs: Sequence[RunConfig], speeds: Mapping[str, float], workers: int) -> float | None:
    """Estimate the duration of runs from seconds per sample measured with each network; None if one is unknown."""
    if any(config.network not in speeds for config in configs):
        return None
    return sum(relative_work(config) * speeds[config.network] for config in configs) / max(1, min(workers, len(configs)))
