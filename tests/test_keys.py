"""A key changes with everything that decides a run's numbers, and with nothing else."""

import shutil

import pytest

from mgem_core import RunConfig, keys
from mgem_core.keys import code_has_changed, remember_code, run_key


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A copy of the code that may be edited; keys are of that copy."""
    shutil.copytree(keys.ROOT, tmp_path / "mgem_core", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys, "ROOT", tmp_path / "mgem_core")
    monkeypatch.setattr(keys, "_unchanged", set())
    keys._code_at_start.cache_clear()
    yield tmp_path / "mgem_core"
    keys._code_at_start.cache_clear()


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    keys._code_at_start.cache_clear()  # a process that starts after the edit


EDITS_THAT_DECIDE = {
    "the engine": ("engine.py", "self.step += 1", "self.step += 1 + 0"),
    "the method": ("learners/gem.py", "self.remembered.append", "self.remembered.extend"),
    "the benchmark": ("streams/mnist5k.py", "TRAIN_PER_CLASS = 28, 400", "TRAIN_PER_CLASS = 28, 399"),
    "the network": ("networks/mlp.py", "HIDDEN = 100", "HIDDEN = 99"),
    "what networks share": ("networks/_initialised.py", "xavier_uniform_", "xavier_normal_"),
    "what all methods share": ("learners/_learner.py", "alpha=-self.config.lr", "alpha=-2 * self.config.lr"),
}
EDITS_THAT_DO_NOT = {
    "a docstring": ("engine.py", '"""run(config) → events', '"""Other words; run(config) → events'),
    "a docstring of a function": ("dual.py", '"""Gram matrices per tensor', '"""Some other words'),
    "a comment": ("engine.py", "# the next step to take", "# the step to take next"),
    "the layout": ("dual.py", "    blocks = np.zeros", "\n\n    blocks   =   np.zeros"),
    "another method": ("learners/ewc.py", "F += fisher_l", "F += 2 * fisher_l"),
    "another benchmark": ("streams/mnist.py", "TRAIN, TEST = 60_000", "TRAIN, TEST = 59_999"),
    "another network": ("networks/conv5.py", "WIDTHS = (128,", "WIDTHS = (64,"),
    "what only shows results": ("report.py", "accuracy in percent", "percent"),
}


@pytest.mark.parametrize("name", EDITS_THAT_DECIDE)
def test_the_key_changes_with_code_that_decides_the_numbers(code, name):
    before = run_key(RunConfig())
    file, old, new = EDITS_THAT_DECIDE[name]
    edit(code / file, old, new)
    assert run_key(RunConfig()) != before


@pytest.mark.parametrize("name", EDITS_THAT_DO_NOT)
def test_the_key_stays_when_nothing_that_decides_changes(code, name):
    before = run_key(RunConfig())
    file, old, new = EDITS_THAT_DO_NOT[name]
    edit(code / file, old, new)
    assert run_key(RunConfig()) == before


def test_the_key_names_versions_and_the_kind_of_device(monkeypatch):
    keys_of_devices = {run_key(RunConfig(device=device)) for device in ("cpu", "cuda", "mps")}
    assert len(keys_of_devices) == 3
    assert run_key(RunConfig(device="cuda:0")) == run_key(RunConfig(device="cuda:1"))
    assert run_key(RunConfig(), "cpu") == run_key(RunConfig(device="cpu"))
    assert run_key(RunConfig(threads=2)) != run_key(RunConfig())
    before = run_key(RunConfig())
    for package in ("torch", "numpy"):
        with monkeypatch.context() as other:
            other.setattr(keys, "version", lambda name, package=package: "0.0" if name == package else "1.0")
            changed = run_key(RunConfig())
        assert changed != before


def test_a_process_notices_that_its_code_was_edited(code):
    remember_code()
    assert not code_has_changed()
    file = code / "learners" / "ewc.py"
    file.write_text("# a comment\n" + file.read_text())
    assert not code_has_changed()
    file.write_text(file.read_text().replace("F += fisher_l", "F += 2 * fisher_l"))
    assert code_has_changed()


def test_a_file_that_is_half_written_counts_as_edited(code):
    remember_code()
    (code / "engine.py").write_text("def run(")
    assert code_has_changed()


def test_a_network_of_another_package_names_its_version(monkeypatch):
    before = {name: run_key(RunConfig(network=name)) for name in ("mlp", "resnet18")}
    versions = keys.version
    monkeypatch.setattr(keys, "version", lambda name: "0.0" if name == "torchvision" else versions(name))
    changed = [name for name, key in before.items() if run_key(RunConfig(network=name)) != key]
    assert changed == ["resnet18"]
