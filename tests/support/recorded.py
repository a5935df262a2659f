"""Recorded steps with all their vectors: gradients of an untrained network on random images."""

from dataclasses import dataclass

import numpy as np
import torch

from mgem_core import networks
from mgem_core.events import Snapped
from mgem_core.gradients.rows import flatten, gradient
from mgem_core.lens.recordings import Recording
from mgem_core.restriction import direction, gram_factors
from mgem_core.streams._stream import Batch

SHAPES = {"mlp": (1, 28, 28), "conv5": (3, 32, 32)}
CLASSES, PAST, SPLITS = 10, 2, 6


@dataclass(frozen=True)
class Recorded:
    recording: Recording
    vectors: list[list[torch.Tensor]]  # per snapshot: g, g_t, g_s and memory rows [M], each [P] in double precision
    sizes: list[int]  # of the parameter tensors


def record(network: str, snapshots: int = 2, seed: int = 0) -> Recorded:
    """Record batches of noise from a few classes each, so that their gradients conflict."""
    layers = tuple(networks.layers(network, SHAPES[network], CLASSES, 1 / 8))
    snapshots_taken, vectors = [], []
    for i in range(snapshots):
        torch.manual_seed(seed + i)
        model = networks.build(network, SHAPES[network], CLASSES, seed + i, 1 / 8).train()
        true = [gradient(model, batch(SHAPES[network], task, 60))[1] for task in (PAST, *range(PAST))]
        splits = [[batch(SHAPES[network], task, n) for n in (9, 9, 9, 9, 8, 8)] for task in range(PAST)]
        rows = [gradient(model, one)[1] for parts in splits for one in parts]
        found = [gradient(model, batch(SHAPES[network], PAST, 10))[1], *true, *rows]
        sizes = np.array([[len(one.y) for one in parts] for parts in splits])
        gram = gram_factors.unpack(gram_factors.pack(direction.grams(found)))
        snapshots_taken.append(Snapped(PAST, 10 * i, gram, sizes))
        vectors.append([flatten(vector).double() for vector in found])
    recording = Recording("noise", layers, tuple(snapshots_taken), "random", lr=0.1)
    return Recorded(recording, vectors, [size for layer in layers for size in layer.tensors.values()])


def batch(shape: tuple[int, int, int], task: int, samples: int) -> Batch:
    """Return random images whose mean and three classes depend on the task."""
    x = torch.rand(samples, *shape) + 0.3 * task
    return Batch(x, (torch.arange(samples) % 3 + 2 * task) % CLASSES, None)
