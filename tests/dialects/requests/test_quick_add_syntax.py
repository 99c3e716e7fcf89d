from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.dialects.requests import quick_add_syntax
from tui_tasks.dialects.requests.quick_add_syntax import (
    Draft,
    can_write,
    fields,
    fields_in_title,
    parse,
    split_cleared,
    split_removed,
    title_hint,
)

# A Wednesday.
NOW = datetime(2026, 1, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "draft"),
    [
        ("", Draft()),
        ("Ship due:fri estimate:1h30m", Draft("Ship", fields={"due": "2026-01-30", "estimate": 90})),
        ("Ship DUE:3d", Draft("Ship", fields={"due": "2026-01-31"})),
        ("due:none estimate:none", Draft(fields={"due": None, "estimate": None})),
        ("Call due:fri 17:00 Bob", Draft("Call Bob", fields={"due": "2026-01-30T17:00:00.000+00:00"})),
        ('Call due:"fri 17:00"', Draft("Call", fields={"due": "2026-01-30T17:00:00.000+00:00"})),
        ("Call due:2026-02-01 9:05", Draft("Call", fields={"due": "2026-02-01T09:05:00.000+00:00"})),
        ("Call at 9:00 due:fri", Draft("Call at 9:00", fields={"due": "2026-01-30"})),
        (r"look at \due:fri", Draft("look at due:fri")),
        ("rent due: friday", Draft("rent due: friday")),
        ("http://due:80 is up", Draft("http://due:80 is up")),
        ("Rotate API keys", Draft("Rotate API keys")),
        (
            "Rotate API keys  #infra  !high  @claude-2  after #5",
            Draft("Rotate API keys", ("infra",), 2, "claude-2", (5,)),
        ),
        ("x after #5, #7", Draft("x", after=(5, 7))),
        ("look after the cat", Draft("look after the cat")),
        ("fix #12 now", Draft("fix #12 now")),
        (r"\#hash \!bang \@at", Draft("#hash !bang @at")),
        ("hey! a@b ! # @", Draft("hey! a@b ! # @")),
        ("x !u", Draft("x", priority=1)),
        ("x !4", Draft("x", priority=4)),
        ("x !²", Draft("x", problem="no priority '²'; use one of urgent, high, medium, low")),
        ("#a #a #b t", Draft("t", ("a", "b"))),
        ("#a#b #c,#d #c# t", Draft("t", ("a", "b", "c", "d", "c#"))),
        ('#"a#b" @"x,@y" t', Draft("t", ("a#b",), agent="x,@y")),
        ("t @bob,@amy", Draft("t", problem="@bob,@amy: a task has one agent")),
        ('#"two words" @"my agent" #"5" t', Draft("t", ("two words", "5"), agent="my agent")),
    ],
)
def test_a_quick_add_is_understood(text, draft):
    assert parse(text, NOW) == draft


def test_a_plain_title_waits_for_no_expression_to_be_compiled(monkeypatch):
    monkeypatch.delattr(quick_add_syntax, "re")
    title = "a task's name, and look after 3 cats"
    assert parse("\u3000".join(["", *title.split(), ""]), NOW) == Draft(title)
    assert title_hint(title, "ELSEWHERE") == ""


@pytest.mark.parametrize(
    ("text", "kept", "removed"),
    [
        ("-#a Ship -#a #b", "Ship #b", ("a",)),
        ('-#"two words"', "", ("two words",)),
        ("x-#a - #b -# -!high", "x-#a - #b -# -!high", ()),
    ],
)
def test_a_tag_is_removed_by_a_minus_before_it(text, kept, removed):
    assert (" ".join(split_removed(text)[0].split()), split_removed(text)[1]) == (kept, removed)


@pytest.mark.parametrize(
    ("text", "kept", "cleared"),
    [
        ("Ship it @none After  none #none", "Ship it", ("agent", "after", "tags")),
        ("@none @None", "", ("agent",)),
        (r"\@none after noneone x#none #nonesuch", r"\@none after noneone x#none #nonesuch", ()),
    ],
)
def test_the_word_none_clears_a_field(text, kept, cleared):
    assert (" ".join(split_cleared(text)[0].split()), split_cleared(text)[1]) == (kept, cleared)


@pytest.mark.parametrize("text", ["due:whenever", "due:2026-13-01", "due:fri 25:00", "estimate:0", "estimate:soon"])
def test_what_a_field_does_not_take_is_told_with_what_it_takes(text):
    draft = parse(f"x {text}", NOW)
    assert (draft.fields, draft.name) == ({}, "x")
    assert f"{text.partition(':')[0]} takes" in draft.problem


def test_a_title_of_a_form_is_searched_for_what_quick_add_reads_as_fields():
    assert fields_in_title("oat milk due:sat #food", NOW) == "due:sat, #food"
    assert fields_in_title("fix #12 at C#", NOW) == ""


@pytest.mark.parametrize("text", ["#\u2800", '@"\u200b "'])
def test_a_tag_or_an_agent_of_which_nothing_would_be_seen_is_refused(text):
    draft = parse(f"x {text}", NOW)
    assert (draft.tags, draft.agent) == ((), None)
    assert draft.problem == f"the name after {text[0]} has nothing that can be seen"


def test_an_unknown_priority_is_told():
    assert "huge" in parse("x !huge", NOW).problem


@given(name=st.text(min_size=1, max_size=8))
def test_a_tag_or_agent_that_can_be_written_is_read_again_and_alone(name):
    for sign in "#@":
        if can_write(sign, name):
            tags, agent = ((name,), None) if sign == "#" else ((), name)
            assert parse(fields(tags, 3, agent, ()), NOW) == Draft("", tags, None, agent)
        else:
            assert any(not letter.isprintable() or letter in '"\\' or letter.isspace() for letter in name)


def test_fields_are_written_as_they_are_read():
    text = fields(("infra", "db"), 1, "claude-2", (3, 4))
    assert parse(text, NOW) == Draft("", ("infra", "db"), 1, "claude-2", (3, 4))
    assert fields((), 3, None, ()) == ""


@pytest.mark.parametrize(
    ("title", "hint"),
    [
        ("Buy milk +home", "+home (type #home)"),
        ("Buy pri:H", "pri:H (type !high)"),
        ("Buy priority:low tag:a agent:bob", "priority:low (type !low), tag:a (type #a), agent:bob (type @bob)"),
        ("Buy depends:12", "depends:12 (type after #12)"),
        ("Buy project:home", "project:home (ELSEWHERE)"),
        ("Buy wait:3d", "wait:3d (the one date is due:)"),
        ("Buy due: 3d", "due: 3d (type due:3d)"),
        ("Buy milk Tomorrow", "Tomorrow (type due:tomorrow)"),
        ("Call bank fri 14:00", "fri 14:00 (type due:fri 14:00)"),
        ("Buy !!!", "!!! (type !high)"),
        ("Buy after 2", "after 2 (type after #2)"),
        ("Buy due:", "due: (its value is missing)"),
        ("Call @", "@ (its value is missing)"),
        ("Call bank p1", "p1 (type !1)"),
        ("p1", ""),
        ("Call @ home", ""),
        ("Tomorrow", ""),
        ("Buy at 14:00", ""),
        ("What we do today about the 14:00 train after 2 hours!", ""),
        ("C++ 2 +2 +x a+b http://list:80 depends:me", ""),
    ],
)
def test_a_title_with_words_of_other_programs_or_without_a_sign_says_what_to_type_instead(title, hint):
    assert parse(title, NOW).name == title
    assert title_hint(title, "ELSEWHERE") == (f"in the title: {hint}" if hint else "")
