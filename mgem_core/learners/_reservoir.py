"""A reservoir: a uniform random sample of everything that the stream has shown so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mgem_core.learners._learner import Learner

if TYPE_CHECKING:
    from mgem_core.streams._stream import Batch, Stream

Sample = tuple[int, int]  # task, image


class Reservoir:
    """Samples in slots. Each may have a payload, such as the logits of the network when the sample was added."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.samples: list[Sample] = []
        self.payloads: list[Any] = []  # one per slot: a tensor, a number, or None
        self.shown = 0  # number of samples added so far

    def add(self, new: Sample, generator: np.random.Generator, payload: Any = None) -> int | None:
        """Add the n-th sample with probability capacity / n; return its slot, or None if it was not added."""
        self.shown += 1
        if len(self.samples) < self.capacity:
            self.samples.append(new)
            self.payloads.append(payload)
            return len(self.samples) - 1
        slot = int(generator.integers(self.shown))
        if slot >= len(self.samples):
            return None
        self.samples[slot], self.payloads[slot] = new, payload
        return slot

    def draw(self, count: int, generator: np.random.Generator) -> list[Sample]:
        """Draw up to `count` different samples."""
        return [self.samples[slot] for slot in self.draw_slots(count, generator)]

    def draw_slots(self, count: int, generator: np.random.Generator) -> list[int]:
        """Draw up to `count` different slots, whose samples and payloads are in `samples` and `payloads`."""
        count = min(count, len(self.samples))
        return [int(slot) for slot in generator.choice(len(self.samples), count, replace=False)] if count else []

    def state(self) -> dict[str, Any]:
        state = {"reservoir": self.samples, "shown": self.shown}
        return state if all(one is None for one in self.payloads) else {**state, "payloads": self.payloads}

    def restore(self, state: dict[str, Any], tasks: int, images: int, shown: int) -> None:
        """Restore the state after `shown` samples of `tasks` tasks, whose image numbers are below `images`."""
        self.samples, self.shown = [(int(task), int(image)) for task, image in state["reservoir"]], int(state["shown"])
        self.payloads = list(state.get("payloads", [None] * len(self.samples)))
        fits = self.shown == shown and len(self.samples) == min(shown, self.capacity) == len(self.payloads)
        if not fits or not all(0 <= task < tasks and 0 <= image < images for task, image in self.samples):
            raise ValueError("the reservoir is that of another run")


class ReplayLearner(Learner):
    """A learner with a reservoir of `memory` samples per task of the stream."""

    def prepare(self) -> None:
        self.reservoir = Reservoir(self.config.memory * self.config.tasks)

    def state(self) -> dict[str, Any]:
        return {**super().state(), **self.reservoir.state()}

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        super().restore(state, shown, steps)
        self.reservoir.restore(state, len(shown) + 1, len(self.stream.labels), steps * self.config.batch_size)


def batch_of(stream: Stream, samples: list[Sample]) -> Batch:
    """Return samples of several tasks as one batch, each with the view of its task."""
    import torch

    from mgem_core.streams._stream import Batch

    tasks, images = np.array(samples).T
    order = np.argsort(tasks, kind="stable")
    parts = [stream.batch(int(task), images[order][tasks[order] == task]) for task in np.unique(tasks)]
    drawn_order = torch.from_numpy(np.argsort(order)).to(parts[0].y.device)
    x, y = torch.cat([part.x for part in parts])[drawn_order], torch.cat([part.y for part in parts])[drawn_order]
    masks = [part.mask.expand(len(part.y), -1) for part in parts if part.mask is not None]
    return Batch(x, y, torch.cat(masks)[drawn_order] if masks else None)
