"""A run only continues from its own, complete state; damaged, crafted or foreign checkpoints are set aside."""

import hashlib
import io
import json
import random

import numpy as np
import pytest
import torch

from mgem_core import RunConfig, run
from mgem_core.config import keys
from mgem_core.config.keys import run_key
from mgem_core.events import Finished, Stepped
from mgem_core.training.checkpoints import MAGIC, Header, UnusableCheckpointError, pack, read_header, unpack

TINY = {"tasks": 2, "iterations": 4, "batch_size": 5, "memory": 10, "probe_every": 0, "device": "cpu"}
METHODS = {"gem": {}, "ewc": {"method": "ewc", "ewc_samples": 5}, "mer": {"method": "mer", "mer_replays": 1}}
START = len(MAGIC) + hashlib.sha256().digest_size


def checkpoint_of(config):
    """Return the last checkpoint before the second step of the second task, and the result of the whole run."""
    saved = []
    events = list(run(config, checkpoint=saved.append, checkpoint_seconds=0))
    chosen = [content for content in saved if (read_header(content).task, read_header(content).step) == (1, 2)]
    return chosen[0], events[-1]


@pytest.fixture(scope="module", params=METHODS)
def saved(request):
    config = RunConfig(**TINY, **METHODS[request.param])
    return config, *checkpoint_of(config)


def resumed(config, content):
    events = list(run(config, resume=content))
    return events[0], events[-1]


def same(one: Finished, other: Finished) -> bool:
    return one.fingerprint == other.fingerprint and np.array_equal(one.R, other.R) and one.status == other.status


def test_complete_checkpoint_is_resumed(saved):
    config, content, whole = saved
    started, finished = resumed(config, content)
    assert (started.task, started.step, started.notice) == (1, 2, "")
    assert same(finished, whole)


def damages(content, count, seed):
    """Yield damaged copies: flipped bits, zeroed pages, truncations, inserted bytes."""
    draw = random.Random(seed)
    for number in range(count):
        damaged = bytearray(content)
        place = draw.randrange(len(content))
        if number % 4 == 0:
            damaged[place] ^= 1 << draw.randrange(8)
        elif number % 4 == 1:
            page = place // 4096 * 4096
            damaged[page : page + 4096] = bytes(len(damaged[page : page + 4096]))
        elif number % 4 == 2:
            del damaged[place:]
        else:
            damaged[place:place] = draw.randbytes(3)
        yield bytes(damaged)


def check_damaged(config, whole, contents):
    for content in contents:
        started, finished = resumed(config, content)
        assert (started.task, started.step) == (0, 0)
        assert started.notice.startswith("The run started again from the beginning: its checkpoint ")
        assert same(finished, whole)


def test_damaged_checkpoint_is_not_resumed(saved):
    config, content, whole = saved
    check_damaged(config, whole, damages(content, 8, 0))


@pytest.mark.slow
def test_no_damaged_checkpoint_gives_a_wrong_result(saved):
    """About 70 for each of three methods: all crafted ones, and random damage."""
    config, content, whole = saved
    contents = [*crafted(content).values(), *damages(content, 68 - len(CRAFTED), 1)]
    check_damaged(config, whole, contents)
    assert len(contents) == 68


def with_checksum(header: bytes, state: bytes) -> bytes:
    checked = header + b"\n" + state
    return MAGIC + hashlib.sha256(checked).digest() + checked


def crafted(content) -> dict[str, bytes]:
    """Return checkpoints with a correct checksum but wrong fields."""
    header, _, state = content[START:].partition(b"\n")
    fields = json.loads(header)
    values = torch.load(io.BytesIO(state), weights_only=True)

    def with_header(**changes):
        return with_checksum(json.dumps({**fields, **changes}).encode(), state)

    def with_state(**changes):
        return pack(Header(**fields), {name: value for name, value in {**values, **changes}.items() if value is not None})

    def with_learner(**changes):
        learner = {name: value for name, value in {**values["learner"], **changes}.items() if value is not None}
        return with_state(learner=learner)

    networks = values["learner"]["networks"]
    narrow = {name: value[:1] for name, value in networks.items()}
    return {
        "task 99": with_header(task=99),
        "task -1": with_header(task=-1),
        "task as text": with_header(task="1"),
        "no task": with_checksum(json.dumps({k: v for k, v in fields.items() if k != "task"}).encode(), state),
        "step 99": with_header(step=99),
        "step 1.5": with_header(step=1.5),
        "too far": with_header(task=2, step=1),
        "events -1": with_header(events=-1),
        "another key": with_header(key="0" * 24),
        "another field": with_header(colour="red"),
        "no header": with_checksum(b"", state),
        "a header that is a list": with_checksum(b"[]", state),
        "a header that is no JSON": with_checksum(b"{", state),
        "no state": with_checksum(header, b""),
        "a state that is a tensor": with_checksum(header, saved_bytes(torch.zeros(3))),
        "a state that runs code": with_checksum(header, b"cos\nsystem\n(S'true'\ntR."),
        "an empty state": with_checksum(header, saved_bytes({})),
        "no R": with_state(R=None),
        "R of another size": with_state(R=torch.zeros(3, 3, dtype=torch.float64)),
        "R with a missing row": with_state(R=torch.full((2, 2), torch.nan, dtype=torch.float64)),
        "R with a row too many": with_state(R=torch.full((2, 2), 50.0, dtype=torch.float64)),
        "R above 100": with_state(R=values["R"] + 200),
        "R as text": with_state(R="R"),
        "seconds as text": with_state(seconds="long"),
        "seconds below zero": with_state(seconds=-1.0),
        "no learner": with_state(learner=None),
        "no networks": with_learner(networks=None),
        "networks of another size": with_learner(networks=narrow),
        "networks with other names": with_learner(networks={f"x.{name}": value for name, value in networks.items()}),
    }


CRAFTED = [
    *("task 99", "task -1", "task as text", "no task", "step 99", "step 1.5", "too far", "events -1", "another key"),
    *("another field", "no header", "a header that is a list", "a header that is no JSON", "no state"),
    *("a state that is a tensor", "a state that runs code", "an empty state", "no R", "R of another size"),
    *("R with a missing row", "R with a row too many", "R above 100", "R as text", "seconds as text"),
    *("seconds below zero", "no learner", "no networks", "networks of another size", "networks with other names"),
]


def saved_bytes(value) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_checkpoint_is_not_resumed(saved, name):
    config, content, whole = saved
    check_damaged(config, whole, [crafted(content)[name]])


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("ewc", {"F": []}),
        ("ewc", {"B": [torch.zeros(1)] * 6}),
        ("mer", {"reservoir": []}),
        ("mer", {"reservoir": [(9, 0)] * 20}),
        ("mer", {"reservoir": "none"}),
        ("mer", {"shown": 3}),
    ],
)
def test_learner_state_must_fit(method, changes):
    config = RunConfig(**TINY, **METHODS[method])
    content, whole = checkpoint_of(config)
    header, state = unpack(content, config, run_key(config, "cpu"))
    state["learner"] |= changes
    check_damaged(config, whole, [pack(header, state)])


def test_checkpoint_of_other_code_is_set_aside_with_notice(tmp_path, monkeypatch):
    config, path = RunConfig(**TINY), tmp_path / "run.pt"
    dying = run(config, checkpoint=path, checkpoint_seconds=0)
    next(event for event in dying if isinstance(event, Stepped) and event.task == 1)
    dying.close()
    old = path.read_bytes()
    monkeypatch.setattr(keys, "code_version", lambda *run: "newer")
    started, finished = resumed(config, path)
    aside = tmp_path / "run.pt.set-aside"
    reason = "was written by other code, other library versions or another kind of device"
    notice = f"The run started again from the beginning: its checkpoint {reason}. The file was renamed to {aside}."
    assert (started.task, started.step, started.notice) == (0, 0, notice)
    assert started.key == run_key(config, "cpu")
    assert aside.read_bytes() == old
    assert same(finished, list(run(config))[-1])


def test_damaged_file_is_set_aside_and_saving_continues(tmp_path):
    config, path = RunConfig(**TINY), tmp_path / "run.pt"
    whole = list(run(config, checkpoint=path))[-1]
    path.write_bytes(path.read_bytes()[:-1])
    damaged = path.read_bytes()
    started, finished = resumed(config, path)
    assert "is damaged: its checksum is wrong" in started.notice
    assert same(finished, whole)
    assert (tmp_path / "run.pt.set-aside").read_bytes() == damaged
    assert read_header(path.read_bytes()).task == 2


def test_header_counts_preceding_events():
    saved, yielded = [], 0
    for event in run(RunConfig(**{**TINY, "probe_every": 2}), checkpoint=saved.append, checkpoint_seconds=0):
        if saved:
            assert read_header(saved.pop()).events == yielded
        yielded += type(event).__name__ not in ("Started", "Finished")
    assert event.events == yielded


def test_checkpoint_of_other_settings_is_not_resumed():
    config = RunConfig(**TINY)
    content, _ = checkpoint_of(config)
    other = RunConfig(**TINY, seed=1)
    with pytest.raises(UnusableCheckpointError, match="was written by a run with other settings"):
        unpack(content, other, run_key(other, "cpu"))
