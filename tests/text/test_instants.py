"""Instants of the past as a person writes them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tui_tasks.text import times

ZONE = ZoneInfo("Europe/Berlin")


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp()) * 1_000_000


NOW = at("2026-11-21T20:15:00")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("8h", "2026-11-21T12:15:00"),
        ("90m", "2026-11-21T18:45:00"),
        ("2d", "2026-11-19T20:15:00"),
        ("18:00", "2026-11-21T18:00:00"),
        ("21:30", "2026-11-20T21:30:00"),
        ("9:05:07", "2026-11-21T09:05:07"),
        ("yesterday 20:15:42", "2026-11-20T20:15:42"),
        ("today", "2026-11-21T00:00:00"),
        ("Yesterday 18:00", "2026-11-20T18:00:00"),
        ("2026-11-01", "2026-11-01T00:00:00"),
        ("2026-11-01 07:30", "2026-11-01T07:30:00"),
        ("2026-11-01T06:30:00+00:00", "2026-11-01T07:30:00"),
    ],
)
def test_an_instant_is_meant_where_the_person_is(text: str, meant: str) -> None:
    assert times.past(text, NOW, ZONE) == at(meant)


@pytest.mark.parametrize("text", ["", "soon", "8x", "25:00", "yesterday 25:00", "2026-13-01", "99999999999d", "-3h"])
def test_what_is_no_instant_is_refused_with_what_is_taken(text: str) -> None:
    with pytest.raises(ValueError, match="is not an instant: give an age"):
        times.past(text, NOW, ZONE)


def test_what_is_yet_to_come_is_refused() -> None:
    with pytest.raises(ValueError, match="in the future"):
        times.past("2026-12-01", NOW, ZONE)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("here", "instant", "shown"),
    [
        ("America/Los_Angeles", "2026-01-02T18:00:00", "2026-01-02 10:00:00"),
        ("America/Los_Angeles", "0001-01-01T00:00:00", "1-01-01 00:00:00"),
        ("Pacific/Kiritimati", "9999-12-31T23:59:59", "9999-12-31 23:59:59"),
    ],
    indirect=["here"],
)
@pytest.mark.usefixtures("here")
def test_a_log_is_stamped_in_local_time_and_in_utc_where_that_has_no_such_year(instant: str, shown: str) -> None:
    at_utc = int(datetime.fromisoformat(instant).replace(tzinfo=UTC).timestamp()) * 1_000_000
    assert times.local_second(at_utc) == shown
