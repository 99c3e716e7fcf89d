"""Pane 1: tasks edited, placed, deleted, marked."""

from __future__ import annotations

import pytest
from textual import events

from tests.tui.driving import SIZES, by_agent, opened, order, place_of, press, said, settle, shown, task, until, write
from tests.tui.plan import NOW, SECOND, connect
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask, SetListRule
from tui_tasks.core.read import overview
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.store import Store
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.edit_conflicts import ConflictScreen
from tui_tasks.tui.inputs.editor import TextInput
from tui_tasks.tui.inputs.line_inputs import AddWords, WordLine
from tui_tasks.tui.inputs.task_form import EditScreen
from tui_tasks.tui.tasks.quick_add import SELECTED_DRAFT

# Editing, placing, deleting


@pytest.mark.parametrize("keys", [("e",), ("n", "x", "ctrl+o")])
async def test_a_title_that_is_too_long_is_told_in_the_form_and_stays_there(app, keys):
    async with opened(app) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        app.screen.query_one("#name").value = "n" * 10_001
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "at most 10,000 characters, not 10,001" in shown(app)
        assert app.screen.query_one("#name").value == "n" * 10_001
        app.screen.query_one("#name").value = "n" * 10_000
        await press(app, pilot, "ctrl+s")
        assert ("n" * 10_000,) in app.link.db.sql("SELECT name FROM task").fetchall()


async def test_e_edits_title_fields_and_description(app, plan):
    async with opened(app) as pilot:
        await pilot.press("j", "j", "j", "j", "e")
        await pilot.pause()
        await pilot.press("end")
        await write(pilot, " now #new")
        await pilot.press("tab", "end")
        await write(pilot, " #urgent")
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[5])
        assert row.name == "Ship auth flow now #new"
        assert said(app) == "Saved. In the title: #new. Tags and dates go into Fields."
        assert row.tags == ("auth", "urgent")
        assert (row.agent, row.priority, row.status) == ("claude-1", 2, "in_progress")


async def test_the_form_has_a_row_for_when_it_is_due_and_for_the_estimate(app, plan):
    async with opened(app, (200, 40)) as pilot:
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("shift+tab", "shift+tab")
        await write(pilot, "90")
        await pilot.press("shift+tab")
        await write(pilot, "whenever")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "due takes today" in said(app))
        await pilot.press(*["backspace"] * 8)
        await write(pilot, "2d")
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[1])
        assert (row.due, row.estimate) == ("2026-11-23", 90)
        assert "due in 2d" in shown(app)


async def test_the_form_leaves_a_text_alone_that_it_cannot_show_as_it_is(app, plan, agent):
    text = "ends\r\nof\nevery\x0csort\u2028there\x85is\r"
    agent(EditTask(plan[1], {"description": text, "name": "two\nlines"}))
    async with opened(app) as pilot:
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("tab", "end")
        await write(pilot, " #new")
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[1])
        assert "new" in row.tags
        assert (row.name, row.description) == ("two\nlines", text)


async def test_nothing_was_typed_in_a_form_that_shows_a_text_in_another_way(app, plan, agent):
    agent(EditTask(plan[1], {"description": "a\r\nb\nc"}))
    async with opened(app) as pilot:
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, EditScreen)


async def test_leaving_the_form_saves_nothing_of_what_was_typed(app, plan):
    async with opened(app) as pilot:
        await pilot.press("e")
        await pilot.pause()
        await write(pilot, "x")
        await press(app, pilot, "escape")
        assert not isinstance(app.screen, EditScreen)
        assert task(app, plan[1]).name == "Inventory GA usage"


async def test_what_an_agent_logs_while_the_human_edits_is_no_conflict(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("e", "end")
        await write(pilot, " x")
        agent(LogTask(plan[1], "still at it"), EditTask(plan[1], {"priority": 1}))
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[1])
        assert (row.name, row.priority) == ("Inventory GA usage x", 1)


@pytest.mark.parametrize(("key", "name"), [("m", "mine"), ("t", "theirs")])
async def test_two_who_change_the_same_are_shown_both_texts(app, plan, agent, key, name):
    async with opened(app) as pilot:
        await pilot.press("e", "ctrl+a")
        await pilot.press("end", "ctrl+u")
        await write(pilot, "mine")
        agent(EditTask(plan[1], {"name": "theirs"}))
        await until(pilot, lambda: "meanwhile" in shown(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await pilot.pause()
        text = shown(app)
        assert "mine" in text
        assert "theirs" in text
        await press(app, pilot, key)
        assert task(app, plan[1]).name == name


async def test_a_task_that_somebody_deletes_while_it_is_edited_is_named_with_who_did_it(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("e", "end")
        await write(pilot, " x")
        agent(DeleteTask(plan[1]))
        await pilot.press("ctrl+s")
        gone = "#1 was deleted by claude-1 while you were typing: `: revert` brings it back"
        await until(pilot, lambda: said(app) == gone)
        assert app.screen.query_one("#name", WordLine).value == "Inventory GA usage x"


async def test_from_a_conflict_one_can_go_back_to_what_one_typed(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("e", "end", "ctrl+u")
        await write(pilot, "mine")
        agent(EditTask(plan[1], {"name": "theirs"}))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await pilot.press("enter")
        await until(pilot, lambda: said(app) == "Both have changed it: m saves your text, t keeps theirs.")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        assert app.screen.query_one("#name", WordLine).value == "mine"
        assert task(app, plan[1]).name == "theirs"


@pytest.mark.parametrize(("key", "kept"), [("m", "mine"), ("t", "theirs")])
async def test_a_draft_that_somebody_has_written_over_is_shown_beside_their_text_when_it_is_saved(
    app, plan, agent, key, kept
):
    async with opened(app) as pilot:
        await settle(pilot, "e", "end", "ctrl+u", *"mine", "escape")
        agent(EditTask(plan[1], {"name": "theirs", "description": "More"}))
        await settle(pilot, "e")
        await until(pilot, lambda: "changed by claude-1 meanwhile" in shown(app))
        assert app.screen.query_one("#name", WordLine).value == "mine"
        await settle(pilot, "escape", "e")  # it is the same draft still
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        assert task(app, plan[1]).name == "theirs"
        await press(app, pilot, key)
        assert (task(app, plan[1]).name, task(app, plan[1]).description) == (kept, "More")


async def test_a_draft_is_saved_beside_what_others_have_changed_in_the_same_line(app, plan, agent):
    async with opened(app) as pilot:
        tags = task(app, plan[1]).tags
        await settle(pilot, "e", "tab", "end", *" #mine", "escape")
        agent(EditTask(plan[1], {"priority": 1, "description": "More"}))
        await settle(pilot, "e")
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[1])
        assert (set(row.tags), row.priority, row.description) == ({*tags, "mine"}, 1, "More")


async def test_what_is_typed_after_a_draft_is_dropped_begins_on_the_newest_text(app, plan, agent):
    async with opened(app) as pilot:
        await settle(pilot, "e", "end", "ctrl+u", *"mine", "escape")
        agent(EditTask(plan[1], {"name": "theirs"}))
        await settle(pilot, "e")
        assert "changed by claude-1 meanwhile" in shown(app)
        await settle(pilot, "ctrl+r", "end", *" too")
        assert "meanwhile" not in shown(app)
        await press(app, pilot, "ctrl+s")
        assert task(app, plan[1]).name == "theirs too"


async def test_j_and_k_in_capitals_move_the_task_and_the_cursor_goes_with_it(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "J")
        assert app.pane.row_list.cursor == plan[2]
        assert place_of(app, app.pane.target()) == 3
        await press(app, pilot, "K", "K")
        assert place_of(app, app.pane.target()) == 1
        await press(app, pilot, "u")
        assert place_of(app, plan[2]) == 2


@pytest.mark.parametrize(("key", "then"), [("J", [1, 3, 5, 2, 4, 6]), ("K", [2, 4, 1, 3, 5, 6])])
async def test_marked_tasks_move_together_in_their_order_as_one_change(app, plan, key, then):
    async with opened(app) as pilot:
        before = order(app)
        app.pane.row_list.mark([plan[4], plan[2]])
        await press(app, pilot, key)
        assert order(app)[:6] == [task(app, plan[number]).name for number in then]
        assert set(app.pane.row_list.marks) == {plan[2], plan[4]}
        await press(app, pilot, "u")
        assert order(app) == before


async def test_one_task_is_deleted_at_once_and_brought_back_by_u(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "d")
        assert task(app, plan[2]).deleted
        assert app.pane.row_list.cursor == plan[3]
        await press(app, pilot, "u")
        assert not task(app, plan[2]).deleted
        await press(app, pilot, "ctrl+r")
        assert task(app, plan[2]).deleted


async def test_a_task_that_an_agent_works_on_is_deleted_once_it_was_asked(app, plan):
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "d")
        asked = "Delete “Ship auth flow”? claude-1 works on it, #6 waits for it, 7 log entries."
        assert asked in " ".join(shown(app).split())
        await press(app, pilot, "n")
        assert not task(app, plan[5]).deleted
        await settle(pilot, "d", "d")
        assert not task(app, plan[5]).deleted
        await press(app, pilot, "y")
        assert task(app, plan[5]).deleted
        assert said(app) == "Deleted “Ship auth flow”. u brings it back."


async def test_of_marked_tasks_those_that_agents_work_on_are_named_before_they_are_deleted(app, plan):
    async with opened(app) as pilot:
        app.pane.row_list.mark([plan[5], plan[8]])
        await settle(pilot, "d")
        assert "claude-1 works on #5. #6 waits for them. " in f"{' '.join(shown(app).split())} "
        await press(app, pilot, "n")
        by_agent(plan, "codex-1", EditTask(plan[8], {"status": "in_progress"}))
        await settle(pilot, "d")
        assert "claude-1 works on #5, codex-1 on #8. #6 waits for them. " in f"{' '.join(shown(app).split())} "


async def test_a_task_that_open_tasks_wait_for_is_deleted_once_it_was_asked(app, plan):
    by_agent(
        plan, "human", LogTask(plan[8], "mine"), EditTask(plan[9], {"depends_on": (plan[8],), "status": "pending"})
    )
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "d")
        assert "Delete “Backup restore drill”? #9 waits for it." in shown(app)
        await press(app, pilot, "enter")
        assert not task(app, plan[8]).deleted
        await press(app, pilot, "d", "y")
        assert said(app) == "Deleted “Backup restore drill”. u brings it back."


async def test_tasks_that_wait_for_marked_ones_are_named(app, plan):
    by_agent(plan, "human", *(EditTask(plan[n], {"depends_on": (plan[8],), "status": "pending"}) for n in (7, 9)))
    async with opened(app) as pilot:
        app.pane.row_list.mark([plan[8], plan[9]])
        await settle(pilot, "d")
        assert "#7 waits for them." in shown(app)


async def test_a_task_is_deleted_at_once_where_no_task_waits_for_it(app, plan):
    by_agent(plan, "human", EditTask(plan[9], {"depends_on": (plan[8],), "status": "done"}))
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await press(app, pilot, "d")
        assert task(app, plan[8]).deleted


async def test_a_second_deletion_says_what_undo_brings_back_after_it(app, plan):
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[8])
        await press(app, pilot, "d")
        await settle(pilot, "k", "j", "d")
        assert said(app) == "Deleted “Old cookie banner”. u brings it back, then “Backup restore drill”."
        await settle(pilot, "u", "g", "v", "j", "v", "e", *"#x", "enter", "u")
        assert said(app) == "Undone: 2 tasks, tags as before: #1, #2. ^r does it again."
        await settle(pilot, "escape")
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "d")
        assert said(app) == "Deleted “Old cookie banner”. u brings it back, then “Backup restore drill”."


async def test_a_title_that_an_agent_has_just_written_is_asked_about(app, plan, agent):
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[8])
        agent(EditTask(plan[8], {"name": "The only copy"}))
        await settle(pilot, "d")
        assert "Delete “The only copy”? claude-1 has changed it just now." in " ".join(shown(app).split())
        await settle(pilot, "n")
        by_agent(plan, "claude-1", EditTask(plan[8], {"name": "An old copy"}), now=NOW - SECOND)
        await until(pilot, lambda: "An old copy" in shown(app))
        await settle(pilot, "j", "k", "d")
        assert task(app, plan[8]).deleted


async def test_a_task_that_changes_while_the_question_stands_is_not_deleted(app, plan, agent):
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[5])
        for changes in (
            {"name": "Ship all"},
            {"description": "And keep it."},
            {"agent": "codex-1"},
            {"status": "done"},
        ):
            await settle(pilot, "k", "j", "d")
            assert "Delete “Ship a" in shown(app), changes
            agent(EditTask(plan[5], changes))
            await press(app, pilot, "y")
            assert not task(app, plan[5]).deleted, changes
            assert said(app) == "Not deleted: #5 changed since you were asked. Look, and press the key again."


async def test_a_task_that_changes_under_the_menu_of_its_status_is_not_set(app, plan, agent):
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s")
        agent(EditTask(plan[8], {"name": "Another thing", "status": "in_progress"}))
        await press(app, pilot, "d")
        assert task(app, plan[8]).status == "in_progress"
        assert said(app) == "Not set: #8 changed since you were asked. Look, and press the key again."
        agent(LogTask(plan[8], "step 9"))
        await press(app, pilot, "s", "d")
        assert task(app, plan[8]).status == "done"


@pytest.mark.parametrize(
    "write", [lambda uid: LogTask(uid, "step 9"), lambda uid: EditTask(uid, {"tags": ("x",), "priority": 1})]
)
async def test_what_an_agent_writes_about_a_task_while_the_question_stands_keeps_it_from_no_deletion(
    app, plan, agent, write
):
    async with opened(app, (80, 24)) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "d")
        agent(write(plan[5]))
        await press(app, pilot, "y")
        assert task(app, plan[5]).deleted


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_task_that_comes_under_the_cursor_as_an_agent_deletes_another_is_asked_about(
    make_app, plan, agent, pane
):
    first, _ = (agent(AddTask(name, plan.list_uid))[0].uid for name in ("One", "Two"))
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.pane.select(first)
        await until(pilot, lambda: app.pane.target() == first)
        agent(DeleteTask(first))
        await until(pilot, lambda: app.pane.target() not in (None, first))
        under = app.pane.target()
        await settle(pilot, "d")
        assert not task(app, under).deleted and "The cursor moved here by itself." in shown(app)


async def test_deleting_several_asks_once(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "v", "j", "v", "d", "n")
        assert app.state.current_list.total == 9
        await press(app, pilot, "d", "y")
        assert app.state.current_list.total == 7
        assert app.pane.row_list.marks == []
        await press(app, pilot, "u")
        assert app.state.current_list.total == 9


async def test_undo_takes_back_the_humans_changes_and_never_an_agents(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "s", "p")
        agent(EditTask(plan[8], {"priority": 1}))
        await press(app, pilot, "u")
        assert task(app, plan[1]).status == "done"
        assert task(app, plan[8]).priority == 1
        assert "Inventory GA usage" in said(app)


@pytest.fixture
def jammed(plan, agent):
    """The human's newest change cannot be taken back; the one before it can."""
    with Store(plan.path) as store:
        store.commit(SetListRule(plan.list_uid, True), actor="claude-1", now=NOW)
        store.commit(EditTask(plan[9], {"status": "pending"}), actor="human", now=NOW)
        store.commit(SetListRule(plan.list_uid, False), actor="human", now=NOW)
    agent(EditTask(plan[8], {"status": "in_progress"}))
    return plan


@pytest.mark.parametrize("size", SIZES)
async def test_undo_says_what_it_cannot_take_back_and_leaves_it_or_passes_over_it(jammed, make_app, size):
    app = make_app(jammed.path)
    async with opened(app, size) as pilot:
        await press(app, pilot, "u")
        refused = "“list Plan: one in progress on → off” cannot be undone: "
        assert said(app).startswith(refused) and said(app).endswith(". u again offers the change before it.")
        assert "Old cookie banner: skipped" not in said(app)
        await press(app, pilot, "j", "u")
        assert said(app).startswith(refused), "another key has come between"
        await press(app, pilot, "u", "n")
        assert task(app, jammed[9]).status == "pending"
        await pilot.press("u", "u")
        await until(pilot, lambda: "Undo “#9" in " ".join(shown(app).split()))
        asked = " ".join(shown(app).split())
        assert refused in asked
        assert "Ship auth flow" in asked
        assert "Backup restore drill" in asked
        assert "Undo “#9 Old cookie banner: skipped → pending”?" in asked
        await press(app, pilot, "y")
        assert "#9 Old cookie banner: skipped again" in said(app)
        assert task(app, jammed[9]).status == "skipped"


async def test_where_nothing_can_be_undone_undo_names_the_change_and_the_reason_each_time(tmp_path, make_app):
    with Store(str(tmp_path / "t.db")) as store:
        (made,) = store.commit(
            AddTask("Ship it", "", new_list=EnsureList("Plan", "tasklist")), actor="claude-1", now=NOW
        )
        store.commit(EditTask(made.uid, {"status": "done"}), actor="human", now=NOW)
        store.commit(EditTask(made.uid, {"status": "failed"}), actor="claude-1", now=NOW)
    app = make_app(tmp_path / "t.db")
    async with opened(app) as pilot:
        for _ in range(2):
            await press(app, pilot, "j", "u")
            assert said(app).startswith("“#1 Ship it: pending → done” cannot be undone: claude-1 has changed ")


@pytest.mark.parametrize(("minutes", "keys"), [(0, ["u", "u", "escape", "u"]), (60, ["u"])])
async def test_where_only_an_answer_was_given_undo_says_that_it_cannot_be_undone(tmp_path, make_app, minutes, keys):
    with Store(str(tmp_path / "t.db")) as store:
        (ask,) = store.commit(OpenAsk("Which?", (), None, None), actor="claude-1", now=NOW)
        store.commit(AnswerAsk(ask.uid, "this"), actor="human", now=NOW - minutes * 60 * SECOND)
    app = make_app(tmp_path / "t.db")
    async with opened(app) as pilot:
        await settle(pilot, *keys)
        assert said(app) == "You have no change to undo; an answer to an agent cannot be undone."


async def test_undo_takes_back_a_newer_change_before_it_passes_over_one_again(jammed, make_app):
    app = make_app(jammed.path)
    async with opened(app) as pilot:
        await press(app, pilot, "u", "u", "y")
        await press(app, pilot, "j", "s", "p")
        await press(app, pilot, "u")
        assert task(app, jammed[2]).status == "done"
        await press(app, pilot, "u")  # the next is old, but one who goes back is not asked again
        assert task(app, jammed[9]).status == "skipped"


async def test_a_note_goes_into_the_log_and_a_message_to_the_agent(app, plan):
    async with opened(app) as pilot:
        await pilot.press("j", "m")
        await write(pilot, "look at eu")
        assert "Note into the log of #2 “Audit CloudFlare WAF rules”" in shown(app)
        await press(app, pilot, "enter")
        assert said(app) == "Logged: #2 “Audit CloudFlare WAF rules”. u undoes it."
        entry = task_records.newest_log(app.link.db, plan[2], 1)[0]
        assert (entry.agent, entry.message) == ("human", "look at eu")
        await pilot.press("m")
        await write(pilot, "hurry")
        await settle(pilot, "tab")
        assert "Message to claude-2" in shown(app) and "hurry" in shown(app)
        await press(app, pilot, "enter")
        newest = overview.changes(app.link.db, 0, 1_000)[-1]
        assert newest.kind == "message.sent"
        sent = journal.since(app.link.db, newest.seq - 1, 1)[0].new
        assert (sent["agent"], sent["text"]) == ("claude-2", "hurry")


async def test_y_copies_id_title_or_markdown(app, plan):
    markdown = "- [ ] Ship auth flow\n  JWT middleware, login"
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "j", "j")
        for key, text in (("i", plan[5]), ("t", "Ship auth flow"), ("m", markdown)):
            await press(app, pilot, "Y", key)
            assert app.clipboard.startswith(text)


# Marks


async def test_what_is_marked_is_changed_as_one(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "k", "v", "j", "v", "s", "d")
        assert [task(app, plan[place]).status for place in (8, 9)] == ["done", "done"]
        await press(app, pilot, "u")
        assert [task(app, plan[place]).status for place in (8, 9)] == ["pending", "skipped"]


async def test_capital_v_marks_all_that_match_and_escape_takes_the_marks_away(app, plan):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "status:done")
        await press(app, pilot, "enter", "V")
        assert app.pane.row_list.marks == [plan[1], plan[2]]
        await press(app, pilot, "escape")
        assert app.pane.row_list.marks == []
        assert app.pane.row_list.keys_on_screen == [plan[1], plan[2]]
        await press(app, pilot, "escape")
        assert len(app.pane.row_list.keys_on_screen) == 9


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_capital_v_marks_those_that_are_not_marked_yet_and_none_only_where_all_are(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.pane.go_to(plan[8] if pane == "list" else plan[1])
        everything = len(app.pane.row_list.rows_held)
        await press(app, pilot, "v")
        assert " 1 marked " in shown(app)
        await press(app, pilot, "V")
        assert len(app.pane.row_list.marks) == everything > 1
        assert f" {everything} marked " in shown(app)
        await press(app, pilot, "V")
        assert app.pane.row_list.marks == []
        assert " marked " not in shown(app).rpartition("\n")[0]


async def test_the_key_that_saves_a_form_ends_a_dialog_of_one_text_as_enter_does(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "G", "v", "k", "v", "e", *"#infra", "ctrl+s")
        assert "Set in 2 tasks. u undoes it." in said(app) and task(app, plan[9]).tags == ("infra",)
        await settle(pilot, "escape", "m", *"look here", "ctrl+s")
        assert "look here" in shown(app)


async def test_marked_tasks_are_edited_together_in_one_line_and_undone_together(app, plan, agent):
    agent(EditTask(plan[8], {"tags": ("old", "kept")}))
    async with opened(app) as pilot:
        await settle(pilot, "G", "v", "k", "v", "e")
        assert "Set in 2 tasks:" in shown(app)
        await write(pilot, "nonsense !high")
        await settle(pilot, "enter")
        assert "“nonsense” is not a field" in shown(app)
        await settle(pilot, "ctrl+u", *"+infra", "enter")
        assert "Set in 2 tasks: +infra (type #infra)" in shown(app)
        await pilot.press("ctrl+u")
        await write(pilot, "#infra -#old !high @claude-2 due:3d")
        await settle(pilot, "enter")
        assert "Set in 2 tasks. u undoes it." in said(app)
        first, second = task(app, plan[8]), task(app, plan[9])
        assert (first.tags, second.tags) == (("kept", "infra"), ("infra",))
        assert {(each.priority, each.agent, each.due) for each in (first, second)} == {(2, "claude-2", "2026-11-24")}
        await settle(pilot, "u")
        assert (task(app, plan[8]).tags, task(app, plan[9]).tags) == (("old", "kept"), ())


@pytest.mark.parametrize("opens", ["enter", "tab"])
async def test_undo_stays_on_the_task_that_is_open_and_names_the_deleted_one_that_is_there_again(app, plan, opens):
    async with opened(app) as pilot:
        app.navigation.go_to(plan[8])
        await settle(pilot, "d", opens)
        there = app.pane.target()
        assert there != plan[8]
        await settle(pilot, "u")
        assert app.pane.target() == there and app.pane.detail.uid == there
        assert said(app).startswith("Undone: deletion of #8 Backup restore drill.")
        await settle(pilot, "escape")
        app.navigation.go_to(plan[8])
        await settle(pilot, opens, "d", "u")
        assert app.pane.target() == plan[8], "it was open when it was deleted"


async def test_an_undo_of_a_deletion_of_several_puts_the_cursor_where_it_was(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[3])
        await settle(pilot, "V", "d", "y")
        assert task(app, plan[3]).deleted and task(app, plan[1]).deleted
        await settle(pilot, "u")
        assert not task(app, plan[3]).deleted and app.pane.target() == plan[3]
        await settle(pilot, "g", "ctrl+r", "u")
        assert app.pane.target() == plan[3]


async def test_a_text_for_a_task_that_an_agent_works_on_goes_to_the_agent(app, plan):
    async with opened(app) as pilot:
        with Store(plan.path) as store:
            connect(store, "claude-1")
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "m", *"hi")
        assert "Message to claude-1" in shown(app)
        await settle(pilot, "enter")
        assert overview.changes(app.link.db, 0, 1_000)[-1].kind == "message.sent"


async def test_a_note_takes_several_lines_and_opens_the_editor(app, plan, monkeypatch):
    monkeypatch.setattr(editor, "edit", lambda _context, text: f"{text}, from the editor\n")
    async with opened(app) as pilot:
        await settle(pilot, "m", *"one", "ctrl+j", *"two", "ctrl+e", "enter")
        assert task_records.newest_log(app.link.db, app.pane.target(), 1)[0].message == "one\ntwo, from the editor"


async def test_a_field_of_one_line_takes_the_first_line_of_a_paste_that_is_not_blank_and_says_so(app):
    async with opened(app) as pilot:
        await settle(pilot, "e")
        title = app.screen.query_one("#name", WordLine)
        title.value = ""
        await app.on_event(events.Paste("\n \rtake jose\rand not\npyjwt\n"))
        await until(pilot, lambda: "the first of 3 lines was pasted" in said(app))
        assert title.value == "take jose"


async def test_what_was_typed_to_an_agent_comes_back_although_its_task_has_another_name_and_it_asks(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "m", *"precious", "escape")
        by_agent(plan, "claude-1", EditTask(plan[5], {"name": "Ship it"}), OpenAsk("Which?", task_uid=plan[5]))
        app.link.check()
        await settle(pilot, "m")
        assert "Message to claude-1, not an answer to its question" in shown(app)
        assert app.screen.query_one(TextInput).value == "precious"


async def test_what_was_typed_for_the_log_is_not_addressed_to_the_agent_when_it_comes_back(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "m", "tab", *"private", "escape", "m")
        assert "Note into the log of #5" in shown(app)
        await settle(pilot, "tab", "escape", "m")
        assert "Message to claude-1" in shown(app) and app.screen.query_one(TextInput).value == "private"


async def test_a_note_on_a_task_that_was_deleted_meanwhile_comes_back_with_the_task(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "m", *"minutes")
        by_agent(plan, "claude-1", DeleteTask(plan[8]))
        await settle(pilot, "enter")
        gone = "Not logged: #8 “Backup restore drill” was deleted. If it comes back, so does your text."
        await until(pilot, lambda: said(app) == gone)
        by_agent(plan, "claude-1", Undo())
        app.link.check()
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "m")
        assert app.screen.query_one(TextInput).value == "minutes"


async def test_why_a_task_failed_does_not_come_back_for_another_task(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "s", "f", *"broken", "escape")
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s", "f")
        assert "Why failed?" in shown(app) and app.screen.query_one(TextInput).value == ""
        await settle(pilot, "escape")
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "s", "f")
        assert app.screen.query_one(TextInput).value == "broken"


async def test_what_was_typed_comes_back_after_esc(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "m", *"look", "escape")
        assert said(app) == "Kept what you typed: the same key brings it back."
        await settle(pilot, "m", "escape")
        assert said(app) == ""
        await settle(pilot, "m", "enter")
        assert task_records.newest_log(app.link.db, app.pane.target(), 1)[0].message == "look"
        await settle(pilot, "m")
        assert app.screen.query_one(TextInput).value == ""
        await settle(pilot, "escape", "n", *"half", "escape")
        assert said(app) == "Kept what you typed: n in this list brings it back."
        await settle(pilot, "n")
        assert said(app) == SELECTED_DRAFT
        await settle(pilot, "escape", "G", "n")
        assert said(app).startswith(f"{SELECTED_DRAFT} It goes below #9 ")
        await settle(pilot, "right", *"way", "enter")
        assert "halfway" in order(app)


async def test_typed_text_takes_the_place_of_what_quick_add_kept_which_belongs_to_its_list(app, plan):
    (other,) = by_agent(plan, "human", EnsureList("other", "task"))
    by_agent(plan, "human", AddTask("One", other.uid))
    async with opened(app) as pilot:
        await settle(pilot, "n", *"Buy a domain", "escape", "escape", "]", "n")
        assert app.pane.quick_add.query_one(AddWords).value == ""
        await settle(pilot, "escape", "[", "n", *"Buy milk", "enter")
        assert "Buy milk" in order(app)


async def test_a_draft_is_typed_on_and_one_key_clears_it(app):
    async with opened(app) as pilot:
        await settle(pilot, "m", *"look", "ctrl+j", *"up", "escape", "m")
        assert said(app) == "This is your draft from before: ^u clears it."
        await settle(pilot, "ctrl+u", *"no", "ctrl+j", *"never", "ctrl+u", *"yes", "enter")
        assert task_records.newest_log(app.link.db, app.pane.target(), 1)[0].message == "no\nyes"
        await settle(pilot, "n", *"Buy milk", "escape", "n", "ctrl+u", *"Buy oats", "enter")
        assert "Buy oats" in order(app) and "Buy milk" not in order(app)


async def test_undo_of_a_move_to_another_list_puts_the_cursor_on_the_task_that_came_back(plan, make_app):
    by_agent(plan, "claude-1", AddTask("Far away", new_list=EnsureList("Other", "task")))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.context.navigation.show_list(
            next(home.id for home in app.state.lists.values() if home.uid == plan.list_uid)
        )
        app.pane.go_to(plan[8])
        (other,) = (home for home in app.state.lists.values() if home.name == "Other")
        await pilot.app.pane.task_actions._move([plan[8]], other.name, other)
        await settle(pilot)
        assert app.pane.target() == plan[9]
        await settle(pilot, "u")
        assert app.pane.target() == plan[8]
