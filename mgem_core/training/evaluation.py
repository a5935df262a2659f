"""Passes over whole sets of images: accuracy on a test set, and the gradient on a training set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
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

    def true_gradient(self, network: nn.Module, task: int, current: int, step: int) -> Gradient:
        """Return the gradient on the training set of a task, or on `probe_samples` of its images.

        They are drawn again at each step of the current task, so that the errors of different steps are independent. Runs
        with the same seed draw the same images.

        With batch norms it depends on which images are normalised together: they are divided at random into the fewest
        passes of at most NORMALISED_TOGETHER images, of equal size. Without, the size of a pass only decides its speed.
        """
        images, samples = self.stream.tasks[task].train, self.config.probe_samples
        part, size, used = "train", NETWORKS[self.config.network].images_per_pass, min(samples, len(images))
        if has_norms := any(isinstance(layer, BATCH_NORMS) for layer in network.modules()):
            size = math.ceil(used / math.ceil(used / NORMALISED_TOGETHER))
        if samples >= len(images):
            if has_norms:
                part, images = "train, in passes", rng(self.config.seed, "normalised together", task).permutation(images)
            return full_gradient(network, self._passes(task, part, images, size), len(images))
        labels, draw = self.stream.labels[images].cpu().numpy(), rng(self.config.seed, "probe", current, step, task)
        sample = self.stream.sample(task, part, draw.permutation(stratified_sample(labels, samples, draw)))
        return full_gradient(network, self._checked(sample.chunks(size)), samples)

    def _passes(self, task: int, part: str, images: NDArray[np.int64], size: int) -> Iterator[Batch]:
        return self._checked(self.stream.passes(task, part, images, size))

    def _checked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.check_cancelled()
            yield batch


def stratified_sample(labels: NDArray[np.int64], samples: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Draw images so that each is chosen with the same probability, and each class in proportion to its size.

    It is a systematic sample: images at equal distances, from a random start, in a random order that is sorted by class.
    So a mean over the sample is an unbiased estimate of the mean over all images.
    """
    order = draw.permutation(len(labels))
    by_class = order[np.argsort(labels[order].astype(np.int16), kind="stable")]  # int16 is sorted in linear time
    places = (draw.random() + np.arange(samples)) * (len(labels) / samples)
    return np.asarray(by_class[np.minimum(places.astype(np.int64), len(labels) - 1)])
