"""Versions, disk, descriptors, the folder of results and the data sets."""

import os
import shutil
from collections import namedtuple
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from mgem_core.doctor import machine
from mgem_core.doctor.folders import check_data, check_home
from mgem_core.doctor.machine import check_descriptors, check_device, check_disk, check_versions
from mgem_core.streams import BENCHMARKS

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MGEM_DATA", raising=False)
    return tmp_path


def only(checks):
    (check,) = checks
    return check


def test_a_missing_library_is_named(monkeypatch):
    assert only(check_versions()).level == "ok"
    version = machine.library_version

    def find(name):
        if name == "quadprog":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(machine, "library_version", find)
    check = only(check_versions())
    assert (check.level, check.finding.split(" (")[0]) == ("broken", "not installed: quadprog")


def test_an_unused_gpu_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "expected_device", lambda wanted: "cpu")
    monkeypatch.setattr(machine, "NVIDIA", tmp_path / "version")
    assert only(check_device()).level == "ok"
    (tmp_path / "version").touch()
    assert only(check_device()).level == "advice"


@pytest.mark.parametrize(("free", "level"), [(1e6, "broken"), (1e9, "advice"), (1e12, "ok")])
def test_a_full_disk_is_a_problem(free, level, folders, monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: asked.append(folder) or Usage(2e12, 2e12 - free, free))
    assert only(check_disk()).level == level
    assert asked == [folders]  # home itself does not exist yet
    assert not (folders / "home").exists()


@pytest.mark.skipif(machine.resource is None, reason="Windows has no such limits")
@pytest.mark.parametrize(("limits", "level"), [((256, 512), "advice"), ((256, 4096), "ok"), ((256, -1), "ok")])
def test_few_descriptors_are_noticed(limits, level, monkeypatch):
    monkeypatch.setattr(machine.resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(machine.resource, "getrlimit", lambda which: limits)
    assert only(check_descriptors()).level == level


def test_a_folder_of_results_that_cannot_exist_is_a_problem(folders, monkeypatch):
    assert only(check_home()).level == "ok"
    (folders / "home").touch()
    assert only(check_home()).finding == f"{folders / 'home'} is not a folder"
    monkeypatch.setenv("MGEM_HOME", str(folders / "home" / "below"))  # below a file
    assert only(check_home()).level == "broken"


@pytest.mark.parametrize(("denied", "word"), [(os.W_OK, "written"), (os.R_OK, "read")])
def test_a_folder_without_permissions_is_a_problem(denied, word, folders, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not (Path(path) == folders and mode & denied))
    check = only(check_home())
    assert (check.level, check.finding) == ("broken", f"{folders} cannot be {word}")


def test_a_missing_or_unreadable_data_folder_is_a_problem(folders, monkeypatch):
    monkeypatch.setenv("MGEM_DATA", str(folders / "data"))
    assert only(check_data(True)).finding == f"MGEM_DATA is {folders / 'data'}, which is missing"
    (folders / "data").touch()
    assert only(check_data(True)).finding == f"MGEM_DATA is {folders / 'data'}, which is not a folder"
    (folders / "data").unlink()
    (folders / "data").mkdir()
    assert only(check_data(True)).level == "advice"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert only(check_data(True)).level == "broken"


def test_damaged_data_sets_are_problems_and_missing_ones_are_not(folders, monkeypatch):
    assert only(check_data(True)).details["available"] == []
    monkeypatch.setenv("MGEM_DATA", str(folders))
    (dataset,) = BENCHMARKS["mnist-permutations"].datasets()
    dataset.folder().mkdir(parents=True)
    (dataset.folder() / "t10k-labels-idx1-ubyte").write_bytes(b"not labels")
    damaged, summary = check_data(True)
    assert (damaged.name, damaged.level) == (f"data {dataset.name}", "broken")
    assert damaged.finding.startswith(f"{dataset.title} is unusable: its file ")
    assert dataset.name not in summary.details["missing"] + summary.details["available"]
    assert summary.level == "advice"
