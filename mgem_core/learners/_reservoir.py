"""A reservoir: a uniform random sample of everything that the stream has shown so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mgem_core.streams._stream import Batch, Stream

Sample = tuple[int, int]  # task, image


class Reservoir:
    def __init__(self, capacity: int):
        self.capacity = capacity
        self.samples: list[Sample] = []
        self.shown = 0  # number of samples added so far

    def add(self, new: Sample, generator: np.random.Generator) -> None:
        """The n-th sample shown enters with probability capacity / n."""
        self.shown += 1
        if len(self.samples) < self.capacity:
            self.samples.append(new)
        elif (place := int(generator.integers(self.shown))) < len(self.samples):
            self.samples[place] = new

    def draw(self, count: int, generator: np.random.Generator) -> list[Sample]:
        """Up to `count` different samples."""
        count = min(count, len(self.samples))
        return [self.samples[i] for i in generator.choice(len(self.samples), count, replace=False)] if count else []

    def state(self) -> dict[str, Any]:
        return {"reservoir": self.samples, "shown": self.shown}

    def restore(self, state: dict[str, Any], tasks: int, images: int, shown: int) -> None:
        """Restore the state after `shown` samples of so many tasks, whose image numbers are below `images`."""
        self.samples, self.shown = [(int(task), int(image)) for task, image in state["reservoir"]], int(state["shown"])
        fits = self.shown == shown and len(self.samples) == min(shown, self.capacity)
        if not fits or not all(0 <= task < tasks and 0 <= image < images for task, image in self.samples):
            raise ValueError("a reservoir of another run")


def batch_of(stream: Stream, samples: list[Sample]) -> Batch:
    """Samples of several tasks as one batch, each with the view of its task."""
    import torch

    from mgem_core.streams._stream import Batch

    tasks, images = np.array(samples).T
    order = np.argsort(tasks, kind="stable")
    parts = [stream.batch(int(task), images[order][tasks[order] == task]) for task in np.unique(tasks)]
    drawn_order = torch.from_numpy(np.argsort(order)).to(parts[0].y.device)
    x, y = torch.cat([part.x for part in parts])[drawn_order], torch.cat([part.y for part in parts])[drawn_order]
    masks = [part.mask.expand(len(part.y), -1) for part in parts if part.mask is not None]
    return Batch(x, y, torch.cat(masks)[drawn_order] if masks else None)
