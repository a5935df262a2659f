"""Find the fastest number of images per pass for evaluation, full gradients, and a whole short run."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import nn

from mgem_core import RunConfig, networks, run
from mgem_core.gradients.rows import full_gradient
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS
from mgem_core.streams._stream import Batch, Stream
from perf.timing import best_of

SIZES = (256, 512, 1024, 2048, 4096)


def chunks(stream: Stream, indices: np.ndarray, size: int) -> Iterator[Batch]:
    for start in range(0, len(indices), size):
        yield stream.batch(0, indices[start : start + size])


@torch.no_grad()
def evaluate(network: nn.Module, stream: Stream, size: int) -> int:
    network.eval()
    batches = chunks(stream, stream.tasks[0].test, size)
    return sum(int((network(batch.x).argmax(1) == batch.y).sum()) for batch in batches)


def take_gradient(network: nn.Module, stream: Stream, size: int) -> object:
    network.train()
    train = stream.tasks[0].train
    return full_gradient(network, chunks(stream, train, size), len(train))


def seconds_of_run(fields: dict[str, Any], size: int) -> float:
    """Measure the CPU seconds of a run with this many images per pass."""
    config = RunConfig(**fields)
    NETWORKS[config.network] = replace(NETWORKS[config.network], images_per_pass=size)
    start = process_time()
    for _ in run(config):
        pass
    return process_time() - start


def best_runs(rounds: int, fields: dict[str, Any]) -> dict[int, float]:
    """Return the best CPU seconds of `rounds`. Each run has a new process, because large passes tune the allocator."""
    best = dict.fromkeys(SIZES, float("inf"))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for _ in range(rounds):
            for size in SIZES:
                best[size] = min(best[size], pool.submit(seconds_of_run, fields, size).result())
    return best


def show(title: str, used: int, seconds: Mapping[int, float]) -> None:
    cells = [f"{size}: {1000 * value:.0f} ({value / seconds[used]:.2f})" for size, value in seconds.items()]
    print(f"{title:<52} {'   '.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", default="mnist5k-permutations", help="mnist-permutations is of the paper's size")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    stream = BENCHMARKS[options.benchmark].open(1, 0)
    print("CPU milliseconds by images per pass; in brackets, the ratio to the number that the network uses\n")
    for name in ("mlp", "conv-small"):
        network, used = networks.build(name, stream.shape, stream.classes, seed=0), NETWORKS[name].images_per_pass
        work: dict[str, Callable[[int], object]] = {
            f"{len(stream.tasks[0].test)} test images": partial(evaluate, network, stream),
            f"gradient on {len(stream.tasks[0].train)} images": partial(take_gradient, network, stream),
        }
        for title, call in work.items():
            calls = {str(size): partial(call, size) for size in SIZES}
            best = best_of(options.rounds, calls)
            show(f"{name}, {title}", used, {int(size): value for size, value in best.items()})
        fields = {"benchmark": options.benchmark, "network": name, "tasks": 3, "iterations": 100, "probe_every": 100}
        show(f"{name}, run of 3 × 100 steps with 2 probes", used, best_runs(options.rounds, fields))


if __name__ == "__main__":
    main()
