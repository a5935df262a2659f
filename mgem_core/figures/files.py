"""Plots and tables as files: the numbers of `data`, in the formats of papers, spreadsheets and scripts."""

import html
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from math import floor, isfinite, log10
from typing import Any

import numpy as np
import pandas as pd

from mgem_core import analysis, frames, measurements, text
from mgem_core.analysis import View
from mgem_core.config import RunConfig
from mgem_core.errors import UsageError
from mgem_core.figures.style import axis_titles_tex, pair_title
from mgem_core.store import Store

PICTURES = ("png", "svg", "pdf", "html")
WHATS: dict[str, tuple[str, ...]] = {  # what there is, and in which formats
    "pareto": (*PICTURES, "csv", "latex"),
    "transfer": (*PICTURES, "csv", "latex"),
    "matrix": (*PICTURES, "csv", "latex"),
    "table": ("csv", "latex"),
    "configs": ("json",),
}
SHOWN = {"pareto": ["x", "y"], "transfer": ["bwd", "fwd"], "table": ["acc"]}  # measures without which there is nothing
AXES = {"unit": "per-unit", "raw": "raw", "cosine": "cosine"}
PANELS = 12  # heat maps in one picture
NOW = View()
TEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "·": r"$\cdot$", "—": "---"},
}


def export(
    store: Store, sweep: int | None, what: str, format: str, view: View = NOW, runs: Sequence[int] | None = None
) -> bytes:
    """A file of a sweep or of some runs: `what` and `format` as in WHATS, its numbers those of `view` on the screen."""
    _check("what", what, WHATS)
    _check(f"format of {what}", format, WHATS[what])
    chosen = _chosen(store, sweep, runs)
    if what == "configs":
        return _configs(store, sweep, chosen)
    benchmark = view.benchmark or analysis.benchmarks(chosen)[0]
    _check("benchmark", benchmark, analysis.benchmarks(chosen))
    chosen = chosen[chosen["benchmark"] == benchmark]
    _check_view(what, view, int(chosen["tasks"].max()))
    points = measurements.points(store, chosen, view)
    source = f"{' '.join(_sweep(store, sweep)['name'].split())} (s{sweep}), " if sweep is not None else ""
    if what == "matrix":
        named = _known_matrices(store, chosen, points, view, each=runs is not None)
        return _matrices(named, format, f"{source}{benchmark}")
    if points[SHOWN[what]].isna().any(axis=1).all():
        raise UsageError(_nothing(what, view))
    if format == "csv":
        return _csv(_columns(points, what, view))
    if format == "latex":
        return _table(points, what, view, f"{source}{benchmark}").encode()
    if format == "html":
        from mgem_core.figures import interactive

        return _page((interactive.frontier if what == "pareto" else interactive.transfer)(points, view), what)
    from mgem_core.figures import printed

    return printed.as_bytes((printed.frontier if what == "pareto" else printed.transfer)(points, view), format)


def filename(name: str, what: str, format: str, view: View = NOW) -> str:
    """Such as quick-look-s3_frontier_per-unit_task1-task2.pdf: what the file holds, in characters safe anywhere."""
    parts = [name, "frontier" if what == "pareto" else what]
    if what == "pareto":
        pair = "mean-of-pairs" if view.pair is None else f"task{view.pair[0] + 1}-task{view.pair[1] + 1}"
        parts += [AXES[view.axes], pair]
    if what != "configs":
        parts += [view.benchmark, "" if view.after is None else f"after-task{view.after}"]
    safe = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in parts)
    return "_".join(part for part in safe if part) + (".tex" if format == "latex" else f".{format}")


def name_of(store: Store, sweep: int | None, runs: Sequence[int] | None = None) -> str:
    """What a file of these is named after: quick-look-s3, p-mGEM(4)-r12."""
    if sweep is not None:
        return f"{_sweep(store, sweep)['name'][:60]}-s{sweep}"
    ids = list(runs or [])
    labels = dict(store.run_values(["id", "label"], ids))
    return f"{labels[ids[0]]}-{'-'.join(f'r{run}' for run in ids[:5])}" if ids and labels.keys() >= set(ids) else "runs"


def _check(field: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{field} is {value!r}; it must be one of {', '.join(allowed)}.")


def _check_view(what: str, view: View, tasks: int) -> None:
    if view.after is not None and not 1 <= view.after <= tasks:
        raise UsageError(f"after is {view.after}; it must be from 1 to {tasks}, the number of tasks.")
    if what == "pareto":
        _check("axes", view.axes, AXES)
        if view.pair is not None and not 0 <= view.pair[0] < view.pair[1] < tasks:
            pair = f"{view.pair[0] + 1},{view.pair[1] + 1}"
            raise UsageError(f"pair is {pair!r}; it must be S,T with 1 ≤ S < T ≤ {tasks}, the number of tasks, or mean.")


def _nothing(what: str, view: View) -> str:
    when = "yet" if view.after is None else f"after task {view.after}"
    if what == "pareto":
        pair = "any past task" if view.pair is None else f"task {view.pair[0] + 1} in task {view.pair[1] + 1}"
        return f"nothing to show {when}: no run has probed {pair}; it takes two tasks and probe_every above 0."
    learned = "its first task" if view.after is None else "that many"
    alone = " by a network that shares its tasks" if what == "transfer" else ""
    return f"nothing to show {when}: no run has learned {learned}{alone}."


def _sweep(store: Store, sweep: int) -> Any:
    if not (found := store.sweep(sweep)):
        raise UsageError(f"there is no 's{sweep}'; mgem runs lists what there is.")
    return found


def _chosen(store: Store, sweep: int | None, runs: Sequence[int] | None) -> pd.DataFrame:
    chosen = frames.runs(store, sweep, runs)
    if chosen.empty:
        asked = f"s{sweep}" if runs is None else ", ".join(f"r{run}" for run in runs)
        raise UsageError(f"there is no {asked!r}; mgem runs lists what there is.")
    return chosen


# Numbers


def _columns(points: pd.DataFrame, what: str, view: View) -> pd.DataFrame:
    """The points under names that speak for themselves, nothing rounded."""
    frame = points[["key", "benchmark", "line"]].set_axis(["configuration", "benchmark", "method"], axis=1)
    frame["q"] = [text.strength(q) if isinstance(q, list) else q for q in points["q"]]
    names = {} if what == "pareto" else {name: name for name in ("acc", "fwd", "bwd")}
    if what != "transfer":
        frame["axes"] = view.axes
        frame["pair"] = "mean" if view.pair is None else f"{view.pair[0] + 1},{view.pair[1] + 1}"
        names |= {"x": "gs_z", "y": "gt_z"}
    for old, new in names.items():
        for suffix in ("", "_std", "_sem"):
            frame[new + suffix] = points[old + suffix]
    if what != "transfer":
        frame["on_front"] = points["front"]
    counts = ["runs", "finished", "active", "failed"]
    frame[counts] = points[counts]
    return frame


def _csv(frame: pd.DataFrame) -> bytes:
    return str(frame.to_csv(index=False, lineterminator="\n")).encode()


def _known_matrices(
    store: Store, runs: pd.DataFrame, points: pd.DataFrame, view: View, each: bool
) -> dict[str, tuple[np.ndarray, int]]:
    """Name → R and from how many runs: the mean over a configuration's finished seeds, or each run as far as it is.

    A seed whose R lacks a row does not count, unless all of them do; then what any of them lacks is NaN.
    """
    rows = dict(zip(dict.fromkeys(runs["configuration"]), points.to_dict("records"), strict=True))
    seen = measurements.read_measurements(store, runs["id"].tolist())
    named: dict[str, tuple[np.ndarray, int]] = {}
    if each:
        for run in runs.to_dict("records"):
            name = f"r{run['id']}: {analysis.title(rows[run['configuration']])}, seed {run['seed']}"
            named[name] = seen[run["id"]].R[: view.after], 1
    else:
        for text, own in runs[runs["status"] == "finished"].groupby("configuration", sort=False):
            name = analysis.title(rows[text])
            name = f"{name} [{rows[text]['key']}]" if name in named else name
            matrices = [seen[run].R[: view.after] for run in own["id"] if seen[run].R.size]
            matrices = [R for R in matrices if not np.isnan(R).any()] or matrices
            named[name] = np.mean(matrices or [np.empty((0, 0))], axis=0), len(matrices)
    named = {name: (R, count) for name, (R, count) in named.items() if not np.isnan(R).all()}
    if not named:
        raise UsageError(f"nothing to show yet: no run has {'learned a task' if each else 'finished'}.")
    return named


def _matrices(named: dict[str, tuple[np.ndarray, int]], format: str, source: str) -> bytes:
    if format == "csv":
        columns = ["name", "runs", "after_task", "on_task", "accuracy"]
        cells = [(name, n, i + 1, j + 1, a) for name, (R, n) in named.items() for (i, j), a in np.ndenumerate(R)]
        return _csv(pd.DataFrame(cells, columns=columns))
    if format == "latex":
        tasks = max(R.shape[1] for R, _ in named.values())
        groups = [
            [[_tex(name) if i == 0 else "", f"{i + 1}", *map(_percent, row)] for i, row in enumerate(R)]
            for name, (R, _) in named.items()
        ]
        head = ["configuration", "after task", *(f"on {j + 1}" for j in range(tasks))]
        return _tabular(f"{source}: accuracy in percent, mean over finished seeds", head, groups).encode()
    shown = {name: R for name, (R, _) in islice(named.items(), PANELS)}
    title = f"the first {PANELS} of {len(named)} configurations" if len(named) > PANELS else ""
    if format == "html":
        from mgem_core.figures import interactive

        figure = interactive.matrices(shown)
        return _page(figure.update_layout(title=title, margin_t=70) if title else figure, "matrix")
    from mgem_core.figures import printed

    return printed.as_bytes(printed.matrices(shown, title), format)


def _percent(value: float) -> str:
    """Halves go up, as plotly has it on the screen; Python's formats round them to even."""
    if not isfinite(value):
        return "---"
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def _page(figure: Any, what: str) -> bytes:
    """Plotly's figure as a page that needs no network."""
    import plotly.io

    text = plotly.io.to_html(figure, include_plotlyjs=True, full_html=True, div_id="figure")
    head = f'<html lang="en">\n<head><title>mGEM Explorer: {html.escape(what)}</title><style>body {{margin: 0}}</style>'
    return re.sub(r"<html>\s*<head>", lambda _: head, text, count=1).encode()


# LaTeX


def _table(points: pd.DataFrame, what: str, view: View, source: str) -> str:
    """Method, q and the measures as mean ± std (of the frontier: ± standard error) over seeds, the best of each in bold."""
    if what == "pareto":
        titles = [title.partition("  ")[0] for title in axis_titles_tex(view)]
        measures = [_cells(points[n], points[f"{n}_sem"], _decimals(points[n]), points.index) for n in ("x", "y")]
        told = f"{view.axes} axes, {pair_title(view)}, mean ± standard error over seeds"
    else:
        titles = ["ACC", "FWD", "BWD"]
        best = analysis.leaders(points).index
        measures = [_cells(points[n], points[f"{n}_std"], 2, best) for n in ("acc", "fwd", "bwd")]
        told = "percent, mean ± std over seeds"
    fewest, most = points["runs"].min(), points["runs"].max()
    seeds = f"{fewest} to {most} seeds" if fewest < most else f"{most} seed{'s' if most > 1 else ''}"
    done = f"{points['finished'].sum()} of {points['runs'].sum()} runs finished"
    when = f", after task {view.after}" if view.after is not None else ""
    rows = [[_tex(line), _tex(text.strength(q))] for line, q in zip(points["line"], points["q"], strict=True)]
    rows = [row + list(cells) for row, *cells in zip(rows, *measures, strict=True)]
    return _tabular(f"{source}{when}: {seeds}, {done}; {told}", ["method", "$q$", *titles], [rows])


def _cells(means: pd.Series, errors: pd.Series, decimals: int, comparable: pd.Index) -> list[str]:
    """As data.mean_std writes them; what looks like the largest among the comparable is bold."""
    shown = ["nan" if pd.isna(mean) else f"{mean:.{decimals}f}" for mean in means]
    may = means.index.isin(comparable)
    best = max((float(text) for text, one in zip(shown, may, strict=True) if one and text != "nan"), default=None)
    full = [text if pd.isna(e) else rf"{text} \pm {e:.{decimals}f}" for text, e in zip(shown, errors, strict=True)]
    bold = [
        rf"\mathbf{{{cell}}}" if one and float(text) == best else cell
        for text, cell, one in zip(shown, full, may, strict=True)
    ]
    return ["---" if text == "nan" else f"${cell}$" for text, cell in zip(shown, bold, strict=True)]


def _decimals(values: pd.Series) -> int:
    """So many that the largest number has four digits."""
    largest = values.abs().max()
    return max(0, 3 - floor(log10(largest))) if largest > 0 else 2


def _tabular(comment: str, head: list[str], groups: list[list[list[str]]]) -> str:
    r"""Rows of LaTeX in a booktabs table, a rule between groups."""
    body = "\\midrule\n".join("".join(f"{' & '.join(row)} \\\\\n" for row in rows) for rows in groups)
    return (
        f"% {comment}; needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}\n\\toprule\n"
        f"{' & '.join(head)} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _tex(text: str) -> str:
    return "".join(TEX.get(character, character) for character in text)


# Configurations


def _configs(store: Store, sweep: int | None, runs: pd.DataFrame) -> bytes:
    """Everything needed to get the same runs again."""
    of = None if sweep is None else _sweep(store, sweep)
    names = ("id", "key", "label", "status", "config", "acc", "fwd", "bwd", "fingerprint")
    records = store.run_records(runs["id"].tolist())
    document = {
        "sweep": of and of["name"],
        "spec": of and of["spec"],
        "runs": [{name: record[name] for name in names} for record in records],
        "reproduce": [command(RunConfig.model_validate(record["config"])) for record in records],
    }
    return (json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2) + "\n").encode()


def command(config: RunConfig) -> str:
    """The line for a shell that trains this run: its benchmark, and what differs from the benchmark's defaults."""
    fields: dict[str, Any] = {"benchmark": config.benchmark}
    fields |= {"method": config.method} if config.method != RunConfig.model_fields["method"].default else {}
    for _ in range(2):  # the memory's default depends on other fields
        default = RunConfig(**fields)
        fields |= {name: value for name, value in config if value != getattr(default, name)}
    options = [part for name, value in fields.items() for part in (f"--{name.replace('_', '-')}", _option(value))]
    return shlex.join(["mgem", "run", *options])


def _option(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={module}" for name, module in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
