"""run(config) → events: for each batch, observe; now and then, probe; at each task's end, evaluate and save."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from mgem_core import checkpoints, direction, learners
from mgem_core.config import RunConfig, UsageError
from mgem_core.events import Event, Finished, Probed, Snapped, Started, Stepped, TaskLearned
from mgem_core.gradients import Gradient, full_gradient, inner, kept_statistics, memory_rows
from mgem_core.home import replace_file
from mgem_core.learners._learner import Step
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.randomness import rng
from mgem_core.streams._stream import Batch

CHUNK = 4096  # images per pass where a whole set is needed


def run(
    config: RunConfig,
    *,
    checkpoint: str | os.PathLike[str] | Callable[[bytes], None] | None = None,
    resume: str | os.PathLike[str] | bytes | None = None,
    checkpoint_seconds: float = 30.0,
) -> Iterator[Event]:
    """Train as `config` says and yield what happens; the same config yields the same numbers, to the last bit.

    State is saved to the file `checkpoint` (or handed to it as bytes, if it is a function) after every task and every
    `checkpoint_seconds` in between. `resume` continues from such a file or bytes; a file goes on being renewed unless
    `checkpoint` says otherwise. A request that cannot be met raises UsageError here, before anything runs.
    """
    if missing := config.facts.missing():
        raise UsageError(missing)
    device = pick_device(config.device)
    source = resume if resume is None or isinstance(resume, bytes) else Path(resume)
    state = None if source is None else checkpoints.load(source, config)
    save: Callable[[bytes], None] | None = checkpoint if callable(checkpoint) else None
    target = source if checkpoint is None else None if callable(checkpoint) else Path(checkpoint)
    if isinstance(target, Path):
        checkpoints.check_writable(target)
        save = partial(replace_file, target)
    return _Run(config, device, save, checkpoint_seconds).events(state)


def pick_device(wanted: str) -> torch.device:
    """The device of that name; "auto" takes a GPU where there is one."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(wanted)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UsageError(f"device is {wanted!r}, but this machine has {count} CUDA devices; use cpu or auto.")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("device is 'mps', which this machine does not have; use cpu or auto.")
    return device


class _Run:
    def __init__(self, config: RunConfig, device: torch.device, save: Callable[[bytes], None] | None, save_seconds: float):
        torch.set_num_threads(config.threads)  # one by default: on small networks more threads are slower
        self.config, self.save, self.save_seconds = config, save, save_seconds
        self.stream = config.facts.open(config.tasks, config.seed).to(device)
        self.learner = learners.create(config, self.stream, device)
        self.task = self.step = 0  # the next step to take
        self.R = np.full((config.tasks, config.tasks), np.nan)
        self.seconds = self.step_seconds = 0.0  # spent before a resume; spent in steps
        for task in range(config.tasks):
            self.learner.check(task, self._shown(task))

    def events(self, state: dict[str, Any] | None) -> Iterator[Event]:
        if state:
            self._restore(state)
        config = self.config
        self.started = self.saved = monotonic()
        names = tuple(task.name for task in self.stream.tasks)
        parameters = sum(p.numel() for p in self.learner.networks.parameters())
        yield Started(config.label, names, config.iterations, parameters, self.task, self.step)
        try:
            while self.task < config.tasks:
                yield from self._steps()
                row = np.array([self._accuracy(task) for task in range(config.tasks)])
                self.learner.learned(self.task, self._shown(self.task))
                yield TaskLearned(self.task, row, self._elapsed())  # before it is saved: rather told twice than never
                self.R[self.task] = row
                self.task, self.step = self.task + 1, 0
                self._save()
        except FloatingPointError as error:
            where = f"after {self.step} steps of task {self.task + 1} with learning rate {config.lr:g}"
            yield self._finished("diverged", f"{error}, {where}; try a smaller learning rate")
        else:
            yield self._finished("finished", "")

    def _images(self, task: int, step: int) -> NDArray[np.int64]:
        """The images of one step: passes over the task's training set follow each other, each shuffled anew."""
        train, size = self.stream.tasks[task].train, self.config.batch_size
        first, start = divmod(step * size, len(train))
        passes = [
            _shuffled(self.config.seed, task, first + i, len(train)) for i in (0, 1)[: 1 + (start + size > len(train))]
        ]
        return train[np.concatenate(passes)[start : start + size]]

    def _shown(self, task: int) -> NDArray[np.int64]:
        """The different images that a task shows, in their order."""
        train, steps = self.stream.tasks[task].train, self.config.iterations * self.config.batch_size
        return train[_shuffled(self.config.seed, task, 0, len(train))[:steps]]

    def _steps(self) -> Iterator[Event]:
        config = self.config
        every, recent, last = max(1, config.iterations // 20), _Recent(), monotonic()
        while self.step < config.iterations:
            looking = self._look()
            start = perf_counter()
            step = self.learner.observe(self.task, self.step, self._images(self.task, self.step))
            loss = float(step.loss)
            taken = perf_counter() - start
            if not math.isfinite(loss):
                raise FloatingPointError("the loss is not finite")
            self.step += 1
            self.step_seconds += taken
            recent.add(loss, step, taken)
            if self.step % every == 0 or self.step == config.iterations or monotonic() - last > 1:
                yield recent.event(self.task, self.step)
                recent, last = _Recent(), monotonic()
            if looking:
                yield from looking.events(self.task, self.step, step)
            if monotonic() - self.saved > self.save_seconds:
                self._save()

    def _look(self) -> _Look | None:
        """The gradients that the step to come will be held against, where a probe or a snapshot is due."""
        config = self.config
        probe = config.probe_every and self.step % config.probe_every == 0
        snap = config.snap_every and self.step % config.snap_every == 0
        if not (probe or snap) or self.task == 0 or len(self.learner.networks) > 1:
            return None
        with kept_statistics(self.learner.network):
            true = [self._true_gradient(s) for s in range(self.task)]
            memory = self.learner.memory(config.snap_splits or config.splits) if snap else None
            rows = memory_rows(self.learner.network, memory) if memory else None
        sizes = np.reshape(memory.sizes, (self.task, -1)) if memory else None
        return _Look(bool(probe), true, rows, sizes)

    def _true_gradient(self, task: int) -> Gradient:
        train = self.stream.tasks[task].train
        return full_gradient(self.learner.network, self._chunks(task, train), len(train))

    def _chunks(self, task: int, indices: np.ndarray) -> Iterator[Batch]:
        return (self.stream.batch(task, indices[i : i + CHUNK]) for i in range(0, len(indices), CHUNK))

    @torch.no_grad()
    def _accuracy(self, task: int) -> float:
        """Percent of the task's test images told right."""
        network = self.learner.network_of(task)
        network.eval()
        test, right = self.stream.tasks[task].test, 0
        for batch in self._chunks(task, test):
            logits = network(batch.x)
            if not logits.isfinite().all():
                raise FloatingPointError("the network's answers are not finite")
            if batch.mask is not None:
                logits = logits.masked_fill(~batch.mask, -torch.inf)
            right += int((logits.argmax(1) == batch.y).sum())
        network.train()
        return 100 * right / len(test)

    def _elapsed(self) -> float:
        return self.seconds + monotonic() - self.started

    def _finished(self, status: Literal["finished", "diverged"], message: str) -> Finished:
        acc, fwd, bwd = acc_fwd_bwd(self.R)
        if len(self.learner.networks) > 1:  # nothing is shared, so nothing is transferred
            fwd = bwd = math.nan
        steps = self.task * self.config.iterations + self.step
        weights = hashlib.sha256()
        for tensor in self.learner.networks.state_dict().values():
            weights.update(tensor.cpu().numpy().tobytes())
        per_step = self.step_seconds / max(1, steps)
        return Finished(status, message, self.R, acc, fwd, bwd, self._elapsed(), per_step, weights.hexdigest()[:16])

    def _save(self) -> None:
        self.saved = monotonic()
        if self.save:
            at = {"task": self.task, "step": self.step, "seconds": self._elapsed(), "step_seconds": self.step_seconds}
            state = {**at, "R": torch.from_numpy(self.R), "learner": self.learner.state()}
            self.save(checkpoints.pack(self.config, state))

    def _restore(self, state: dict[str, Any]) -> None:
        self.task, self.step = state["task"], state["step"]
        self.seconds, self.step_seconds = state["seconds"], state["step_seconds"]
        self.R = state["R"].cpu().numpy()
        self.learner.restore(state["learner"])


@lru_cache(maxsize=8)
def _shuffled(seed: int, task: int, number: int, images: int) -> NDArray[np.int64]:
    """The order in which pass `number` of a task goes through its images."""
    return rng(seed, "order", task, number).permutation(images)


class _Recent:
    """Sums over the steps since the last Stepped event."""

    def __init__(self) -> None:
        self.steps, self.loss, self.violated, self.seconds, self.retries = 0, 0.0, 0.0, 0.0, 0

    def add(self, loss: float, step: Step, seconds: float) -> None:
        self.steps += 1
        self.loss += loss
        self.violated += step.violated
        self.seconds += seconds
        self.retries += step.retries

    def event(self, task: int, step: int) -> Stepped:
        n = self.steps
        return Stepped(task, step, self.loss / n, self.violated / n, self.seconds / n, self.retries)


class _Look:
    """Gradients taken before a step, at the same parameters as the step's own."""

    def __init__(self, probe: bool, true: list[Gradient], rows: Gradient | None, sizes: np.ndarray | None):
        self.probe, self.true, self.rows, self.sizes = probe, true, rows, sizes

    def events(self, task: int, step: int, taken: Step) -> Iterator[Probed | Snapped]:
        g, z, true = taken.g, taken.z, self.true
        if self.probe:
            gs_z, norm_gs = np.array([inner(g_s, z) for g_s in true]), np.array([_norm(g_s) for g_s in true])
            memory_z = np.full(len(true), np.nan) if taken.memory_z is None else taken.memory_z
            yield Probed(task, step, gs_z, memory_z, inner(g, z), _norm(z), norm_gs, _norm(g))
        if self.rows is not None and self.sizes is not None:
            vectors = [torch.cat([torch.stack(t), rows]) for *t, rows in zip(*true, self.rows, strict=True)]
            yield Snapped(task, step, direction.grams(g, vectors), self.sizes)


def _norm(vector: Gradient) -> float:
    return math.sqrt(inner(vector, vector))
