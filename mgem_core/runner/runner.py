"""The runner gives queued runs to workers, writes what they send into the store, and ends when idle.

The order of writing makes every crash harmless: events first, then the checkpoint taken after them, then the end of a run.
If something cannot be written, the runner reports the problem and tries again; no run fails because of it.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from mgem_core.config import RunConfig
from mgem_core.events import Event, Finished, Started
from mgem_core.fingerprints import code_has_changed
from mgem_core.home import replace_file, set_aside
from mgem_core.runner import Accepted, Ended, Pool
from mgem_core.runner.status import RunnerStatus
from mgem_core.store import Store, StoreUnavailableError
from mgem_core.training.checkpoints import UnusableCheckpointError, read_header

ATTEMPTS = 3
ROUND = 0.2  # seconds for which a round may wait for a message
RETRY = 0.5  # seconds between attempts while something cannot be written
TURN = 30.0  # seconds for which a runner with work continues at least, so that two runners take turns
STARTING = 300.0  # seconds allowed until the first run starts


class CheckpointUnwritableError(Exception):
    """A checkpoint cannot be written. The message is one sentence; the runner will try again."""


class Runner:
    def __init__(
        self, store: Store, pool: Pool, status: RunnerStatus | None = None, is_alone: Callable[[], bool] = lambda: True
    ):
        self.store, self.pool, self.is_alone = store, pool, is_alone
        self.status = status or RunnerStatus(os.getpid())
        self.active: set[int] = set()
        self.claimed: tuple[int, RunConfig] | None = None  # claimed in the store, but not yet given to a worker
        self.unwritten: list[tuple[int, Event | Ended]] = []
        self.checkpoints: dict[int, bytes] = {}  # the latest checkpoint of each run, until it is on disk
        self.recovered = False  # whether the runs of an earlier runner have been queued again
        self.problem = ""
        self.is_outdated = False  # whether the code was edited after this process started
        self.asking_version = ""  # version of the process that needs another runner; empty if none does
        self.turn_began, self.has_begun = time.monotonic(), False  # start of its turn; whether it has started a run
        self.has_refused = False  # whether a worker refused a run because its code differs
        self.next_check = 0.0  # when to check the code again
        self.status.write()  # creates the file while there is space on the disk

    def work(self, idle_seconds: float) -> Literal["idle", "replaced", "outdated", "asked"]:
        """Work until idle, or until the store was replaced, the code was edited, or another process asked this one to end.

        After an edit or a request to end, current runs are finished first. The result names the reason.
        """
        busy = time.monotonic()
        while True:
            if not (self.store.is_current() and self.is_alone()):
                return "replaced"
            delay = 0.0
            try:
                is_busy, problem = self.do_round(), self._notice()
            except StoreUnavailableError as error:
                is_busy, problem, delay = True, f"{error} No run can continue until this is fixed.", RETRY
            except CheckpointUnwritableError as error:
                is_busy, problem, delay = True, f"{error} Training continues without it.", RETRY
            self._report(problem)
            time.sleep(delay)
            if is_busy:
                busy = time.monotonic()
            elif self.is_outdated:
                return "outdated"
            elif self.asking_version:
                return "asked"
            elif time.monotonic() - busy >= idle_seconds:
                return "idle"

    def _report(self, problem: str) -> None:
        """Write the problem to the status file, and to the log if it has changed."""
        if problem or self.problem:
            self.status.write(problem)
        if problem != self.problem:
            self.problem = problem
            with suppress(OSError):  # the log may be on the same full disk
                print(f"mgem: {problem or 'Training continues as usual.'}", file=sys.stderr, flush=True)

    def _notice(self) -> str:
        """Return a message for everyone who waits for runs; empty if there is none."""
        if self.is_outdated and self.active:
            restart = "The runner restarts with the new code when its current runs have ended"
            return f"The code was edited. {restart}; resume the runs that were requested before."
        if self.asking_version and self.active:
            return "This runner ends after its current runs, so that another one can start."
        return self.pool.problem

    def do_round(self) -> bool:
        """Do one round of work; return whether work is left."""
        if time.monotonic() >= self.next_check:  # rounds can be very short
            self.is_outdated = self.has_refused or code_has_changed()
            self.asking_version = self.status.asking_version()
            self.next_check = time.monotonic() + ROUND
        if not self.recovered:
            self._make_folder()
            self.store.requeue_interrupted()
            self.recovered = True
        for run in self.store.runs_to_cancel():
            self.pool.cancel(run)
        self._write()
        self._start_runs()
        for run, message in self.pool.poll(ROUND):
            if isinstance(message, bytes):
                self.checkpoints[run] = message
            elif not isinstance(message, Accepted):
                self.unwritten.append((run, message))
        self._write()
        self._write_checkpoints()
        return bool(self.active or self.claimed or (self.may_claim and self.store.has_runs_to_claim()))

    @property
    def may_claim(self) -> bool:
        """Whether this runner may start more runs: until its turn ends, or until a runner with the same code takes over."""
        turn = TURN if self.has_begun else STARTING
        has_turn = time.monotonic() - self.turn_began < turn and self.asking_version != self.status.version
        return not self.is_outdated and (not self.asking_version or has_turn)

    def _make_folder(self) -> None:
        folder = self.store.checkpoint(0).parent
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"the folder {folder} cannot be created: {error.strerror}.") from None

    def _start_runs(self) -> None:
        while self.pool.free() > 0:
            if self.claimed is None and self.may_claim:
                self.claimed = self.store.claim()
            if self.claimed is None:
                return
            run, config = self.claimed
            self.pool.start(run, config, self._checkpoint(run))
            self.active.add(run)
            self.claimed = None
            if not self.has_begun:  # importing torch may take longer than a turn
                self.turn_began, self.has_begun = time.monotonic(), True

    def _checkpoint(self, run: int) -> bytes | None:
        """Return the checkpoint from which the run continues, if there is a usable one.

        If the store lacks events from before the checkpoint, the run starts from the beginning.
        """
        path = self.store.checkpoint(run)
        try:
            content = path.read_bytes()
            header = read_header(content)
            if self.store.count_events(run, header.task, header.step) == header.events:
                return content
            reason = f"does not fit the store, which lacks some of the {header.events} events before it"
        except FileNotFoundError:
            return None
        except UnusableCheckpointError as error:
            reason = str(error)
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
        self.store.set_notice(run, f"The run started again from the beginning: its checkpoint {reason}.")
        with suppress(OSError):
            set_aside(path)
        return None

    def _write(self) -> None:
        """Write everything that the workers sent. If the store fails, the rest stays in `unwritten`."""
        events = [(run, event) for run, event in self.unwritten if not isinstance(event, Ended)]
        ends = [(run, end) for run, end in self.unwritten if isinstance(end, Ended)]
        if events:
            self.store.record(events)
            self.unwritten = [*ends]
        self._tidy_checkpoints(events)
        with suppress(CheckpointUnwritableError):  # the end of the round tries again
            self._write_checkpoints()
        for run, end in ends:
            self._end_run(run, end)
            self.checkpoints.pop(run, None)
            self.active.discard(run)
            self.unwritten.pop(0)

    def _tidy_checkpoints(self, events: list[tuple[int, Event]]) -> None:
        """Set aside unusable checkpoints, and delete those of finished runs. Errors are harmless here."""
        for run, event in events:
            with suppress(OSError):
                if isinstance(event, Started) and event.notice:
                    set_aside(self.store.checkpoint(run))
                if isinstance(event, Finished):
                    self.checkpoints.pop(run, None)
                    self.store.delete_checkpoint(run)

    def _write_checkpoints(self) -> None:
        for run, content in list(self.checkpoints.items()):
            path = self.store.checkpoint(run)
            try:
                replace_file(path, content)
            except OSError as error:
                raise CheckpointUnwritableError(f"{path} could not be written: {error.strerror}.") from None
            del self.checkpoints[run]

    def _end_run(self, run: int, end: Ended) -> None:
        if end.how in ("cancelled", "refused") or (end.how == "lost" and self.store.attempts(run) < ATTEMPTS):
            self.store.requeue(run, failed=end.how == "lost")  # a cancelled run is queued only if it has been resumed since
            self.has_refused |= end.how == "refused"
        elif end.how == "lost":
            self.store.end(run, "failed", f"{end.reason}, {ATTEMPTS} times.")
        elif end.how == "failed":
            self.store.end(run, "failed", end.reason, end.traceback)
