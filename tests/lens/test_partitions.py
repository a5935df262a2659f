"""The best partition: found by dynamic programming, and no worse than any other."""

from itertools import product

import numpy as np
import pytest
from recorded import record

from mgem_core import UsageError
from mgem_core.events import Snapped
from mgem_core.lens import partitions
from mgem_core.lens.answers import Setting, answers
from mgem_core.lens.partitions import Mix, best_partition
from mgem_core.lens.recordings import Recording
from mgem_core.lens.steps import Steps, steps_of
from mgem_core.networks._layer import Layer

LAYERS = 9


def steps_with(seed: int, snapshots: int = 6, layers: int = LAYERS) -> Steps:
    """Gradients in which some layers agree with the memory and others do not."""
    rng = np.random.default_rng(seed)
    taken = []
    for n in range(snapshots):
        shared = rng.normal(size=(layers, 1, 12))
        vectors = shared * rng.normal(size=(layers, 6, 1)) + rng.normal(size=(layers, 6, 12))
        taken.append(Snapped(1, n, vectors @ vectors.swapaxes(1, 2), np.array([[4, 4, 4]])))
    names = tuple(Layer(f"l{i}", {"weight": (12,)}) for i in range(layers))
    return steps_of(Recording("drawn", names, tuple(taken), "random"), 1)


def every_partition(layers: int) -> list[list[int]]:
    """The first layer of each module, in each of the 2^(n − 1) partitions."""
    return [[0, *(i + 1 for i, cut in enumerate(cuts) if cut)] for cuts in product([False, True], repeat=layers - 1)]


def part(steps: Steps, start: int, stop: int) -> Steps:
    """Some of the layers alone."""
    ends = np.cumsum([0, *(len(layer.tensors) for layer in steps.layers)])
    gram = steps.gram[:, ends[start] : ends[stop]]
    return Steps(**{**vars(steps), "gram": gram, "layers": steps.layers[start:stop]})


def value_of(steps: Steps, starts: list[int], strengths: list[float], setting: Setting, mix: Mix) -> float:
    """The mix of one partition whose modules have these strengths, from the answers for each module alone."""
    parts = parts_of(steps, strengths, setting, mix.axes)
    modules = zip(starts, [*starts[1:], LAYERS], strengths, strict=True)
    x, y, squares = sum(parts[module] for module in modules)
    length = 1.0 if mix.axes == "raw" else np.sqrt(squares)
    return float(((mix.share * x + (1 - mix.share) * y) / length).mean())


def parts_of(steps: Steps, strengths: list[float], setting: Setting, axes: str) -> dict[tuple[int, int, float], np.ndarray]:
    """⟨g_s,z⟩, ⟨g_t,z⟩ and ‖z‖² of every interval at every strength, each asked for by itself."""
    parts = {}
    whole = answers(steps, [setting])
    norms = (whole.norm_gs[:, 0], whole.norm_gt) if axes == "cosine" else (1.0, 1.0)
    for start in range(LAYERS):
        for stop in range(start + 1, LAYERS + 1):
            found = answers(part(steps, start, stop), [Setting(**{**vars(setting), "strength": q}) for q in strengths])
            for i, q in enumerate(strengths):
                x, y = found.gs_z[i, :, 0] / norms[0], found.gt_z[i] / norms[1]
                parts[start, stop, q] = np.stack([x, y, found.norm_z[i] ** 2])
    return parts


@pytest.mark.parametrize("axes", ["raw", "unit", "cosine"])
@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize("steps", [steps_with(0), steps_with(1), "conv5"], ids=["drawn", "drawn again", "conv5"])
def test_dynamic_programming_finds_what_trying_all_partitions_finds(steps, axes, share):
    """On raw axes that is certain; per unit ‖z‖ it is a search, which of 720 drawn cases missed the best one in 4."""
    steps = steps_of(record("conv5", 4).recording, 2) if steps == "conv5" else steps
    assert len(steps.layers) == LAYERS
    setting, strengths, mix = Setting(splits=3, trigger="always"), [0.0, 1.5], Mix(share, axes=axes)
    found = best_partition(steps, setting, strengths, mix)
    assert found.chosen_on.value == pytest.approx(
        best_of_all(steps.at(slice(0, None, 2)), setting, strengths, mix), rel=1e-9
    )


def best_of_all(steps: Steps, setting: Setting, strengths: list[float], mix: Mix) -> float:
    parts, best = parts_of(steps, strengths, setting, mix.axes), -np.inf
    for starts in every_partition(LAYERS):
        modules = list(zip(starts, [*starts[1:], LAYERS], strict=True))
        for chosen in product(strengths, repeat=len(modules)):
            x, y, squares = sum(parts[start, stop, q] for (start, stop), q in zip(modules, chosen, strict=True))
            length = 1.0 if mix.axes == "raw" else np.sqrt(squares)
            best = max(best, float(((mix.share * x + (1 - mix.share) * y) / length).mean()))
    return best


def test_the_best_partition_is_judged_on_the_other_snapshots():
    steps, setting, mix = steps_with(5), Setting(splits=3, trigger="always"), Mix(0.5)
    found = best_partition(steps, setting, [0.0, 0.5, 2.0], mix)
    starts = [found.module_of.index(d) for d in range(len(found.strengths))]
    for half, judged in ((slice(0, None, 2), found.chosen_on), (slice(1, None, 2), found.judged_on)):
        expected = value_of(steps.at(half), starts, list(found.strengths), setting, mix)
        assert judged.value == pytest.approx(expected, rel=1e-9)
        assert judged.value == pytest.approx(0.5 * judged.x + 0.5 * judged.y)
    gem = value_of(steps.at(slice(1, None, 2)), [0], [found.gem_strength], setting, mix)
    assert found.gem_judged_on.value == pytest.approx(gem, rel=1e-9)
    assert found.chosen_on.value >= found.gem_chosen_on.value


def test_no_more_modules_are_used_than_allowed():
    for most in (1, 2, 3):
        found = best_partition(steps_with(6), Setting(), [0.0, 1.0], Mix(0.9, axes="raw"), most_modules=most)
        assert max(found.module_of) + 1 == len(found.strengths) <= most


def test_with_one_strength_it_is_a_setting_of_the_lens():
    steps = steps_with(7)
    found = best_partition(steps, Setting(splits=3), [0.7], Mix(0.6, axes="cosine"))
    names = [name for layer in steps.layers for name in layer.tensors]
    setting = Setting(dict(zip(names, found.module_of, strict=True)), splits=3, strength=0.7)
    x, y, _ = answers(steps.at(slice(1, None, 2)), [setting]).on_axes("cosine", 0)
    assert (found.judged_on.x, found.judged_on.y) == pytest.approx((x.mean(), y.mean()))


@pytest.mark.parametrize("axes", ["unit", "cosine"])
def test_a_step_that_is_rescaled_has_the_length_of_the_gradient(axes):
    steps = steps_with(8)
    setting = Setting(splits=3, strength=0.7, trigger="always", step_length="gradient")
    found = best_partition(steps, setting, [0.7], Mix(axes=axes))
    for half, judged in ((slice(0, None, 2), found.gem_chosen_on), (slice(1, None, 2), found.gem_judged_on)):
        expected = answers(steps.at(half), [setting])
        x, y, _ = expected.on_axes(axes, 0)
        assert judged.norm_z == pytest.approx(expected.norm_z.mean())
        assert (judged.x, judged.y) == pytest.approx((x.mean(), y.mean()))
    assert (found.chosen_on.norm_z, found.judged_on.norm_z) == (found.gem_chosen_on.norm_z, found.gem_judged_on.norm_z)


def test_the_search_ends_where_a_product_is_not_a_number(monkeypatch):
    rounds, neighbours = iter(range(100)), partitions._neighbours
    monkeypatch.setattr(partitions, "_neighbours", lambda *which: [next(rounds), *neighbours(*which)][1:])
    one = np.full((3, 2, 4), np.nan)  # two layers, two strengths, four snapshots
    assert partitions.search(partitions.Parts(one, one, one, np.ones_like(one), one), 2, True, 2)


def test_a_step_that_is_rescaled_has_no_best_partition_on_raw_axes():
    with pytest.raises(UsageError, match="step_length is 'gradient'; the products with a rescaled z do not add up"):
        best_partition(steps_with(0), Setting(step_length="gradient"), [0.0], Mix(axes="raw"))


@pytest.mark.parametrize(
    ("steps", "mix", "sentence"),
    [
        (steps_with(0), Mix(2.0), "mix is 2; it must be from 0"),
        (steps_with(0), Mix(past=1), "past task 2 is not one of the 1 past tasks of task 2"),
        (steps_with(0, snapshots=1), Mix(), "drawn has one snapshot of task 2; choosing and judging needs two."),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(steps, mix, sentence):
    with pytest.raises(UsageError, match=sentence):
        best_partition(steps, Setting(), [0.0], mix)
