"""Exported figures: valid formats, the same numbers as on the screen, safe file names."""

import io
import json
import re
import struct
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from exported import exported, exported_csv
from filled_store import SMALL, SPEC, filled_store, is_gem

from mgem_core import UsageError
from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import FIGURES
from mgem_core.figures.files import export, file_name
from mgem_core.figures.page import Page
from mgem_core.figures.selection import Selection
from mgem_core.store import Store

PICTURES = [name for name, figure in FIGURES.items() if figure.printed]
ON_SCREEN = [name for name, figure in FIGURES.items() if figure.screen]
PAGES = (Page(), Page(columns=2))
WITH_DATA = [name for name, figure in FIGURES.items() if figure.data]
ALL = [(name, format) for name, figure in FIGURES.items() for format in figure.formats]
exported_once = cache(exported)


# Formats


@pytest.mark.parametrize(("name", "format"), ALL)
def test_files_are_reproducible(store, name, format):
    assert exported(store, name, format) == exported_once(store, name, format)


@pytest.mark.parametrize("name", PICTURES)
def test_png_has_300_dpi(store, name):
    content = exported_once(store, name, "png")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, _ = struct.unpack(">II", content[16:24])
    assert width / 300 == 3.5
    at = content.index(b"pHYs") + 4
    assert struct.unpack(">IIB", content[at : at + 9]) == (11811, 11811, 1)  # per metre


@pytest.mark.parametrize("page", PAGES, ids=["one column", "two columns"])
@pytest.mark.parametrize("name", PICTURES)
def test_pdf_width_and_embedded_fonts(store, name, page):
    content = export(Selection(store, 1), name, "pdf", page)
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    _, _, width, _ = (float(number) for number in re.search(rb"/MediaBox \[ *([\d. ]+)\]", content)[1].split())
    assert width / 72 == page.width == 3.5 * page.columns
    assert b"/Type3" not in content
    assert content.count(b"/Type /FontDescriptor") == content.count(b"/FontFile2") > 0
    assert b"/CreationDate" not in content


@pytest.mark.parametrize("name", PICTURES)
def test_svg_is_xml_without_fonts(store, name):
    root = ElementTree.fromstring(exported_once(store, name, "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width").removesuffix("pt")) / 72 == 3.5
    assert root.find(".//{*}path") is not None
    assert root.find(".//{*}text") is None


@pytest.mark.parametrize("name", ON_SCREEN)
def test_html_works_offline(store, name):
    page = exported_once(store, name, "html").decode()
    assert "* plotly.js v" in page
    assert f'<html lang="en">\n<head><title>mGEM Explorer: {FIGURES[name].title}</title>' in page
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page)


@pytest.mark.parametrize("name", ON_SCREEN)
def test_html_has_the_caption_of_the_page(store, name):
    chosen = export(Selection(store, 1), name, "html", Page(caption="What $q$ <buys>")).decode()
    assert "<p>What <i>q</i> &lt;buys&gt;</p>" in chosen
    described = re.search("<p>(.*)</p>\n</body>", exported_once(store, name, "html").decode())[1]
    assert described.startswith(f"{FIGURES[name].title}: ") or described == f"{FIGURES[name].title}."


def test_concurrent_threads_can_draw(store):
    alone = {name: exported_once(store, name, "svg") for name in ("frontier", "transfer")}
    settings = dict(matplotlib.rcParams)
    opened = Store(store.path)
    with ThreadPoolExecutor(4) as pool:
        tasks = [(name, pool.submit(exported, opened, name, "svg")) for name in list(alone) * 2]
        assert all(task.result() == alone[name] for name, task in tasks)
    assert dict(matplotlib.rcParams) == settings


# Numbers


@pytest.mark.parametrize("view", [View(), View(axes="raw", pair=(1, 2)), View(axes="cosine", pair=None), View(after=2)])
def test_csv_has_full_precision(store, view):
    points = measurements.points(store, frames.runs(store, 1), view)
    table = exported_csv(store, "table", view)
    names = {"gs_z": "x", "gt_z": "y", "acc": "acc", "fwd": "fwd", "bwd": "bwd"}
    for new, old in names.items():
        for suffix in ("", "_std", "_sem"):
            np.testing.assert_array_equal(table[new + suffix], points[old + suffix])
    for column in ("runs", "finished", "active", "failed", "q"):
        np.testing.assert_array_equal(table[column], points[column])
    np.testing.assert_array_equal(table["on_front"], points["front"])
    assert list(table["method"]) == list(points["line"])
    assert set(table["pair"]) == {"mean" if view.pair is None else f"{view.pair[0] + 1},{view.pair[1] + 1}"}
    for name in ("frontier", "transfer"):
        part = exported_csv(store, name, view)
        pd.testing.assert_frame_equal(part, table[part.columns])
        assert ("gs_z" in part) == (name == "frontier")


@pytest.mark.parametrize("name", WITH_DATA)
def test_json_and_parquet_equal_csv(store, name):
    csv = exported_csv(store, name)
    parquet = pd.read_parquet(io.BytesIO(exported(store, name, "parquet")))
    records = pd.DataFrame(json.loads(exported(store, name, "json")))
    for frame in (parquet, records):
        assert list(frame.columns) == list(csv.columns)
        pd.testing.assert_frame_equal(frame, csv, check_dtype=False, check_exact=True)


@pytest.mark.parametrize("name", WITH_DATA)
def test_missing_values_in_json_and_parquet(tmp_path, name):
    grid = {"modules": [1, 4], "strength": [0.2, [0.5, 0.1]], "seed": [0]}
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid=grid), records=lambda config: config.modules == 1)
    view = View(difference="acc")  # the lines have no common range of x
    records = json.loads(exported(store, name, "json", view))
    parquet = pd.read_parquet(io.BytesIO(exported(store, name, "parquet", view)))
    assert len(records) == len(parquet)
    if "configuration" in parquet:
        assert list(parquet["q"]) == [record["q"] for record in records] == ["0.2", "0.5, 0.1"] * 2
    for column in parquet.columns.intersection(
        ["acc_std", "gs_z_std", "gs_z_sem", "reach_low"]
    ):  # undefined for a single seed
        assert parquet[column].isna().all()
        assert {record[column] for record in records} == {None}


@pytest.mark.parametrize(("name", "x", "y"), [("frontier", "x", "y"), ("transfer", "bwd", "fwd")])
def test_html_has_full_precision(store, points, name, x, y):
    page = exported_once(store, name, "html").decode()
    traces, _ = json.JSONDecoder().raw_decode(page, page.index("[", page.rindex("Plotly.newPlot(")))
    for line, rows in points.groupby("line"):
        trace = next(trace for trace in traces if trace.get("name") == line)
        for axis, column in (("x", x), ("y", y)):
            assert sorted(trace[axis]) == sorted(rows[column])


# File names


@pytest.mark.parametrize(
    ("runs", "name", "format", "view", "expected"),
    [
        ("quick-look-s3", "frontier", "pdf", View(), "quick-look-s3_frontier_per-unit_task1-task2.pdf"),
        ("quick-look-s3", "frontier", "png", View(axes="raw", pair=None), "quick-look-s3_frontier_raw_mean-of-pairs.png"),
        ("quick-look-s3", "transfer", "svg", View(axes="raw"), "quick-look-s3_transfer.svg"),
        ("quick-look-s3", "table", "latex", View(after=2), "quick-look-s3_table_after-task2.tex"),
        ("a-s1", "matrix", "html", View("mnist5k-split"), "a-s1_matrix_mnist5k-split.html"),
        ("../Ä b_c/$(x)\n-s4", "configs", "json", View("mnist5k-split", after=1), "b-c-x-s4_configs.json"),
        ("p-mGEM(4,2)-r12", "matrix", "csv", View(), "p-mGEM-4-2-r12_matrix.csv"),
    ],
)
def test_file_name_describes_the_content(runs, name, format, view, expected):
    assert file_name(runs, FIGURES[name], format, view) == expected


def test_files_are_named_after_sweep_or_runs(store):
    assert Selection(store, 1).name() == "quick look-s1"
    assert Selection(store, run_ids=[7]).name() == "Single-r7"


# Errors


@pytest.mark.parametrize("name", WITH_DATA)
def test_missing_data_is_explained_in_one_sentence(tmp_path, name):
    store = Store(tmp_path / "runs.db")
    store.submit(SPEC)
    assert not FIGURES[name].is_available(Selection(store, 1))
    for format in FIGURES[name].formats:
        with pytest.raises(UsageError, match=r"^nothing to show yet: no run has [^.]*\.$"):
            exported(store, name, format)


VIEWS = [View(), View(pair=None), View(pair=(1, 2)), *(View(after=after) for after in (1, 2, 3)), View(pair=None, after=1)]


@pytest.fixture(scope="module", params=["running", "finished", "cancelled"])
def store_by_status(request, tmp_path_factory):
    """A store whose runs all have this status."""
    path, is_finished = tmp_path_factory.mktemp("store") / "runs.db", request.param == "finished"
    store = filled_store(path, finishes=lambda run: is_finished, records=is_gem)
    if request.param == "cancelled":
        store.cancel(store.run_ids(1))
        store.requeue_interrupted()
    return store


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_is_available_agrees_with_export(store_by_status, view):
    for selection in (Selection(store_by_status, 1, view=view), Selection(store_by_status, run_ids=[1, 7], view=view)):
        for name in FIGURES:
            try:
                can_be_exported = bool(exported(store_by_status, name, "json", view, selection.sweep, selection.run_ids))
            except UsageError:
                can_be_exported = False
            assert FIGURES[name].is_available(selection) == can_be_exported, (name, selection.sweep)


BAD = [
    ({"name": "plot"}, f"what is 'plot'; it must be one of {', '.join(FIGURES)}."),
    ({"name": "table", "format": "pdf"}, "format of table is 'pdf'; it must be one of csv, latex, json, parquet."),
    ({"sweep": 9}, "there is no 's9'; mgem runs lists what there is."),
    ({"sweep": None, "runs": [77]}, "there is no 'r77'; mgem runs lists what there is."),
    ({"view": View("cifar")}, "benchmark is 'cifar'; it must be one of mnist5k-permutations."),
    ({"view": View(axes="log")}, "axes is 'log'; it must be one of unit, raw, cosine."),
    ({"view": View(axes="log"), "name": "table"}, "axes is 'log'; it must be one of unit, raw, cosine."),
    ({"view": View(pair=(0, 3))}, "pair is '1,4'; it must be S,T with 1 ≤ S < T ≤ 3, the number of tasks, or mean."),
    ({"view": View(pair=(1, 1))}, "pair is '2,2'; it must be S,T with 1 ≤ S < T ≤ 3, the number of tasks, or mean."),
    ({"view": View(after=4)}, "after is 4; it must be from 1 to 3, the number of tasks."),
    ({"view": View(after=0)}, "after is 0; it must be from 1 to 3, the number of tasks."),
    ({"view": View(after=1)}, "nothing to show after task 1: there is no earlier task to keep."),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD, ids=[sentence[:24] for _, sentence in BAD])
def test_invalid_export_is_rejected(store, changes, sentence):
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}"):
        exported(store, **{"name": "frontier", "format": "csv", **changes})
