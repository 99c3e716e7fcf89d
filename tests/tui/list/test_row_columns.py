"""What a row of the list shows at each width: a wider one never shows less, and what matters most is cut last."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.geometry import Size

from tui_tasks.text.safe import cell_len
from tui_tasks.tui.list.list_lines import side_width
from tui_tasks.tui.list.row_columns import RowFacts, laid_out

DUE, LATE, HIGH = ("in 2d", "$muted"), ("! 3d", "$state-overdue"), ("!high", "$state-overdue")
SAID, WHY = ('"running tests 14/22"', "$muted"), ("test_dst_gap: expected 02:30, got 03:30", "$state-failed")
ASKED = ("他问：“确定吗？”", "$state-needs-you")
WHY_LONG = ("jose is maintained but heavier; pyjwt is in the lockfile. Which one of them?", "$state-needs-you")
LONG = "Migrate the analytics of the old site"
TASKS = {
    "short": RowFacts(("Ship", ""), age="4m"),
    "whole": RowFacts(("Ship auth flow", ""), SAID, False, (HIGH,), ("auth", "api"), DUE, None, "claude-1", "40s"),
    "failed": RowFacts(("Fix flaky DST test", ""), WHY, True, (), ("flaky",), LATE, ("!", ""), "claude-2", "17m"),
    "long title": RowFacts(("Rotate the keys of all services that sign tokens", ""), None, False, (HIGH,), (), DUE),
    "all": RowFacts((LONG, ""), WHY, True, (HIGH,), ("auth",), DUE, None, "codex", "3d"),
    "wide": RowFacts(("描述描述描述描述描述描述", ""), ASKED, True, (), ("标签",), DUE, None, "克劳德", "2h"),
}


class SHOWN:
    total = 9


def shown(facts: RowFacts, width: int) -> str:
    """Return the columns of a row in a terminal of a width, after its number and marks."""
    room = width - side_width(SHOWN, Size(width, 40)) - 11
    parts = laid_out(facts, room)
    assert sum(cell_len(text) for text, _ in parts) == room
    return "".join(text for text, _ in parts)


def told(facts: RowFacts, text: str) -> set[str]:
    """Return which facts a row tells, if only by their beginning."""
    wanted = {
        "title": facts.title[0][:8],
        "note": facts.note[0][:4] if facts.note else None,
        "due": facts.due[0] if facts.due else None,
        "agent": facts.agent[:3] or None,
        "age": facts.age,
        **{f"mark {mark}": mark for mark, _ in facts.marks},
        **{f"tag {tag}": f"#{tag}"[:6] for tag in facts.tags},
    }
    return {name for name, part in wanted.items() if part and part in text}


@pytest.mark.parametrize("name", TASKS)
def test_a_wider_terminal_never_shows_less_of_a_task(name):
    facts, before = TASKS[name], set()
    for width in range(40, 201):
        now = told(facts, shown(facts, width))
        assert before <= now, width
        before = now
    assert before == told(facts, " ".join((facts.title[0], *(part[0] for part in (facts.note, facts.due) if part),
        *(mark for mark, _ in facts.marks), *(f"#{tag}" for tag in facts.tags), facts.agent, facts.age)))  # fmt: skip


def test_at_120_columns_a_task_with_everything_shows_it_whole():
    row = shown(TASKS["whole"], 120)
    assert " ".join(row.split()) == 'Ship auth flow "running tests 14/22" !high #auth #api in 2d claude-1 40s'


def test_a_reason_is_cut_before_the_agent_and_the_age_go_and_outlives_them():
    row = shown(TASKS["failed"], 80)
    assert row.startswith("Fix flaky DST test") and "test_dst_gap: exp" in row
    assert row.endswith("claude-2   17m")
    row = shown(TASKS["failed"], 50)
    assert row.startswith("Fix flaky DST test  test_dst_") and "claude" not in row
    assert row.rstrip().endswith("!"), "a due date that is over has its mark where the date has no room"


def test_at_80_columns_notes_begin_in_one_column_and_give_way_to_a_longer_title():
    titles = ("Ship", "Write integration tests", "Pick a JWT library: jose or pyjwt")
    rows = [shown(RowFacts((title, ""), WHY, True, age="4m", agent="claude-1"), 80) for title in titles]
    assert [row.index("test_dst_gap") for row in rows] == [25, 25, 35] and rows[2].startswith(f"{titles[2]}  test")
    row = shown(RowFacts((titles[2], ""), ("next", ""), age="4m", agent="claude-1"), 80)
    assert row.startswith(f"{titles[2]}  next ")
    assert shown(RowFacts((titles[2], ""), None, age="4m", agent="claude-1"), 80).startswith(f"{titles[2]}  ")


def test_tags_and_a_long_name_of_an_agent_do_not_pull_a_note_out_of_its_column():
    facts = RowFacts(("Rotate keys", ""), ("2 files +7 -1", ""), True, (HIGH,), ("infra",), age="30s")
    for agent in ("claude-1", "opencode-1", "an-agent-of-16-c"):
        row = shown(replace(facts, agent=agent), 80)
        assert row.index("2 files +7 -1") == 25 and f"{agent}  " in row, row


def test_columns_of_tasks_stand_below_each_other():
    rows = [shown(TASKS[name], 120) for name in ("whole", "failed")]
    for first, second in (("claude-1", "claude-2"), ("in 2d", "! 3d"), ("40s", "17m")):
        assert rows[0].index(first) == rows[1].index(second), first


PLAN = [
    RowFacts(("Set up the build", ""), None, False, (), ("ci",), None, None, "codex-1", "10h"),
    RowFacts(("Find all sites that still load the old script", ""), None, False, (), (), None, None, "claude-2", "9h"),
    RowFacts(
        ("Fix flaky DST test in the scheduler", ""), None, False, (HIGH,), ("flaky",), DUE, None, "claude-2", "2h"
    ),
    RowFacts(("Ship auth flow", ""), SAID, False, (HIGH,), ("auth", "api"), DUE, None, "claude-1", "40s"),
    RowFacts(
        ("Write integration tests", ""), ("after 6", "$muted"), False, (), ("auth", "tests"), LATE, None, "", "12h"
    ),
    RowFacts(
        ("Docs: how to run the server", ""), ('"draft"', "$muted"), False, (), ("docs",), DUE, None, "gemini", "42s"
    ),
]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_every_column_of_a_plan_begins_at_one_place(width):
    rows = [shown(facts, width) for facts in PLAN]
    for column in ("agent", "due"):
        places = set()
        for facts, row in zip(PLAN, rows, strict=True):
            text = facts.agent if column == "agent" else facts.due[0] if facts.due else ""
            places |= {row.index(text)} if text else set()
        assert len(places) == 1, (column, rows)
    assert {len(row.rstrip()) for row in rows} == {len(rows[0])}, "ages end at the edge"
    if width == 120:
        starts = {
            row.index(text)
            for row, text in zip(rows, ("#ci", "", "!high", "!high", "#auth", "#docs"), strict=True)
            if text
        }
        assert len(starts) == 1
        assert len({rows[3].index('"running'), rows[4].index("after 6"), rows[5].index('"draft')}) == 1


@pytest.mark.parametrize("width", [120, 160, 178])
def test_a_long_reason_leaves_priority_and_tags_in_their_place(width):
    tagged = [
        RowFacts(("Ship", ""), ("x" * 120, ""), True, (HIGH,), ("auth",), age="9m", agent="claude-1"),
        RowFacts((LONG * 2, ""), ("x" * 120, ""), True, (HIGH,), ("auth",), DUE, age="9m", agent="claude-1"),
        RowFacts(("Ship", ""), ("x" * 90, ""), False, (HIGH,), (), DUE, age="9m", agent="claude-1"),
        RowFacts(("Ship", ""), None, False, (), ("auth",)),
    ]
    rows = [shown(facts, width) for facts in tagged]
    starts = {row.index(text) for row, text in zip(rows, ("!high", "!high", "!high", "#auth"), strict=True)}
    assert len(starts) == 1, rows


def test_a_reason_takes_the_place_of_tags_and_leaves_that_of_the_priority():
    row = shown(RowFacts(("Ship", ""), WHY, True, (), ("auth",), age="9m", agent="claude-1"), 120)
    assert WHY[0] in row and "#auth" not in row
    row = shown(RowFacts(("Ship", ""), WHY, True, (HIGH,), ("auth",), age="9m", agent="claude-1"), 120)
    assert "test_dst_gap: expecte…  !high  #auth" in row


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_long_title_and_a_long_note_move_no_priority_agent_or_age_of_their_row(width):
    rows = [
        shown(RowFacts((title, ""), (why, ""), is_reason, (HIGH,), age="9m", agent="claude-1"), width)
        for title in ("Ship", LONG, LONG * 3)
        for why, is_reason in (("z", False), ("z" * 120, True), ("z" * 120, False))
    ]
    for text in ("!high", "claude-1", "9m"):
        assert len({row.index(text) for row in rows}) == 1, rows
    places = [row.index("z") for row in rows]
    assert set(places[:3]) == {{80: 25, 100: 31, 120: 38}[width]}
    assert LONG in rows[3] and places[3] == len(LONG) + 2, "a note gives way to a title that it would cut"
    assert width < 105 or set(places[3:6]) == {len(LONG) + 2}, rows


def test_a_title_is_cut_only_when_nothing_else_is_left_to_cut():
    title = TASKS["long title"].title[0]
    for width in range(40, 201):
        row = shown(TASKS["long title"], width)
        assert title in row or "in 2d" not in row, width


def test_a_wide_row_cuts_no_title_beside_blanks():
    facts = RowFacts(("n" * 80, ""), ("after #1", ""), age="9m", agent="claude-1")
    row = shown(facts, 120)
    assert row.startswith("n" * 80 + "  after #1  ") and row.endswith("claude-1      9m")


def test_a_long_reason_begins_in_its_column():
    rows = [
        shown(RowFacts((title, ""), WHY_LONG, True, age="9m", agent="claude-1"), 120) for title in ("Ship", LONG[:30])
    ]
    assert {row.index("jose is") for row in rows} == {38}
    assert all(row.endswith("claude-1      9m") for row in rows)


def test_the_mark_of_a_late_task_stands_beside_its_agent_and_age_and_takes_their_place_nowhere():
    late = RowFacts((LONG, ""), WHY_LONG, True, (), (), ("! late 1h", ""), ("!", ""), "claude-2", "4m")
    row = shown(late, 80)
    assert row.split()[-3:] == ["!", "claude-2", "4m"] and row.startswith("Migrate the analytics …")
    assert "! late 1h" in shown(late, 120) and shown(late, 120).endswith("claude-2      4m")


def test_a_question_in_a_row_keeps_its_end():
    row = shown(RowFacts(("Ship", ""), WHY_LONG, True, is_question=True, age="9m", agent="claude-1"), 80)
    assert "jose is" in row and "Which one of them?" in row


def test_a_mark_of_lateness_moves_no_other_column():
    facts = RowFacts((LONG, ""), WHY_LONG, True, agent="claude-2", age="4m")
    late = RowFacts((LONG, ""), WHY_LONG, True, late=("!", ""), due=("! late 1h", ""), agent="claude-2", age="4m")
    for width in (80, 100, 120):
        assert shown(late, width).index("claude-2") == shown(facts, width).index("claude-2"), width


def test_what_is_proven_leaves_the_agent_and_the_age_where_they_are():
    why = ("Approve: delete the old GA property", "$state-needs-you")
    asked = RowFacts((LONG[:33], ""), why, True, agent="claude-2", age="4m", proof=("□ unproven", ""))
    assert shown(asked, 80).endswith("claude-2    4m") and "unproven" not in shown(asked, 80)
    assert "Approve: delete the old GA property" in shown(asked, 120) and "□ unproven" in shown(asked, 120)
    done = RowFacts(("Find all sites that still load the script of the old banner", ""), ("□ unproven", ""), False)
    whole = RowFacts(done.title, done.note, False, agent="claude-2", age="3h")
    assert shown(whole, 80).split()[-3:] == ["unproven", "claude-2", "3h"]
