"""Passes over whole sets of images: accuracy on a test set, and the gradient on a training set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mgem_core.config import RunConfig
from mgem_core.gradients.rows import BATCH_NORMS, Gradient, full_gradient, logits
from mgem_core.networks import NETWORKS
from mgem_core.randomness import rng
from mgem_core.streams._stream import Batch, Stream

NORMALISED_TOGETHER = 256  # images, at most, that a batch norm normalises together when a true gradient is measured


class Evaluation:
    """Measurements on whole sets of images; `check_cancelled` is called between passes and may raise."""

    def __init__(self, config: RunConfig, stream: Stream, check_cancelled: Callable[[], None] = lambda: None):
        self.config, self.stream, self.check_cancelled = config, stream, check_cancelled

    @torch.no_grad()
    def accuracy(self, network: nn.Module, task: int, part: Literal["test", "validation"] = "test") -> float:
        """Return the percentage of images in that part of the task that are classified correctly."""
        network.eval()
        images = getattr(self.stream.tasks[task], part)
        correct, is_finite = torch.zeros((), device=self.stream.device), torch.ones((), device=self.stream.device)
        for batch in self._passes(task, part, images, NETWORKS[self.config.network].images_per_pass):
            answers = logits(network, batch.x)
            is_finite *= answers.isfinite().all()
            if batch.mask is not None:
                answers = answers.masked_fill(~batch.mask, -torch.inf)
            correct += (answers.argmax(1) == batch.y).sum()
        network.train()
        right, finite = torch.stack([correct, is_finite]).tolist()  # one transfer from a GPU
        if not finite:
            raise FloatingPointError("the outputs of the network are not finite")
        return float(100 * right / len(images))

    def true_gradient(self, network: nn.Module, task: int) -> Gradient:
        """Return the gradient on the training set of a task, or on a fixed random sample of a large one.

        With batch norms it depends on which images are normalised together: the seed divides them at random into the fewest
        passes of at most NORMALISED_TOGETHER images, of equal size. Without, the size of a pass only decides its speed.
        """
        images = self._probed_images(task)
        part, size = "train", NETWORKS[self.config.network].images_per_pass
        if any(isinstance(layer, BATCH_NORMS) for layer in network.modules()):
            images = rng(self.config.seed, "normalised together", task).permutation(images)
            passes = math.ceil(len(images) / NORMALISED_TOGETHER)
            part, size = "train, in passes", math.ceil(len(images) / passes)
        return full_gradient(network, self._passes(task, part, images, size), len(images))

    def _probed_images(self, task: int) -> NDArray[np.int64]:
        images, samples = self.stream.tasks[task].train, self.config.probe_samples
        if samples < len(images):
            images = images[np.sort(rng(self.config.seed, "probe", task).choice(len(images), samples, replace=False))]
        return images

    def _passes(self, task: int, part: str, images: NDArray[np.int64], size: int) -> Iterator[Batch]:
        for batch in self.stream.passes(task, part, images, size):
            self.check_cancelled()
            yield batch
