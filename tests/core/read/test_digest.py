"""What happened since an instant, against a plain reading of the journal, entry by entry."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks import Checks
from tests.conftest import SECOND, START
from tests.entries import all_entries
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import RecordRefusal, RecordTerminal, Redo, Undo
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.jobs import (
    AbandonRun,
    CreateJob,
    FinishRun,
    NamedCheck,
    NoteRunAgent,
    RecordSettings,
    RequestChecks,
    RunJob,
    WaiveChecks,
)
from tui_tasks.core.operations.sessions import (
    InputRequested,
    PromptSubmitted,
    SessionEnded,
    SessionEvent,
    SessionReport,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClaimNext,
    DeleteTask,
    EditTask,
    EnsureList,
    LapseClaims,
    LogTask,
    SetListReview,
)
from tui_tasks.core.read import check_queries, job_queries, statistics
from tui_tasks.core.read.agents.agent_states import LeftTask
from tui_tasks.core.read.ask_queries import open_asks
from tui_tasks.core.read.digest import _filed_in, digest
from tui_tasks.core.read.digest_lines import PARTS, DigestLine
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import held_queries, task_queries, task_records
from tui_tasks.core.snapshots import Entry, verified
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import RESERVED_AGENTS
from tui_tasks.hooks.intake import record_report

ACTORS = st.sampled_from(["a", "b", "human"])
PICK = st.integers(0, 9)
STATUS = st.sampled_from(["pending", "in_progress", "done", "done", "failed", "skipped"])
RESULT = st.sampled_from([None, {"status": "failed"}, 'a "status":"failed" text', {"status": "done"}])
STEP = st.one_of(
    st.tuples(st.just("add"), ACTORS, PICK, STATUS),
    st.tuples(st.just("set"), ACTORS, PICK, STATUS),
    st.tuples(st.just("fail"), ACTORS, PICK, st.just("test 3 of 9")),
    st.tuples(st.just("result"), ACTORS, PICK, RESULT),
    st.tuples(st.sampled_from(["delete", "undo", "claim", "lapse", "ask", "answer", "refuse", "review"]), ACTORS, PICK),
    st.tuples(st.just("check"), ACTORS, PICK, st.sampled_from(["passed", "failed", "interrupted"])),
    st.tuples(st.sampled_from(["edit inputs", "request", "waive", "gate"]), ACTORS, PICK),
    st.tuples(st.just("session"), ACTORS, PICK, st.integers(0, 7)),
)


def seconds(instant: int) -> str:
    return str((instant - START) // SECOND)


# What agent programs tell of themselves by hooks.
FACTS: tuple[tuple[SessionEvent, ...], ...] = (
    (PromptSubmitted("go on"),),
    (PromptSubmitted("go on"), ToolStarted("Bash"), ToolEnded("Bash", error="exit 2")),
    (ToolEnded("Read", error="no such file"),),
    (TurnFailed("overloaded"),),
    (UsageReported(100, 0.5, more=True), TurnEnded("done")),
    (UsageReported(7, None, more=True), PromptSubmitted("more")),
    (TurnEnded("done"),),
    (SessionEnded(),),
)


class History:
    """A database that is written to step by step."""

    def __init__(self, store: Store) -> None:
        self.store, self.now = store, START
        self.checks = Checks(store, lambda: self.now, NamedCheck("tests", "1", lists=("checked",)))
        self.homes = [self.commit("human", EnsureList(name, "task"))[0] for name in ("plain", "checked")]
        self.tasks: list[str] = []

    def commit(self, actor: str, *operations):
        return self.store.commit(*operations, actor=actor, now=self.now)

    def step(self, what: str, actor: str, pick: int, value: object = None) -> None:
        self.now += SECOND
        uid = self.tasks[pick % len(self.tasks)] if self.tasks else ""
        with contextlib.suppress(Refusal):
            self._do(what, actor, pick, uid, value)

    def _do(self, what: str, actor: str, pick: int, uid: str, value: object) -> None:
        home = self.homes[pick % 2]
        if what == "add":
            self.tasks.append(self.commit(actor, AddTask(f"task {pick}", home.uid, status=value))[0].uid)
        elif what == "set":
            self.commit(actor, EditTask(uid, {"status": value}))
        elif what == "fail":
            self.commit(actor, EditTask(uid, {"status": "failed"}), LogTask(uid, value))
        elif what == "result":
            self.commit(actor, EditTask(uid, {"result": value}))
        elif what == "check" and any(check_queries.tasks_of(self.store.db, run.uid) for run in self.checks.waiting()):
            # One that no task waits for any more is not begun.
            self.checks.run(value, exit_code=int(value == "failed"))
        elif what == "session":
            report = SessionReport(
                "claude", f"session {pick % 3}", FACTS[value], self.now, Process("boot", "ns", pick % 3 + 9, "b")
            )
            with self.store.transaction(self.now) as transaction:
                record_report(transaction, f"payload {self.now}", report, tasks=False)
        elif what == "gate":
            self.checks.define(NamedCheck("tests", "1", lists=("checked",), gate=pick % 2 == 1))
        elif what == "edit inputs":
            self.checks.edit(str(self.now))
        elif what == "answer" and (asks := open_asks(self.store.db)):
            self.commit("human", AnswerAsk(asks[0].uid, "yes"))
        else:
            self._rest(what, actor, uid, home.uid, review=pick > 4)

    def _rest(self, what: str, actor: str, uid: str, home: str, *, review: bool) -> None:
        if what == "lapse":
            self.now += 60 * SECOND
        operation = {
            "delete": DeleteTask(uid),
            "undo": Undo(),
            "claim": ClaimNext(actor, 30 * SECOND),
            "lapse": LapseClaims(),
            "ask": OpenAsk("Which one?"),
            "refuse": RecordRefusal("control:pause", "only the human may"),
            "review": SetListReview(home, review),
            "request": RequestChecks(uid),
            "waive": WaiveChecks(uid),
        }.get(what)
        if operation is not None:
            self.commit("human" if what in ("review", "waive") else "system" if what == "lapse" else actor, operation)


def failures(db: Database, entries: list[Entry]) -> set[int]:
    """The entries that tell of a failure: no undo that restores one, and none that was taken back."""
    undone_by: dict[int, set[int]] = {}
    for entry in all_entries(db):
        if entry.undoes is not None:
            undone_by.setdefault(entry.undoes, set()).add(entry.change)

    def stands(change: int) -> bool:
        return not any(stands(by) for by in undone_by.get(change, ()))

    found = set()
    for entry in entries:
        new = entry.new or {}
        is_own = entry.undoes is None and stands(entry.change)
        if (
            (entry.entity == "task" and new.get("status") == "failed" and is_own)
            or (entry.kind == "check.finished" and new["state"] == "failed")
            or entry.kind in ("claim.lapsed", "agent.refused", "tool.failed", "session.failed")
        ):
            found.add(entry.seq)
    return found


def of(lines, part):
    return [line for line in lines if line.part == part]


def seqs(lines) -> list[int]:
    return [seq for line in lines for seq in line.entries]


def last_check(entries: list[Entry], uid: str) -> int:
    """When the last check of a task ended, 0 before these entries."""
    return max((entry.at for entry in entries if entry.kind == "check.finished" and entry.task == uid), default=0)


def compare(store: Store, since: int, now: int) -> None:
    db = store.db
    entries = [entry for entry in all_entries(db) if entry.at >= since]
    found = digest(db, since, now, {})
    lines = found.lines
    assert found.newest - found.after == len(entries)
    assert [PARTS.index(line.part) for line in lines] == sorted(PARTS.index(line.part) for line in lines)
    assert len({line.key for line in lines}) == len(lines)

    assert all(since <= line.at <= now for line in lines), "what is older, or yet to come"
    ours = {entry.seq for entry in entries}
    assert all(ours.issuperset(line.entries) for line in lines)
    subjects = [line.subject for line in lines]
    assert len(set(subjects)) == len(subjects), "one of them has two lines"
    told_of = [line for line in lines if line.part in ("needs_you", "failed")]
    named = {line.subject for line in told_of}
    for part in ("needs_you", "failed"):
        seqs_of = seqs(of(lines, part))
        assert len(set(seqs_of)) == len(seqs_of), "an entry is told of twice"
    assert failures(db, entries) <= set(seqs(told_of)), "a failure is missing"

    done = {}
    for entry in entries:
        new = entry.new or {}
        if entry.entity == "task" and new.get("status") == "done":
            done.setdefault(entry.uid, []).append(entry.seq)
        elif entry.kind == "check.finished":
            done.setdefault(entry.task, []).append(entry.seq)
        elif entry.kind == "check.stale":
            for uid in check_queries.tasks_of(db, entry.uid):
                done.setdefault(uid, []).append(entry.seq)
    by_state: dict[str, dict[str, list[int]]] = {"proven": {}, "not_proven": {}, "unchecked": {}}
    homes = {home.id: home for home in task_queries.lists(db)}
    for uid, told in done.items():
        task = task_queries.any_task(db, uid)
        if task.status != "done" or task.deleted or uid in named:
            continue
        state = verified(
            check.state for check in check_queries.of_task(db, task, homes[task.list_id], check_queries.definitions(db))
        )
        by_state[{"passed": "proven", None: "unchecked"}.get(state, "not_proven")][uid] = told
    assert {line.uid: list(line.entries) for line in of(lines, "proven")} == by_state["proven"]
    unproven = {line.uid: list(line.entries) for line in of(lines, "not_proven") if line.kind == "task"}
    assert unproven == by_state["not_proven"]
    unchecked = [line for line in of(lines, "not_proven") if line.kind == "unchecked"]
    assert sorted(seqs(unchecked)) == sorted(seq for told in by_state["unchecked"].values() for seq in told)
    assert sum(line.count for line in unchecked) == len(by_state["unchecked"])

    needing = {(line.kind, line.uid) for line in of(lines, "needs_you")}
    wanted = {("ask", ask.uid): ask.opened_at for ask in open_asks(db)}
    wanted |= {("held", task.uid): task.at for task in held_queries.everything(db)}
    wanted |= {("check", uid): last_check(entries, uid) for uid in check_queries.failing(db, 99)}
    assert needing == {key for key, at in wanted.items() if at >= since}
    assert len(needing) + found.needed_before == len(wanted)
    assert all(line.entries for line in lines)

    spent: dict[str, dict[str, list]] = {}
    for entry in entries:
        for name in ("tokens", "cost_usd"):
            if entry.entity == "session" and (entry.new or {}).get(name) is not None:
                more = entry.new[name] - ((entry.old or {}).get(name) or 0)
                spent.setdefault(entry.uid, {}).setdefault(name, []).append((entry.seq, more))
    assert {line.uid: set(line.entries) for line in of(lines, "spent")} == {
        uid: {seq for told in each.values() for seq, _ in told} for uid, each in spent.items()
    }
    for line in of(lines, "spent"):
        tokens = sum(more for _, more in spent[line.uid].get("tokens", []))
        assert (f"{tokens:,} tokens" in line.text) == (tokens > 0)

    named |= {line.subject for line in lines if line.part in ("proven", "not_proven")} | by_state["unchecked"].keys()
    made = [entry for entry in entries if entry.kind == "task.created" and entry.actor not in RESERVED_AGENTS]
    filed = [entry.seq for entry in made if entry.uid not in named]
    assert sorted(seqs(of(lines, "filed"))) == filed
    assert sum(line.count for line in of(lines, "filed")) == len(filed)


@settings(max_examples=500 if settings().max_examples >= 500 else 25)
@given(steps=st.lists(STEP, min_size=5, max_size=40), ago=st.integers(0, 60))
def test_a_digest_leaves_nothing_out_and_says_what_is_proven(steps, ago) -> None:
    with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/tasks.db") as store:
        store.db.sql("PRAGMA synchronous = off")
        history = History(store)
        for step in steps:
            history.step(*step)
        compare(store, history.now - ago * SECOND, history.now)
        compare(store, 0, history.now)


def test_what_needed_the_human_before_is_counted_and_has_no_line(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("ask", "a", 0)
        since = history.now + SECOND
        history.step("ask", "b", 0)
        found = digest(store.db, since, history.now, {})
        assert [line.who for line in found.lines] == ["b"]
        assert found.needed_before == 1


def test_an_entry_written_late_with_an_earlier_time_is_not_told_of(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "pending")
        since = history.now
        history.now -= 50 * SECOND
        history.step("add", "a", 1, "failed")
        history.now = since
        assert [line.name for line in digest(store.db, since, history.now, {}).lines] == ["task 0"]


def test_a_task_that_failed_a_check_and_waits_for_the_human_is_named_once_with_why(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        for step in (("add", "a", 1, "pending"), ("set", "a", 0, "done")):
            history.step(*step)
        history.checks.run("failed", exit_code=1, output="E   assert 1 == 2\n")
        (line,) = digest(store.db, 0, history.now, {}).lines
        assert (line.part, line.who) == ("needs_you", "a")
        assert line.text == 'reported done, but check "tests" failed: assert 1 == 2'
        assert len(line.entries) == 1


def test_a_question_of_another_agent_does_not_hide_that_its_agent_is_gone(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        for at, agent in enumerate(("a", "b")):
            history.step("add", agent, 0, "pending")
            history.step("set", agent, at, "in_progress")
        of_a, of_b = history.tasks
        history.commit("a", OpenAsk("Which port?", (), of_b))
        left = {of_a: LeftTask("a", history.now), of_b: LeftTask("b", history.now)}
        gone = [line for line in digest(store.db, 0, history.now, left).lines if line.counted_as == "gone"]
        assert sorted((line.who, line.task) for line in gone) == [("a", of_a), ("b", of_b)]


def test_a_lists_name_in_the_digest_is_quoted_where_it_could_pass_for_more(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        (home,) = history.commit("human", EnsureList("x, others above", "task"))
        history.commit("a", AddTask("one", home.uid))
        (line,) = digest(store.db, 0, history.now, {}).lines
        assert line.text == 'filed in "x, others above"'


def test_what_a_clock_ahead_has_written_happened_by_now(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("ask", "a", 0)
        (line,) = digest(store.db, 0, history.now - SECOND // 2, {}).lines
        assert line.at == history.now - SECOND // 2


def test_a_failure_made_good_is_told_with_its_reason_and_with_what_the_task_is_now(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "pending")
        history.step("fail", "a", 0, "no such host")
        history.step("set", "a", 0, "in_progress")
        (line,) = digest(store.db, 0, history.now, {}).parts["failed"]
        assert (line.name, line.who, line.count) == ("task 0", "a", 1)
        assert line.text == "failed: no such host; a is at work on it"


def test_a_claim_that_ran_out_is_told_of_who_held_it_though_another_agent_has_the_task_now(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "pending")
        history.step("claim", "a", 0, "")
        store.commit(LapseClaims(), actor="system", now=history.now + 60 * SECOND)
        (line,) = digest(store.db, 0, history.now + 61 * SECOND, {}).parts["failed"]
        left = {line.uid: LeftTask("a", history.now, has_lapsed=True)}
        (gone,) = digest(store.db, 0, history.now + 61 * SECOND, left).parts["failed"]
        assert (line.counted_as, gone.counted_as, gone.text) == ("", "gone", "is gone, its claim lapsed")
        store.commit(ClaimNext("b", 30 * SECOND), actor="b", now=history.now + 61 * SECOND)
        (line,) = digest(store.db, 0, history.now + 62 * SECOND, {}).parts["failed"]
        assert (line.name, line.who, line.text) == ("task 0", "a", "its claim lapsed; b is at work on it")
        store.commit(EditTask(line.uid, {"status": "done"}), actor="b", now=history.now + 62 * SECOND)
        (line,) = digest(store.db, 0, history.now + 63 * SECOND, {}).parts["failed"]
        assert line.text == "its claim lapsed; b has done it since"
        assert (line.group, line.state_since) == ("done", history.now + 62 * SECOND)


def test_a_job_that_failed_and_has_succeeded_since_is_over_until_it_fails_again(path: Path) -> None:
    with Store(str(path)) as store:
        job = store.commit(CreateJob("Backup", "adhoc", "", "Go", "UTC"), actor="human", now=START)[0]

        def run(outcome: str, at: int) -> DigestLine:
            store.commit(RunJob(job.uid), actor="human", now=at)
            (begun,) = job_queries.open_runs(store.db, job.uid)
            store.commit(FinishRun(begun.uid, outcome, "disk full"), actor="a", now=at)
            (line,) = digest(store.db, 0, at, {}).parts["failed"]
            return line

        assert (run("error", START + SECOND).is_over, run("success", START + 2 * SECOND).is_over) == (False, True)
        (line,) = digest(store.db, 0, START + 3 * SECOND, {}).lines
        assert (line.text, line.at) == ("error: disk full, ok again", START + SECOND)
        assert run("success", START + 4 * SECOND).is_over
        (line,) = digest(store.db, 0, START + 5 * SECOND, {}).lines
        assert line.words(seconds) == "failed at 1 (disk full), ok since 2"
        assert not run("error", START + 5 * SECOND).is_over
        run("success", START + 6 * SECOND)
        (line,) = digest(store.db, 0, START + 7 * SECOND, {}).lines
        assert line.words(seconds) == "failed 2 times, last at 5 (disk full), ok since 6"


def test_the_task_of_an_agent_whose_process_ended_names_the_agent_and_the_job_that_started_it(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "in_progress")
        job = store.commit(CreateJob("Nightly audit", "adhoc", "", "Go", "UTC"), actor="human", now=START)[0]
        run = store.commit(RunJob(job.uid), actor="human", now=START)[0]
        fails = EditTask(history.tasks[0], {"status": "failed", "agent": "a"})
        store.commit(
            NoteRunAgent(run.uid, "a", "s-1"), fails, AbandonRun(run.uid, None, "gone"), actor="system", now=START
        )
        task, ended = digest(store.db, 0, history.now, {}).parts["failed"]
        assert (task.who, task.text) == ("a", "failed, started by job Nightly audit")
        assert (ended.who, ended.name) == ("a", "Nightly audit")


@pytest.mark.parametrize("is_its", [True, False])
def test_a_task_that_failed_within_a_run_of_its_agent_is_one_failure_with_the_run(path: Path, is_its: bool) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "in_progress")
        job = store.commit(CreateJob("Nightly audit", "adhoc", "", "Go", "UTC"), actor="human", now=START)[0]
        run = store.commit(RunJob(job.uid), actor="human", now=START + SECOND)[0]
        store.commit(NoteRunAgent(run.uid, "a" if is_its else "b", "s-1"), actor="system", now=START + SECOND)
        store.commit(FinishRun(run.uid, "error", "exit 1"), actor="b", now=START + 3 * SECOND)
        fails = EditTask(history.tasks[0], {"status": "failed"})
        store.commit(fails, actor="a", now=START + 2 * SECOND)
        lines = digest(store.db, 0, START + 4 * SECOND, {}).parts["failed"]
        both = ["failed", "error: exit 1"]
        assert [line.text for line in lines] == (["failed, started by job Nightly audit"] if is_its else both)
        store.commit(EditTask(history.tasks[0], {"status": "pending"}), actor="human", now=START + 5 * SECOND)
        lines = digest(store.db, 0, START + 6 * SECOND, {}).parts["failed"]
        assert [line.text for line in lines] == ["failed; the task is pending now", "error: exit 1"]


def test_a_check_that_failed_and_has_passed_since_is_over(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        for step in (("add", "a", 1, "pending"), ("set", "a", 0, "done"), ("check", "a", 0, "failed")):
            history.step(*step)
        history.step("request", "a", 0)
        history.step("check", "a", 0, "passed")
        (line,) = digest(store.db, 0, history.now, {}).lines
        assert line.is_over and line.text == 'check "tests" failed, ok again'
        assert re.fullmatch(r'check "tests" failed at (\d+), ok since (?!\1)\d+', line.words(seconds))


@pytest.mark.parametrize("order", [("log", "set"), ("set", "log")])
def test_a_failure_is_told_with_what_its_agent_logged_before_or_after_it(path: Path, order) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "in_progress")
        for what in order:
            history.now += SECOND
            uid = history.tasks[0]
            history.commit("a", LogTask(uid, "disk full") if what == "log" else EditTask(uid, {"status": "failed"}))
        (line,) = digest(store.db, 0, history.now, {}).parts["failed"]
        assert line.text == "failed: disk full"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"summary": "no such host", "tries": 3}, "no such host"),
        ({"tries": 3, "hosts": ["a", "b"]}, "tries: 3, hosts: a, b"),
        ("no such host", "no such host"),
        ("{not json", "{not json"),
    ],
)
def test_a_failures_result_is_its_reason_in_words_in_digest_and_list(path: Path, result, words) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "in_progress")
        uid = history.tasks[0]
        history.commit("a", LogTask(uid, "run 2 of 2"))
        history.now += SECOND
        history.commit("a", EditTask(uid, {"status": "failed", "result": result}))
        (line,) = digest(store.db, 0, history.now, {}).parts["failed"]
        assert line.text == f"failed: {words}"
        task = list_pages.line(store.db, uid)
        assert task is not None
        assert task_records.end_reason(store.db, task) == words


def test_the_reasons_that_an_agent_gave_with_a_failure_say_why_before_its_notes(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "in_progress")
        uid = history.tasks[0]
        history.commit("a", LogTask(uid, "compared 3 of 12 months"))
        why = {"topic": "books", "thoughts": ["March differs by 12.40 EUR"]}
        store.commit(EditTask(uid, {"status": "failed"}), actor="a", now=history.now, why=why)
        (line,) = digest(store.db, 0, history.now, {}).parts["failed"]
        assert line.text == "failed: March differs by 12.40 EUR"
        store.commit(EditTask(uid, {"status": "pending"}), actor="human", now=history.now)
        store.commit(EditTask(uid, {"status": "failed"}), LogTask(uid, "my words"), actor="human", now=history.now)
        store.commit(Undo(), actor="human", now=history.now)
        store.commit(Undo(), actor="human", now=history.now)
        task = list_pages.line(store.db, uid)
        assert task is not None
        assert (task.status, task_records.end_reason(store.db, task)) == ("failed", "March differs by 12.40 EUR")


def test_entries_that_were_compacted_away_are_told_of(path: Path) -> None:
    from tui_tasks.core.maintenance.compaction_steps import compact

    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "failed")
        history.now += 100 * SECOND
        compact(store, history.now - 50 * SECOND, history.now)
        found = digest(store.db, 0, history.now, {})
        assert found.is_cut
        assert not found.parts["failed"]
        assert not digest(store.db, history.now - SECOND, history.now, {}).is_cut


def test_commands_that_used_the_humans_name_are_a_line_for_each_terminal_with_all_entries(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        used = [("accept", "/dev/pts/7"), ("asks answer", "/dev/pts/2"), ("accept", "/dev/pts/7"), ("ls", "/dev/pts/7")]
        for command, terminal in used:
            history.now += SECOND
            history.commit("human", RecordTerminal(f"tui-tasks {command}", terminal, ("script 41", "systemd 1")))
        lines = digest(store.db, START, history.now, {}).parts["in_your_name"]
        assert [(line.name, line.who, line.text, line.count, line.at) for line in lines] == [
            ("/dev/pts/2", "human", "from a shell: tui-tasks asks answer", 1, START + 2 * SECOND),
            ("/dev/pts/7", "human", "from a shell: tui-tasks accept, tui-tasks ls", 3, START + 4 * SECOND),
        ]
        kinds = {entry.seq: entry.kind for entry in all_entries(store.db)}
        assert {kinds[seq] for line in lines for seq in line.entries} == {"terminal.used"}
        assert digest(store.db, history.now + SECOND, history.now, {}).parts["in_your_name"] == []


def test_permissions_that_a_rule_has_answered_are_one_line_for_each_rule(path: Path) -> None:
    rule = {"answer": "allow", "tool": "Bash", "pattern": "git status"}
    with Store(str(path)) as store:
        history = History(store)
        history.commit("human", RecordSettings("/config.toml", (), 25, False, (rule,)))
        for command in ("git status", "git status", "git log"):
            history.now += SECOND
            asked = InputRequested("permission", "Bash", {"command": command})
            with store.transaction(history.now) as transaction:
                report = SessionReport("claude", "s", (asked,), history.now, answer="h-1")
                record_report(transaction, "", report, tasks=False)
        lines = digest(store.db, START, history.now, {}).parts["in_your_name"]
        assert [(line.kind, line.name, line.text, line.count, len(line.entries)) for line in lines] == [
            ("rule", "allow Bash git status", "answered 2 permissions by your rule", 2, 2)
        ]


def test_an_undo_restores_who_has_done_a_task_and_when(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "robin", 0, "in_progress")
        began, uid = history.now, history.tasks[0]
        history.now += 51 * SECOND
        history.commit("robin", EditTask(uid, {"status": "done"}))
        history.now += 300 * SECOND
        history.commit("human", EditTask(uid, {"status": "pending"}))
        history.now += 60 * SECOND
        history.commit("human", Undo())
        found = digest(store.db, began + 400 * SECOND, history.now, {})
        assert [line.who for line in (*found.parts["not_proven"], *found.parts["proven"])] == ["robin"]
        tally = statistics.Tally([START])
        home = task_queries.task(store.db, uid).list_id
        tally.count(statistics.events(store.db, home, 0, journal.newest(store.db)))
        assert tally.took == [51 * SECOND]


def test_a_failure_that_was_undone_is_no_failure_until_it_is_done_again(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "flaky-1", 0, "in_progress")
        history.step("set", "flaky-1", 0, "done")
        history.step("fail", "human", 0, "broke on staging")
        history.step("undo", "human", 0)
        assert digest(store.db, START, history.now, {}).parts["failed"] == []
        history.commit("human", Redo())
        (line,) = digest(store.db, START, history.now, {}).parts["failed"]
        assert (line.text, line.who, line.count) == ("failed: broke on staging", "human", 1)


def test_an_undo_that_restores_a_failure_is_no_second_failure(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.step("add", "a", 0, "in_progress")
        history.step("fail", "a", 0, "disk full")
        history.step("set", "human", 0, "pending")
        history.step("undo", "human", 0)
        (line,) = digest(store.db, START, history.now, {}).parts["failed"]
        assert (line.text, line.state, line.count) == ("failed: disk full", "failed", 1)


def test_commands_of_the_human_that_were_refused_are_one_line_and_the_last(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        history.commit("human", RecordRefusal("control:pause", "no"), RecordRefusal("control:undo", "nothing to undo"))
        history.step("add", "robin", 0, "done")
        found = digest(store.db, START, history.now, {})
        (line,) = (line for line in found.parts["failed"] if line.state == "refused")
        assert (line.count, line.text) == (2, "refused, last control:undo: nothing to undo (2 times)")
        assert list(found.groups)[-1] == "refused"


def test_what_needs_a_person_stands_in_the_order_of_its_urgency_before_its_age(path: Path) -> None:
    with Store(str(path)) as store:
        history = History(store)
        (home,) = history.commit("human", EnsureList("Plan", "task"))
        history.commit("human", SetListReview(home.uid, True))
        history.commit("a", AddTask("proposed", home.uid))
        history.commit("a", OpenAsk("Which one?"))
        found = digest(store.db, 0, history.now, {})
        assert [line.counted_as for line in found.lines if line.part == "needs_you"] == ["question", "proposed"]


def test_tasks_that_were_filed_say_how_many_are_deleted_since_and_are_listed_above() -> None:
    rows = [(1, SECOND, "u1", "One", True, "tasklist"), (2, SECOND, "u2", "Two", False, "tasklist")]
    assert _filed_in("list", "bob", rows, 1).text == "filed in tasklist, 1 deleted since; 1 more that it filed is above"
