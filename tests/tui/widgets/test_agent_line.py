"""How the line of all agents shares its room."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.geometry import Size

from tui_tasks.text.glyphs import AGENT_LOOKS
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.needs.agent_entries import AgentEntry
from tui_tasks.tui.painting.styles import Group
from tui_tasks.tui.widgets.agent_line import agent_groups, agent_rows

WORDS = {"failed": "failed", "waiting": "waiting", "ready": "to review", "idle": "idle", "stuck": "stuck"}


def entry(state: str, who: str, number: str = "", said: str = "", asks: str = "") -> AgentEntry:
    looks, member = AGENT_LOOKS[state], SimpleNamespace(name=who)
    word = WORDS.get(state, "")
    return AgentEntry(state, member, looks.glyph, looks.color, lambda: None, word, number, "", said, asks=asks)  # type: ignore[arg-type]


CONTEXT: Any = SimpleNamespace(ascii_only=False, link=SimpleNamespace(as_of=None), do=lambda action: None)


def groups_of(width: int, *entries: AgentEntry, finished: Sequence[AgentEntry] = ()) -> list[Group]:
    return agent_groups(CONTEXT, entries, width, finished)


def line(width: int, *entries: AgentEntry, finished: Sequence[AgentEntry] = ()) -> str:
    return joined(groups_of(width, *entries, finished=finished))


def joined(groups: Sequence[Group]) -> str:
    texts = ["".join(text for text, _ in group.parts) for group in groups]
    return " " + texts[0] + "".join(group.gap + text for group, text in zip(groups[1:], texts[1:], strict=True))


TESTS = '"running tests 14/22"'
MANY = (
    entry("failed", "claude-5"),
    entry("waiting", "claude-2", "#7"),
    entry("waiting", "claude-3"),
    entry("working", "claude-1", "#5", TESTS),
    entry("working", "claude-4", "", "Edit src/auth.py"),
    entry("idle", "claude-6"),
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, " ✗ claude-5  ? claude-2 #7  ? claude-3  ◐ claude-1 #5 +2"),
        (80, " ✗ claude-5  ? claude-2 #7  ? claude-3  ◐ claude-1 #5  ◐ claude-4  +1 idle"),
        (
            120,
            ' ✗ claude-5   ? claude-2 waiting #7   ? claude-3 waiting   ◐ claude-1 #5 "running tests…"'
            "   ◐ claude-4 Edit…   +1 idle",
        ),
        (
            160,
            f" ✗ claude-5 failed   ? claude-2 waiting #7   ? claude-3 waiting   ◐ claude-1 #5 {TESTS}"
            "   ◐ claude-4 Edit src/auth.py   +1 idle",
        ),
    ],
)
def test_words_that_marks_say_give_way_to_the_last_words_and_these_to_agents_that_are_not_idle(width, shown):
    assert line(width, *MANY) == shown


@pytest.mark.parametrize("width", [60, 80, 120, 160, 200])
def test_the_words_of_those_at_work_change_neither_who_is_shown_nor_how(width):
    def heads(said: str) -> list[str]:
        entries = [replace(one, said=said) if one.said else one for one in MANY]
        return [
            re.sub(f" {re.escape(said[:4])}.*", "", "".join(text for text, _ in g.parts))
            for g in groups_of(width, *entries)
        ]

    assert heads('"ok"') == heads(f'"ok, {"as all the others were " * 4}"')


WHY = (
    replace(entry("failed", "claude-5"), word="overloaded"),
    MANY[1],
    replace(entry("waiting", "claude-3"), word="Bash"),
    *MANY[3:5],
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, ' ✗ claude-5  ? claude-2 #7  ? claude-3  ◐ claude-1 #5 "running…"  ◐ claude-4'),
        (90, " ✗ claude-5 overloaded  ? claude-2 waiting #7  ? claude-3 Bash  ◐ claude-1 #5  ◐ claude-4"),
        (
            120,
            ' ✗ claude-5 overloaded   ? claude-2 waiting #7   ? claude-3 Bash   ◐ claude-1 #5 "running tests…"'
            "   ◐ claude-4 Edit…",
        ),
    ],
)
def test_why_an_agent_has_failed_and_the_tool_that_one_asks_for_give_way_last(width, shown):
    assert line(width, *WHY) == shown


BUSY = " ✗ claude-5 failed  ? claude-2 waiting #7  ? claude-3 waiting"
AT_WORK = f" ◐ claude-1 #5 {TESTS}  ◐ claude-4 Edit src/auth.py"


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((40, 12), []),
        ((80, 23), [" ✗ claude-5  ? claude-2 #7  ? claude-3  ◐ claude-1 #5  ◐ claude-4  +1 idle"]),
        ((80, 24), [f"{BUSY}  ○ claude-6 idle", AT_WORK]),
        ((120, 40), [BUSY, f"{AT_WORK}  ○ claude-6 idle"]),
        ((260, 40), [f"{BUSY}{AT_WORK.replace(' ◐', '  ◐', 1)}  ○ claude-6 idle"]),
    ],
)
def test_those_at_work_have_their_own_row_on_a_high_screen_where_not_all_agents_would_have_room_for_words(size, shown):
    assert [re.sub(" {3}", "  ", joined(row)) for row in agent_rows(CONTEXT, MANY, Size(*size))] == shown


@pytest.mark.parametrize("at_work", range(5))
def test_an_agent_that_wakes_or_rests_moves_nothing_below(at_work):
    several = [entry("working" if at < at_work else "idle", f"claude-{at}", "#5", TESTS) for at in range(4)]
    assert len(agent_rows(CONTEXT, several, Size(120, 40))) == 2
    assert len(agent_rows(CONTEXT, several[:3], Size(120, 40))) == 1


def test_where_all_are_at_work_half_of_them_stand_in_the_second_row():
    several = [entry("working", f"claude-{number}", "#5", TESTS) for number in range(4)]
    first, second = agent_rows(CONTEXT, [*several, MANY[5]], Size(80, 30))
    assert joined(first) == f" ◐ claude-0 #5 {TESTS}  ◐ claude-1 #5 {TESTS}"
    assert joined(second) == f' ◐ claude-2 #5 {TESTS}  ◐ claude-3 #5 "running tests…"  +1 idle'


NAMED = replace(entry("working", "claude-1", "#5", TESTS, "asks #4"), name="Ship auth flow")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, f" ? claude-2 waiting #7  ◐ claude-1 #5 {TESTS} asks #4  +1 idle"),
        (120, f" ? claude-2 waiting #7   ◐ claude-1 #5 Ship auth flow {TESTS} asks #4   ○ watcher idle"),
    ],
)
def test_the_name_of_the_task_at_work_gives_way_first(width, shown):
    assert line(width, MANY[1], NAMED, entry("idle", "watcher")) == shown


def test_those_that_have_finished_stand_last_where_there_is_room():
    done = replace(entry("idle", "codex-1"), word="finished", mark="–")
    assert line(80, MANY[1], finished=[done, done]) == " ? claude-2 waiting #7  – codex-1 finished  – codex-1 finished"
    assert line(50, MANY[1], finished=[done, done]) == " ? claude-2 waiting #7  – codex-1 finished"
    assert line(40, MANY[1], finished=[done]) == " ? claude-2 waiting #7"
    assert line(80, finished=[done]) == " no agent connected  – codex-1 finished"


def test_what_has_finished_stands_whole_or_not_at_all_whatever_names_and_words_fill_the_line():
    done = replace(entry("idle", "codex-1"), word="finished", mark="–")
    named = replace(entry("working", "dora", "#44", TESTS), name="Keep the old behaviour behind a flag or drop it")
    for width in range(30, 140):
        for shown in ((named,), (MANY[1], named, MANY[5]), MANY[1:3], MANY[:4]):
            text = line(width, *shown, finished=[done, done])
            assert cell_len(text) <= width, text
            assert text.count("–") == text.count("codex-1 finished")


def test_an_agent_that_works_on_after_a_question_shows_both():
    asking = entry("working", "claude-1", "#5", TESTS, "asks #4")
    assert line(80, asking) == f" ◐ claude-1 #5 {TESTS} asks #4"
    assert line(90, MANY[1], asking, entry("idle", "watcher")) == (
        f" ? claude-2 waiting #7  ◐ claude-1 #5 {TESTS} asks #4  ○ watcher idle"
    )
    assert line(30, asking) == " ◐ claude-1 #5 asks #4"


entries = st.lists(
    st.builds(
        entry,
        st.sampled_from(["failed", "stuck", "waiting", "ready", "working", "paused", "idle"]),
        st.sampled_from(["bo", "claude-1", "a-reviewer-with-a-long-name", "审阅者"]),
        st.sampled_from(["", "#5", "#1234"]),
        st.sampled_from(["", TESTS, "编辑 src/auth.py", '"ok"']),
        st.sampled_from(["", "asks", "asks #4"]),
    ),
    min_size=1,
    max_size=12,
)


@given(entries, st.integers(20, 200))
def test_the_line_is_never_wider_than_the_screen_and_counts_all(found: list[AgentEntry], width: int) -> None:
    groups = groups_of(width, *found)
    assert sum(group.size + len(group.gap) for group in groups) - len(groups[0].gap) < width
    texts = ["".join(text for text, _ in group.parts) for group in groups]
    more = int(texts.pop().split()[0][1:]) if texts[-1].startswith("+") else 0
    assert len(found) == more + sum(1 + text.count(", ") for text in texts)


def test_a_working_agent_is_not_hidden_by_what_another_asks():
    asking = entry("working", "claude-1", "#5", TESTS, "asks #4")
    found = (*WHY[:3], asking, MANY[4], *(entry("idle", who) for who in ("codex-2", "watcher")))
    assert line(80, *found) == " ✗ claude-5  ? claude-2 #7  ? claude-3  ◐ claude-1 #5  ◐ claude-4  +2 idle"


def test_idle_agents_are_one_item_behind_all_others():
    idle = (entry("idle", "codex-2"), entry("idle", "watcher"))
    assert line(80, MANY[1], *idle) == " ? claude-2 waiting #7  ○ codex-2, watcher idle"
    assert line(48, MANY[1], *idle) == " ? claude-2 waiting #7  +2 idle", "with all names or none"
    assert line(80, *idle, finished=[replace(idle[0], word="finished", mark="–")]).startswith(
        " ○ codex-2, watcher idle  – "
    )


def test_the_verb_before_a_tool_gives_way_before_the_tool():
    asks = replace(entry("waiting", "claude-3"), word="waiting: Bash")
    busy = entry("working", "claude-1", "#5", TESTS)
    assert line(70, asks, busy) == f" ? claude-3 waiting: Bash  ◐ claude-1 #5 {TESTS}"
    assert line(40, asks, busy) == " ? claude-3 Bash  ◐ claude-1 #5"
