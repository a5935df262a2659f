"""Keep the collection of garbage short, which Streamlit starts after every run of a page or fragment.

A collection visits all objects that are not frozen. With those of all modules it takes 70 ms, more than most fragments.
Frozen objects are still freed when nothing refers to them, but if they refer to each other in a cycle, they stay. So they
are frozen only when many new ones have survived: what may stay is at most ten times what was in use.
"""

import gc
import time

CHECK_SECONDS = 2.0  # at least between two counts of all objects, which take milliseconds
FEWEST = 10_000  # objects that are frozen together
LEAST_SHARE = 0.1  # of the frozen objects
_next_check = 0.0


def freeze_survivors() -> None:
    """Exclude the objects in use from later collections, if there are many that are not excluded yet.

    Call this at the start of a run, when the collection after the run before has left little garbage.
    """
    global _next_check
    if time.monotonic() < _next_check:
        return
    _next_check = time.monotonic() + CHECK_SECONDS
    most = max(FEWEST, LEAST_SHARE * gc.get_freeze_count())
    if len(gc.get_objects()) > most:
        gc.collect()
        if len(gc.get_objects()) > most:
            gc.freeze()
