"""Compare two devices on the same steps: do they agree, how fast are they, and what does a step ask of them?

The project's machines have no GPU, so this is also the test of the code on GPUs. With "cpu,cpu", all of it but bfloat16 and
TF32 runs without one.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any

import torch

from mgem_core.config import RunConfig
from mgem_core.doctor.check import Check
from mgem_core.doctor.noise import learner_on_noise
from mgem_core.doctor.steps import Precision, Role, compare, relative_difference, synchronize, unrounded_products
from mgem_core.errors import UsageError
from mgem_core.gradients.devices import pick_device, torch_threads
from mgem_core.gradients.rows import rows_by_vmap, rows_one_by_one
from mgem_core.learners.gem import GEM
from mgem_core.runner.worker import explain_error

STEPS = 20
ADVICE = "do not train on this device, and send the report to the project: its results may be wrong"
# Of z in a step. The code for CPUs and that for GPUs, on one CPU, differ by up to 4.5e-5 (conv5). If the images of one
# memory row are wrong by 1 %, z differs by 3e-3 (mlp).
TOLERANCE = 1e-3
NETWORKS: dict[str, dict[str, Any]] = {  # every step is restricted: when a conflict begins depends on the last bit
    "mlp": {"benchmark": "mnist5k-permutations", "tasks": 5, "memory": 200, "lr": 0.01},
    "conv5": {"benchmark": "split-cifar100", "tasks": 3, "memory": 8, "lr": 0.003},
}
METHODS: tuple[dict[str, Any], ...] = (
    {},
    {"modules": 4},
    {"splits": 2},
    {"modules": 4, "splits": 2, "solver": "approx"},
)
Networks = Mapping[str, Mapping[str, Any]]
Show = Callable[[str], None]


def parse_devices(text: str) -> tuple[torch.device, torch.device]:
    """Read the names of two devices, such as "cpu,cuda"."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise UsageError(f"compare is {text!r}; it must be two devices, such as cpu,cuda or cpu,cpu.")
    first, second = map(pick_device, names)
    return first, second


def compare_devices(
    first: torch.device, second: torch.device, networks: Networks, steps: int, show: Show
) -> dict[str, Any]:
    """Return what was measured, as plain data; `show` receives a line about each part before it is measured."""
    cases: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    with torch_threads(1):
        for name, fields in networks.items():
            for method in METHODS:
                config = _config(name, steps, {**fields, **method})
                show(f"comparing {first} and {second}: {config.label} on {name}")
                cases.append(_measure(config, "fp32", partial(compare, config, Role(first), Role(second), steps)))
            config = _config(name, steps, fields)
            for precision in _precisions(second):
                show(f"comparing fp32 and {precision} on {second}: {config.label} on {name}")
                roles = Role(second), Role(second, precision)
                cases.append(_measure(config, precision, partial(compare, config, *roles, steps)))
            if name != "mlp":  # chains of linear layers have their own pass for all rows
                show(f"comparing vmapped and single memory rows on {second}: {name}")
                rows.append(_measure(config, "fp32", partial(compare_rows, config, second)))
    skipped = f"tf32, bf16, launches, copies and peak memory: {second} is not a CUDA device"
    names = {"first": str(first), "second": str(second), "first_name": _name(first), "second_name": _name(second)}
    settings = {name: dict(fields) for name, fields in networks.items()}
    measured = {"steps": steps, "tolerance": TOLERANCE, "settings": settings, "cases": cases, "rows": rows}
    return {**names, **measured, "not_measured": "" if second.type == "cuda" else skipped}


def _config(network: str, steps: int, fields: Mapping[str, Any]) -> RunConfig:
    return RunConfig(network=network, method="gem", iterations=max(steps, 20), trigger="always", **fields)


def _measure(config: RunConfig, precision: Precision, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what was measured of this method and network, or the error: a report must also describe broken devices."""
    named = {"method": config.label, "network": config.network, "precision": precision}
    try:
        return {**named, **measure()}
    except Exception as error:  # a device may raise anything
        return {**named, "error": explain_error(error)}


def _precisions(device: torch.device) -> list[Precision]:
    """Return the precisions to compare with fp32. On a CPU without bfloat16, its products would end the process."""
    if device.type != "cuda":
        return []
    return ["tf32", "bf16"] if torch.cuda.is_bf16_supported() else ["tf32"]


def compare_rows(config: RunConfig, device: torch.device) -> dict[str, Any]:
    """Compare the memory rows of one vmapped pass with those of one pass per row: difference, and milliseconds of each."""
    learner = learner_on_noise(config, device)
    assert isinstance(learner, GEM)
    assert learner.rows is not None
    found, best = [], {}
    for name, rows in {"one_by_one": rows_one_by_one, "vmapped": rows_by_vmap}.items():
        times = []
        for _ in range(3):
            start = perf_counter()
            with unrounded_products():
                G = rows(learner.network, learner.rows)
                synchronize(device)
            times.append(perf_counter() - start)
        found.append(G)
        best[f"{name}_ms"] = 1000 * min(times)
    return {"rows": len(found[0]), "difference": relative_difference([found[0]], [found[1]]), **best}


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def checks_of(comparison: Mapping[str, Any]) -> Iterator[Check]:
    """Judge a comparison: a line per case."""
    for case in comparison["cases"]:
        yield _failed("compare", case) if "error" in case else _check_case(case)
    for rows in comparison["rows"]:
        if "error" in rows:
            yield _failed("rows", rows)
            continue
        finding = (
            f"{rows['rows']} memory rows of {rows['network']} on {comparison['second']}: {rows['vmapped_ms']:.3g} ms by "
            f"vmap, {rows['one_by_one_ms']:.3g} ms one by one; relative difference {rows['difference']:.1e}"
        )
        yield _judged("rows", finding, _agrees(rows["difference"]))


def _check_case(case: Mapping[str, Any]) -> Check:
    first, second, precision = case["first"], case["second"], case["precision"]
    name = f"{case['method']} on {case['network']}"
    roles = f"{first['device']} and {second['device']}" if precision == "fp32" else f"fp32 and {precision}"
    speeds = f"{first['steps_per_second']:.3g} and {second['steps_per_second']:.3g} steps/s"
    finding = f"{name}, {roles}: relative difference {case['difference']:.1e}; {speeds}; {_describe_counts(second)}"
    # With rounded inputs, how far apart they may be is not known: only numbers that are not finite are certainly wrong.
    is_right = _agrees(case["difference"]) if precision == "fp32" else math.isfinite(case["difference"])
    return _judged("compare", finding, is_right)


def _describe_counts(role: Mapping[str, Any]) -> str:
    if "operators_per_step" in role:
        return f"{role['operators_per_step']:g} operators per step"
    if role["launches_per_step"] is None:
        return f"launches could not be counted; peak {role['peak_mb']:.0f} MB"
    copies = f"{role['copies_to_host_per_step']:g} copies to the host and {role['copies_to_device_per_step']:g} to the GPU"
    return f"{role['launches_per_step']:g} launches and {copies} per step; peak {role['peak_mb']:.0f} MB"


def _failed(name: str, case: Mapping[str, Any]) -> Check:
    finding = f"{case['method']} on {case['network']} ({case['precision']}) failed: {case['error']}"
    return Check(name, finding, ADVICE, is_broken=True)


def _agrees(difference: float) -> bool:
    return difference <= TOLERANCE  # False for NaN


def _judged(name: str, finding: str, is_right: bool) -> Check:
    return Check(name, finding, "" if is_right else ADVICE, is_broken=not is_right)
