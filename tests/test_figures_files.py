"""Files of plots and tables: right in form, and with the numbers of the screen."""

import io
import json
import re
import shlex
import struct
from concurrent.futures import ThreadPoolExecutor
from csv import DictReader
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from mgem_core import RunConfig, UsageError, analysis, frames, measurements
from mgem_core.analysis import View
from mgem_core.cli import build_parser
from mgem_core.events import Finished, Probed, TaskLearned
from mgem_core.figures import files, printed
from mgem_core.keys import expected_keys
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec
from mgem_core.text import mean_and_error

SMALL = {"tasks": 3, "iterations": 10, "memory": 20}
SPEC = SweepSpec(
    base=SMALL,
    grid=[
        {"modules": [1, 4], "strength": [0.0, 0.1, 0.5], "seed": [0, 1]},
        {"method": ["single"], "seed": [0, 1]},
    ],
)
ALL = [(what, format) for what, formats in files.WHATS.items() for format in formats]


def filled(path, spec=SPEC, name="quick look", finish=lambda number: True, probed=True):
    """A store with a sweep whose runs have told made-up numbers, all of them or as far as their second task."""
    store = Store(path)
    store.submit(spec, name)
    while claimed := store.claim():
        number, config = claimed
        done = finish(number)
        events = told(number, config, config.tasks if done else 2, done)
        store.record([(number, event) for event in events if probed or not isinstance(event, Probed)])
    return store


def told(number, config, tasks, finished):
    random = np.random.default_rng(number)
    R = random.uniform(50, 95, (config.tasks, config.tasks))
    for t in range(tasks):
        for step in (1, 6) if t else ():
            norms = random.uniform(1, 2, (2, t))
            yield Probed(t, step, random.normal(size=t), norms[0], *random.uniform(1, 3, 2), norms[1], 1.5)
        yield TaskLearned(t, R[t], 1.0)
    if finished:
        yield Finished("finished", "", R, *acc_fwd_bwd(R), 1.5, 0.01, "abc")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("store") / "runs.db")


@pytest.fixture(scope="module")
def points(store):
    return measurements.points(store, frames.runs(store, 1), View())


@cache
def made(store, what, format):
    return files.export(store, 1, what, format)


def csv(store, what, view=files.NOW, sweep=1, **more):
    """The file as a frame; Python reads its numbers, to the last digit."""
    rows = DictReader(io.StringIO(files.export(store, sweep, what, "csv", view, **more).decode()))
    return pd.DataFrame([{name: number(text) for name, text in row.items()} for row in rows])


def number(text):
    try:
        return float(text or "nan")
    except ValueError:
        return {"True": True, "False": False}.get(text, text)


# In form


@pytest.mark.parametrize(("what", "format"), ALL)
def test_every_file_is_the_same_twice(store, what, format):
    assert files.export(store, 1, what, format) == made(store, what, format)


@pytest.mark.parametrize("what", ["pareto", "transfer", "matrix"])
def test_a_png_has_300_dots_per_inch(store, what):
    content = made(store, what, "png")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert (width, height) == (1050, 840) if what != "matrix" else width == 2100
    at = content.index(b"pHYs") + 4
    assert struct.unpack(">IIB", content[at : at + 9]) == (11811, 11811, 1)  # per metre


@pytest.mark.parametrize("what", ["pareto", "transfer", "matrix"])
def test_a_pdf_has_the_width_of_a_column_and_carries_its_fonts(store, what):
    content = made(store, what, "pdf")
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    size = [float(number) for number in re.search(rb"/MediaBox \[ *([\d. ]+)\]", content)[1].split()]
    assert size == [0, 0, 252, 201.6] if what != "matrix" else size[2] == 504
    assert b"/Type3" not in content
    assert content.count(b"/Type /FontDescriptor") == content.count(b"/FontFile2") > 0
    assert b"/CreationDate" not in content


@pytest.mark.parametrize("what", ["pareto", "transfer", "matrix"])
def test_an_svg_is_xml_that_needs_no_font(store, what):
    root = ElementTree.fromstring(made(store, what, "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("width") == ("504pt" if what == "matrix" else "252pt")
    assert root.find(".//{*}path") is not None
    assert root.find(".//{*}text") is None


@pytest.mark.parametrize("what", ["pareto", "transfer", "matrix"])
def test_html_needs_no_network(store, what):
    text = made(store, what, "html").decode()
    assert "* plotly.js v" in text
    assert '<html lang="en">\n<head><title>mGEM Explorer: ' in text
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", text)


# The same numbers


@pytest.mark.parametrize("view", [View(), View(axes="raw", pair=(1, 2)), View(axes="cosine", pair=None), View(after=2)])
def test_csv_has_the_points_to_the_last_digit(store, view):
    points = measurements.points(store, frames.runs(store, 1), view)
    table = csv(store, "table", view)
    names = {"gs_z": "x", "gt_z": "y", "acc": "acc", "fwd": "fwd", "bwd": "bwd"}
    for new, old in names.items():
        for suffix in ("", "_std", "_sem"):
            np.testing.assert_array_equal(table[new + suffix], points[old + suffix])
    for column in ("runs", "finished", "active", "failed", "q"):
        np.testing.assert_array_equal(table[column], points[column])
    np.testing.assert_array_equal(table["on_front"], points["front"])
    assert list(table["method"]) == list(points["line"])
    assert set(table["pair"]) == {"mean" if view.pair is None else f"{view.pair[0] + 1},{view.pair[1] + 1}"}
    for what in ("pareto", "transfer"):
        part = csv(store, what, view)
        pd.testing.assert_frame_equal(part, table[part.columns])
        assert ("gs_z" in part) == (what == "pareto")


@pytest.mark.parametrize(("what", "x", "y"), [("pareto", "x", "y"), ("transfer", "bwd", "fwd")])
def test_html_has_the_points_to_the_last_digit(store, points, what, x, y):
    text = made(store, what, "html").decode()
    traces, _ = json.JSONDecoder().raw_decode(text, text.index("[", text.rindex("Plotly.newPlot(")))
    for line, own in points.groupby("line"):
        trace = next(trace for trace in traces if trace.get("name") == line)
        for axis, name in (("x", x), ("y", y)):
            assert sorted(trace[axis]) == sorted(own[name])


def test_latex_has_the_numbers_of_the_screen_and_the_best_in_bold(store, points):
    text = files.export(store, 1, "table", "latex").decode()
    comment, *lines = text.splitlines()
    assert comment.startswith("% quick look (s1), mnist5k-permutations: 2 seeds, 14 of 14 runs finished")
    assert [line for line in lines if line.startswith("\\")] == [
        *(r"\begin{tabular}{lrrrr}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    ]
    assert text.count("{") == text.count("}")
    rows = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r" \\")]
    assert rows[0] == ["method", "$q$", "ACC", "FWD", "BWD"]
    assert [row[0] for row in rows[1:]] == list(points["line"])
    assert [row[1] for row in rows[1:]] == [*("0", "0.1", "0.5") * 2, "---"]
    for column, name in enumerate(("acc", "fwd", "bwd"), 2):
        for row, mean, std in zip(rows[1:], points[name], points[f"{name}_std"], strict=True):
            number = row[column].strip("$").removeprefix(r"\mathbf{").removesuffix("}")
            assert number == mean_and_error(mean, std).replace("−", "-").replace("±", r"\pm")
            assert (r"\mathbf" in row[column]) == (mean == points[name].max())


def test_latex_of_the_frontier_has_four_digits(store, points):
    rows = [line for line in files.export(store, 1, "pareto", "latex").decode().splitlines() if line.endswith(r" \\")]
    assert r"$\langle g_s, z\rangle" in rows[0]
    for column, name in ((2, "x"), (3, "y")):
        cells = [row.removesuffix(r" \\").split(" & ")[column] for row in rows[1:]]
        shown = [float(re.search(r"-?[\d.]+", cell)[0]) for cell in cells]
        np.testing.assert_allclose(shown, points[name], atol=0.51 * points[name].abs().max() / 1000)
        assert [r"\mathbf" in cell for cell in cells] == list(points[name] == points[name].max())


def test_latex_is_safe_from_names(tmp_path, monkeypatch):
    store = filled(tmp_path / "runs.db", name="50 %\n\\input{x}", finish=lambda number: number > 1)
    shown = measurements.points
    monkeypatch.setattr(measurements, "points", lambda *given: shown(*given).assign(line=r"a_b & 5% #1 {x} ~ ^ \y · $"))
    comment, begin, *rows = files.export(store, 1, "table", "latex").decode().splitlines()
    assert comment.startswith(r"% 50 % \input{x} (s1), mnist5k-permutations: 2 seeds, 13 of 14 runs finished")
    assert begin == r"\begin{tabular}{lrrrr}"
    expected = r"a\_b \& 5\% \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}y $\cdot$ \$ & 0 & "
    assert rows[3].startswith(expected)


def test_a_tie_is_bold_twice():
    cells = files._cells(
        pd.Series([80.001, np.nan, 79.999, -1]), pd.Series([1.0, np.nan, np.nan, 0.5]), 2, pd.RangeIndex(4)
    )
    assert cells == [r"$\mathbf{80.00 \pm 1.00}$", "---", r"$\mathbf{80.00}$", r"$-1.00 \pm 0.50$"]


# Heat maps


def test_a_matrix_is_the_mean_over_finished_seeds(tmp_path):
    store = filled(tmp_path / "runs.db", finish=lambda number: number != 8)
    frame = csv(store, "matrix")
    runs = frames.runs(store, 1)
    assert list(dict.fromkeys(frame["name"])) == [
        analysis.title(row) for _, row in measurements.points(store, runs, View()).iterrows()
    ]
    for name, ids in (("GEM at q = 0", [1]), ("GEM at q = 0.1", [2, 9]), ("Single", [7, 14])):
        own = frame[frame["name"] == name]
        R = np.mean([frames.matrix(store, run).to_numpy() for run in ids], axis=0)
        np.testing.assert_allclose(own["accuracy"].to_numpy().reshape(3, 3), R, rtol=1e-15)
        assert set(own["runs"]) == {len(ids)}
    assert len(csv(store, "matrix", View(after=2))) == 7 * 2 * 3


def test_single_runs_have_a_panel_each_as_far_as_they_are(tmp_path):
    store = filled(tmp_path / "runs.db", finish=lambda number: number != 8)
    frame = csv(store, "matrix", sweep=None, runs=[8, 11])
    R = [frames.matrix(store, run).to_numpy() for run in (8, 11)]
    assert [len(one) for one in R] == [2, 3]
    np.testing.assert_array_equal(frame["accuracy"], np.concatenate([one.ravel() for one in R]))
    assert list(dict.fromkeys(frame["name"])) == ["r8: GEM at q = 0, seed 1", "r11: p-mGEM(4) at q = 0, seed 1"]
    assert files.export(store, None, "matrix", "pdf", runs=[8, 11]).startswith(b"%PDF-")


def test_of_many_configurations_twelve_are_drawn_and_the_title_says_so(tmp_path, monkeypatch):
    strengths = [i / 10 for i in range(14)]
    store = filled(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": strengths}))
    drawn = []
    monkeypatch.setattr(printed, "as_bytes", lambda figure, format: drawn.append(figure) or b"")
    files.export(store, 1, "matrix", "png")
    assert drawn[0].get_suptitle() == "the first 12 of 14 configurations"
    assert sum(bool(axes.images) for axes in drawn[0].axes) == 12
    assert "the first 12 of 14 configurations" in files.export(store, 1, "matrix", "html").decode()
    assert csv(store, "matrix")["name"].nunique() == 14
    latex = files.export(store, 1, "matrix", "latex").decode()
    assert latex.count(r"\midrule") == 14
    assert latex.count("\\\\\n") == 1 + 14 * 3


@pytest.mark.parametrize(("count", "tasks"), [(1, 2), (2, 20), (3, 2), (4, 7), (5, 2), (8, 20)])
def test_heat_maps_show_their_numbers_on_one_scale(count, tasks):
    named = {f"GEM at q = {i}": np.arange(tasks * tasks).reshape(tasks, tasks) + 10.0 * i for i in range(count)}
    figure = printed.matrices(named)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    for image, R in zip(images, named.values(), strict=True):
        np.testing.assert_array_equal(image.get_array(), R)
        assert image.get_clim() == (0, tasks * tasks - 1 + 10 * (count - 1))
    numbers = [text.get_text() for text in images[0].axes.texts]
    assert numbers == ([f"{value:.0f}" for value in named["GEM at q = 0"].flat] if tasks <= 10 else [])


def test_halves_go_up_as_they_do_on_the_screen():
    texts = printed.matrices({"GEM": np.array([[72.5, 71.5], [0.49, 99.51]])}).axes[0].texts
    assert [text.get_text() for text in texts] == ["73", "72", "0", "100"]
    assert [files._percent(value) for value in (72.125, 72.375, 9.0, 0.004)] == ["72.13", "72.38", "9.00", "0.00"]


# Drawings


def drawn_line(axes, color):
    """The joined line of this colour, and its markers that are filled and hollow."""
    own = [line for line in axes.lines if line.get_color() == color or line.get_markeredgecolor() == color]
    (joined,) = (line for line in own if line.get_linestyle() != "None")
    marked = [line for line in own if line.get_linestyle() == "None"]
    return joined, {line.get_markerfacecolor(): len(line.get_xdata()) for line in marked}


@pytest.mark.parametrize(("draw", "at"), [(printed.frontier, ("x", "y")), (printed.transfer, ("bwd", "fwd"))])
def test_lines_follow_q_and_are_hollow_where_runs_go_on(points, draw, at):
    shuffled = points.iloc[::-1].assign(active=[0, 0, 0, 0, 1, 0, 0])
    axes = draw(shuffled, View()).axes[0]
    expected = points[points["line"] == "GEM"].sort_values("q")
    joined, faces = drawn_line(axes, "#0072B2")
    np.testing.assert_array_equal(joined.get_xydata(), expected[list(at)])
    assert faces == {"#0072B2": 2, "white": 1}
    legend = [text.get_text() for text in axes.figure.legends[0].texts]
    assert legend == ["Single", "p-mGEM(4)", "GEM"] + ["adaptive (envelope)"] * (at == ("x", "y"))


def test_the_envelope_is_the_front_beneath_all_lines(points):
    axes = printed.frontier(points, View()).axes[0]
    envelope = next(line for line in axes.lines if line.get_label() == "adaptive (envelope)")
    front = points[points["front"]].sort_values("x")
    np.testing.assert_array_equal(envelope.get_xydata(), front[["x", "y"]])
    assert all(line.get_zorder() > envelope.get_zorder() for line in axes.lines if line is not envelope)


def test_dashed_lines_join_what_has_equal_acc(points):
    axes = printed.transfer(points, View()).axes[0]
    named = {float(text.get_text().removeprefix("ACC ")) for text in axes.texts}
    sums = [line.get_xydata().sum(axis=1) for line in axes.lines if line.get_zorder() == 1.5]
    assert len(named) >= 2
    assert {round(float(one[0]), 6) for one in sums} == named
    for one in sums:
        np.testing.assert_allclose(one, one[0])


def test_a_long_legend_makes_the_page_higher_and_leaves_its_width(points):
    many = pd.concat([points.assign(line=f"p-mGEM({i}) · memory {i} · trigger always") for i in range(9)])
    width, height = printed.frontier(many, View()).get_size_inches()
    assert width == 3.5
    assert height > 2.8


def test_threads_draw_at_the_same_time(store):
    alone = {what: made(store, what, "svg") for what in ("pareto", "transfer")}
    before = dict(printed.matplotlib.rcParams)
    opened = Store(store.path)
    with ThreadPoolExecutor(4) as pool:
        tasks = [(what, pool.submit(files.export, opened, 1, what, "svg")) for what in list(alone) * 2]
        assert all(task.result() == alone[what] for what, task in tasks)
    assert dict(printed.matplotlib.rcParams) == before


# Configurations

CONFIGS = [
    {},
    {"benchmark": "mnist5k-split", "method": "mer", "seed": 3},
    {"method": "single", "iterations": 10},
    {"method": "ewc", "lr": 1e-5, "ewc_lambda": 0.1 + 0.2, "ewc_fisher": "batch"},
    {"modules": {"fc1": 0, "fc2": 0, "fc3": 1}, "tasks": 3, "strength": (0.5, 0.1)},
    {"iterations": 2, "batch_size": 3, "splits": 2, "split_by": "class", "solver": "approx", "trigger": "always"},
    {"ridge": 1e-3, "ridge_kind": "absolute", "snap_every": 5, "snap_splits": 4, "device": "cuda:1", "probe_every": 0},
]


@pytest.mark.parametrize("given", CONFIGS, ids=str)
def test_a_command_line_gives_the_same_config(given):
    config = RunConfig(**given).canonical()
    program, *arguments = shlex.split(files.command(config))
    options = build_parser().parse_args(arguments)
    assert program == "mgem"
    assert RunConfig(**{name: getattr(options, name) for name in RunConfig.model_fields}) == config


def test_a_command_line_is_short():
    assert files.command(RunConfig()) == "mgem run --benchmark mnist5k-permutations"
    split = RunConfig(benchmark="mnist5k-split", method="mer", seed=3)
    assert files.command(split) == "mgem run --benchmark mnist5k-split --method mer --seed 3"


def test_configs_tell_all_that_is_needed_to_repeat_a_sweep(store):
    told = json.loads(files.export(store, 1, "configs", "json"))
    assert told["sweep"] == "quick look"
    assert SweepSpec.model_validate(told["spec"]).runs() == SPEC.runs()
    assert [run["key"] for run in told["runs"]] == expected_keys(SPEC.runs())
    assert [RunConfig(**run["config"]) for run in told["runs"]] == SPEC.runs()
    assert told["reproduce"] == [files.command(config) for config in SPEC.runs()]
    runs = frames.runs(store, 1)
    for name in ("id", "label", "status", "acc", "fwd", "bwd"):
        assert [run[name] for run in told["runs"]] == list(runs[name])
    assert {run["fingerprint"] for run in told["runs"]} == {"abc"}
    alone = json.loads(files.export(store, None, "configs", "json", runs=[2]))
    assert (alone["sweep"], alone["spec"], len(alone["runs"])) == (None, None, 1)


# Names, and what cannot be had


@pytest.mark.parametrize(
    ("name", "what", "format", "view", "expected"),
    [
        ("quick-look-s3", "pareto", "pdf", View(), "quick-look-s3_frontier_per-unit_task1-task2.pdf"),
        ("quick-look-s3", "pareto", "png", View(axes="raw", pair=None), "quick-look-s3_frontier_raw_mean-of-pairs.png"),
        ("quick-look-s3", "transfer", "svg", View(axes="raw"), "quick-look-s3_transfer.svg"),
        ("quick-look-s3", "table", "latex", View(after=2), "quick-look-s3_table_after-task2.tex"),
        ("a-s1", "matrix", "html", View("mnist5k-split"), "a-s1_matrix_mnist5k-split.html"),
        ("../Ä b_c/$(x)\n-s4", "configs", "json", View("mnist5k-split", after=1), "b-c-x-s4_configs.json"),
        ("p-mGEM(4,2)-r12", "matrix", "csv", View(), "p-mGEM-4-2-r12_matrix.csv"),
    ],
)
def test_a_file_name_says_what_the_file_holds(name, what, format, view, expected):
    assert files.filename(name, what, format, view) == expected


def test_files_are_named_after_the_sweep_or_the_runs(store):
    assert files.name_of(store, 1) == "quick look-s1"
    assert files.name_of(store, None, [7]) == "Single-r7"


@pytest.mark.parametrize("what", ["pareto", "transfer", "matrix", "table"])
def test_nothing_to_show_yet_is_one_sentence(tmp_path, what):
    store = Store(tmp_path / "runs.db")
    store.submit(SPEC)
    for format in files.WHATS[what]:
        with pytest.raises(UsageError, match=r"^nothing to show yet: no run has [^.]*\.$"):
            files.export(store, 1, what, format)


def test_runs_without_probes_have_a_table_but_no_frontier(tmp_path):
    store = filled(tmp_path / "runs.db", probed=False)
    with pytest.raises(UsageError, match="no run has probed task 1 in task 2; it takes two tasks and probe_every above 0"):
        files.export(store, 1, "pareto", "csv")
    assert len(csv(store, "table")) == 7


def test_one_seed_has_no_error_and_a_strength_per_task_is_written_out(tmp_path):
    store = filled(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.2, [0.5, 0.1]], "seed": [0]}))
    assert list(csv(store, "pareto")["q"]) == [0.2, "0.5, 0.1"]
    latex = files.export(store, 1, "table", "latex").decode()
    assert "1 seed, 2 of 2 runs finished" in latex
    assert "GEM & 0.5, 0.1 & $" in latex
    assert r"\pm" not in latex
    for what in ("pareto", "transfer"):
        assert files.export(store, 1, what, "pdf").startswith(b"%PDF-")


BAD = [
    ({"what": "plot"}, "what is 'plot'; it must be one of pareto, transfer, matrix, table, configs."),
    ({"what": "table", "format": "pdf"}, "format of table is 'pdf'; it must be one of csv, latex."),
    ({"sweep": 9}, "there is no 's9'; mgem runs lists what there is."),
    ({"sweep": None, "runs": [77]}, "there is no 'r77'; mgem runs lists what there is."),
    ({"view": View("cifar")}, "benchmark is 'cifar'; it must be one of mnist5k-permutations."),
    ({"view": View(axes="log")}, "axes is 'log'; it must be one of unit, raw, cosine."),
    ({"view": View(pair=(0, 3))}, "pair is '1,4'; it must be S,T with 1 ≤ S < T ≤ 3, the number of tasks, or mean."),
    ({"view": View(pair=(1, 1))}, "pair is '2,2'; it must be S,T with 1 ≤ S < T ≤ 3, the number of tasks, or mean."),
    ({"view": View(after=4)}, "after is 4; it must be from 1 to 3, the number of tasks."),
    ({"view": View(after=0)}, "after is 0; it must be from 1 to 3, the number of tasks."),
    ({"view": View(after=1)}, "nothing to show after task 1: no run has probed task 1 in task 2; it takes"),
]


@pytest.mark.parametrize(("given", "sentence"), BAD, ids=[sentence[:24] for _, sentence in BAD])
def test_what_cannot_be_had_is_refused_in_one_sentence(store, given, sentence):
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}"):
        files.export(store, **{"sweep": 1, "what": "pareto", "format": "csv", **given})
