"""The comparison of two devices, with the CPU in both roles: it finds differences, and fails in one line."""

import json
import re

import pytest
import torch

from mgem_core import RunConfig, UsageError
from mgem_core.doctor import comparison, steps
from mgem_core.doctor.comparison import METHODS, checks_of, compare_devices, parse_devices
from mgem_core.doctor.noise import learner_on_noise, noise_stream
from mgem_core.doctor.report import make_report, to_json
from mgem_core.doctor.speed import check_speed, check_torch, expected_seconds
from mgem_core.doctor.steps import Role, compare, count_on_gpu, count_operations, relative_difference
from mgem_core.gradients import rows
from mgem_core.restriction import direction

CPU = torch.device("cpu")
SMALL = {
    "mlp": {"benchmark": "mnist5k-permutations", "tasks": 3, "memory": 20, "lr": 0.1},
    "conv5": {"benchmark": "split-cifar100", "tasks": 2, "memory": 4, "batch_size": 4, "lr": 0.003},
}


@pytest.fixture(scope="module")
def compared():
    """The comparison of a small network and of conv5, and the lines that it showed."""
    shown = []
    return compare_devices(CPU, CPU, SMALL, 1, shown.append), shown


def config(**fields):
    return RunConfig(**{"network": "mlp", "iterations": 20, "trigger": "always", **SMALL["mlp"], **fields})


def test_all_methods_and_networks_are_compared(compared):
    found, shown = compared
    cases = [(case["network"], case["method"]) for case in found["cases"]]
    methods = ["GEM", "p-mGEM(4)", "d-mGEM(2)", "approx-GEM(4,2)"]
    assert cases == [(network, method) for network in SMALL for method in methods]
    assert [one["network"] for one in found["rows"]] == ["conv5"]
    assert len(shown) == len(cases) + 1
    assert all(case["difference"] == 0 for case in found["cases"])
    assert "bf16" in found["not_measured"]
    assert all(case["precision"] == "fp32" for case in found["cases"])  # bfloat16 could end the process here


def test_each_role_is_measured(compared):
    for case in compared[0]["cases"]:
        for role in (case["first"], case["second"]):
            assert set(role) == {"device", "steps_per_second", "operators_per_step"}  # neither launches nor peak memory
            assert role["steps_per_second"] > 0
            assert role["operators_per_step"] > 20


def test_equal_devices_agree(compared):
    found, _ = compared
    checks = list(checks_of(found))
    assert len(checks) == len(found["cases"]) + len(found["rows"])
    assert {check.level for check in checks} == {"ok"}
    assert 0 < found["rows"][0]["difference"] < 1e-4  # vmapped rows are summed in another order


def test_the_report_is_valid_json_without_names_of_folders(compared, tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    report = json.loads(to_json(make_report([*check_torch(), *checks_of(compared[0])], compared[0])))
    assert report["devices_agree"] is True
    assert report["comparison"]["settings"]["conv5"]["memory"] == 4
    assert not re.search(r"/\w+/", json.dumps(report))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_code_for_gpus_agrees_on_a_cpu(method, monkeypatch):
    """The second role takes the path of GPUs: rows by vmap, and all products at once."""
    made, take = [], steps.Taken.take

    def take_as_on_a_gpu(taken, step):
        made.extend([taken] if taken not in made else [])
        with monkeypatch.context() as patched:
            if made.index(taken):
                patched.setattr(rows, "autograd_rows", rows.rows_by_vmap)
                patched.setattr(direction, "computes_all_at_once", lambda g: True)
            return take(taken, step)

    monkeypatch.setattr(steps.Taken, "take", take_as_on_a_gpu)
    fields = {"benchmark": "mnist5k-split", "network": "conv-small", "tasks": 3, "lr": 0.01}
    found = compare(config(**fields, **method), Role(CPU), Role(CPU), 3)
    assert found["difference"] < comparison.TOLERANCE / 10
    assert found["second"]["operators_per_step"] != found["first"]["operators_per_step"]


def test_a_wrong_device_is_found(monkeypatch):
    made = []

    def with_a_wrong_row(*arguments):
        learner = learner_on_noise(*arguments)
        made.append(learner)
        if len(made) == 2:
            learner.gradients.x[0] *= 1.1  # the second role computes its first memory row from other images
        return learner

    monkeypatch.setattr(steps, "learner_on_noise", with_a_wrong_row)
    found = compare(config(), Role(CPU), Role(CPU), 3)
    case = {"method": "GEM", "network": "mlp", "precision": "fp32", **found}
    (check,) = checks_of({"cases": [case], "rows": []})
    assert check.level == "broken"
    assert "do not train on this device" in check.advice


@pytest.mark.parametrize(
    ("precision", "difference", "level"),
    [("fp32", 1e-5, "ok"), ("fp32", 0.01, "broken"), ("bf16", 0.01, "ok"), ("bf16", float("nan"), "broken")],
)
def test_only_certain_errors_count_with_rounded_inputs(precision, difference, level):
    first = {"device": "cuda", "steps_per_second": 100.0, "peak_mb": 800.0}
    counts = {"launches_per_step": 210.0, "copies_to_host_per_step": 1.0, "copies_to_device_per_step": 2.0}
    named = {"method": "GEM", "network": "mlp", "precision": precision}
    case = {**named, "difference": difference, "first": {**first, **counts}, "second": {**first, **counts}}
    (check,) = checks_of({"cases": [case], "rows": []})
    assert check.level == level
    assert "210 launches and 1 copies to the host and 2 to the GPU per step; peak 800 MB" in check.finding


def test_an_error_of_a_device_is_one_line_and_the_rest_is_measured(monkeypatch):
    def fail(*arguments):
        raise RuntimeError("CUDA error: no kernel image\nis available")

    monkeypatch.setattr(comparison, "METHODS", ({},))
    monkeypatch.setattr(comparison, "compare_rows", fail)
    found = compare_devices(CPU, CPU, {"conv5": SMALL["conv5"]}, 1, lambda line: None)
    *cases, rows = checks_of(found)
    assert {case.level for case in cases} == {"ok"}
    assert rows.level == "broken"
    assert "RuntimeError: CUDA error: no kernel image is available" in rows.finding


def test_networks_are_equal_before_every_step(monkeypatch):
    """Otherwise rounding errors grow until the devices seem to differ."""
    monkeypatch.setattr(steps, "learner_on_noise", lambda config, device: drifting(learner_on_noise(config, device)))

    def drifting(learner):
        observe = learner.observe

        def observe_and_drift(*arguments):
            step = observe(*arguments)
            for parameter in learner.theta:
                parameter.mul_(1 + 0.1 * float(torch.rand(())))
            return step

        learner.observe = observe_and_drift
        return learner

    assert compare(config(), Role(CPU), Role(CPU), 3)["difference"] == 0


@pytest.mark.parametrize(("precision", "is_rounded"), [("fp32", False), ("tf32", True)])
def test_products_are_rounded_only_where_that_is_compared(precision, is_rounded, monkeypatch):
    found, take = [], steps.learner_on_noise

    def watched(config, device):
        learner = take(config, device)
        observe = learner.observe

        def observe_and_look(*arguments):
            found.append(torch.backends.cudnn.allow_tf32)
            return observe(*arguments)

        learner.observe = observe_and_look
        return learner

    monkeypatch.setattr(steps, "learner_on_noise", watched)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    compare(config(), Role(CPU), Role(CPU, precision), 2)
    assert found[:4] == [False, is_rounded] * 2
    assert torch.backends.cudnn.allow_tf32


def test_names_of_gpu_activities_are_counted():
    names = ["void gemm_kernel<float>(int)", "Memcpy DtoH (Device -> Pageable)", "Memcpy HtoD (Pageable -> Device)"]
    names = [*names, "Memset (Device)", "Memcpy DtoD (Device -> Device)", "void gemm_kernel<float>(int)"]
    counted = count_on_gpu([*names, *names], steps=2)
    assert counted == {"launches_per_step": 2, "copies_to_host_per_step": 1, "copies_to_device_per_step": 1}
    assert set(count_on_gpu([], steps=1).values()) == {None}  # the profiler saw nothing, as without permission


def test_only_outer_operators_are_counted():
    one = torch.ones(3)
    assert count_operations(lambda: one + one, CPU) == {"operators_per_step": 1}
    assert count_operations(lambda: torch.nn.functional.linear(one, torch.ones(2, 3)), CPU) == {"operators_per_step": 2}


def test_relative_difference():
    first = [torch.tensor([[3.0, 0.0]]), torch.tensor([4.0])]
    second = [torch.tensor([[3.0, 1.0]]), torch.tensor([4.0])]
    assert relative_difference(first, second) == pytest.approx(0.2)
    assert relative_difference([torch.zeros(2)], [torch.ones(1), torch.zeros(1)]) == 1


@pytest.mark.parametrize("text", ["cpu", "cpu,", "cpu,cpu,cpu", "", "cpu,toaster", "cpu,cuda:99"])
def test_invalid_devices_are_refused(text):
    with pytest.raises(UsageError):
        parse_devices(text)


def test_noise_has_the_shape_and_classes_of_the_benchmark():
    stream = noise_stream(config(network="conv5", benchmark="split-cifar100", tasks=2, memory=4))
    batch = stream.batch(1, stream.tasks[1].train)
    assert batch.x.shape[1:] == (3, 32, 32)
    assert set(batch.y.tolist()) <= set(stream.tasks[1].classes) == set(range(5, 10))


def test_speed_is_compared_with_what_is_expected(monkeypatch):
    from mgem_core.doctor import speed

    monkeypatch.setattr(speed, "SECONDS", 0.0)
    (measured,) = check_speed()
    assert all(measured.details[name]["ms"] > 0 for name in speed.BATCHES)
    for times, level in [(1.1, "ok"), (10, "advice")]:
        monkeypatch.setattr(speed, "measure_step", lambda name, size, times=times: times * expected_seconds(name, size))
        (check,) = check_speed()
        assert check.level == level
