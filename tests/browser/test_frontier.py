"""The frontiers that the browser draws are those that Python computes."""

import numpy as np
import pytest
from components import bundle
from explore.component import JS
from explore.recording_files import recording_messages
from recorded import PAST, record

from mgem_core.analysis import curves
from mgem_core.lens.answers import answers, module_of
from mgem_core.lens.steps import steps_of
from mgem_core.paper.published import example
from mgem_core.restriction.restriction import Restriction

pytestmark = pytest.mark.slow
IMPORTS = "".join(f'import {{ }} from "{JS}/{name}.js";\n' for name in ("frontier", "curves", "data"))
POINTS = """([messages, task, settings]) => {
    const data = emptyData();
    messages.forEach((message) => applyMessage(data, message));
    const decoded = data.recorded.get(task), { order } = decoded, R = data.seeds.length;
    return settings.map(({ moduleOf, splits, restriction, q, view }) => {
        const family = newFamily(decoded, moduleOf, splits, restriction, Array(decoded.past).fill(1), [0, q]);
        solveFamily(family, order);
        const onGrid = frontier(family, view, R);
        return [pointAt(family, q, view, R).each, onGrid.each.map((curve) => curve[1])];
    });
}"""


@pytest.fixture
def browser_page(page, tmp_path):
    page.goto("about:blank")
    script = tmp_path / "all.js"
    script.write_text(IMPORTS)
    page.add_script_tag(content=bundle(script))  # with all that they import
    return page


def drawn_settings(rng, tensors, splits, count):
    for _ in range(count):
        yield Restriction(
            modules=int(rng.integers(1, tensors + 1)),
            splits=int(rng.choice(splits)),
            strength=float(rng.choice([0.0, *10 ** rng.uniform(-2, 1.5, 4)])),
            strength_kind=str(rng.choice(["dual-floor", "margin"])),
            strength_per=str(rng.choice(["split", "task"])),
            solver=str(rng.choice(["exact", "approx"])),
            trigger=str(rng.choice(["violation", "always"])),
            step_length=str(rng.choice(["free", "gradient"])),
        )


@pytest.mark.parametrize("network", ["mlp of the example", "conv5"])
def test_frontiers_agree_with_python_for_random_settings(browser_page, network):
    if network == "conv5":
        recordings, task, tensors = [record("conv5", 4).recording], PAST, 12
    else:
        recordings, task, tensors = example.recordings()[:3], 1, 6
    rng, asked, expected = np.random.default_rng(0), [], []
    every_step = [steps_of(recording, task) for recording in recordings]
    window = [int(every_step[0].steps[1]), int(every_step[0].steps[-1])]
    for i, setting in enumerate(drawn_settings(rng, tensors, [1, 2, 3, 6], 60)):
        s, axes = i % every_step[0].past, ("unit", "raw", "cosine")[i % 3]
        view = {"s": s, "axes": axes, "window": window}
        partition = [int(d) for d in module_of(every_step[0], setting.modules)]
        asked.append(
            {
                "moduleOf": partition,
                "splits": setting.splits,
                "restriction": setting.as_json(),
                "q": setting.strength,
                "view": view,
            }
        )
        found = [answers(steps.at(slice(1, None)), [setting]).on_axes(axes, s)[:2] for steps in every_step]
        expected.append([[float(x.mean()), float(y.mean())] for x, y in found])
    found = browser_page.evaluate(POINTS, [recording_messages(recordings, "test", "files"), task, asked])
    for points, wanted in zip(found, expected, strict=True):
        scale = np.abs(wanted).max()
        for each in points:
            np.testing.assert_allclose(np.array(each)[:, :2], wanted, rtol=1e-6, atol=1e-6 * scale)


def test_moved_window_has_the_means_of_its_steps(browser_page):
    moved = browser_page.evaluate(
        """(messages) => {
            const data = emptyData();
            messages.forEach((message) => applyMessage(data, message));
            const floor = { strength_kind: "dual-floor", strength_per: "split" };
            const restriction = { solver: "exact", trigger: "violation", ...floor };
            const task = data.recorded.get(1);
            const family = newFamily(task, [0, 0, 1, 1, 2, 2], 2, restriction, [1], [0, 0.3, 2]), found = [];
            solveFamily(family, task.order);
            let before = null;
            for (const window of [[1, 100], [41, 100], [41, 41], [0, 0], [11, 61], [1, 100], [91, 100], [1, 11]]) {
                const view = { s: 0, axes: "raw", window };
                before = frontier(family, view, 2, before);
                found.push([before.each, frontier(family, view, 2).each]);
            }
            return found;
        }""",
        recording_messages(example.recordings()[:2], "test", "files"),
    )
    for of_moved, of_itself in moved:
        np.testing.assert_allclose(np.array(of_moved, float), np.array(of_itself, float), rtol=1e-10)


def test_curve_difference_agrees_with_python(browser_page):
    rng, rule = np.random.default_rng(1), recording_messages(example.recordings()[:2], "test", "files")[0]["rule"]
    for _ in range(20):
        one, other = (np.stack([np.sort(rng.normal(size=9)), rng.normal(size=9)], axis=1) for _ in range(2))
        other[5:, 0] = other[5:, 0][::-1]  # a curve that turns back
        assert not curves.is_rising(other)
        found = browser_page.evaluate(
            "([one, other, rule]) => curveDifference(one, other, rule)", [one.tolist(), other.tolist(), rule]
        )
        wanted = curves.curve_difference(one, other)
        np.testing.assert_allclose([found["difference"], found["common"], found["level"]], wanted, rtol=1e-9)


def test_knee_is_farthest_above_the_line_between_the_ends(browser_page):
    assert browser_page.evaluate("kneeOf([[0, 1], [0.5, 0.99], [0.9, 0.8], [1, 0]])") == 2
    assert browser_page.evaluate("kneeOf([[0, 1], [0.5, 0.5], [1, 0]])") == -1
