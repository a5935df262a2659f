"""Answers of the lens for many configurations at the recorded steps of one run, as lines of results."""

from collections.abc import Sequence

import numpy as np

from mgem_core.config import RunConfig
from mgem_core.lens.answers import answers
from mgem_core.lens.recordings import Recording
from mgem_core.lens.steps import steps_of
from mgem_core.paper.published import NUMBERS, STEPS_OF, Line, rounded
from mgem_core.restriction.restriction import Restriction
from mgem_core.text import pluralize, strength
from mgem_core.version import VERSION


def ask_recording(recording: Recording, trained: RunConfig, configs: Sequence[RunConfig]) -> list[Line]:
    """Return a line per config: what it would have done at the recorded steps of the run `trained`."""
    settings = [Restriction.of(config.model_dump()) for config in configs]
    products: list[dict[str, list[float | None]]] = [{} for _ in configs]
    for t in recording.tasks:
        of_task = steps_of(recording, t)
        found = answers(of_task, settings)
        for s in range(of_task.past):
            means = np.concatenate([found.on_axes(axes, s) for axes in ("raw", "unit", "cosine")]).mean(axis=2)
            for of_config, values in zip(products, means.T, strict=True):
                of_config[f"{s},{t}"] = [rounded(value, 6) for value in values]
    counted = pluralize(len(recording.snapshots), "recorded step")
    steps = f"{counted} of {trained.label}, strength {strength(trained.strength)}"
    return [
        {
            **{"label": config.label, "status": "finished", **dict.fromkeys(NUMBERS), "matrix": [], "pairs": pairs},
            STEPS_OF: steps,
            **{"fingerprint": "", "version": VERSION, "config": config.model_dump(mode="json")},
        }
        for config, pairs in zip(configs, products, strict=True)
    ]
