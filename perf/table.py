"""Print all ratios that the suite has stored in data_cache/perf.json as one table."""

import json
from typing import Any

from perf.timing import RESULTS


def main() -> None:
    results = json.loads(RESULTS.read_text())
    rows = [
        one
        for part in ("step", "peers", "run", "rows", "convolutions")
        if part in results
        for one in _ratios(results[part])
    ]
    print("\n| ratio of CPU times | ratio of minima | median | quartiles | wanted |\n|---|---|---|---|---|")
    for one in rows:
        low, high = one["quartiles"]
        wanted = "" if one["target"] is None else f"≤ {one['target']:g}"
        print(f"| {one['name']} | {one['minimum']:.2f} | {one['median']:.2f} | {low:.2f} – {high:.2f} | {wanted} |")


def _ratios(part: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = part["ratios"] if isinstance(part, dict) else part
    return found


if __name__ == "__main__":
    main()
