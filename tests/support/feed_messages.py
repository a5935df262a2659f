"""Messages about trained runs in the form in which the browser gets them, made from a store without the server."""

import math
from typing import Any

from explore.layout import configuration_items

from mgem_core.analysis import frames
from mgem_core.analysis.measurements import read_measurements
from mgem_core.store import Store

SENT = (0, 1, 3, 4, 6, 7)  # columns of Measurements.pairs without those on the batch


def messages(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Return configurations and runs of a store with one sweep; a value that is not finite becomes null."""
    frame = frames.runs(store)
    measured = read_measurements(store, frame["id"].tolist())
    firsts = frame.drop_duplicates("configuration")
    configurations = configuration_items(firsts, [None] * len(firsts))
    index = {configuration: i for i, configuration in enumerate(firsts["configuration"])}
    runs = [
        {
            **{"id": row.id, "configuration": index[row.configuration], "seed": row.seed, "status": row.status},
            "R": [[_json(value) for value in values] for values in measured[row.id].R.tolist()],
            "pairs": {f"{s},{t}": [_json(values[at]) for at in SENT] for (s, t), values in measured[row.id].pairs.items()},
        }
        for row in frame.itertuples()
    ]
    return {"configurations": configurations, "runs": runs}


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None
