"""The configurations of runs, and the commands that repeat them."""

import shlex
from typing import Any

from mgem_core.config import RunConfig
from mgem_core.figures import Figure, register
from mgem_core.figures.selection import Selection

FIELDS = ("id", "key", "label", "status", "config", "acc", "fwd", "bwd", "fingerprint")


def document(selection: Selection) -> dict[str, Any]:
    """Return the sweep's name and spec, and its runs, each with its config, results and command."""
    sweep = selection.sweep_record()
    records = selection.store.run_records(selection.all_runs()["id"].tolist())
    return {
        "sweep": sweep["name"],
        "spec": sweep["spec"],
        "runs": [{name: record[name] for name in FIELDS} for record in records],
        "reproduce": [command(RunConfig.model_validate(record["config"])) for record in records],
    }


def command(config: RunConfig) -> str:
    """Return the command that trains this run: its benchmark, and the options that differ from the benchmark's defaults."""
    fields: dict[str, Any] = {"benchmark": config.benchmark}
    fields |= {"method": config.method} if config.method != RunConfig.model_fields["method"].default else {}
    for _ in range(2):  # the memory's default depends on other fields
        default = RunConfig(**fields)
        fields |= {name: value for name, value in config if value != getattr(default, name)}
    options = [part for name, value in fields.items() for part in (f"--{name.replace('_', '-')}", _argument(value))]
    return shlex.join(["mgem", "run", *options])


def _argument(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={module}" for name, module in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


register(Figure("configs", "Configs", document=document, uses_view=False))
