"""Checks that fail do not stop the others."""

from mgem_core import UsageError
from mgem_core.doctor import Check, run_checks


def failing(error):
    def check():
        yield Check("first", "fine")
        raise error

    return check


def test_errors_are_one_line_each_and_the_other_checks_are_made():
    named = {
        "request": failing(UsageError("the request is wrong; change it.")),
        "file": failing(PermissionError(13, "Permission denied", "/folder/file")),
        "library": failing(RuntimeError("first line\nsecond line")),
        "last": lambda: iter([Check("last", "fine", "do something")]),
    }
    checks = list(run_checks(named))
    assert checks[1].advice == "change it"
    found = [(check.name, check.level, check.finding) for check in checks]
    assert found == [
        ("first", "ok", "fine"),
        ("request", "broken", "the request is wrong"),
        ("first", "ok", "fine"),
        ("file", "broken", "/folder/file could not be used: Permission denied"),
        ("first", "ok", "fine"),
        ("library", "broken", "the check failed (RuntimeError: first line second line)"),
        ("last", "advice", "fine"),
    ]
