"""run(config) → events: steps, some of which are probed; each task ends with an evaluation and a checkpoint."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from mgem_core import checkpoints, direction, learners
from mgem_core.config import RunConfig
from mgem_core.dual import NoSolutionError
from mgem_core.errors import UsageError
from mgem_core.events import Event, Finished, Probed, Snapped, Started, Stepped, TaskLearned
from mgem_core.fingerprints import code_has_changed
from mgem_core.gradients import Gradient, full_gradient, inner, memory_rows, preserved_statistics
from mgem_core.home import replace_file, set_aside
from mgem_core.keys import run_key
from mgem_core.learners import shares_network, uses
from mgem_core.learners._learner import Step
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.networks import NETWORKS, _initialised  # noqa: F401  (loaded now, so that it is the code in the key)
from mgem_core.randomness import rng
from mgem_core.streams import _views  # noqa: F401  (likewise)
from mgem_core.streams._stream import Batch

CODE_IS_UNCHANGED = not code_has_changed()  # since mgem_core was imported: this process runs the code that its keys name


def run(
    config: RunConfig,
    *,
    checkpoint: str | os.PathLike[str] | Callable[[bytes], None] | None = None,
    resume: str | os.PathLike[str] | bytes | None = None,
    checkpoint_seconds: float = 30.0,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Train as `config` says and yield events.

    On the same machine, with the same torch build and number of threads, the same config yields the same numbers to the
    last bit, interrupted or not.

    State is saved to the file `checkpoint` (or handed to it as bytes, if it is a function) after every task and every
    `checkpoint_seconds` in between. `resume` continues from such a file or bytes; later checkpoints go
    to the same file unless `checkpoint` names another. A checkpoint that is damaged or was written by other code is set
    aside, and the run starts from the beginning, with the reason in Started.notice. A request that cannot be met raises
    UsageError here, before anything runs. When `is_cancelled` becomes true, RunCancelledError is raised soon, also in the
    middle of a long measurement.
    """
    if not CODE_IS_UNCHANGED:
        raise UsageError("the code of mgem was edited while this process loaded it; start the process again.")
    if missing := config.missing_data(thorough=True):
        raise UsageError(missing)
    device = pick_device(config.device)
    file = None if resume is None or isinstance(resume, bytes) else Path(resume)
    save: Callable[[bytes], None] | None = checkpoint if callable(checkpoint) else None
    target = file if checkpoint is None else None if callable(checkpoint) else Path(checkpoint)
    content = resume if isinstance(resume, bytes) else checkpoints.read_file(file, config) if file else None
    if target:
        checkpoints.check_writable(target)
        save = partial(replace_file, target)
    make = partial(_Run, config, device, save, checkpoint_seconds, is_cancelled)
    with torch_threads(config.threads):
        training = make()
        if content is not None:
            try:
                training.restore(content)
            except checkpoints.UnusableCheckpointError as error:
                aside = f" It was set aside as {set_aside(file)}." if file else ""
                training = make()  # anew, because restoring may have changed some of the state
                training.notice = f"It started again from the beginning: its checkpoint {error}.{aside}"
    return training.events()


class RunCancelledError(Exception):
    """The caller does not want the run any more."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use that many threads meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pick_device(wanted: str) -> torch.device:
    """The device of that name; "auto" takes a GPU where there is one."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise UsageError(f"device is {wanted!r}, which torch does not know; use cpu or auto.") from None
    if device.type == "cuda" and not 0 <= (device.index or 0) < torch.cuda.device_count():  # cuda:128 has index −128
        count = torch.cuda.device_count()
        raise UsageError(f"device is {wanted!r}, but this machine has {count} CUDA devices; use cpu or auto.")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("device is 'mps', which this machine does not have; use cpu or auto.")
    return device


class _Run:
    def __init__(
        self,
        config: RunConfig,
        device: torch.device,
        save: Callable[[bytes], None] | None = None,
        save_seconds: float = math.inf,
        is_cancelled: Callable[[], bool] = lambda: False,
    ):
        self.config, self.save, self.save_seconds, self.is_cancelled = config, save, save_seconds, is_cancelled
        self.key, self.notice = run_key(config, device.type), ""
        self.stream = config.open_stream().to(device)
        self.learner = learners.create(config, self.stream, device)
        self.task = self.step = 0  # the next step to take
        self.R = np.full((config.tasks, config.tasks), np.nan)
        self.seconds = self.step_seconds = 0.0  # spent before a resume; spent in steps
        self.yielded = 0  # events, without Started
        for task in range(config.tasks):
            self.learner.check(task, self._shown(task))

    def events(self) -> Iterator[Event]:
        """All events. While the caller handles one, torch has the caller's number of threads again."""
        events = self._events()
        try:
            while True:
                with torch_threads(self.config.threads):
                    event = next(events, None)
                if event is None:
                    return
                yield event
        finally:
            events.close()

    def _events(self) -> Generator[Event]:
        self.started = self.saved = monotonic()
        names = tuple(task.name for task in self.stream.tasks)
        parameters = sum(p.numel() for p in self.learner.networks.parameters())
        start = self.task, self.step, self.key, self.notice
        yield Started(self.config.label, names, self.config.iterations, parameters, *start)
        for event in self._tasks():
            self.yielded += 1
            yield event
        yield self._finished()

    def _tasks(self) -> Iterator[Event]:
        """The events of all tasks that are left: of the steps of each, then its row of R."""
        self.status: Literal["finished", "diverged", "failed"] = "finished"
        self.message = ""
        try:
            while self.task < self.config.tasks:
                yield from self._steps()
                row = np.array([self._accuracy(task) for task in range(self.config.tasks)])
                self.learner.finish_task(self.task, self._shown(self.task))
                yield TaskLearned(self.task, row, self._elapsed())  # before saving: better twice than never
                self.R[self.task] = row
                self.task, self.step = self.task + 1, 0
                self._save()
        except FloatingPointError as error:
            remedy = f"with learning rate {self.config.lr:g}; try a smaller learning rate"
            self.status, self.message = "diverged", f"{error}, {self._position()} {remedy}"
        except NoSolutionError as error:
            remedy = "try a larger ridge, fewer splits or the approx solver"
            self.status, self.message = "failed", f"{error}, {self._position()}; {remedy}"

    def _position(self) -> str:
        return f"after {self.step} steps of task {self.task + 1}"

    def _images(self, task: int, step: int) -> NDArray[np.int64]:
        """The indices of the images of one step; each pass over the training set has its own random order."""
        train, size = self.stream.tasks[task].train, self.config.batch_size
        first, start = divmod(step * size, len(train))
        passes = [
            _shuffled(self.config.seed, task, first + i, len(train)) for i in (0, 1)[: 1 + (start + size > len(train))]
        ]
        return train[np.concatenate(passes)[start : start + size]]

    def _shown(self, task: int) -> NDArray[np.int64]:
        """The indices of the different images that a task shows, in the order of the first pass."""
        train, steps = self.stream.tasks[task].train, self.config.iterations * self.config.batch_size
        return train[_shuffled(self.config.seed, task, 0, len(train))[:steps]]

    def _steps(self) -> Iterator[Event]:
        config = self.config
        every, means, last = max(1, config.iterations // 20), _StepMeans(), monotonic()
        while self.step < config.iterations:
            self._check_cancelled()
            measurement = self._prepare_measurement()
            start = perf_counter()
            step = self.learner.observe(self.task, self.step, self._images(self.task, self.step))
            loss = float(step.loss)
            seconds = perf_counter() - start
            if not math.isfinite(loss):
                raise FloatingPointError("the loss is not finite")
            self.step += 1
            self.step_seconds += seconds
            means.add(loss, step, seconds)
            if self.step % every == 0 or self.step == config.iterations or monotonic() - last > 1:
                yield means.event(self.task, self.step)
                means, last = _StepMeans(), monotonic()
            if measurement:
                yield from measurement.events(self.task, self.step, step)
            if monotonic() - self.saved > self.save_seconds:
                self._save()

    def _prepare_measurement(self) -> _Measurement | None:
        """The gradients with which the next step will be compared, if it is to be probed or snapped; otherwise None."""
        config = self.config
        probe = config.probe_every and self.step % config.probe_every == 0
        snap = uses(config.method, "snap_every") and config.snap_every and self.step % config.snap_every == 0
        if not (probe or snap) or self.task == 0 or not shares_network(config.method):
            return None
        with preserved_statistics(self.learner.network):
            past = [self._true_gradient(s) for s in range(self.task)]
            current = self._true_gradient(self.task)
            memory = self.learner.memory(config.snap_splits or config.splits) if snap else None
            rows = memory_rows(self.learner.network, memory) if memory else None
        sizes = np.reshape(memory.sizes, (self.task, -1)) if memory else None
        return _Measurement(bool(probe), past, current, rows, sizes)

    def _true_gradient(self, task: int) -> Gradient:
        """The gradient on the training set of a task, or on a fixed random part of one that is large."""
        images, samples = self.stream.tasks[task].train, self.config.probe_samples
        if samples < len(images):
            images = images[np.sort(rng(self.config.seed, "probe", task).choice(len(images), samples, replace=False))]
        return full_gradient(self.learner.network, self._chunks(task, images), len(images))

    def _chunks(self, task: int, indices: np.ndarray) -> Iterator[Batch]:
        size = NETWORKS[self.config.network].images_per_pass
        for i in range(0, len(indices), size):
            self._check_cancelled()
            yield self.stream.batch(task, indices[i : i + size])

    def _check_cancelled(self) -> None:
        if self.is_cancelled():
            raise RunCancelledError

    @torch.no_grad()
    def _accuracy(self, task: int) -> float:
        """Percent of the task's test images that are classified correctly."""
        network = self.learner.network_of(task)
        network.eval()
        test, correct = self.stream.tasks[task].test, 0
        for batch in self._chunks(task, test):
            logits = network(batch.x)
            if not logits.isfinite().all():
                raise FloatingPointError("the network's answers are not finite")
            if batch.mask is not None:
                logits = logits.masked_fill(~batch.mask, -torch.inf)
            correct += int((logits.argmax(1) == batch.y).sum())
        network.train()
        return 100 * correct / len(test)

    def _elapsed(self) -> float:
        return self.seconds + monotonic() - self.started

    def _finished(self) -> Finished:
        acc, fwd, bwd = acc_fwd_bwd(self.R)
        if not shares_network(self.config.method):  # without sharing there is no transfer
            fwd = bwd = math.nan
        steps = self.task * self.config.iterations + self.step
        weights = hashlib.sha256()
        for tensor in self.learner.networks.state_dict().values():
            weights.update(tensor.cpu().numpy().tobytes())
        times = self._elapsed(), self.step_seconds / max(1, steps)
        fingerprint = weights.hexdigest()[:16]
        return Finished(self.status, self.message, self.R, acc, fwd, bwd, *times, fingerprint, self.yielded)

    def _save(self) -> None:
        self.saved = monotonic()
        if self.save:
            header = checkpoints.Header(self.key, self.config.model_dump_json(), self.task, self.step, self.yielded)
            times = {"seconds": self._elapsed(), "step_seconds": self.step_seconds}
            state = {**times, "R": torch.from_numpy(self.R), "learner": self.learner.state()}
            self.save(checkpoints.pack(header, state))

    def restore(self, content: bytes) -> None:
        """Continue from a checkpoint; raise UnusableCheckpointError if it is not a complete state of this run."""
        header, state = checkpoints.unpack(content, self.config, self.key)
        try:
            self.task, self.step, self.yielded = header.task, header.step, header.events
            self.seconds, self.step_seconds = float(state["seconds"]), float(state["step_seconds"])
            self.R = state["R"].numpy()
            known, unknown = self.R[: self.task], self.R[self.task :]
            if self.R.shape != (self.config.tasks,) * 2 or self.R.dtype != float or not np.isnan(unknown).all():
                raise ValueError("R")
            if not ((known >= 0) & (known <= 100)).all():
                raise ValueError("an accuracy out of its range")
            if not (0 <= self.seconds < math.inf and 0 <= self.step_seconds < math.inf):
                raise ValueError("a time out of its range")
            shown = [self._shown(task) for task in range(self.task)]
            self.learner.restore(state["learner"], shown, self.task * self.config.iterations + self.step)
        except Exception as error:  # the content may raise anything; in each case the run must not continue from it
            raise checkpoints.UnusableCheckpointError(f"is damaged ({type(error).__name__}: {error})") from None


@lru_cache(maxsize=8)
def _shuffled(seed: int, task: int, number: int, images: int) -> NDArray[np.int64]:
    """The order in which pass `number` of a task goes through its images."""
    return rng(seed, "order", task, number).permutation(images)


class _StepMeans:
    """Means over the steps since the last Stepped event."""

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


class _Measurement:
    """Gradients taken before a step, at the same parameters as the gradient of the step."""

    def __init__(
        self, probe: bool, past: list[Gradient], current: Gradient, rows: Gradient | None, sizes: np.ndarray | None
    ):
        self.probe, self.past, self.current, self.rows, self.sizes = probe, past, current, rows, sizes

    def events(self, task: int, step: int, taken: Step) -> Iterator[Probed | Snapped]:
        g, z = taken.g, taken.z
        if self.probe:
            yield Probed(
                task=task,
                step=step,
                gs_z=np.array([inner(g_s, z) for g_s in self.past]),
                gt_z=inner(self.current, z),
                batch_z=inner(g, z),
                memory_z=np.full(len(self.past), np.nan) if taken.memory_z is None else taken.memory_z,
                norm_z=_norm(z),
                norm_gs=np.array([_norm(g_s) for g_s in self.past]),
                norm_gt=_norm(self.current),
                norm_g=_norm(g),
            )
        if self.rows is not None and self.sizes is not None:
            true = zip(self.current, *self.past, strict=True)
            vectors = [torch.cat([torch.stack(t), rows]) for t, rows in zip(true, self.rows, strict=True)]
            yield Snapped(task, step, direction.grams(g, vectors), self.sizes)


def _norm(vector: Gradient) -> float:
    return math.sqrt(inner(vector, vector))
