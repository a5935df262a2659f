"""The paper's tables as data."""

from itertools import product

import pytest

from mgem_core import RunConfig
from mgem_core.figures.paper_table import entries
from mgem_core.metrics import MEASURES
from mgem_core.paper import published
from mgem_core.paper.presets import PRESETS
from mgem_core.paper.selection import published_results
from mgem_core.paper.tables import (
    FIGURES,
    PRINTED_MEASURES,
    SCALES,
    SEEDS,
    SHORT_SEEDS,
    SHORT_STRENGTHS,
    STRENGTHS,
    TABLES,
    sweep_of,
)

PRINTED = [(table, row) for table in TABLES.values() for row in table.rows if row.acc]


def labels_of(table):
    return [row.label for row in table.rows]


def residual(row):
    """By how much ACC differs from FWD + BWD."""
    return abs(row.acc.mean - row.fwd.mean - row.bwd.mean)


@pytest.mark.parametrize(("table", "row"), PRINTED, ids=lambda one: getattr(one, "label", getattr(one, "name", "")))
def test_acc_is_fwd_plus_bwd_unless_a_note_explains(table, row):
    if row.fwd is None:
        assert (row.label, row.bwd) == ("Independent", None)
    elif row.note:
        assert residual(row) > 0.5
    else:
        assert residual(row) < 0.025


def test_two_printed_rows_contradict_themselves():
    flagged = {(table.name, row.label) for table, row in PRINTED if row.note}
    permutations = {("table-1-permutations", f"approx-GEM(4,{splits})") for splits in (1, 2)}
    assert flagged == {*permutations, ("table-2-digit-five", "d-GEM")}


def test_sample_of_numbers_equals_the_paper():
    """They were copied from its source, of which these lines are read again by eye."""
    rows = {table.name: {row.label: row for row in table.rows} for table in TABLES.values()}
    assert rows["table-1-permutations"]["approx-GEM(4,2)"].acc == (81.79, 0.10)
    assert rows["table-1-rotations"]["MER"].bwd == (0.17, 0.14)
    assert rows["table-1-cifar"]["md-GEM"].fwd == (75.21, 0.40)
    assert rows["table-2-digit-five"]["Single"].bwd == (-4.49, 9.85)
    assert rows["table-2-domainnet"]["approx-GEM"].acc == (44.20, 1.10)


def test_every_table_has_all_methods():
    for table in TABLES.values():
        labels = {row.label.partition("(")[0] for row in table.rows}
        assert labels >= {"Single", "Independent", "EWC", "MER", "GEM", "d-GEM", "m-GEM", "md-GEM", "approx-GEM"}
        without_numbers = [row.label for row in table.rows if not row.acc]
        ours = {"mnist-permutations": ["A-GEM", "ER"], "mnist-rotations": ["A-GEM", "ER"]}
        assert without_numbers == (labels_of(table) if table.benchmark == "pacs" else ours.get(table.benchmark, []))
        assert len({row.label for row in table.rows}) == len(table.rows)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_row_is_a_valid_config(table, scale):
    figures_name = {"d-GEM": "d-mGEM", "m-GEM": "p-mGEM"}  # as the paper calls them in its figures, and we everywhere
    for row in table.rows:
        family = row.label.partition("(")[0]
        config = RunConfig(**table.scale(scale), **row.fields)
        assert config.label.partition("(")[0] == figures_name.get(family, family)
        assert config.tasks > 1


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_paper_scale_equals_the_benchmark_defaults(table):
    config = RunConfig(**table.paper)
    default = RunConfig(benchmark=table.benchmark)
    for name in ("network", "tasks", "iterations", "batch_size", "memory", "domains"):
        assert getattr(config, name) == getattr(default, name)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_short_scale_is_shorter_and_described(table):
    cut = [name for name in table.short if table.short[name] != table.paper[name]]
    assert cut
    assert all(table.short[name] < table.paper[name] for name in cut)
    assert all(f"{table.short[name]} of the {table.paper[name]}" in table.cut for name in cut)


def test_sweep_of_a_row_has_every_strength_and_seed():
    table = TABLES["table-1-rotations"]
    rows = {row.label: row for row in table.rows}
    gem = sweep_of(table, "short", [rows["GEM"]]).runs()
    assert {(config.strength, config.seed) for config in gem} == set(product(SHORT_STRENGTHS, SHORT_SEEDS))
    gem_of_paper = sweep_of(table, "paper", [rows["GEM"]]).runs()
    assert {(config.strength, config.seed) for config in gem_of_paper} == set(product(STRENGTHS, SEEDS))
    assert {(config.benchmark, config.tasks, config.validation) for config in gem} == {("mnist-rotations", 5, 0.1)}
    assert len(sweep_of(table, "paper", [rows["EWC"]]).runs()) == len(SEEDS)
    whole = sweep_of(table, "paper").runs()
    assert len(whole) == sum(len(sweep_of(table, "paper", [row]).runs()) for row in table.rows)


def test_every_figure_is_described():
    assert list(FIGURES) == [f"figure-{number}" for number in (1, 2, 3, 4, 5)]
    assert all(figure.title and figure.caption for figure in FIGURES.values())


def test_rows_have_the_printed_measures():
    row = TABLES["table-1-permutations"].rows[0]
    assert [name for name in MEASURES if row.printed(name)] == [*PRINTED_MEASURES]


def without_seed(config):
    return config.model_copy(update={"seed": 0}).canonical()


@pytest.mark.parametrize("name", ["figure-3", "figure-4"])
def test_preset_of_a_figure_has_the_published_configurations(name):
    shown = map(RunConfig.model_validate_json, published.read(name)[0]["configuration"])
    assert set(map(without_seed, shown)) <= set(map(without_seed, PRESETS[f"{name}-short"].spec.runs()))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_sweep_of_a_row_has_the_reported_configuration(table, scale):
    for entry in entries(table, scale, {"ours": published_results(table.name, scale)}):
        if entry.result:
            runs = sweep_of(table, scale, [entry.row]).runs()
            assert without_seed(entry.result.config) in map(without_seed, runs), entry.row.label
