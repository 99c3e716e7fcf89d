"""Instants of the past as a person writes them."""

from datetime import datetime
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
