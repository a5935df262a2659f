"""The rules of gradient surgery that the browser applies are those of Python."""

import numpy as np
import pytest
from components import bundle
from degenerate_vectors import make_degenerate
from explore.component import JS
from explore.recording_files import recording_messages
from recorded import PAST, record

from mgem_core.lens.answers import answers, module_of
from mgem_core.lens.steps import steps_of
from mgem_core.paper.published import example
from mgem_core.restriction.restriction import Restriction
from mgem_core.restriction.surgery import RULES

pytestmark = pytest.mark.slow
KINDS = ("random", "conflict", "nearly parallel", "duplicate", "opposite", "zero", "all zero", "scaled", "few dimensions")
PROBLEMS = 360
WEIGHTS = """([problems, restriction]) => problems.map(({ rule, S, n, shares, parameters }) =>
    RULES[rule].weights(Float64Array.from(S), n, Float64Array.from(shares), parameters, restriction).map((w) => [...w]))"""
POINTS = """([messages, task, settings]) => {
    const data = emptyData();
    messages.forEach((message) => applyMessage(data, message));
    const decoded = data.recorded.get(task), { order } = decoded, R = data.seeds.length;
    return settings.map(({ rule, moduleOf, splits, restriction, view }) => {
        const family = newRuleFamily(decoded, rule, moduleOf, splits, restriction);
        solveFamily(family, order);
        return frontier(family, view, R).each;
    });
}"""


@pytest.fixture
def browser_page(page, tmp_path):
    page.goto("about:blank")
    script = tmp_path / "all.js"
    script.write_text(f'import {{ }} from "{JS}/surgery.js";\nimport {{ }} from "{JS}/data.js";\n')
    page.add_script_tag(content=bundle(script))  # with all that they import
    return page


def gradients_of(kind, n, rng):
    J = make_degenerate(kind, rng.normal(size=(n, 3 if kind == "few dimensions" else 40)))
    if kind == "conflict":
        J += 2 * rng.normal(size=(n, 1)) * rng.normal(size=(1, J.shape[1]))
    elif kind == "all zero":
        J *= 0
    elif kind == "scaled":
        J *= 10.0 ** rng.integers(-3, 3, (n, 1))
    return J


@pytest.mark.parametrize("rule", RULES)
def test_surgery_rule_agrees_with_python(browser_page, rule):
    problems, parameters = [], [0.0, 0.2, 0.5, 0.9] if RULES[rule].parameter else [0.0]
    for number in range(PROBLEMS):
        rng = np.random.default_rng(number)
        n = int(rng.choice([2, 3, 4, 7, 13]))
        J, shares = gradients_of(KINDS[number % len(KINDS)], n, rng), rng.dirichlet(np.ones(n - 1))
        problems.append((J, shares))
    asked = [
        {"rule": rule, "S": (J @ J.T).ravel().tolist(), "n": len(J), "shares": shares.tolist(), "parameters": parameters}
        for J, shares in problems
    ]
    found = browser_page.evaluate(WEIGHTS, [asked, Restriction().as_json()])
    for number, ((J, shares), weights) in enumerate(zip(problems, found, strict=True)):
        for parameter, w in zip(parameters, weights, strict=True):
            expected = RULES[rule].weights(J @ J.T, shares, parameter) @ J
            scale = np.linalg.norm(J, axis=1).max()
            assert np.linalg.norm(w @ J - expected) <= 1e-6 * scale, (KINDS[number % len(KINDS)], len(J), parameter)


@pytest.mark.parametrize("network", ["mlp of the example", "conv5"])
def test_rules_on_recorded_steps_agree_with_python(browser_page, network):
    if network == "conv5":
        recordings, task = [record("conv5", 3).recording], PAST
    else:
        recordings, task = example.recordings()[:2], 1
    every_step = [steps_of(recording, task) for recording in recordings]
    window = [int(every_step[0].steps[1]), int(every_step[0].steps[-1])]
    settings, asked = [], []
    for i, (modules, splits) in enumerate([(1, 1), (1, 6), ("layers", 2), ("tensors", 3)]):
        for rule in RULES:
            s, axes = i % every_step[0].past, ("unit", "raw", "cosine", "raw")[i]
            step_length = "gradient" if i == 3 else "free"
            settings.append((Restriction(modules, splits, step_length=step_length, rule=rule), axes, s))
            restriction = Restriction(step_length=step_length).as_json()
            partition = [int(d) for d in module_of(every_step[0], modules)]
            view = {"s": s, "axes": axes, "window": window}
            asked.append({"rule": rule, "moduleOf": partition, "splits": splits, "restriction": restriction, "view": view})
    found = browser_page.evaluate(POINTS, [recording_messages(recordings, "test", "files"), task, asked])
    parameters = browser_page.evaluate(
        "Object.fromEntries(Object.entries(RULES).map(([name, one]) => [name, one.parameters]))"
    )
    for (setting, axes, s), curves in zip(settings, found, strict=True):
        tried = list(range(0, len(parameters[setting.rule]), 7))
        strengths = [parameters[setting.rule][j] for j in tried]
        each = [Restriction(**{**vars(setting), "strength": q}) for q in strengths]
        for steps, curve in zip(every_step, curves, strict=True):
            x, y, _ = (values.mean(1) for values in answers(steps.at(slice(1, None)), each).on_axes(axes, s))
            points = np.array(curve)[tried, :2]
            np.testing.assert_allclose(points, np.stack([x, y], axis=1), rtol=1e-6, atol=1e-6 * np.abs([x, y]).max())


def test_rules_have_the_names_of_python(browser_page):
    labels = browser_page.evaluate("Object.fromEntries(Object.entries(RULES).map(([name, { label }]) => [name, label]))")
    assert labels == {name: rule.label for name, rule in RULES.items()}
    with_curves = browser_page.evaluate("Object.keys(RULES).filter((name) => RULES[name].parameters.length > 1)")
    assert with_curves == [name for name, rule in RULES.items() if rule.parameter]
