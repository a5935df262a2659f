"""A key changes with everything that decides a run's numbers, and with nothing else."""

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata

import pytest

from mgem_core import RunConfig, UsageError, fingerprints
from mgem_core.config.keys import expected_keys, parts_of_run, run_key, version_of_this_process, version_on_disk
from mgem_core.config.sweeps import SweepSpec
from mgem_core.fingerprints import code_has_changed, remember_code
from mgem_core.learners import METHODS
from mgem_core.networks import NETWORKS
from mgem_core.store import Store
from mgem_core.streams import BENCHMARKS
from mgem_core.training import engine


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A copy of the code that may be edited; keys are of that copy."""
    shutil.copytree(fingerprints.ROOT, tmp_path / "mgem_core", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fingerprints, "ROOT", tmp_path / "mgem_core")
    forget_code()
    yield tmp_path / "mgem_core"
    forget_code()


def forget_code():
    fingerprints.code_at_start.cache_clear()
    fingerprints.version_at_start.cache_clear()


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1_000_000_000))  # files may be as old as the clock is coarse


def key():
    return expected_keys([RunConfig()])[0]


EDITS_THAT_DECIDE = {
    "the engine": ("training/engine.py", "self.step += 1", "self.step += 1 + 0"),
    "the method": ("learners/gem.py", "self.remembered.append", "self.remembered.extend"),
    "the benchmark": ("streams/mnist5k.py", "TEST_PER_CLASS = 400, 100", "TEST_PER_CLASS = 399, 101"),
    "what benchmarks share": ("streams/_digits.py", '"permutation", t', '"permutation", t + 1'),
    "the network": ("networks/mlp.py", "HIDDEN = 100", "HIDDEN = 99"),
    "what networks share": ("networks/_initialised.py", "xavier_uniform_", "xavier_normal_"),
    "what all methods share": ("learners/_learner.py", "step.z, -self.config.lr", "step.z, -2 * self.config.lr"),
}
EDITS_THAT_DO_NOT = {
    "a docstring": ("training/engine.py", '"""The training loop', '"""Other words, the training loop'),
    "a docstring of a function": ("restriction/dual.py", '"""Solve the dual problem of one module', '"""Some other words'),
    "a comment": ("training/engine.py", "# the next step to take", "# the step to take next"),
    "the layout": ("restriction/dual.py", "    c = b - gamma", "\n\n    c   =   b - gamma"),
    "another method": ("learners/ewc.py", "F += fisher_l", "F += 2 * fisher_l"),
    "another benchmark": ("streams/mnist.py", "TRAIN, TEST = 60_000", "TRAIN, TEST = 59_999"),
    "another network": ("networks/conv5.py", "WIDTHS = (128,", "WIDTHS = (64,"),
    "what only shows results": ("cli/_report.py", "accuracy in percent", "percent"),
    "the command line": ("cli/run.py", "return 0 if", "return 1 if"),
}


@pytest.mark.parametrize("library", fingerprints.LIBRARIES)
def test_versions_are_those_of_the_installed_libraries(library):
    assert fingerprints.library_version(library) == metadata.version(library)


@pytest.mark.parametrize("name", EDITS_THAT_DECIDE)
def test_the_key_changes_with_code_that_decides_the_numbers(code, name):
    before = key()
    file, old, new = EDITS_THAT_DECIDE[name]
    edit(code / file, old, new)
    assert key() != before


@pytest.mark.parametrize("name", EDITS_THAT_DO_NOT)
def test_the_key_stays_when_nothing_that_decides_changes(code, name):
    before = key()
    file, old, new = EDITS_THAT_DO_NOT[name]
    edit(code / file, old, new)
    assert key() == before


def test_the_key_names_versions_and_the_kind_of_device(monkeypatch):
    assert len({run_key(RunConfig(), device) for device in ("cpu", "cuda", "mps")}) == 3
    assert expected_keys([RunConfig(device="cuda:0")]) == expected_keys([RunConfig(device="cuda:1")])
    assert [run_key(RunConfig(), "cpu")] == expected_keys([RunConfig(device="cpu")])
    assert run_key(RunConfig(threads=2), "cpu") != run_key(RunConfig(), "cpu")
    before, version = key(), fingerprints.library_version
    for library in ("torch", "numpy", "quadprog", "mlxtend"):
        with monkeypatch.context() as other:
            other.setattr(
                fingerprints, "library_version", lambda name, one=library: "0.0" if name == one else version(name)
            )
            assert key() != before
            assert code_has_changed()
        assert not code_has_changed()


def test_a_process_notices_that_its_code_was_edited(code):
    remember_code()
    ours = run_key(RunConfig(method="ewc"), "cpu")
    assert not code_has_changed()
    edit(code / "learners" / "ewc.py", '"""EWC', '"""Elastic weight consolidation')
    assert not code_has_changed()
    edit(code / "learners" / "ewc.py", "F += fisher_l", "F += 2 * fisher_l")
    assert code_has_changed()
    assert run_key(RunConfig(method="ewc"), "cpu") == ours  # it still runs the code that it has loaded
    assert expected_keys([RunConfig(method="ewc", device="cpu")]) != [ours]  # a process that starts now would not


def test_the_version_on_disk_has_files_that_were_added_and_that_of_the_process_has_not(code):
    remember_code()
    ours = version_of_this_process()
    assert version_on_disk() == ours
    (code / "learners" / "added.py").write_text("x = 1\n")
    assert version_on_disk() != ours == version_of_this_process()
    (code / "learners" / "added.py").unlink()
    (code / "learners" / "_shared_by_all.py").write_text("x = 1\n")
    before = run_key(RunConfig(), "cpu")
    assert expected_keys([RunConfig(device="cpu")]) != [before]


def test_a_key_that_is_first_asked_for_after_an_edit_is_of_the_code_before_it(code):
    (code / "streams" / "mine.py").write_text("from mgem_core.streams import mnist5k\n")
    parts = ("learners/ewc", "streams/mine")
    before, expected = list(map(fingerprints.part_on_disk, parts)), expected_keys([RunConfig(method="ewc", device="cpu")])
    remember_code()
    edit(code / "learners" / "ewc.py", "F += fisher_l", "F += 2 * fisher_l")
    (code / "streams" / "mnist5k.py").unlink()
    assert list(map(fingerprints.part_at_start, parts)) == before
    assert [run_key(RunConfig(method="ewc"), "cpu")] == expected


EDIT_WHILE_IT_IS_LOADED = """
import sys
from pathlib import Path

class Editor:
    def find_spec(self, name, path=None, target=None):
        if name == "mgem_core.learners.ewc":
            file = Path(path[0]) / "ewc.py"
            file.write_text(file.read_text().replace("F += fisher_l", "F += 2 * fisher_l"))

sys.meta_path.insert(0, Editor())
import mgem_core.fingerprints
print(mgem_core.fingerprints.ROOT, mgem_core.fingerprints.code_has_changed())
"""


def test_the_code_is_read_before_it_is_loaded(code):
    command = [sys.executable, "-c", EDIT_WHILE_IT_IS_LOADED]
    environment = {**os.environ, "PYTHONPATH": str(code.parent)}
    process = subprocess.run(command, cwd=code.parent, env=environment, capture_output=True, text=True, check=False)
    assert process.stdout == f"{code} True\n", process.stderr


@pytest.mark.parametrize("folder", fingerprints.FOLDERS)
def test_a_process_notices_a_new_file_and_that_one_is_gone(code, folder):
    remember_code()
    file = code / folder / "mine.py"
    file.write_text("")
    assert code_has_changed()
    file.unlink()
    assert not code_has_changed()
    next((code / folder).glob("[a-z]*.py")).unlink()
    assert code_has_changed()


@pytest.mark.parametrize("half", ["def run(((", "\0def run("])
def test_a_file_that_is_half_written_counts_as_edited(code, half):
    remember_code()
    edit(code / "training" / "engine.py", "def run(", half)
    assert code_has_changed()


def test_a_store_that_is_open_for_long_asks_for_runs_of_the_code_as_it_is_now(code, tmp_path):
    store, spec = Store(tmp_path / "runs.db"), SweepSpec(base={"tasks": 2})
    store.submit(spec)
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET status = 'finished'")
    assert store.run_ids(store.submit(spec)) == [1]
    edit(code / "restriction" / "dual.py", "np.maximum(v, q)", "np.maximum(v, 2 * q)")
    assert store.run_ids(store.submit(spec)) == [2]


def test_code_that_was_edited_while_it_was_loaded_trains_nothing(monkeypatch):
    monkeypatch.setattr(engine, "CODE_IS_UNCHANGED", False)
    with pytest.raises(UsageError, match="was edited while this process loaded it; start the process again"):
        engine.run(RunConfig())


def test_all_code_that_decides_numbers_is_loaded_with_the_engine():
    """So what is edited later is not run, whichever method or benchmark comes next."""
    code = "import sys, mgem_core.training.engine; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in fingerprints.parts() if name not in fingerprints.LIBRARIES]
    assert {f"mgem_core.{name}".replace("/", ".").removesuffix(".__init__") for name in files} <= set(loaded)


def test_a_network_of_another_package_names_its_version(monkeypatch):
    version = fingerprints.library_version
    before = {name: key_of(name) for name in ("mlp", "resnet18")}
    monkeypatch.setattr(fingerprints, "library_version", lambda name: "0.0" if name == "torchvision" else version(name))
    assert [name for name in before if key_of(name) != before[name]] == ["resnet18"]


def key_of(network):
    return expected_keys([RunConfig(benchmark="mnist5k-split", network=network)])


def test_a_library_that_is_being_replaced_counts_as_changed(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    remember_code()
    monkeypatch.setattr(fingerprints, "library_version", missing)
    assert code_has_changed()


def test_every_run_finds_its_own_files():
    for method in METHODS:
        assert all((fingerprints.ROOT / f"{name}.py").is_file() for name in parts_of_run(RunConfig(method=method)))
    for benchmark in BENCHMARKS:
        assert all((fingerprints.ROOT / f"{name}.py").is_file() for name in parts_of_run(RunConfig(benchmark=benchmark)))
    for network in NETWORKS.values():
        assert (fingerprints.ROOT / "networks" / f"{network.build.__module__.rpartition('.')[2]}.py").is_file()


@pytest.mark.parametrize(
    "line",
    [
        "from mgem_core.streams.mnist5k import load_digits",
        "from mgem_core.streams import register, mnist5k",
        "import mgem_core.streams.mnist5k",
        "def load():\n    from mgem_core.streams.middle import load_digits",
    ],
)
def test_a_benchmark_may_take_its_data_from_another_one(code, line):
    """The other one, and what that imports, is then part of its key; files that import each other do no harm."""
    (code / "streams" / "mine.py").write_text(f"{line}\n")
    (code / "streams" / "middle.py").write_text("from mgem_core.streams import mine, mnist5k\n")
    mine, other = (fingerprints.part_on_disk(f"streams/{name}") for name in ("mine", "mnist"))
    assert mine
    edit(code / "streams" / "mnist5k.py", "TEST_PER_CLASS = 400, 100", "TEST_PER_CLASS = 399, 101")
    assert fingerprints.part_on_disk("streams/mine") != mine
    assert fingerprints.part_on_disk("streams/mnist") == other


@pytest.mark.parametrize("owner", [*BENCHMARKS.values(), *NETWORKS.values()], ids=lambda owner: owner.name)
def test_every_package_that_is_named_has_a_version_in_the_key(owner):
    for package in owner.packages:
        assert fingerprints.part_on_disk(package) == metadata.version(package)


def test_the_data_of_a_benchmark_may_come_in_any_package(monkeypatch):
    monkeypatch.setitem(BENCHMARKS, "mine", replace(BENCHMARKS["mnist5k-split"], name="mine", packages=("scipy",)))
    before, version = expected_keys([RunConfig(benchmark="mine")]), fingerprints.library_version
    monkeypatch.setattr(fingerprints, "library_version", lambda name: "0.0" if name == "scipy" else version(name))
    assert expected_keys([RunConfig(benchmark="mine")]) != before


DECIDE_NOTHING = {"mgem_core", "mgem_core.errors", "mgem_core.home", "mgem_core.config", "mgem_core.text"}


@pytest.mark.parametrize("folder", fingerprints.FOLDERS)
def test_what_a_method_benchmark_or_network_imports_is_part_of_its_key(folder):
    """Of the project, each file may import the core, other methods, benchmarks and networks, and what decides no number."""
    parts = {f"mgem_core.{name}".replace("/", ".").removesuffix(".__init__") for name in fingerprints.parts()}
    for file in (fingerprints.ROOT / folder).glob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        names = [(node.module, f"{node.module}.{name.name}") for node in nodes for name in node.names]
        imported = {whole if whole in parts else module for module, whole in names}
        ours = {name for name in imported if name.startswith("mgem_core")}
        assert ours <= parts | DECIDE_NOTHING, file.name
