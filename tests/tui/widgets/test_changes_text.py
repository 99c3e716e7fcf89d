"""How what has changed is worded where it has room, and where it has little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.core.read.unseen_changes import WORDS
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.widgets.changes_text import News, news_ways

NEWS = (
    News("failed", 2, [("claude-5", 1), ("#3", 1)]),
    News("asked", 2, [("#4", 1), ("#7", 1)]),
    News("started", 1, [("#5", 1)]),
    News("logged", 2, [("#6", 1), ("#8", 1)]),
)


def texts(*news: News, has_words: bool = False, ascii_only: bool = False) -> list[str]:
    ways = news_ways(news, "19:58", has_words=has_words, ascii_only=ascii_only)
    return ["".join(text for text, _ in way) for way in ways]


def test_a_wide_screen_names_all_in_words_and_the_least_important_give_way_first() -> None:
    assert texts(*NEWS, has_words=True) == [
        "since 19:58: failed claude-5, #3 · asked #4, #7 · started #5 · logged #6, #8",
        "since 19:58: failed claude-5, #3 · asked #4, #7 · started #5 · logged #6, #8",
        "since 19:58: failed claude-5, #3 · asked #4, #7 · started #5 · logged #6 · +1",
        "since 19:58: failed claude-5, #3 · asked #4, #7 · started #5 · +2",
        "since 19:58: failed claude-5, #3 · asked #4, #7 · +3",
        "since 19:58: failed claude-5, #3 · asked #4 · +4",
        "failed claude-5, #3 · asked #4, #7 · started #5 · logged #6, #8",
        "failed claude-5, #3 · asked #4, #7 · started #5 · logged #6 · +1",
        "failed claude-5, #3 · asked #4, #7 · started #5 · +2",
        "failed claude-5, #3 · asked #4, #7 · +3",
        "failed claude-5, #3 · asked #4 · +4",
        "failed claude-5, #3 · +5",
        "failed claude-5 · +6",
        "7",
    ]


def test_a_wide_screen_counts_tasks_of_a_range_and_those_that_have_no_name_as_more() -> None:
    ranges = News("new", 19, [("#10–#27", 18), ("#30", 1)]), News("deleted", 2)
    assert texts(*ranges, has_words=True)[-2] == "new #10–#27 · +3"


def test_all_are_named_in_words_then_by_marks_and_the_least_important_give_way_first() -> None:
    assert texts(*NEWS) == [
        "since 19:58: failed claude-5, #3 · asked #4, #7 · started #5 · logged #6, #8",
        "since 19:58 ✗ claude-5, #3  ? #4, #7  ◐ #5  log #6, #8",
        "since 19:58 ✗claude-5,#3 ?#4,7 ◐#5 log#6,8",
        "since 19:58 ✗claude-5,#3 ?#4,7 ◐#5 log#6 +1",
        "since 19:58 ✗claude-5,#3 ?#4,7 ◐#5 +2",
        "since 19:58 ✗claude-5,#3 ?#4,7 +3",
        "since 19:58 ✗claude-5,#3 ?#4 +4",
        "✗claude-5,#3 ?#4,7 ◐#5 log#6,8",
        "✗claude-5,#3 ?#4,7 ◐#5 log#6 +1",
        "✗claude-5,#3 ?#4,7 ◐#5 +2",
        "✗claude-5,#3 ?#4,7 +3",
        "✗claude-5,#3 ?#4 +4",
        "✗claude-5,#3 +5",
        "✗claude-5 +6",
        "7",
    ]


def test_where_more_have_changed_than_are_read_they_are_counted() -> None:
    assert texts(News("failed", 1), News("new", 5_000), News("deleted", 1)) == [
        "since 19:58: 1 failed · 5,000 new · 1 deleted",
        "since 19:58: 1 failed · 5,000 new · 1 more",
        "since 19:58: 1 failed · 5,001 more",
        "5,002 changed since 19:58",
        "5,002 since 19:58",
        "5,002",
    ]


def test_a_name_of_several_tasks_counts_for_each_of_them() -> None:
    assert texts(News("new", 19, [("#10–#28", 19)]), News("deleted", 2))[2] == "since 19:58 new#10–#28 +2"
    assert texts(News("failed", 20, [("#3", 1), ("#5", 1)]))[:3] == [
        "since 19:58: 20 failed",
        "since 19:58 20 failed",
        "since 19:58 ✗#3,5 +18",
    ]


@pytest.mark.parametrize("ascii_only", [True, False])
def test_only_a_mark_has_the_colour_of_its_state(ascii_only: bool) -> None:
    (_, way, *_) = news_ways(NEWS[:1], "19:58", has_words=False, ascii_only=ascii_only)
    assert [(text, color) for text, color in way if color] == [("f" if ascii_only else "✗", "$state-failed")]


names = st.lists(st.tuples(st.sampled_from(["#3", "#12", "S4", "claude-1"]), st.just(1)), max_size=4)
groups = st.builds(
    lambda word, more, named: News(word, len(named) + more, named), st.sampled_from(WORDS), st.integers(1, 3), names
)


@given(st.lists(groups, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_every_way_is_one_line_of_words_and_counts_all(news: list[News], has_words: bool, ascii_only: bool) -> None:
    total = sum(one.number for one in news)
    ways = texts(*news, has_words=has_words, ascii_only=ascii_only)
    assert ways[-1] == str(total)
    for way in ways:
        assert "   " not in way and way == way.strip() and cell_len(way) == len(way)
        assert way.isascii() or not ascii_only


@pytest.mark.parametrize(("number", "text"), [(1, "1 claim lapsed"), (2, "2 claims lapsed")])
def test_claims_that_have_lapsed_are_counted_in_the_plural(number, text):
    assert News("claim lapsed", number).text == text
