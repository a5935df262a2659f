"""Learners on random images, because speed and agreement do not depend on the images, and data may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mgem_core import learners
from mgem_core.config import RunConfig
from mgem_core.randomness import rng

if TYPE_CHECKING:
    import torch

    from mgem_core.learners._learner import Learner
    from mgem_core.streams._stream import Stream


def learner_on_noise(config: RunConfig, device: torch.device) -> Learner:
    """Return the learner of a config at the start of its last task, with a memory of all tasks before."""
    stream = noise_stream(config).to(device)
    learner = learners.create(config, stream, device)
    for task in range(config.tasks - 1):
        learner.finish_task(task, stream.tasks[task].train)
    return learner


def noise_stream(config: RunConfig) -> Stream:
    """Return a stream of random images with the shape, the classes and the number of tasks of a config."""
    from mgem_core.streams._stream import Stream, Task

    info, each, draw = config.benchmark_info, config.iterations * config.batch_size, rng(config.seed, "noise")
    images = draw.integers(0, 256, (config.tasks * each, int(np.prod(info.shape))), dtype=np.uint8)
    tasks, labels = [], []
    for t in range(config.tasks):
        first = t * info.classes_per_task % info.classes
        classes = range(first, first + info.classes_per_task)
        labels.append(draw.choice(classes, each))
        shown = tuple(classes) if len(classes) < info.classes else None
        tasks.append(Task(str(t), np.arange(t * each, (t + 1) * each), np.arange(1), classes=shown))
    return Stream(images, np.concatenate(labels), info.shape, info.classes, tasks)
