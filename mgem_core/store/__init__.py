"""All sweeps, runs and results, in one SQLite file. No other package contains SQL."""

from mgem_core.store.database import StoreUnavailableError
from mgem_core.store.reader import ENDED, STATUSES
from mgem_core.store.run_filter import RunFilter
from mgem_core.store.store import Store

__all__ = ["ENDED", "STATUSES", "RunFilter", "Store", "StoreUnavailableError"]
