"""Keep the stream of the last run, because most runs of a sweep show the same images as the run before."""

import torch

from mgem_core.config import RunConfig
from mgem_core.home import data_root
from mgem_core.streams._stream import Stream


class KeptStream:
    """The last stream that was opened, with the sets of images that it has computed (`Stream.passes`)."""

    def __init__(self) -> None:
        self.key: tuple[object, ...] | None = None
        self.stream: Stream | None = None

    def open(self, config: RunConfig, device: torch.device) -> Stream:
        """Return the stream of a run: the last one, if it has the same images, and tasks."""
        key = _key(config, device)
        if self.stream is None or key != self.key:
            self.stream = None  # freed before the next one takes its memory
            self.stream = open_stream(config, device)
            self.key = key
        return self.stream


def open_stream(config: RunConfig, device: torch.device) -> Stream:
    return config.open_stream().to(device)


def _key(config: RunConfig, device: torch.device) -> tuple[object, ...]:
    versions = [dataset.version() for dataset in config.benchmark_info.datasets(config.domain_names)]
    shown = config.benchmark, config.tasks, config.order, config.seed, tuple(config.domain_names), config.validation
    return *shown, str(device), str(data_root()), *versions
