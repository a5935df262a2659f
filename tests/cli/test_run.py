"""`mgem run` as a person or a script uses it."""

import json

import numpy as np
import pytest

from mgem_core import RunConfig, run
from mgem_core.cli import main
from mgem_core.metrics import forgetting

QUICK = ["run", "--tasks", "2", "--iterations", "10", "--memory", "20"]

BAD = [
    ("--benchmark", "cifar", "benchmark is 'cifar'; it must be one of "),
    ("--method", "magic", "method is 'magic'; it must be one of gem, "),
    ("--network", "transformer", "network is 'transformer'; it must be one of "),
    ("--modules", "0", "modules is 0; it must be from 1 to 6"),
    ("--modules", "99", "modules is 99; it must be from 1 to 6"),
    ("--modules", "fc1=0,fc2=1", "'fc3.weight' is in no module"),
    ("--modules", "fc1=a,fc2=b,fc3=c", "it must map every layer or tensor to a module number"),
    ("--splits", "0", "splits is '0'; it must be greater than or equal to 1"),
    ("--splits", "21", "splits is 21; memory holds 20 samples per task"),
    ("--split-by", "colour", "split_by is 'colour'; it must be one of random, class, order"),
    ("--strength", "-1", "strength is '-1'; it must be a number from 0 to a million"),
    ("--strength", "a", "strength is 'a'; it must be a number from 0 to a million"),
    ("--strength", "0.1,0.2,0.3", "2 tasks have 1 past tasks"),
    ("--solver", "fast", "solver is 'fast'; it must be one of exact, approx"),
    ("--trigger", "never", "trigger is 'never'; it must be one of violation, always"),
    ("--tasks", "0", "tasks is '0'; it must be greater than or equal to 1"),
    ("--iterations", "1.5", "iterations is '1.5'; it must be a valid integer"),
    ("--batch-size", "-3", "batch_size is '-3'; it must be greater than or equal to 1"),
    ("--memory", "0", "memory is '0'; it must be greater than or equal to 1"),
    ("--memory", "5000", "memory is 5000; a task of 10 iterations × 10 samples shows 100 different ones"),
    ("--lr", "0", "lr is '0'; it must be greater than 0"),
    ("--lr", "nan", "lr is 'nan'; it must be a finite number"),
    ("--seed", "-1", "seed is '-1'; it must be greater than or equal to 0"),
    ("--device", "cuda:9", "device is 'cuda:9', but this machine has"),
    ("--device", "gpu", "device is 'gpu'; it must be auto, cpu, cuda, cuda:N or mps"),
    ("--output", "/no/such/folder/out.json", "output is '/no/such/folder/out.json', but it cannot be written"),
    ("--checkpoint", "/no/such/folder/run.pt", "checkpoint is '/no/such/folder/run.pt', but it cannot be written: No such"),
    ("--checkpoint", "/dev/null", "checkpoint is '/dev/null', which is not a regular file"),
    ("--checkpoint", "x" * 300, "it cannot be written: File name too long"),
    ("--output", "/tmp", "output is '/tmp', but it cannot be written: Is a directory"),
    ("--resume", "/tmp", "resume is '/tmp', but there is no such file"),
    ("--resume", __file__, "which is not a checkpoint, or was written by another version of mgem"),
    ("--lr", "-1e3", "lr is '-1e3'; it must be greater than 0"),
    ("--iterations", "1000000000", "iterations is '1000000000'; it must be less than or equal to 1000000"),
    ("--lr", "1e39", "lr is '1e39'; it must be less than or equal to 1000"),
    ("--strength", "-1,0.5", "strength is '-1,0.5'; it must be"),
    ("--strength", "0.5,", "strength is '0.5,'; it must be"),
    ("--strength", "", "strength is ''; it must be"),
    ("--threads", "100000", "threads is '100000'; it must be less than or equal to 256"),
    ("--device", "cuda:99999999999", "device is 'cuda:99999999999'; it must be auto"),
    ("--iterations", "²", "iterations is '²'; it must be a valid integer"),
    ("--batch-size", "5000", "batch_size is 5000; a task has 4000 images"),
    ("--modules", "fc1=0,fc1=1,fc2=0,fc3=0", "it names a layer or tensor twice"),
    ("--modules", "fc1=-1,fc2=0,fc3=0", "it must map every layer or tensor to a module number"),
    ("--seed", "4294967296", "seed is '4294967296'; it must be less than 4294967296"),
    ("--colour", "a\nb", "unrecognized arguments: --colour a b"),
    ("--resume", "/no/such/run.pt", "resume is '/no/such/run.pt', but"),
    ("--colour", "red", "unrecognized arguments: --colour red"),
    (
        "--domains",
        "usps+svhn",
        "domains is 'usps+svhn', but mnist5k-permutations has none; leave it out, or take one of the",
    ),
]


@pytest.mark.parametrize(("flag", "value", "sentence"), BAD, ids=[f"{flag} {value}" for flag, value, _ in BAD])
def test_invalid_input_exits_2_with_one_sentence(flag, value, sentence, capsys):
    try:
        code = main([*QUICK, flag, value])
    except SystemExit as stop:  # raised by argparse
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("mgem: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_json_is_one_document(capsys, tmp_path):
    path = tmp_path / "out.json"
    assert main([*QUICK, "--modules", "4", "--splits", "2", "--json", "-o", str(path)]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert json.loads(path.read_text()) == document
    assert document["label"] == "md-GEM(4,2)"
    assert document["acc"] == pytest.approx(document["fwd"] + document["bwd"])
    assert np.shape(document["matrix"]) == (2, 2)
    assert document["forgetting"] == forgetting(document["matrix"])
    assert document["task_names"] == ["permutation 1", "permutation 2"]
    assert document["seconds"] > 0
    assert document["seconds_per_step"] > 0
    assert "task 2/2 · step 10/10 · ACC" in err

    config = RunConfig(**document["config"])
    assert list(run(config))[-1].fingerprint == document["fingerprint"]


def test_undefined_numbers_are_null(capsys):
    assert main([*QUICK, "--method", "independent", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fwd"] is document["bwd"] is document["forgetting"] is None
    assert document["acc"] > 0


def test_summary_is_readable(capsys):
    assert main([*QUICK, "--method", "ewc"]) == 0
    out = capsys.readouterr().out
    assert "EWC on MNIST Permutations (5,000 digits), seed 0" in out
    assert all(f"{title} " in out.splitlines()[-1] for title in ("ACC", "FWD", "BWD", "Forgetting"))
    assert len([line for line in out.splitlines() if "│" in line]) == 3


def test_summary_rows_end_with_task_names(capsys):
    assert main([*QUICK, "--benchmark", "digits-domains", "--domains", "uci+mnist", "--method", "single"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [row.split("   ")[-1] for row in rows[1:]] == ["UCI digits (1,437 images)", "MNIST"]


def test_diverged_run_exits_1_and_prints_its_matrix(capsys):
    assert main([*QUICK, "--method", "single", "--lr", "1e9", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == "diverged"
    assert "with learning rate 1e+09" in err


def test_resume_rejects_other_settings(capsys, tmp_path):
    path = str(tmp_path / "run.pt")
    assert main([*QUICK, "--checkpoint", path, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main([*QUICK, "--resume", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fingerprint"] == first["fingerprint"]
    assert main([*QUICK, "--resume", path, "--lr", "0.2"]) == 2
    assert "give the same settings" in capsys.readouterr().err


def test_every_config_field_has_an_option(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    text = capsys.readouterr().out
    assert all(f"--{name.replace('_', '-')} " in text for name in RunConfig.model_fields)


def test_resuming_a_damaged_checkpoint_restarts_with_notice(capsys, tmp_path):
    path = tmp_path / "run.pt"
    assert main([*QUICK, "--checkpoint", str(path), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert main([*QUICK, "--resume", str(path), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["fingerprint"] == whole["fingerprint"]
    assert err.startswith(
        "mgem: The run started again from the beginning: its checkpoint is damaged: its checksum is wrong."
    )
    assert f"The file was renamed to {path}.set-aside." in err


def test_discarded_snapshots_are_reported(capsys):
    assert main([*QUICK, "--snap-every", "5"]) == 0
    assert "mgem: mgem run does not store snapshots; use mgem sweep to store them." in capsys.readouterr().err
    assert main(QUICK) == 0
    assert "snapshots" not in capsys.readouterr().err
