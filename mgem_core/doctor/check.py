"""A check: what was found, and what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from mgem_core.errors import UsageError

Level = Literal["ok", "advice", "broken"]


@dataclass(frozen=True)
class Check:
    name: str
    finding: str  # one line
    advice: str = ""  # one line that says what to do; empty if there is nothing to do
    is_broken: bool = False  # runs or pages will fail until this is fixed
    details: dict[str, Any] = field(default_factory=dict)  # for --json

    @property
    def level(self) -> Level:
        if self.is_broken:
            return "broken"
        return "advice" if self.advice else "ok"

    def document(self) -> dict[str, Any]:
        """Return the check as plain data."""
        shown = {"name": self.name, "level": self.level, "finding": self.finding, "advice": self.advice}
        return {**shown, "details": self.details}


Checks = Callable[[], Iterator[Check]]  # makes one check or several that belong together


def run_checks(named: dict[str, Checks]) -> Iterator[Check]:
    """Yield all checks. One that raises an exception counts as broken, and the others are still made."""
    for name, make in named.items():
        try:
            yield from make()
        except UsageError as error:
            problem, _, remedy = str(error).removesuffix(".").partition("; ")  # as messages to users are written
            yield Check(name, problem, remedy, is_broken=True)
        except OSError as error:
            problem = f"{error.filename or 'a file'} could not be used: {error.strerror or error}"
            yield Check(name, problem, "allow this user to use it, or choose another one", is_broken=True)
        except Exception as error:  # a broken library may raise anything
            problem = f"the check failed ({type(error).__name__}: {' '.join(str(error).split())})"
            yield Check(name, problem, "install the tool again, and report this if it stays", is_broken=True)
