"""Sweeps on a Ray cluster. They are in one file so that no two clusters run at the same time."""

import json
import os
import signal

import chaos
import pytest
from chaos import until
from test_runner import SHORT, flags
from test_two_versions import SMALL, Checkout

from mgem_core.store import Store


@pytest.fixture
def home(tmp_path):
    """A home whose processes have ended after the test."""
    home = tmp_path / "home"
    home.mkdir()
    yield home
    for process in chaos.processes(home):
        os.kill(process, signal.SIGKILL)


RAY_GRID = flags({"tasks": 3, "iterations": 500, "memory": 100, "probe_every": 25, "seeds": "0,1,2,3"})


@pytest.mark.slow
def test_losing_a_ray_node_gives_equal_numbers(home, tmp_path_factory):
    from ray.cluster_utils import Cluster

    expected = chaos.undisturbed(tmp_path_factory.mktemp("undisturbed"), RAY_GRID)
    node = {"num_cpus": 1, "node_ip_address": "127.0.0.2"}  # a loopback address; Ray treats 127.0.0.1 differently
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        second = cluster.add_node(**node)
        command = chaos.mgem(home, "sweep", *RAY_GRID, "--ray", cluster.address, "--idle", "2", "--json")
        store = until(lambda: (home / "runs.db").exists()) and Store(home / "runs.db")

        def both_have_checkpoints():
            running = [run for run in store.run_records() if run["status"] == "running"]
            return len(running) == 2 and all(run["task"] and store.checkpoint(run["id"]).exists() for run in running)

        until(both_have_checkpoints, 120)
        cluster.remove_node(second, allow_graceful=False)
        document = json.loads(command.communicate(timeout=240)[0])
        assert document["counts"]["finished"] == 4
        assert chaos.results(home) == expected
        lost = [run for run in document["runs"] if run["attempts"] == 2]
        assert len(lost) == 1
        assert lost[0]["resumed_task"] >= 1
        assert not chaos.wait_for_quiet(home)
    finally:
        cluster.shutdown()


@pytest.mark.slow
def test_unreachable_ray_cluster_is_reported(home):
    command = chaos.mgem(home, "sweep", *flags(SHORT), "--ray", "127.0.0.1:1")
    assert command.wait(timeout=60) == 2
    assert "ray is '127.0.0.1:1', but no Ray cluster answers there" in (home / "runner.log").read_text()
    assert not chaos.wait_for_quiet(home)


@pytest.mark.slow
def test_ray_node_with_other_code_is_refused(tmp_path, home):
    from ray.cluster_utils import Cluster

    one, other = Checkout(tmp_path / "one", home), Checkout(tmp_path / "other", home, is_edited=True)
    node = {"num_cpus": 1, "node_ip_address": "127.0.0.2", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "env_vars": {"PYTHONPATH": str(one.folder)}})
    try:
        cluster.add_node(**{**node, "env_vars": {"PYTHONPATH": str(other.folder)}})
        sweep = ["sweep", *SMALL, "--iterations", "20", "--seeds", "0,1,2", "--ray", cluster.address, "--idle", "1"]
        code, out, err = one.call(*sweep, "--json", cwd=tmp_path)
        assert code == 0, err
        assert json.loads(out)["counts"]["finished"] == 3
        assert "mgem: Refused Ray node:" in err
        assert "(127.0.0.2) has other code in mgem_core/learners/_learner.py. Install the same versions there" in err
    finally:
        cluster.shutdown()
