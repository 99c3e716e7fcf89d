"""The verbs of a shell: what they take, whose changes they are, and what they leave alone."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.conftest import START, Clock, Talk
from tests.contract.client import environment, program
from tests.started import DEADLINE
from tui_tasks.channel.session import Session
from tui_tasks.cli.main import main
from tui_tasks.cli.tasks import listing, lookup, task_changes
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import InvalidArgument, NotFound, Refusal
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.operations.jobs import CreateJob, DisableJob
from tui_tasks.core.operations.tasks import (
    AddTask,
    ArchiveList,
    CreatePlan,
    DeletePlan,
    EditTask,
    EnsureList,
    SetListRule,
)
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.agents import agent_views, last_words
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.rules.undo import next_to_undo
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.dialects.command_tools import SHELL
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE


@pytest.fixture
def shell(store: Store, clock: Clock) -> Session:
    return Session(store, SHELL, Identity("shell"), clock)


def in_list(shell: Session, name: str) -> Session:
    return Session(shell.store, SHELL, Identity("shell", name), shell.clock)


@pytest.fixture
def printed_json(capsys: pytest.CaptureFixture[str]):
    """What was printed as JSON since it was asked last."""

    def printed_json() -> Any:
        return json.loads(capsys.readouterr().out)

    return printed_json


def names(store: Store, list_name: str = "tasklist") -> list[str]:
    home = task_queries.find_list(store.db, list_name)
    assert home is not None
    return [task.name for task in task_queries.tasks(store.db, home.id)]


def task(store: Store, name: str) -> Task:
    tasks = [task for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)]
    (found,) = [each for each in tasks if each.name == name]
    return found


def add(shell: Session, *each: str) -> None:
    for words in each:
        task_changes.add(shell, words, "", as_json=False)


# What they take


def test_what_is_added_is_read_as_quick_add_reads_it(shell: Session, printed_json) -> None:
    add(shell, "one", "two")
    told_of = task(shell.store, "one").uid
    task_changes.add(shell, "Rotate API keys #infra !high @claude-2 after #1", "All of them", as_json=True)
    made = task(shell.store, "Rotate API keys")
    assert (made.tags, made.priority, made.agent, made.depends_on) == (("infra",), 2, "claude-2", (told_of,))
    assert made.description == "All of them"
    assert made.blocked


def test_signs_behind_a_backslash_are_plain_text(shell: Session) -> None:
    add(shell, r"fix \#hash \!bang \@at and #12 now")
    assert task(shell.store, "fix #hash !bang @at and #12 now").tags == ()


def test_words_that_stay_in_the_title_are_named_with_what_to_type_instead(shell: Session, capsys) -> None:
    add(shell, "Buy +home project:us")
    assert task(shell.store, "Buy +home project:us").tags == ()
    said = "in the title: +home (type #home), project:us (--list NAME chooses a list)\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("words", "why"), [("x !huge", "no priority 'huge'"), ("#tag", "needs a title"), ("x after #7", "no task #7")]
)
def test_words_that_mean_nothing_are_refused_and_nothing_is_made(shell: Session, words: str, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        task_changes.add(shell, words, "", as_json=False)
    assert journal.latest(shell.store.db, 1) == []


@pytest.mark.parametrize("reference", ["2", "#2"])
def test_a_task_is_meant_by_the_number_that_ls_prints(shell: Session, reference: str, capsys) -> None:
    add(shell, "one", "two", "three")
    task_changes.set_status(shell, [reference], "done", "", as_json=False)
    assert task(shell.store, "two").status == "done"
    capsys.readouterr()
    listing.ls(shell, ["done"], ascii_only=False)
    assert capsys.readouterr().out.split()[0] == "#2"


def test_a_number_is_one_tasks_whichever_list_and_place_it_stands_in_and_whichever_list_is_named(
    shell: Session, capsys
) -> None:
    add(shell, "one", "two")
    add(in_list(shell, "other"), "elsewhere")
    other = in_list(shell, "other")
    task_changes.set_status(other, ["1"], "done", "", as_json=False)
    task_changes.set_status(shell, ["#3"], "done", "", as_json=False)
    assert [task(shell.store, name).status for name in ("one", "two", "elsewhere")] == ["done", "pending", "done"]
    task_changes.move(shell, "2", {"first": True}, as_json=False)
    task_changes.move(shell, "2", {"list": "other"}, as_json=False)
    capsys.readouterr()
    listing.ls(shell, [], ascii_only=False)
    assert [line.split()[::2][:2] for line in capsys.readouterr().out.splitlines()] == [
        ["#1", "one"],
        ["#3", "elsewhere"],
        ["#2", "two"],
    ]
    task_changes.add(shell, "after it after #2", "", as_json=False)
    assert task(shell.store, "after it").depends_on == (task(shell.store, "two").uid,)


def test_ls_gives_numbers_the_width_that_the_widest_needs(store: Store, shell: Session, capsys) -> None:
    add(shell, *map(str, range(1, 12)))
    capsys.readouterr()
    listing.ls(shell, [], ascii_only=False)
    heads = [line.partition(" ○ ")[0] for line in capsys.readouterr().out.splitlines()]
    assert heads == [f"{f'#{number}':>3}" for number in range(1, 12)]


def test_what_is_printed_of_a_change_names_the_task_by_its_number(shell: Session, capsys) -> None:
    task_changes.add(shell, "one", "", as_json=False)
    task_changes.set_status(shell, ["1"], "in_progress", "", as_json=False)
    task_changes.log(shell, "1", "half", as_json=False)
    task_changes.add(shell, "two after #1", "", as_json=False)
    listing.show(shell, "2", as_json=False)
    listing.next_task(shell, as_json=False)
    printed = capsys.readouterr().out
    for line in ("added #1  one", "started #1  one", "logged to #1  one", "added #2  two", "#2  two", "after #1"):
        assert line in printed.splitlines()


def test_a_change_of_a_task_that_ls_does_not_show_in_this_folder_names_its_list_and_project(
    shell: Session, store: Store, capsys
) -> None:
    add(Session(store, SHELL, Identity("shell", project="hello"), shell.clock), "Fix login")
    capsys.readouterr()
    task_changes.log(shell, "1", "half", as_json=False)
    task_changes.edit(shell, "1", "!high", task_changes.Edit(), as_json=False)
    task_changes.set_status(shell, ["1"], "done", "", as_json=False)
    task_changes.set_status(shell, ["1"], "done", "", as_json=False)
    task_changes.delete(shell, ["1"], as_json=False)
    task_changes.undo(shell, as_json=False)
    where = "  in hello/tasklist (of project hello)"
    assert capsys.readouterr().out.splitlines() == [
        f"logged to #1  Fix login{where}",
        f"changed #1  Fix login{where}",
        f"done #1  Fix login{where}",
        f"#1 is done already: Fix login{where}",
        f"deleted #1  Fix login{where}",
        f"undone: deletion of #1 Fix login{where}",
    ]


def test_a_command_that_changes_nothing_says_so(shell: Session, capsys) -> None:
    add(shell, "one", "two")
    task_changes.set_status(shell, ["1"], "in_progress", "", as_json=False)
    seq = journal.newest(shell.store.db)
    capsys.readouterr()
    task_changes.set_status(shell, ["1"], "in_progress", "", as_json=False)
    task_changes.edit(shell, "2", "two", task_changes.Edit(), as_json=False)
    task_changes.move(shell, "2", {"last": True}, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "#1 is in progress already: one",
        "unchanged #2  two",
        "unchanged #2  two",
    ]
    assert journal.newest(shell.store.db) == seq


@pytest.mark.parametrize("reference", ["0", "#0", "3", "#3", "#99999999999999999999", "²"])
def test_a_number_that_no_task_has_is_not_found(shell: Session, reference: str) -> None:
    add(shell, "one", "two")
    with pytest.raises(NotFound):
        task_changes.set_status(shell, [reference], "done", "", as_json=False)


def test_eight_digits_and_more_are_the_beginning_of_a_uid_and_fewer_a_number(store: Store, shell: Session) -> None:
    store._uids = iter(f"123456789a{at:02x}-0000-4000-8000-000000000000" for at in range(9))
    add(shell, "one")
    for reference in ("12345678", "123456789A"):
        assert lookup.find_task(shell, reference).name == "one"
    for reference in ("12345", "1234567", "#12345678"):
        with pytest.raises(NotFound):
            lookup.find_task(shell, reference)


def test_a_plan_is_a_list_as_any_other(shell: Session) -> None:
    (plan,) = shell.store.commit(CreatePlan("Release"), actor="bob", now=1)
    shell.store.commit(AddTask("step", plan.uid), actor="bob", now=1)
    task_changes.set_status(shell, ["1"], "done", "", as_json=False)
    assert task(shell.store, "step").status == "done"


# What they do


@pytest.mark.parametrize("status", ["in_progress", "done", "failed", "skipped"])
def test_a_status_is_set_with_its_reason_in_one_change(shell: Session, status: str) -> None:
    add(shell, "one")
    task_changes.set_status(shell, ["1"], status, " no time ", as_json=False)
    made = task(shell.store, "one")
    assert made.status == status
    assert [(entry.agent, entry.message) for entry in task_records.logs(shell.store.db, made.uid)] == [
        ("shell", "no time")
    ]
    task_changes.undo(shell, as_json=False)
    assert task(shell.store, "one").status == "pending"
    assert task_records.logs(shell.store.db, made.uid) == []


def test_several_tasks_are_changed_as_one_change_or_none_is(shell: Session, printed_json) -> None:
    add(shell, *"abc")
    task_changes.set_status(shell, ["1", "#3", "1"], "done", "", as_json=False)
    assert [task(shell.store, name).status for name in "abc"] == ["done", "pending", "done"]
    task_changes.undo(shell, as_json=False)
    assert [task(shell.store, name).status for name in "abc"] == ["pending"] * 3
    with pytest.raises(NotFound):
        task_changes.delete(shell, ["1", "9"], as_json=False)
    assert names(shell.store) == [*"abc"]
    with pytest.raises(Refusal, match="in progress"):
        task_changes.set_status(shell, ["1", "2"], "in_progress", "", as_json=False)
    assert [task(shell.store, name).status for name in "abc"] == ["pending"] * 3
    task_changes.delete(shell, ["1", "2"], as_json=False)
    assert names(shell.store) == ["c"]
    task_changes.undo(shell, as_json=False)
    assert names(shell.store) == [*"abc"]


def test_an_edit_sets_what_is_named_and_leaves_the_rest(shell: Session) -> None:
    add(shell, "one", "two #a !high @bob")
    task_changes.edit(shell, "2", "#b after #1", task_changes.Edit(), as_json=False)
    made = task(shell.store, "two")
    assert (made.tags, made.priority, made.agent) == (("a", "b"), 2, "bob")
    assert made.depends_on == (task(shell.store, "one").uid,)
    task_changes.edit(shell, "2", "Two, anew !low", task_changes.Edit("in full"), as_json=False)
    made = task(shell.store, "Two, anew")
    assert (made.tags, made.priority, made.description) == (("a", "b"), 4, "in full")
    with pytest.raises(InvalidArgument, match="say what to change"):
        task_changes.edit(shell, "2", "", task_changes.Edit(), as_json=False)


@pytest.mark.parametrize(
    ("moved", "where", "after"),
    [
        ("3", {"before": "1"}, "cabd"),
        ("1", {"after": "#3"}, "bcad"),
        ("4", {"first": True}, "dabc"),
        ("1", {"last": True}, "bcda"),
    ],
)
def test_a_task_is_moved_beside_another_or_to_an_end_of_its_list(
    shell: Session, moved: str, where: dict[str, str | bool], after: str
) -> None:
    add(shell, *"abcd")
    task_changes.move(shell, moved, where, as_json=False)
    assert "".join(names(shell.store)) == after
    assert "".join(lookup.find_task(shell, number).name for number in "1234") == "abcd"


@pytest.mark.parametrize(("moved", "where"), [("1", {"first": True}), ("2", {"last": True}), ("1", {"after": "1"})])
def test_a_move_to_where_it_stands_writes_nothing(shell: Session, moved: str, where: dict[str, str | bool]) -> None:
    add(shell, *"ab")
    seq = journal.newest(shell.store.db)
    task_changes.move(shell, moved, where, as_json=False)
    assert (names(shell.store), journal.newest(shell.store.db)) == (["a", "b"], seq)


def test_a_task_is_moved_to_another_list(shell: Session) -> None:
    add(shell, *"abc")
    shell.store.commit(EnsureList("other", "task"), actor="bob", now=1)
    task_changes.move(shell, "1", {"list": "other"}, as_json=False)
    assert (names(shell.store), names(shell.store, "other")) == (["b", "c"], ["a"])
    with pytest.raises(NotFound, match="#9"):
        task_changes.move(shell, "2", {"before": "9"}, as_json=False)


def test_mv_takes_one_place_on_the_command_line(tmp_path: Path, capsys) -> None:
    base = ["--db", str(tmp_path / "x.db")]
    for name in "abc":
        assert main([*base, "add", name]) == 0
    assert main([*base, "mv", "3", "--first"]) == 0
    assert main([*base, "mv", "1", "--last"]) == 0
    assert main([*base, "mv", "#1", "--before", "2"]) == 0
    capsys.readouterr()
    assert main([*base, "ls", "--json"]) == 0
    assert [task["number"] for task in json.loads(capsys.readouterr().out)] == [3, 1, 2]
    for wrong in (["3"], ["3", "1"], ["3", "--first", "--last"]):
        with pytest.raises(SystemExit) as usage:
            main([*base, "mv", *wrong])
        assert usage.value.code == 2


def test_what_is_deleted_comes_back_by_undo_which_says_what_it_took_back(shell: Session, capsys) -> None:
    add(shell, "one", "two")
    task_changes.delete(shell, ["1"], as_json=False)
    assert names(shell.store) == ["two"]
    capsys.readouterr()
    task_changes.undo(shell, as_json=False)
    assert capsys.readouterr().out == "undone: deletion of #1 one\n"
    assert names(shell.store) == ["one", "two"]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch):
    """Make standard input and error a terminal on which a line is typed."""

    def answering(line: str) -> None:
        keyboard = io.StringIO(line)
        keyboard.isatty = lambda: True
        monkeypatch.setattr("sys.stdin", keyboard)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    return answering


def test_an_undo_names_the_newer_change_of_the_human_that_it_passes_over(shell: Session, clock, capsys) -> None:
    add(shell, "one", "two")
    shell.store.commit(EditTask(task(shell.store, "one").uid, {"status": "done"}), actor="human", now=clock())
    task_changes.undo(shell, as_json=False)
    printed = capsys.readouterr()
    assert printed.out.endswith("undone: addition of #2 two\n")
    over = "passed over, as a person decided it: #1 one: pending -> done (u on the screen undoes it)\n"
    assert printed.err.endswith(over)


def test_a_person_is_asked_before_an_undo_passes_over_what_the_screen_has_changed_since(
    shell: Session, clock, answering, capsys
) -> None:
    add(shell, "one", "two")
    shell.store.commit(EditTask(task(shell.store, "one").uid, {"status": "done"}), actor="human", now=clock())
    capsys.readouterr()
    answering("n\n")
    task_changes.undo(shell, as_json=False, asks=True)
    told = capsys.readouterr().err
    newer = "Your newer one stays: #1 one: pending -> done (u on the screen undoes it)."
    assert told.startswith(f"This undoes changes that a shell has made. {newer}\n")
    assert "Undo “#2 two: added”, " in told and names(shell.store) == ["one", "two"]


@pytest.mark.parametrize(("answer", "left"), [("y", []), ("n", ["one"]), ("", ["one"])])
def test_a_person_is_asked_before_an_old_change_is_undone(
    shell: Session, clock, answering, capsys, answer, left
) -> None:
    add(shell, "one")
    clock.forward(720)
    capsys.readouterr()
    answering(f"{answer}\n")
    task_changes.undo(shell, as_json=False, asks=True)
    printed = capsys.readouterr()
    assert "Undo “#1 one: added”, 12m ago? [y/N]" in printed.err
    assert ("made by shell; `tui-tasks redo` does it again\n" in printed.err) == (not left)
    assert names(shell.store) == left
    assert printed.out == ("" if left else "undone: addition of #1 one (12m ago)\n")


def test_a_person_who_goes_back_through_old_changes_is_asked_once(shell: Session, clock, answering, capsys) -> None:
    add(shell, "one")
    add(shell, "two")
    add(shell, "three")
    clock.forward(720)
    answering("y\nn\n")
    task_changes.undo(shell, as_json=False, asks=True)
    clock.forward(59)
    task_changes.undo(shell, as_json=False, asks=True)
    assert names(shell.store) == ["one"]
    clock.forward(61)
    task_changes.undo(shell, as_json=False, asks=True)
    assert names(shell.store) == ["one"]
    assert capsys.readouterr().err.count("[y/N]") == 2


def test_one_who_goes_back_is_asked_all_the_same_about_a_list_that_was_made(shell: Session, clock, answering) -> None:
    shell.store.commit(EnsureList("sprint", "task"), actor="shell", now=shell.clock())
    add(shell, "one")
    clock.forward(720)
    answering("y\nn\n")
    task_changes.undo(shell, as_json=False, asks=True)
    assert names(shell.store) == []
    task_changes.undo(shell, as_json=False, asks=True)
    assert task_queries.find_list(shell.store.db, "sprint") is not None


def test_one_who_goes_back_is_asked_all_the_same_before_a_job_is_switched_on_again(
    shell: Session, clock, answering, capsys
) -> None:
    fields = {"type": "adhoc", "system_prompt": "", "prompt": "go", "timezone": "UTC"}
    (job,) = shell.store.commit(CreateJob(name="nightly", **fields), actor="shell", now=shell.clock())
    shell.store.commit(DisableJob(job.uid), actor="shell", now=shell.clock())
    add(shell, "one")
    clock.forward(720)
    answering("y\nn\n")
    task_changes.undo(shell, as_json=False, asks=True)
    assert names(shell.store) == []
    task_changes.undo(shell, as_json=False, asks=True)
    assert not job_queries.job(shell.store.db, job.uid).enabled
    assert "Undo “S1 nightly: on -> off”, 12m ago? [y/N]" in capsys.readouterr().err


def test_a_fresh_change_is_undone_at_once_but_one_that_made_a_list_is_asked(shell: Session, answering, capsys) -> None:
    answering("n\n")
    add(shell, "one")
    task_changes.undo(shell, as_json=False, asks=True)
    assert names(shell.store) == []
    shell.store.commit(EnsureList("sprint", "task"), actor="shell", now=shell.clock())
    task_changes.undo(shell, as_json=False, asks=True)
    assert task_queries.find_list(shell.store.db, "sprint") is not None


def test_pipes_and_yes_are_not_asked_before_an_old_change_is_undone(shell: Session, clock, answering) -> None:
    add(shell, "one", "two")
    clock.forward(720)
    task_changes.undo(shell, as_json=False, asks=True)
    answering("n\n")
    task_changes.undo(shell, as_json=False, asks=False)
    assert names(shell.store) == []


def test_undo_takes_back_the_newest_change_of_the_folders_project(shell: Session, store: Store, clock: Clock) -> None:
    web, api = (
        store.commit(EnsureList(f"{name}/tasklist", "task", project=name), actor="shell", now=clock())[0]
        for name in ("web", "api")
    )
    first, second = (store.commit(AddTask("one", home.uid), actor="shell", now=clock())[0].uid for home in (web, api))
    of_web = Session(store, SHELL, Identity("shell", project="web"), clock)
    task_changes.undo(of_web, as_json=False)
    assert task_queries.any_task(store.db, first).deleted
    assert not task_queries.any_task(store.db, second).deleted
    store.commit(SetListRule(api.uid, True), actor="shell", now=clock())
    task_changes.undo(of_web, as_json=False)
    assert task_queries.list_by_id(store.db, web.id).deleted
    assert task_queries.list_by_id(store.db, api.id).one_in_progress
    task_changes.undo(shell, as_json=False)
    task_changes.undo(shell, as_json=False)
    assert task_queries.any_task(store.db, second).deleted


def test_undo_in_a_project_passes_over_the_deleted_list_of_another_and_brings_its_own_back(
    store: Store, clock: Clock
) -> None:
    web, api = (
        store.commit(CreatePlan("Sprint", project=name), actor="shell", now=clock())[0] for name in ("web", "api")
    )
    for home in (web, api):
        store.commit(DeletePlan(home.uid), actor="shell", now=clock())
    task_changes.undo(Session(store, SHELL, Identity("shell", project="web"), clock), as_json=False)
    assert not task_queries.list_by_id(store.db, web.id).deleted
    assert task_queries.list_by_id(store.db, api.id).deleted


def test_undo_and_redo_say_what_each_of_them_did(shell: Session, capsys) -> None:
    add(shell, "one", "two", "three", "four", "milk + eggs")
    shell.store.commit(EnsureList("sprint", "task"), actor="shell", now=shell.clock())

    def said(words: str, undone: str, redone: str) -> None:
        capsys.readouterr()
        task_changes.undo(shell, as_json=False)
        assert capsys.readouterr().out == f"undone: {undone}\n"
        task_changes.redo(shell, as_json=False)
        assert capsys.readouterr().out == f"redone: {redone}\n", words

    said("lists new", "creation of list sprint", "list sprint: made")
    task_changes.set_status(shell, ["5"], "in_progress", "", as_json=False)
    task_changes.set_status(shell, ["5"], "done", "bought", as_json=False)
    said("done", "#5 milk + eggs: in progress again, note", "#5 milk + eggs: in progress -> done, note")
    task_changes.edit(shell, "5", "milk #food @bob", task_changes.Edit(), as_json=False)
    said(
        "edit",
        "#5 milk + eggs: title milk + eggs again, agent none again, tags as before",
        "#5 milk: tags, title milk + eggs -> milk, agent none -> bob",
    )
    task_changes.set_status(shell, ["1", "2"], "skipped", "", as_json=False)
    said("skip", "2 tasks pending again: #1 one, #2 two", "2 tasks pending -> skipped: #1 one, #2 two")
    task_changes.delete(shell, ["1", "2", "3", "4"], as_json=False)
    named = ": #1 one, #2 two, #3 three and 1 more"
    said("rm", f"deletion of 4 tasks{named}", f"4 tasks deleted{named}")


def test_a_title_that_could_pass_for_more_stands_in_quotes_in_what_was_undone(shell: Session, capsys) -> None:
    add(shell, "one: done -> pending, #7 two")
    task_changes.undo(shell, as_json=False)
    assert capsys.readouterr().out.endswith('undone: addition of #1 "one: done -> pending, #7 two"\n')


def test_what_was_taken_back_is_done_again(shell: Session, capsys) -> None:
    add(shell, "one")
    task_changes.undo(shell, as_json=False)
    assert names(shell.store) == []
    capsys.readouterr()
    task_changes.redo(shell, as_json=False)
    assert capsys.readouterr().out == "redone: #1 one: added\n"
    assert names(shell.store) == ["one"]
    with pytest.raises(Refusal, match="no undo"):
        task_changes.redo(shell, as_json=False)


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        ("", ["1 one", "2 two", "3 three"]),
        ("#a", ["1 one", "3 three"]),
        ("-#a", ["2 two"]),
        ("status:done", ["2 two"]),
        ("status:changed", []),
        ("thr", ["3 three"]),
        ("list:other", ["3 three"]),
        ("-list:Other #a", ["1 one"]),
        ("nothing", []),
    ],
)
def test_ls_shows_what_the_filter_of_the_screen_would(shell: Session, capsys, words: str, listed: list[str]) -> None:
    add(shell, "one #a", "two")
    add(in_list(shell, "other"), "three #a")
    task_changes.set_status(shell, ["2"], "done", "", as_json=False)
    wanted = listing.filter_of(words, shell.clock(), shell.store.db)
    capsys.readouterr()
    listing.ls(shell, [], wanted, ascii_only=False)
    found = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [f"{number[1:]} {name}" for number, _, name, *_ in found] == listed
    listing.ls_json(shell, [], wanted)
    assert [task["name"] for task in json.loads(capsys.readouterr().out)] == [each.split()[1] for each in listed]


def test_ls_sorts_by_due_date_over_all_lists_and_each_task_keeps_its_number(shell: Session, capsys) -> None:
    add(shell, "late due:2031-05-01", "never", "soon due:2031-01-01")
    add(in_list(shell, "other"), "between due:2031-03-01", "as-soon due:2031-01-01")
    wanted = listing.filter_of("sort:due", shell.clock(), shell.store.db)
    capsys.readouterr()
    listing.ls(shell, [], wanted, ascii_only=False)
    listed = [line.split()[:3:2] for line in capsys.readouterr().out.splitlines()]
    assert listed == [["#3", "soon"], ["#5", "as-soon"], ["#4", "between"], ["#1", "late"], ["#2", "never"]]
    listing.ls_json(shell, [], wanted)
    assert [task["name"] for task in json.loads(capsys.readouterr().out)] == [name for _, name in listed]


@pytest.mark.parametrize(("by", "first"), [("urgency", "high"), ("age", "new"), ("agent", "taken")])
def test_ls_sorts_by_what_the_screen_sorts_by(shell: Session, clock, capsys, by: str, first: str) -> None:
    add(shell, "plain", "taken @bob", "high !high")
    clock.forward(60)
    add(shell, "new")
    capsys.readouterr()
    listing.ls_json(shell, [], listing.filter_of(f"sort:{by}", shell.clock(), shell.store.db))
    assert json.loads(capsys.readouterr().out)[0]["name"] == first


@pytest.mark.parametrize("words", ["bogus:1", "due:never", "sort:name"])
def test_a_filter_that_means_nothing_is_refused(shell: Session, words: str) -> None:
    with pytest.raises(InvalidArgument):
        listing.filter_of(words, shell.clock(), shell.store.db)


def test_ls_ls_json_next_and_prime_are_about_the_tasks_of_the_project_or_of_none(tmp_path: Path, capsys) -> None:
    base = ["--db", str(tmp_path / "x.db")]
    projects = ("web", "api", "")
    for project in projects:
        assert main([*base, "--project", project, "add", f"of {project}.", "--new"]) == 0
    capsys.readouterr()
    for project in projects:
        assert main([*base, "--project", project, "ls", "--json"]) == 0
        assert [task["name"] for task in json.loads(capsys.readouterr().out)] == [f"of {project}."]
        for words in (["ls"], ["next"], ["ls", "of"], ["prime"]):
            assert main([*base, "--project", project, *words]) == 0
            printed = capsys.readouterr().out
            assert [each for each in projects if f"of {each}." in printed] == [project]


def test_next_says_why_it_names_no_task(shell: Session, capsys) -> None:
    add(shell, "Fix login @robin")
    capsys.readouterr()
    listing.next_task(shell, as_json=False)
    why = 'task #1 "Fix login" of tasklist is assigned to robin'
    assert capsys.readouterr().out == f"no task is ready to start: {why}\n"
    listing.next_task(shell, as_json=True)
    assert capsys.readouterr().out == "null\n"


def test_undo_names_the_change_that_it_cannot_take_back_and_passes_over_it(shell: Session) -> None:
    task_changes.add(shell, "one", "", as_json=False)
    task_changes.add(shell, "two", "", as_json=False)
    task_changes.edit(shell, "2", "!high", task_changes.Edit(), as_json=False)
    (other,) = task_queries.tasks_beginning(shell.store.db, "", 2)[1:]
    shell.store.commit(EditTask(other.uid, {"priority": 1}), actor="robin", now=shell.clock())
    over: list[int] = []
    for kind in ("updated", "created"):
        cause = rf"change \d+ \({kind} task #2 .two.\) cannot be undone: robin has"
        with pytest.raises(Refusal, match=cause) as refused:
            task_changes.undo(shell, over, as_json=False)
        over = [int(each) for each in re.findall(r"--pass-over (\d+)", str(refused.value))]
    task_changes.undo(shell, over, as_json=False)
    assert [task.name for task in task_queries.tasks(shell.store.db, other.list_id)] == ["two"]


def test_each_prints_the_task_as_json(shell: Session, printed_json) -> None:
    task_changes.add(shell, "one #a", "", as_json=True)
    uid = printed_json()["uid"]
    for verb in (
        lambda: task_changes.set_status(shell, ["1"], "in_progress", "", as_json=True),
        lambda: task_changes.edit(shell, "1", "!high", task_changes.Edit(), as_json=True),
        lambda: task_changes.move(shell, "1", {"first": True}, as_json=True),
        lambda: task_changes.delete(shell, ["1"], as_json=True),
    ):
        verb()
        held = printed_json()
        assert (held["uid"], held["tags"], held["list"]) == (uid, ["a"], "tasklist")


# Whose changes they are


def test_the_shell_is_in_the_journal_and_never_among_the_agents(shell: Session) -> None:
    add(shell, "one")
    task_changes.set_status(shell, ["1"], "in_progress", "", as_json=False)
    db = shell.store.db
    assert {entry.actor for entry in journal.latest(db, 9)} == {"shell"}
    assert last_words.speakers(db) == []
    assert agent_views.everyone(db, 0) == []
    assert last_words.working(db) == {}


def test_the_human_takes_back_what_the_shell_did_as_anybodys(shell: Session, clock: Clock) -> None:
    add(shell, "one", "two")
    task_changes.set_status(shell, ["1"], "failed", "no time", as_json=False)
    task_changes.move(shell, "1", {"last": True}, as_json=False)
    task_changes.delete(shell, ["#2"], as_json=False)
    store = shell.store
    made = sorted({entry.change for entry in journal.latest(store.db, 99)})
    for change in reversed(made):
        store.commit(Undo(change), actor="human", now=clock())
    assert names(store) == []
    assert {entry.actor for entry in journal.latest(store.db, 5)} == {"human"}


def test_the_shell_takes_back_its_own_changes_alone(shell: Session, clock: Clock) -> None:
    add(shell, "one")
    Talk(shell.store, clock, agent="bob").ok("tasklist:add_task", name="two")
    task_changes.undo(shell, as_json=False)
    assert names(shell.store) == ["two"]
    with pytest.raises(Refusal, match="the shell has no change to undo: u on the screen undoes what you did there"):
        task_changes.undo(shell, as_json=False)


def test_the_shell_has_no_more_rights_than_an_agent(shell: Session, clock: Clock) -> None:
    add(shell, "one")
    Talk(shell.store, clock, agent="bob").ok("control:claim")
    for verb in (
        lambda: task_changes.set_status(shell, ["1"], "done", "", as_json=False),
        lambda: task_changes.delete(shell, ["1"], as_json=False),
        lambda: task_changes.edit(shell, "1", "mine", task_changes.Edit(), as_json=False),
    ):
        with pytest.raises(Refusal, match="bob has claimed"):
            verb()


def test_an_agent_that_is_paused_is_paused_in_the_shell_too(shell: Session, clock: Clock) -> None:
    shell.store.commit(PauseAgent("bob", "lunch"), actor="human", now=1)
    paused = Session(shell.store, SHELL, Identity("bob"), clock)
    with pytest.raises(Refusal, match="lunch"):
        task_changes.add(paused, "one", "", as_json=False)


@pytest.mark.parametrize("name", ["shell", "Shell", " shell ", "ѕhell"])
def test_no_agent_speaks_as_the_shell(talk: Talk, name: str) -> None:
    error = talk.refused("tasklist:add_task", {"agent": name}, name="one")
    assert error["code"] == "invalid_request"
    assert "reserved" in error["message"]


def test_a_task_is_linked_to_its_work_and_unlinked_again(shell: Session, store: Store, printed_json) -> None:
    task_changes.add(shell, "Phone links:branch:phone", "", as_json=False)
    branch = {"kind": "branch", "target": "phone"}
    assert task(store, "Phone").links == (branch,)
    told_of = {"remove": False, "as_json": False}
    task_changes.link(shell, "1", ["1f2e3d4", "file:a b.py"], **told_of)
    assert [link["kind"] for link in task(store, "Phone").links] == ["branch", "commit", "file"]
    task_changes.link(shell, "1", ["commit:1f2e3d4"], remove=True, as_json=False)
    task_changes.edit(shell, "1", "links:file:c", task_changes.Edit(), as_json=False)
    assert task(store, "Phone").links == ({"kind": "file", "target": "c"},)
    with pytest.raises(InvalidArgument, match="branch:NAME"):
        task_changes.link(shell, "1", ["phone"], **told_of)
    task_changes.edit(shell, "1", "links:none", task_changes.Edit(), as_json=False)
    assert task(store, "Phone").links == ()


def test_no_agent_is_served_the_tools_of_the_verbs(talk: Talk) -> None:
    for name in SHELL.tools:
        assert TABLE.find(name) is None
        assert talk.refused(name)["code"] == "unknown_tool"


# As processes


@pytest.fixture
def run(tmp_path: Path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = environment(tmp_path)
        return fork_server.run(
            program(*arguments), env=env, capture_output=True, text=True, timeout=DEADLINE, check=False
        )

    return run


@pytest.mark.parametrize(
    "command",
    ["ls", "ls --json", "show 1", "next", "log 1 x", "done 1", "start 1", "edit 1 x", "mv 1 --first", "rm 1", "undo"],
)
def test_what_needs_tasks_says_that_there_is_no_database_and_makes_none(run, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "typo" / "x" / "tasks.db"
    done = run(*command.split(), "--db", str(missing))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no database at {missing}" in done.stderr
    assert not (tmp_path / "typo").exists()


def test_prime_tells_the_rules_and_that_there_is_no_database_and_makes_none(run, tmp_path: Path) -> None:
    missing = tmp_path / "typo" / "tasks.db"
    done = run("prime", "--db", str(missing))
    assert done.returncode == 0
    assert "Rules:" in done.stdout
    assert f"no database at {missing}" in done.stdout
    assert not missing.parent.exists()


def test_the_verbs_are_run_as_they_are_typed(run, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "x.db"))
    for words in (["a #x"], ["b"], ["c", "of", "all", "--description", "E"], ["c of all", "E"]):
        assert run("add", *words, *db).returncode == 0
    for number in ("3", "4"):
        made = json.loads(run("show", number, "--json", *db).stdout)
        assert (made["name"], made["description"]) == ("c of all", "E")
    assert run("rm", "4", *db).returncode == 0
    for line in (
        "start 1",
        "fail 1 no time",
        "skip #2",
        "edit 3 C anew --description D",
        "mv 3 --first",
        "rm 3",
        "undo",
    ):
        done = run(*line.split(maxsplit=2 if line.startswith("fail") else -1), *db)
        assert (done.returncode, done.stderr) == (0, ""), line
    tasks = json.loads(run("ls", "--json", *db).stdout)
    assert [(task["name"], task["status"]) for task in tasks] == [
        ("C anew", "pending"),
        ("a", "failed"),
        ("b", "skipped"),
    ]
    assert tasks[0]["description"] == "D"
    entries = json.loads(run("call", "control:history", *db).stdout)["entries"]
    assert {entry["actor"] for entry in entries} == {"shell"}
    named = run("done", "1", "--agent", "bob", *db)
    assert named.returncode == 0
    assert json.loads(run("call", "control:history", "limit=1", *db).stdout)["entries"][0]["actor"] == "bob"


@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        ("show Fix", 1, "no task Fix: `tui-tasks ls Fix` finds titles with it"),
        ("done 1,2", 1, "no task 1,2: name each task: 1 2 3"),
        ("done 1-2", 1, "no task 1-2: name each task: 1 2 3"),
        ("delete 1", 2, "Did you mean rm?"),
        ("del 1", 2, "Did you mean rm?"),
        ("modify 1", 2, "Did you mean edit?"),
        ("check 1", 1, "task #1 has no check; the human gives it one by `tui-tasks check give 1 NAME`"),
        ("edit 1 after #2", 1, "#2 already waits for #1"),
        ("export", 2, "say FORMAT; the formats are jsonl, "),
        ("import jsonl", 2, "say FORMAT FILE; the formats are jsonl, "),
    ],
)
def test_a_refusal_says_what_to_do(tmp_path: Path, capsys, line: str, status: int, told: str) -> None:
    with Store(str(tmp_path / "x.db")) as store:
        (home,) = store.commit(EnsureList("tasklist", "task"), actor="shell", now=START)
        (one,) = store.commit(AddTask("one", home.uid), actor="shell", now=START)
        (two,) = store.commit(AddTask("two", home.uid), actor="shell", now=START)
        store.commit(EditTask(two.uid, {"depends_on": (one.uid,)}), actor="shell", now=START)
    assert main([*line.split(), "--db", str(tmp_path / "x.db")]) == status
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("jobs add Audit Read", "tui-tasks jobs: no action add. Did you mean new? Choose from show, runs, new, "),
        ("status 1 open", "tui-tasks status: no status open. Did you mean pending? Choose from pending, "),
        ("status 1 zork", "tui-tasks status: no status zork. Choose from pending, "),
        ("import todotxt x", "tui-tasks import: no format todotxt. Did you mean todo.txt? Choose from jsonl, "),
        ("add", "tui-tasks add: the following arguments are required: TITLE; `tui-tasks add --help` lists "),
    ],
)
def test_wrong_usage_is_one_sentence_with_the_word_that_is_meant(capsys, line: str, said: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    told = capsys.readouterr().err
    assert told.startswith(said) and told.count("\n") == 1


def test_a_folder_is_no_database(tmp_path: Path, capsys) -> None:
    (tmp_path / "within").mkdir()
    assert main(["ls", "--db", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"tui-tasks: {tmp_path} is not a file; name another with --db\n"


def test_ls_takes_what_is_not_to_be_listed_as_it_is_typed(tmp_path: Path, capsys) -> None:
    for words in ("one #auth", "two", "three"):
        assert main(["add", words, "--db", str(tmp_path / "x.db")]) == 0
    assert main(["done", "3", "--db", str(tmp_path / "x.db")]) == 0
    capsys.readouterr()
    assert main(["ls", "-#auth", "-status:done", "--db", str(tmp_path / "x.db")]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == ["two"]


@pytest.mark.parametrize("line", ["mv 1", "mv 1 x", "mv 1 --first --to b", "add", "fail", "undo 1"])
def test_wrong_usage_ends_with_2(run, line: str) -> None:
    done = run(*line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_to_speak_as_the_shell_or_the_human_is_refused_and_is_no_agents_attempt(run, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "x.db"))
    assert run("add", "one", *db).returncode == 0
    for name in ("shell", "human"):
        refused = run("done", "1", "--agent", name, *db)
        assert refused.returncode == 2
        assert "reserved" in refused.stderr
    with Store(str(tmp_path / "x.db")) as store:
        assert [(entry.kind, entry.actor) for entry in journal.latest(store.db, 2)] == [("agent.refused", "shell")] * 2
        assert last_words.speakers(store.db) == []


def test_a_held_task_is_marked_and_no_verb_takes_it_up(shell: Session, store: Store, clock: Clock, capsys) -> None:
    store.review = lambda: ReviewPolicy(("tasklist",))
    Talk(store, clock).ok("tasklist:add_task", name="Filed")
    home = task_queries.lists(store.db)[0]
    store.commit(AddTask("Mine", home.uid), actor="human", now=clock())
    capsys.readouterr()
    listing.ls(shell, [], ascii_only=False)
    filed, mine = capsys.readouterr().out.splitlines()
    assert "◇" in filed
    assert "○" in mine
    with pytest.raises(Refusal, match="waits for the human"):
        task_changes.set_status(shell, ["1"], "in_progress", "", as_json=False)


def test_a_text_of_an_agent_forges_no_line_of_what_show_prints_of_its_task(shell: Session, capsys) -> None:
    task_changes.add(shell, "one", "Deploy it.\n\n1m ago  you  Accepted", as_json=False)
    task_changes.log(shell, "1", "begun\n1s ago  you  Go on", as_json=False)
    capsys.readouterr()
    listing.show(shell, "1", as_json=False)
    printed = capsys.readouterr().out.splitlines()
    assert "  1m ago  you  Accepted" in printed and "  1s ago  you  Go on" in printed
    assert not [line for line in printed if line.startswith(("1m ago  you", "1s ago  you"))]


def test_a_reason_behind_done_is_refused_with_the_command_that_takes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", str(tmp_path / "x.db")]
    assert main(["add", "one", *db]) == 0
    assert main(["done", "1", "All good", *db]) == 1
    assert capsys.readouterr().err.endswith("no task All good: `tui-tasks status 1 done REASON` logs a reason\n")


def test_at_a_terminal_ls_alone_lists_open_tasks_and_counts_the_finished_ones_that_a_word_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "x.db"))
    for line in ("add one", "add two", "add three", "done 1", "skip 2"):
        assert main(line.split()) == 0
    for line, is_terminal, numbers, more in (
        ("ls", True, ["#3"], "1 done, 1 skipped: `tui-tasks ls --all` shows them\n"),
        ("ls", False, ["#1", "#2", "#3"], ""),
        ("ls --all", True, ["#1", "#2", "#3"], ""),
        ("ls one", True, ["#1"], ""),
        ("ls --status done", True, ["#1"], ""),
    ):
        capsys.readouterr()
        monkeypatch.setattr("sys.stdout.isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        assert main(line.split()) == 0
        told = capsys.readouterr()
        assert ([row.split()[0] for row in told.out.splitlines()], told.err) == (numbers, more)


def test_show_names_the_domain_and_which_dependency_was_deleted(shell: Session, clock, capsys) -> None:
    add(shell, "one", "two after #1")
    shell.store.commit(EditTask(task(shell.store, "two").uid, {"domain": "family"}), actor="bob", now=clock())
    task_changes.delete(shell, ["1"], as_json=False)
    capsys.readouterr()
    listing.show(shell, "2", as_json=False)
    shown = capsys.readouterr().out
    assert "\ndomain family\n" in shown and "\nafter #1 (deleted)\n" in shown


def test_a_tag_that_is_to_be_removed_and_is_not_there_is_told(shell: Session, capsys) -> None:
    add(shell, "one #docs")
    capsys.readouterr()
    task_changes.edit(shell, "1", "", task_changes.Edit(untag=("nope", "docs")), as_json=False)
    assert capsys.readouterr().err == "#1 has no tag nope\n"


def test_an_undo_says_of_an_archived_list_and_of_fields_what_is_so_again(shell: Session, clock) -> None:
    add(shell, "one")
    made = task(shell.store, "one")
    home = task_queries.list_by_id(shell.store.db, made.list_id)
    for operation, said in (
        (ArchiveList(home.uid, True), f"list {home.name}: back from the archive"),
        (EditTask(made.uid, {"priority": 1, "name": "two"}), "priority as before"),
    ):
        shell.store.commit(operation, actor="human", now=clock())
        change = next_to_undo(shell.store.db, "human", Undo())
        shell.store.commit(Undo(), actor="human", now=clock())
        assert said in change_summaries.description(shell.store.db, change, undone=True)
