"""Open the source that a browser asks for: of the store that all sessions share, or the example."""

import re

import runner_process
import session

from explore.example import ExampleSource
from explore.live_source import LiveSource
from explore.sources import EXAMPLE_KEY, find_source
from mgem_core import UsageError
from mgem_core.store import Store


def open_source(key: str) -> LiveSource | ExampleSource:
    """Return the source with this key; raise a UsageError if there is none, or the store cannot be used."""
    if key == EXAMPLE_KEY:
        return ExampleSource()
    if session.parse_id(key, "s") is None and session.parse_id(key, "r") is None:
        shown = re.sub(r"[^ -~]", "?", key)
        raise UsageError(f"There is no source {shown!r}; a source is a sweep such as s4, a run such as r12, or example.")
    store = session.shared_store()
    source = find_source(store, key)
    if source is None:
        raise UsageError(f"There is no {'sweep' if key[0] == 's' else 'recorded run'} {key} in this store.")
    return LiveSource(store, source, session.measurement_cache, keep_runner_alive)


def keep_runner_alive(store: Store) -> list[str]:
    """Replace a runner that died; return what prevents it from working."""
    found = runner_process.check_runner(store)
    return [found[1]] if found else []
