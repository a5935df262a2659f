"""The training loop: it takes steps, probes some of them, and ends each task with an evaluation and a checkpoint."""

import hashlib
import math
import os
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from mgem_core import learners
from mgem_core.config import RunConfig
from mgem_core.config.keys import run_key
from mgem_core.errors import UsageError
from mgem_core.events import Event, Finished, Started, TaskLearned
from mgem_core.fingerprints import code_has_changed
from mgem_core.gradients.devices import pick_device, torch_threads
from mgem_core.home import replace_file, set_aside
from mgem_core.learners import shares_network
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.networks import _initialised  # noqa: F401  (loaded now, so that it is the code in the key)
from mgem_core.randomness import rng
from mgem_core.restriction.dual import NoSolutionError
from mgem_core.streams import _views  # noqa: F401  (likewise)
from mgem_core.streams._stream import Stream
from mgem_core.training import checkpoints, probes
from mgem_core.training.evaluation import Evaluation
from mgem_core.training.kept_stream import open_stream
from mgem_core.training.step_means import StepMeans

CODE_IS_UNCHANGED = not code_has_changed()  # since mgem_core was imported, so the keys name the code that this process runs


def run(
    config: RunConfig,
    *,
    checkpoint: str | os.PathLike[str] | Callable[[bytes], None] | None = None,
    resume: str | os.PathLike[str] | bytes | None = None,
    checkpoint_seconds: float = 30.0,
    is_cancelled: Callable[[], bool] = lambda: False,
    open_stream: Callable[[RunConfig, torch.device], Stream] = open_stream,
) -> Iterator[Event]:
    """Train the run that `config` describes and yield its events.

    On the same machine, with the same torch build and number of threads, the same config yields bit-identical numbers,
    interrupted or not.

    Args:
        checkpoint: the file to which the state is saved, or a function that receives it as bytes. The state is saved after
            every task and every `checkpoint_seconds` in between. Default: the file that is resumed, if any.
        resume: a checkpoint (file or bytes) to continue from. If it is damaged or was written by other code, it is set
            aside, and the run starts from the beginning, with the reason in Started.notice.
        is_cancelled: when it returns True, RunCancelledError is raised soon, even during a long measurement.
        open_stream: returns the stream of the run on its device. `KeptStream().open` saves time in runs that follow another
            one with the same benchmark and seed.

    Raises:
        UsageError: the request cannot be met. It is raised by this call, before training starts.
    """
    if not CODE_IS_UNCHANGED:
        raise UsageError("the code of mgem was edited while this process loaded it; start the process again.")
    if missing := config.missing_data(thorough=True):
        raise UsageError(missing)
    device = pick_device(config.device, config.precision)
    file = None if resume is None or isinstance(resume, bytes) else Path(resume)
    save: Callable[[bytes], None] | None = checkpoint if callable(checkpoint) else None
    target = file if checkpoint is None else None if callable(checkpoint) else Path(checkpoint)
    content = resume if isinstance(resume, bytes) else checkpoints.read_file(file, config) if file else None
    if target:
        checkpoints.check_writable(target)
        save = partial(replace_file, target)
    make = partial(_Run, config, device, save, checkpoint_seconds, is_cancelled, open_stream)
    with torch_threads(config.threads):
        training = make()
        if content is not None:
            try:
                training.restore(content)
            except checkpoints.UnusableCheckpointError as error:
                aside = f" The file was renamed to {set_aside(file)}." if file else ""
                training = make()  # a new one, because restoring may have changed some of the state
                training.notice = f"The run started again from the beginning: its checkpoint {error}.{aside}"
    return training.events()


class RunCancelledError(Exception):
    """The caller has cancelled the run."""


def _check_cancelled(is_cancelled: Callable[[], bool]) -> None:
    """Raise RunCancelledError if the run was cancelled. Not a method: a reference cycle would delay freeing memory."""
    if is_cancelled():
        raise RunCancelledError


class _Run:
    def __init__(
        self,
        config: RunConfig,
        device: torch.device,
        save: Callable[[bytes], None] | None = None,
        save_seconds: float = math.inf,
        is_cancelled: Callable[[], bool] = lambda: False,
        open_stream: Callable[[RunConfig, torch.device], Stream] = open_stream,
    ):
        self.config, self.save, self.save_seconds = config, save, save_seconds
        self.key, self.notice = run_key(config, device.type), ""
        self.stream = open_stream(config, device)
        self.learner = learners.create(config, self.stream, device)
        self.check_cancelled = partial(_check_cancelled, is_cancelled)
        self.evaluation = Evaluation(config, self.stream, self.check_cancelled)
        self.task = self.step = 0  # the next step to take
        self.R = np.full((config.tasks, config.tasks), np.nan)
        self.validation_acc = math.nan
        self.seconds = self.step_seconds = 0.0  # total before a resume; in training steps
        self.yielded = 0  # number of events, without Started
        for task in range(config.tasks):
            self.learner.check(task, self._shown(task))

    def events(self) -> Iterator[Event]:
        """Yield all events. While the caller handles one, torch has the caller's number of threads again."""
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
        """Yield the events of all remaining tasks: for each, those of its steps, then its row of R."""
        self.status: Literal["finished", "diverged", "failed"] = "finished"
        self.message = ""
        try:
            while self.task < self.config.tasks:
                yield from self._steps()
                row = np.array([self._accuracy(task) for task in range(self.config.tasks)])
                self.learner.finish_task(self.task, self._shown(self.task))
                # Before saving: after a crash in between, the event is repeated, not missing.
                yield TaskLearned(self.task, row, self._elapsed())
                self.R[self.task] = row
                self.task, self.step = self.task + 1, 0
                self._save()
            if self.config.validation:
                on_tasks = [self._accuracy(task, "validation") for task in range(self.config.tasks)]
                self.validation_acc = float(np.mean(on_tasks))
        except FloatingPointError as error:
            remedy = f"with learning rate {self.config.lr:g}; try a smaller learning rate"
            self.status, self.message = "diverged", f"{error}, {self._position()} {remedy}"
        except NoSolutionError as error:
            remedy = "try a larger ridge, fewer splits or the approx solver"
            self.status, self.message = "failed", f"{error}, {self._position()}; {remedy}"

    def _position(self) -> str:
        return f"after {self.step} steps of task {self.task + 1}"

    def _images(self, task: int, step: int) -> NDArray[np.int64]:
        """Return the indices of the images of one step; each pass over the training set has its own random order."""
        train, size = self.stream.tasks[task].train, self.config.batch_size
        first, start = divmod(step * size, len(train))
        images = train[_shuffled(self.config.seed, task, first, len(train))[start : start + size]]
        if len(images) < size:
            rest = _shuffled(self.config.seed, task, first + 1, len(train))[: size - len(images)]
            images = np.concatenate([images, train[rest]])
        return images

    def _shown(self, task: int) -> NDArray[np.int64]:
        """Return the indices of the distinct images that a task shows, in the order of the first pass."""
        train, steps = self.stream.tasks[task].train, self.config.iterations * self.config.batch_size
        return train[_shuffled(self.config.seed, task, 0, len(train))[:steps]]

    def _steps(self) -> Iterator[Event]:
        config = self.config
        every, means, last = max(1, config.iterations // 20), StepMeans(), monotonic()
        while self.step < config.iterations:
            self.check_cancelled()
            measurement = probes.prepare(config, self.learner, self.evaluation, self.task, self.step)
            start = perf_counter()
            step = self.learner.observe(self.task, self.step, self._images(self.task, self.step))
            means.add(step)
            self.step += 1
            event_is_due = self.step % every == 0 or self.step == config.iterations or monotonic() - last > 1
            save_is_due = monotonic() - self.saved > self.save_seconds
            if event_is_due or save_is_due or measurement:
                means.read_losses()
            seconds = perf_counter() - start
            self.step_seconds += seconds
            means.seconds += seconds
            if event_is_due:
                yield means.event(self.task, self.step)
                means, last = StepMeans(), monotonic()
            if measurement:
                yield from measurement.events(self.task, self.step, step)
            if save_is_due:
                self._save()

    def _accuracy(self, task: int, part: Literal["test", "validation"] = "test") -> float:
        return self.evaluation.accuracy(self.learner.network_of(task), task, part)

    def _elapsed(self) -> float:
        return self.seconds + monotonic() - self.started

    def _finished(self) -> Finished:
        acc, fwd, bwd = acc_fwd_bwd(self.R)
        if not shares_network(self.config.method):  # without shared parameters there is no transfer
            fwd = bwd = math.nan
        steps = self.task * self.config.iterations + self.step
        weights = hashlib.sha256()
        for tensor in self.learner.networks.state_dict().values():
            weights.update(tensor.cpu().numpy().tobytes())
        times = self._elapsed(), self.step_seconds / max(1, steps)
        found = *times, weights.hexdigest()[:16], self.validation_acc, self.yielded
        return Finished(self.status, self.message, self.R, acc, fwd, bwd, *found)

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
                raise ValueError("an accuracy is out of range")
            if not (0 <= self.seconds < math.inf and 0 <= self.step_seconds < math.inf):
                raise ValueError("a time is out of range")
            shown = [self._shown(task) for task in range(self.task)]
            self.learner.restore(state["learner"], shown, self.task * self.config.iterations + self.step)
        except Exception as error:  # any content may be in the file; if it raises, the run must not continue from it
            raise checkpoints.UnusableCheckpointError(f"is damaged ({type(error).__name__}: {error})") from None


@lru_cache(maxsize=8)
def _shuffled(seed: int, task: int, number: int, images: int) -> NDArray[np.int64]:
    """Return the order of the images in pass `number` of a task."""
    return rng(seed, "order", task, number).permutation(images)
