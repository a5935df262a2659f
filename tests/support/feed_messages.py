"""Messages about trained runs in the form in which the browser gets them, made from a store without the server."""

import math
from typing import Any

import pandas as pd

from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import View, run_measures
from mgem_core.analysis.measurements import read_measurements
from mgem_core.learners import shares_network
from mgem_core.store import Store

SENT = (0, 1, 3, 4, 6, 7)  # columns of Measurements.pairs without those on the batch


def messages(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Return configurations and runs of a store with one sweep; a value that is not finite becomes null."""
    frame = frames.runs(store)
    measured = read_measurements(store, frame["id"].tolist())
    named = run_measures(frame, measured, View()).drop_duplicates("configuration").set_index("configuration")
    index = {configuration: i for i, configuration in enumerate(named.index)}
    configurations = [
        {
            **{"index": i, "key": row.key, "line": row.line, "label": row.label, "family": row.family},
            **{"q": None if pd.isna(row.q) else row.q, "color": "#808080", "dash": "", "symbol": "circle"},
            "sharesNetwork": shares_network(row.method),
        }
        for i, row in enumerate(named.itertuples())
    ]
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
