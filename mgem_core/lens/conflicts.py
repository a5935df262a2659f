"""Conflicts at recorded steps: where in the network, and when, the gradient points against the memory."""

import numpy as np
from numpy.typing import NDArray

from mgem_core.lens.steps import Steps, module_grams


def layer_cosines(steps: Steps, s: int) -> NDArray[np.float64]:
    """Return the cosine [N, layers] of g and ĝ_s, the mean of the memory rows of past task s; NaN where one is zero."""
    sizes = [len(layer.shapes) for layer in steps.layers]
    ends = np.cumsum(sizes)
    layers = [tuple(range(end - size, end)) for end, size in zip(ends.tolist(), sizes, strict=True)]
    gram, row = module_grams(steps, 1, layers), 2 + steps.past + s  # [layers, N, M, M]
    squares = gram[:, :, 0, 0] * gram[:, :, row, row]
    lengths = np.sqrt(np.maximum(squares, 0.0))
    return np.divide(gram[:, :, 0, row], lengths, out=np.full_like(lengths, np.nan), where=lengths > 0).T
