"""Curves and differences at recorded steps: the same numbers as in the browser, from Python and from JavaScript."""

import json
from dataclasses import replace

import numpy as np
import pytest
from explore.recording_files import recording_messages
from node import ROOT, run_node
from recorded import PAST, record

from mgem_core.analysis import significance
from mgem_core.lens import differences
from mgem_core.lens.answers import answers, module_of
from mgem_core.lens.lines import GEM, Line, comparable_lines, count_comparisons, default_lines, divisors, module_counts
from mgem_core.lens.seed_curves import pairs_of, seed_curves, strength_grid
from mgem_core.lens.steps import steps_of
from mgem_core.paper.published import example
from mgem_core.restriction.restriction import Restriction

FOLDER = (ROOT / "app" / "explore" / "js").as_uri()
SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import {{ differenceOverSeeds }} from "{FOLDER}/curves.js";
import {{ applyMessage, emptyData }} from "{FOLDER}/data.js";
import {{ frontier, newFamily, solveFamily }} from "{FOLDER}/frontier.js";
const {{ messages, task, lines, strengths, s, axes }} = JSON.parse(readFileSync(process.argv[1]));
const data = emptyData();
messages.forEach((message) => applyMessage(data, message));
const decoded = data.recorded.get(task), {{ order }} = decoded;
const view = {{ s, axes, window: [0, 1e9] }}, weights = Array(decoded.past).fill(1);
const restriction = data.used?.restriction ?? data.defaults;
const curves = lines.map(({{ moduleOf, splits, solver }}) => {{
  const family = newFamily(decoded, moduleOf, splits, {{ ...restriction, solver }}, weights, strengths);
  solveFamily(family, order);
  return frontier(family, view, data.seeds.length).each;
}});
const compared = curves.map((each) => differenceOverSeeds({{ each }}, {{ each: curves[0] }}, data.rule));
console.log(JSON.stringify({{ curves, compared }}));
"""


def in_javascript(folder, recordings, lines, strengths, pair, axes):
    """Return the curves and differences that the page computes."""
    steps = steps_of(recordings[0], pair[1])
    settings = [
        {"moduleOf": list(module_of(steps, line.modules)), "splits": line.splits, "solver": line.solver} for line in lines
    ]
    asked = {"lines": settings, "strengths": strengths.tolist(), "s": pair[0], "axes": axes}
    (folder / "asked.json").write_text(
        json.dumps({"messages": recording_messages(recordings, "", "files"), "task": pair[1], **asked})
    )
    return json.loads(run_node("--input-type=module", "--eval", SCRIPT, folder / "asked.json"))


@pytest.fixture(scope="module")
def recorded():
    return example.recordings()


LINES = [
    GEM,
    Line("p-mGEM(3)", 3),
    Line("d-mGEM(2)", 1, 2),
    Line("md-GEM(6,6)", 6, 6),
    Line("approx-GEM(2,3)", 2, 3, "approx"),
]


@pytest.mark.parametrize("axes", ["unit", "raw", "cosine"])
def test_curves_and_differences_are_those_of_the_browser(recorded, axes, tmp_path):
    strengths, pair = strength_grid(recorded), (0, 1)
    curves = seed_curves(recorded, LINES, strengths, [pair], axes)
    found = in_javascript(tmp_path, recorded, LINES, strengths, pair, axes)
    np.testing.assert_allclose(curves, found["curves"], rtol=1e-6, atol=1e-6 * np.abs(curves).max())
    comparisons = recording_messages(recorded, "", "files")[0]["rule"]["comparisons"]
    for curve, wanted in zip(curves[1:], found["compared"][1:], strict=True):
        one = differences.line_difference(curve, curves[0], comparisons)
        numbers = one.estimate.mean, one.estimate.low, one.estimate.high, one.common
        np.testing.assert_allclose(numbers, [wanted[name] for name in ("mean", "low", "high", "common")], rtol=1e-4)
        np.testing.assert_allclose(one.values, wanted["values"], rtol=1e-4, atol=1e-6)
        assert one.is_significant == wanted["isSignificant"]
        assert one.estimate.seeds == wanted["seeds"] == len(recorded)
        assert significance.detectable(one.estimate, comparisons) == pytest.approx(wanted["detectable"], rel=1e-4)
        assert significance.seeds_needed(one.estimate, comparisons) == wanted["needed"]


def test_strengths_are_those_of_the_browser(recorded):
    strengths = strength_grid(recorded)
    assert len(strengths) == 61
    assert strengths[0] == 0
    assert strengths[-1] == pytest.approx(30)
    k = np.log(1501)
    np.testing.assert_allclose(strengths, 30 / 1500 * (np.exp(k * np.arange(61) / 60) - 1))
    strong = [replace(one, used={**one.used, "strength": 40.0}) for one in recorded]
    assert strength_grid(strong)[-1] == pytest.approx(80)


def test_margins_are_in_units_of_the_true_gradient(recorded):
    margins = [replace(one, used={**one.used, "strength_kind": "margin", "strength": 0.0}) for one in recorded]
    squares = [steps_of(one, 1).gram[:, :, 2, 2].sum(1) for one in recorded]
    assert strength_grid(margins)[-1] == pytest.approx(4 * np.median(np.concatenate(squares)), rel=0.05)


def test_every_seed_counts_the_same_and_pairs_are_averaged():
    recordings = [record("conv5", 1, seed=3).recording, record("conv5", 3, seed=7).recording]
    pairs = pairs_of(recordings)
    assert pairs == [(0, PAST), (1, PAST)]
    curves = seed_curves(recordings, [Line("md-GEM(2,3)", 2, 3)], [0.5], pairs, gradient="batch")
    for recording, curve in zip(recordings, curves[0], strict=True):
        found = answers(steps_of(recording, PAST), [Restriction(modules=2, splits=3, strength=0.5)])
        x, _, batch_y = np.mean([found.on_axes("unit", s) for s, _ in pairs], axis=(0, 2, 3))
        memory = (found.memory_z / found.norm_z[:, :, None]).mean()
        np.testing.assert_allclose(curve[0], [x, batch_y, memory])


def test_a_line_that_learns_more_at_each_place_has_that_profile():
    x = np.linspace(0, 1, 61)
    gem = np.stack([np.stack([x + seed, 2 - x], axis=1) for seed in range(5)])
    line = gem.copy()
    line[:, :, 1] += 0.03 + 0.1 * x**2 + 1e-4 * np.arange(5)[:, None]
    found = differences.line_difference(line, gem, 10)
    expected = 100 * (0.03 + 0.1 * np.linspace(0, 1, 101) ** 2 + 2e-4) / 1.5
    np.testing.assert_allclose([one.mean for one in found.profile], expected, atol=0.01)
    assert all(one.low < one.mean < one.high for one in found.profile)
    assert found.estimate.mean == pytest.approx(np.mean([one.mean for one in found.profile]))
    assert found.is_significant
    assert found.reach.mean == pytest.approx(0)


def test_reach_is_the_ratio_of_the_largest_retentions():
    gem = np.stack([np.stack([np.linspace(0, end, 61), np.ones(61)], axis=1) for end in (1.0, 2.0, 4.0, 5.0)])
    found = differences.line_difference(gem * [1.25, 1], gem, 1)
    assert found.reach.mean == pytest.approx(25)
    assert found.common == pytest.approx(0.8)


def test_a_difference_over_less_than_half_of_the_range_is_not_significant():
    gem = np.stack([np.stack([np.linspace(0, 1, 61), np.full(61, 2.0)], axis=1) for _ in range(5)])
    more = [0, 0.3] + 1e-3 * np.arange(5)[:, None, None] * [0, 1]
    assert differences.line_difference(gem * [0.6, 1] + more, gem, 1).is_significant
    assert not differences.line_difference(gem * [0.4, 1] + more, gem, 1).is_significant


def test_seeds_without_a_common_range_are_left_out():
    curve = np.stack([np.linspace(0, 1, 61), np.ones(61)], axis=1)
    found = differences.line_difference(np.stack([np.add(curve, [5, 0]), np.add(curve, [0, 1])]), np.stack([curve] * 2), 1)
    assert found.values.tolist() == pytest.approx([100])
    assert not found.is_significant
    nothing = differences.line_difference(np.stack([np.add(curve, [5, 0])]), np.stack([curve]), 1)
    assert (nothing.estimate, nothing.profile, nothing.is_significant) == (None, (), False)


# Which lines are compared


def test_default_lines_are_gem_and_all_partitions_and_splits(recorded):
    layers = recorded[0].layers
    assert module_counts(layers) == [1, 2, 3, 4, 5, 6]
    names = [line.name for line in default_lines(layers, 6)]
    assert names == ["GEM", *(f"p-mGEM({count})" for count in range(2, 7)), *(f"d-mGEM({count})" for count in (2, 3, 6))]
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert count_comparisons(6, 6) == recording_messages(recorded, "", "files")[0]["rule"]["comparisons"] == 24


def test_lines_without_an_answer_and_repetitions_are_left_out(recorded):
    steps = steps_of(recorded[0], 1)
    given = [
        *(Line("p-mGEM(3)", 3), Line("p-mGEM(3)", "layers"), Line("d-mGEM(4)", 1, 4), Line("p-mGEM(7)", 7)),
        *(Line("d-mGEM(2)", 1, 2, split_by="class"), Line("d-mGEM(3)", 1, 3, split_by=steps.split_by)),
    ]
    assert [line.name for line in comparable_lines(given, steps)] == ["GEM", "p-mGEM(3)", "d-mGEM(3)"]


def test_a_sweep_with_one_line_gets_the_default_ones(recorded):
    steps = steps_of(recorded[0], 1)
    names = [line.name for line in comparable_lines([Line("md-GEM(2,2)", 2, 2)], steps)]
    assert names == [*(line.name for line in default_lines(steps.layers, 6)), "md-GEM(2,2)"]


def test_equal_names_of_different_lines_get_their_modules(recorded):
    steps = steps_of(recorded[0], 1)
    first, second, third = (layer.name for layer in steps.layers)
    custom = [Line("p-mGEM(2*)", {first: 0, second: one, third: 1}) for one in (0, 1)]
    names = [line.name for line in comparable_lines(custom, steps)]
    assert names == ["GEM", *(f"p-mGEM(2*) · modules {first}=0,{second}={one},{third}=1" for one in (0, 1))]
