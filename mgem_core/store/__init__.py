"""All sweeps, runs and results, in one SQLite file. No other package contains SQL."""

from mgem_core.store.database import StoreUnavailableError
from mgem_core.store.queue import OTHER_CODE, describe_waiting
from mgem_core.store.reader import ENDED, STATUSES
from mgem_core.store.run_filter import RunFilter
from mgem_core.store.store import Store

__all__ = ["ENDED", "OTHER_CODE", "STATUSES", "RunFilter", "Store", "StoreUnavailableError", "describe_waiting"]
