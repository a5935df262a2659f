"""The built-in domains of digits, and how a run chooses and orders domains."""

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from pydantic import ValidationError

from mgem_core import RunConfig, run
from mgem_core.config import explain
from mgem_core.config.keys import expected_keys
from mgem_core.streams import BENCHMARKS
from mgem_core.streams._rendered import FONTS, _font, render_digits
from mgem_core.streams.digits_domains import DOMAINS, load_photographs, load_uci
from mgem_core.streams.mnist5k import load_digits

NAME = "digits-domains"


def names(**fields):
    return [task.name for task in RunConfig(benchmark=NAME, **fields).open_stream().tasks]


def test_run_can_choose_and_order_domains():
    assert names(domains="uci+mnist") == ["UCI digits (1,437 images)", "MNIST"]
    assert names(domains="mnist,uci") == ["MNIST", "UCI digits (1,437 images)"]
    assert RunConfig(benchmark=NAME, domains=["mnist", "uci", "photographs"]).tasks == 3


def test_seed_draws_the_order_of_domains():
    orders = [tuple(names(seed=seed)) for seed in range(8)]
    assert {frozenset(order) for order in orders} == {frozenset(title for title, _ in DOMAINS.values())}
    assert len(set(orders)) > 4
    assert names(seed=3, tasks=2) == names(seed=3)[:2]
    assert names(seed=3) == names(seed=3)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"domains": "mnist+svhn"}, f"domains is 'mnist+svhn'; {NAME} has {', '.join(DOMAINS)}."),
        ({"domains": "mnist+mnist"}, "domains is 'mnist+mnist'; it must name each domain once."),
        ({"domains": "mnist+uci", "tasks": 3}, "tasks is 3; domains names 2, so it must be that many."),
        ({"domains": 7}, "domains is 7; it must be names of domains, like mnist+usps."),
        ({"tasks": 5}, f"tasks is 5; {NAME} has at most 4."),
    ],
)
def test_invalid_domains_are_rejected(fields, sentence):
    with pytest.raises(ValidationError) as caught:
        RunConfig(benchmark=NAME, **fields)
    assert explain(caught.value) == sentence


def test_domains_are_part_of_the_key_only_where_they_matter():
    drawn, chosen, other_order = (
        RunConfig(benchmark=NAME, tasks=2, domains=domains) for domains in ("", "mnist+uci", "uci+mnist")
    )
    assert len(set(expected_keys([drawn, chosen, other_order]))) == 3
    assert RunConfig.model_validate_json(chosen.stored()) == chosen
    elsewhere = RunConfig(domains="mnist+uci")
    assert elsewhere.tasks == RunConfig().tasks
    assert expected_keys([elsewhere]) == expected_keys([RunConfig()])
    assert "domains" not in elsewhere.stored()


def test_probe_samples_are_part_of_the_key_for_large_tasks():
    few, all_images = (RunConfig(benchmark=NAME, probe_samples=samples) for samples in (2000, 10_000))
    assert few.canonical() != all_images.canonical()


def test_run_learns_two_domains():
    fields = {"domains": "uci+mnist", "iterations": 3, "memory": 20, "probe_every": 0}
    *_, finished = run(RunConfig(benchmark=NAME, **fields))
    assert finished.status == "finished"
    assert finished.R.shape == (2, 2)


def test_domains_are_standardised_but_stored_as_bytes():
    stream = BENCHMARKS[NAME].open(2, 0, ("uci", "photographs"))
    assert stream.images.dtype == torch.uint8
    for t, task in enumerate(stream.tasks):
        x = stream.batch(t, task.train).x
        assert float(x.mean()) == pytest.approx(0, abs=1e-4)
        assert float(x.std()) == pytest.approx(1, abs=1e-4)
        base = stream.images[task.train].float()
        torch.testing.assert_close(x.flatten(1), (base - base.mean()) / base.std(), atol=1e-3, rtol=1e-3)


def test_uci_digits_are_enlarged_scikit_learn_digits():
    from sklearn.datasets import load_digits as load_theirs

    theirs, ours = load_theirs(), load_uci()
    assert ours.images.shape == (1797, 784)
    np.testing.assert_array_equal(ours.labels, theirs.target)
    assert sorted([*ours.train, *ours.test]) == list(range(1797))
    brightness = theirs.images.mean((1, 2)) * 255 / 16
    assert np.corrcoef(ours.images.mean(1), brightness)[0, 1] > 0.99


@pytest.mark.parametrize("number", [7, 2500])
def test_digit_on_photograph_is_their_difference(number):
    """One of the photographs contains a patch with |patch − digit| = image."""
    from sklearn.datasets import load_sample_images

    digit = load_digits().images[number].reshape(28, 28).astype(int)
    image = load_photographs().images[number].reshape(28, 28)
    found = 0
    for photograph in load_sample_images().images:
        patches = sliding_window_view(np.asarray(Image.fromarray(photograph).convert("L"), int), (28, 28))
        likely = patches[(patches[..., 0, ::9] == image[0, ::9]).all(-1)]  # the first row of a digit is black
        found += sum(np.array_equal(np.abs(patch - digit), image) for patch in likely)
    assert found == 1
    assert load_photographs().labels[number] == load_digits().labels[number]


def test_rendered_digits_are_reproducible_and_distinct():
    images, labels = render_digits(40)
    render_digits.cache_clear()
    again, _ = render_digits(60)
    np.testing.assert_array_equal(images, again[:40])
    assert np.bincount(labels).tolist() == [4] * 10
    assert len(np.unique(again, axis=0)) == 60
    assert images.max(1).min() - images.min() > 40


@pytest.mark.parametrize("name", FONTS)
def test_every_font_has_ten_distinct_digits(name):
    drawn = {bytes(_font(name, 24).getmask(f"{digit}")) for digit in range(10)}
    missing = bytes(_font(name, 24).getmask("\uffff"))
    assert len(drawn) == 10
    assert missing not in drawn


def test_derived_domains_are_labelled():
    assert "derived" in DOMAINS["photographs"][0]
    assert "derived" in DOMAINS["rendered"][0]
