"""How what has changed is worded where it has room, and where it has little."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.core.read.unseen_changes import WORDS
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.widgets.changes_text import News, NewsWays, news_ways

NEWS = (News("done", 1, [("#3", 1)]), News("started", 1, [("#5", 1)]), News("logged", 2, [("#6", 1), ("#8", 1)]))


ASKED = (News("failed", 2, [("#3", 1), ("claude-5", 1)]), News("asked", 3, [("#4", 1), ("#7", 1), ("by claude-3", 1)]))


def ways(*news: News, is_wide: bool = True, ascii_only: bool = False) -> NewsWays:
    return news_ways(news, "19:58", is_wide=is_wide, ascii_only=ascii_only)


def test_all_are_named_in_words_then_in_marks_and_the_least_important_give_way_first() -> None:
    assert ways(*NEWS) == (
        [
            "since 19:58: done #3 · started #5 · logged #6, #8",
            "done #3 · started #5 · logged #6, #8",
            "since 19:58: done #3 · started #5 · logged #6 · +1",
            "done #3 · started #5 · logged #6 · +1",
            "since 19:58: done #3 · started #5 · +2",
            "done #3 · started #5 · +2",
            "since 19:58: done #3 · +3",
            "done #3 · +3",
        ],
        ["✓#3 ◐#5 ·#6,8", "✓#3 ◐#5 ·#6 +1", "✓#3 ◐#5 +2", "✓#3 +3"],
        [],
    )
    assert ways(*NEWS, is_wide=False).words == ways(*NEWS).words[:2]


def test_in_words_all_that_needs_the_human_is_named_with_its_agents() -> None:
    found = ways(*ASKED, *NEWS)
    assert found.words[-1] == "failed #3, claude-5 · asked #4, #7, by claude-3 · +4"
    assert found.marks[0] == "✗#3,claude-5 ?#4,7,claude-3 ✓#3 ◐#5 ·#6,8"
    assert found.marks[-1] == "✗#3,claude-5 ?#4,7,claude-3 +4"
    assert found.fewer_marks == ["✗#3,claude-5 ?#4,7 +5", "✗#3,claude-5 ?#4 +6", "✗#3,claude-5 +7", "✗#3 +8"]
    assert ways(*ASKED, ascii_only=True).marks == ["f#3,claude-5 ?#4,7,claude-3"]


def test_tasks_of_a_range_and_those_that_have_no_name_are_counted_as_more() -> None:
    found = ways(News("new", 19, [("#10–27", 18), ("#30", 1)]), News("deleted", 2))
    assert found.words[2:] == ["since 19:58: new #10–27 · +3", "new #10–27 · +3"]
    assert found.marks == ["○#10–27,30 +2", "○#10–27 +3"]


def test_where_more_have_changed_than_are_read_they_are_counted() -> None:
    assert ways(News("done", 1), News("new", 5_000), News("deleted", 1)) == (
        ["since 19:58: 1 done · 5,000 new · 1 deleted", "1 done · 5,000 new · 1 deleted"],
        [],
        [],
    )
    assert ways() == ((), (), ())


names = st.lists(st.tuples(st.sampled_from(["#3", "#12", "#4–9", "by claude-3"]), st.just(1)), max_size=4)
groups = st.builds(
    lambda word, more, named: News(word, len(named) + more, named), st.sampled_from(WORDS), st.integers(1, 3), names
)


@given(st.lists(groups, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_every_way_is_one_line_of_words(news: list[News], is_wide: bool, ascii_only: bool) -> None:
    for way in itertools.chain(*ways(*news, is_wide=is_wide, ascii_only=ascii_only)):
        assert "   " not in way and way == way.strip() and cell_len(way) == len(way)
        assert not ascii_only or way.replace("–", "-").isascii()


@pytest.mark.parametrize(("number", "text"), [(1, "1 claim lapsed"), (2, "2 claims lapsed")])
def test_claims_that_have_lapsed_are_counted_in_the_plural(number, text):
    assert News("claim lapsed", number).text == text
