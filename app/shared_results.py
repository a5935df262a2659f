"""Results of reading the store, computed once for all sessions; any thread may ask for them."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mgem_core.store import Store

MOST_TIME = 0.02  # share of a core that one result may take while the store changes and all who ask for it may lag


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)  # others wait for the one who reads
    version: tuple[int, int] | None = None  # of the store from which it was read
    result: Any = None
    lasts_until: float = 0.0  # on the monotonic clock, for those who may lag

    def is_current(self, version: tuple[int, int], may_lag: bool) -> bool:
        is_same_store = self.version is not None and self.version[0] == version[0]
        return self.version == version or (may_lag and is_same_store and time.monotonic() < self.lasts_until)

    def read(self, version: tuple[int, int], read: Callable[[], Any]) -> None:
        start = time.thread_time()
        self.result = read()
        self.version, self.lasts_until = version, time.monotonic() + (time.thread_time() - start) / MOST_TIME


class SharedResults:
    """A least-recently-used cache of the last result about each subject."""

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, store: Store, subject: Any, read: Callable[[], Any], may_lag: bool = False) -> Any:
        """Return the last result of `read` about this subject; read again if the store has changed since.

        A result that may lag is also used for a while after the store has changed, the longer the more time it took.
        """
        key = (name, _hashable(subject))
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self.most:
                self._entries.popitem(last=False)
        with entry.lock:
            version = store.version()  # before reading, so that later changes are read by the next call
            if not entry.is_current(version, may_lag):
                entry.read(version, read)
            return entry.result


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
