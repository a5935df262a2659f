"""Rows of frames.runs for a table of the paper."""

from mgem_core import RunConfig
from mgem_core.config.sweeps import configuration_of
from mgem_core.paper.tables import TABLES

TABLE = TABLES["table-1-permutations"]
ROWS = {row.label: row for row in TABLE.rows}


def run(seed=0, acc=80.0, validation=None, status="finished", label="GEM", scale="short", share=0.1, **fields):
    """Return a row of frames.runs."""
    config = RunConfig(**{**TABLE.scale(scale), **ROWS[label].fields, "validation": share, "seed": seed, **fields})
    stored = config.canonical().stored()
    return {
        **RunConfig.model_validate_json(stored).model_dump(),
        **{"status": status, "acc": acc, "fwd": acc + 5, "bwd": -5.0, "forgetting": 6.0, "validation_acc": validation},
        "configuration": configuration_of(stored),
    }
