"""Which line of an output says why a command failed: the failed test, an error, else its last words."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# `ValueError: …`, `java.io.IOException: …`, `error[E0308]: …`, `fatal: …`, `E   AssertionError: …`, `npm ERR! …`.
_IS_ERROR: Final = (
    r"(?:^|[\s.:])(?:[A-Za-z]\w*)?(?:Error|Exception|error|ERROR|fatal|panic|panicked)(?:\[\w+\])?(?::|!| at )|\bERR!"
)


def error_line(text: str) -> str:
    """Return the last line of an output that names an error; empty if there is none."""
    return next((line.strip() for line in reversed(text.splitlines()) if re.search(_IS_ERROR, line)), "")


def telling_line(text: str) -> str:
    """Return the line of an output that says best why it ended: the last of an error, else the last with words."""
    lines = (line.strip() for line in reversed(text.splitlines()) if any(letter.isalnum() for letter in line))
    return error_line(text) or next(lines, "")


# pytest's `FAILED tests/test_auth.py::test_login - assert 401 == 200`.
_FAILED_TEST: Final = r"^FAILED (?P<place>[^\s:]\S*?::(?P<name>[^\s\[]+(?:\[.*?\])?))(?: - (?P<reason>.*))?$"


class FailedTest(NamedTuple):
    """The first failed test that pytest names in an output, why it failed, and how many more it names."""

    line: str
    place: str
    name: str
    reason: str
    more: str


def _failed_test(output: str) -> FailedTest | None:
    found = [match for line in output.splitlines() if (match := re.match(_FAILED_TEST, line.strip()))]
    if not found:
        return None
    first, more = found[0], f" +{len(found) - 1} more" if len(found) > 1 else ""
    reason = first["reason"] or telling_line(output.replace(first[0], ""))
    return FailedTest(first[0], first["place"], first["name"], reason, more)


def failed_test(output: str) -> str:
    """Return `test_login: assert 401 == 200 +2 more` of the failed tests that pytest names; empty: it names none."""
    test = _failed_test(output)
    return f"{test.name}{test.more}{': ' if test.reason else ''}{test.reason}" if test is not None else ""


# What may stand before an error that is said again: pytest's `E   `, and the error's name.
_BEFORE_REASON: Final = r"^\s*(?:E\s+)?(?:[\w.]+: )?"


def said_once(output: str) -> tuple[str, str, list[str]]:
    """Return where the first failed test of an output is, `tests/test_auth.py::test_login`, why it failed, and the
    other lines without those that only say this again; all lines if pytest names no test in it.
    """
    test, rest = _failed_test(output), output.splitlines()
    if test is None:
        return "", "", rest
    again = re.compile(f"{_BEFORE_REASON}{re.escape(test.reason)}$")
    rest = [line for line in rest if line.strip() != test.line and not (test.reason and again.match(line.rstrip()))]
    return f"{test.place}{test.more}", test.reason, rest


# pytest's `E       assert 401 == 200`.
_RAISED: Final = r"^E {3,}(?P<reason>\S.*)$"


def _raised(output: str) -> str:
    """Return the beginning of the last error that pytest draws in an output; empty if it draws none."""
    said, before = "", False
    for line in output.splitlines():
        match = re.match(_RAISED, line)
        said = match["reason"].strip() if match and not before else said
        before = line.startswith("E   ")
    return said


def names_error(line: str) -> bool:
    """Return whether a line of an output says what went wrong."""
    return re.match(_RAISED, line) is not None or bool(error_line(line))


def check_failure(output: str) -> str:
    """Return what says best why a check failed: the failed test, what it raised, or the most telling line."""
    return failed_test(output) or _raised(output) or telling_line(output)
