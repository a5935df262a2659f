"""SQL conditions that select runs: by id, by sweep, or by the filter of a list of runs."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_WORDS = 50  # of a search; SQLite rejects expressions of more than a thousand parts
BENCHMARK = "json_extract(config, '$.benchmark')"
SEARCHED = f"lower('r' || id || ' ' || label || ' ' || {BENCHMARK} || ' ' || status || ' ' || ifnull(error, ''))"


@dataclass(frozen=True)
class RunFilter:
    """Conditions that a run must meet; an empty field is no condition."""

    # Every word must occur in a run's id, label, benchmark, status or error; r12 selects only that run.
    # Repeated words count once, and only the first MAX_WORDS different ones count.
    text: str = ""
    statuses: Sequence[str] = ()
    sweep: int | None = None
    benchmark: str = ""

    def condition(self) -> tuple[str, list[Any]]:
        """Return the SQL condition and the values of its placeholders."""
        condition, values = run_condition(sweep=self.sweep)
        conditions = [condition]
        for word in list(dict.fromkeys(self.text.split()))[:MAX_WORDS]:
            is_id = re.fullmatch(r"r[0-9]{1,18}", word)
            conditions.append("id = ?" if is_id else f"instr({SEARCHED}, ?)")
            values.append(int(word[1:]) if is_id else word.lower())
        if self.statuses:
            conditions.append(f"status IN ({','.join('?' * len(self.statuses))})")
            values += self.statuses
        if self.benchmark:
            conditions.append(f"{BENCHMARK} = ?")
            values.append(self.benchmark)
        return " AND ".join(conditions), values


def run_condition(runs: Sequence[int] | None = None, sweep: int | None = None) -> tuple[str, list[Any]]:
    """Return the SQL condition for these runs, for a sweep or for all runs, and the values of its placeholders."""
    if runs is not None:
        return "id IN (SELECT value FROM json_each(?))", [json.dumps([int(run) for run in runs])]
    if sweep is not None:
        return "id IN (SELECT run FROM members WHERE sweep = ?)", [sweep]
    return "1", []
