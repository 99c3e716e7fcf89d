"""How what has changed is worded where it has room, and where it has little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.core.read.unseen_changes import WORDS
from tui_tasks.text.glyphs import LOOKS
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.needs import changes_text
from tui_tasks.tui.needs.changes_text import News, toned
from tui_tasks.tui.painting.styles import Part

NEWS = (News("done", 1, [("#3", 1)]), News("started", 1, [("#5", 1)]), News("logged", 2, [("#6", 1), ("#8", 1)]))


ASKED = (News("failed", 2, [("#3", 1), ("claude-5", 1)]), News("asked", 3, [("#4", 1), ("#7", 1), ("by claude-3", 1)]))


def lines(news: Sequence[News], marks: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    return [", ".join(way) for way in changes_text.news_ways(news, marks)]


def test_all_are_named_and_the_least_important_give_way_first() -> None:
    assert lines(NEWS) == [
        "done #3, started #5, logged #6 #8",
        "done #3, started #5, 2 logged",
        "done #3, started #5, logged #6, +1",
        "done #3, started #5, +2",
        "done #3, +3",
    ]


def test_in_less_room_logs_are_counted_and_marks_stand_for_words_before_a_change_is_hidden() -> None:
    marks = {"failed": "✗", "asked": "?"}
    assert lines([*ASKED, *NEWS[1:]], marks)[:7] == [
        "failed #3 claude-5, asked #4 #7 claude-3, started #5, logged #6 #8",
        "failed #3 claude-5, ? #4 #7 claude-3, started #5, logged #6 #8",
        "✗ #3 claude-5, ? #4 #7 claude-3, started #5, logged #6 #8",
        "✗ #3 claude-5, ? #4 #7 claude-3, started #5, 2 logged",
        "✗ #3 +1, ? #4 #7 +1, started #5, 2 logged",
        "✗ #3 +1, ? #4 #7 +1, 1 started, 2 logged",
        "✗ #3 claude-5, ? #4 #7 claude-3, started #5, logged #6, +1",
    ]


def test_an_agent_that_alone_stands_behind_a_word_is_counted_where_agents_are() -> None:
    assert "✗ #3, 1 stuck" in lines([News("failed", 1, [("#3", 1)]), News("stuck", 1, [("ada", 1)])], {"failed": "✗"})


def test_agents_stand_among_the_numbers_and_alone_behind_a_word() -> None:
    assert lines(ASKED)[0] == "failed #3 claude-5, asked #4 #7 claude-3"
    assert lines([News("asked", 2, [("by claude-2", 1), ("by claude-3", 1)])])[0] == "asked by claude-2 claude-3"


def test_tasks_of_a_range_and_those_that_have_no_name_are_counted_as_more() -> None:
    found = lines([News("new", 19, [("#10–27", 18), ("#30", 1)]), News("deleted", 2)])
    assert found == ["new #10–27 #30, 2 deleted", "new #10–27, +3"]


def test_where_more_have_changed_than_are_read_they_are_counted() -> None:
    counted = [News("done", 1), News("new", 5_000), News("deleted", 1)]
    assert lines(counted) == ["1 done, 5,000 new, 1 deleted"]


names = st.lists(st.tuples(st.sampled_from(["#3", "#12", "#4–9", "by claude-3"]), st.just(1)), max_size=4)
groups = st.builds(
    lambda word, more, named: News(word, len(named) + more, named), st.sampled_from(WORDS), st.integers(1, 3), names
)


@given(st.lists(groups, min_size=1, max_size=6))
def test_every_way_is_one_line_of_words(news: list[News]) -> None:
    ways = lines(news)
    for way in ways:
        assert "   " not in way and way == way.strip() and cell_len(way) == len(way)


@pytest.mark.parametrize(("number", "text"), [(1, "1 claim lapsed"), (2, "2 claims lapsed")])
def test_claims_that_have_lapsed_are_counted_in_the_plural(number, text):
    assert News("claim lapsed", number).said() == text


def test_a_mark_that_an_agent_writes_into_its_name_has_no_colour() -> None:
    marks = {"asked": LOOKS["needs_you"].mark(), "failed": LOOKS["failed"].mark()}
    news = [News("failed", 1, [("#3", 1)]), News("asked", 1, [(f"by a, {marks['failed']} #9", 1)])]
    context: Any = SimpleNamespace(ascii_only=False)
    [way] = [way for way in changes_text.news_ways(news, marks) if way[0].startswith(marks["failed"])][:1]
    parts: list[Part] = toned(context, way)
    assert "".join(text for text, _ in parts) == f"{marks['failed']} #3 {marks['asked']} a, {marks['failed']} #9"
    assert [text for text, style in parts if style] == [marks["failed"], marks["asked"]]
