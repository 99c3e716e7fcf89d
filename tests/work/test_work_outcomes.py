"""Agents are stopped at the limits of the settings or of their own, and Agents shows who is near to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.work.conftest import git
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.errors import InvalidArgument, StorageFailed
from tui_tasks.core.operations.asks import AnswerAsk, DeliverMessages, SendMessage
from tui_tasks.core.operations.sessions import (
    EndSession,
    PromptSubmitted,
    RecordReport,
    SessionReport,
    TurnEnded,
    TurnInterrupted,
    UsageReported,
)
from tui_tasks.core.operations.work import (
    BeginMerge,
    CommentWork,
    CountWork,
    GiveUpMerge,
    ReportWork,
    RunWork,
    StartWork,
)
from tui_tasks.core.read import ask_queries, message_queries, work_queries, work_text
from tui_tasks.core.read.agents import agent_views, session_queries
from tui_tasks.core.rules import work_limit_rules
from tui_tasks.core.store import Store
from tui_tasks.runner.git import GitFailed
from tui_tasks.settings.work_settings import LimitSettings
from tui_tasks.work import comments, recovery, work_outcomes
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.work_outcomes import most_used

MINUTE = 60_000_000


@pytest.fixture
def work(store: Store, clock, repo, task):
    def start(**limits: float):
        started = StartWork(task, "claude", str(repo), str(repo), False, "main", "main", "c", limits=limits)
        (found,) = store.commit(started, actor="human", now=clock())
        store.commit(RunWork(found.uid, Process("b", "n", 1, "9"), "Do it"), actor="system", now=clock())
        return work_queries.find(store.db, found.uid)

    return start


def use(store: Store, clock, tokens: int, cost: float | None = None, **record) -> None:
    session = session_queries.find(store.db, "claude-1").session
    report = SessionReport("claude", session, (UsageReported(tokens, cost),), clock(), record=record or None)
    store.commit(RecordReport(report, "", tasks=False), actor="claude-1", now=clock())


def report(store: Store, clock, *events) -> None:
    session = session_queries.find(store.db, "claude-1").session
    found = SessionReport("claude", session, events, clock.forward(1))
    store.commit(RecordReport(found, "", tasks=False), actor="claude-1", now=clock())


def shown(store: Store, clock) -> str | None:
    return next(one.near for one in agent_views.everyone(store.db, 0) if one.name == "claude-1")


def test_a_reviewer_that_reports_in_the_worktree_of_another_is_not_ready_before_it_commits(store, clock, repo, task):
    head = git(repo, "rev-parse", "HEAD")
    place = {"branch": "task", "base": "main", "base_commit": head}
    first = StartWork(task, "codex", str(repo), str(repo), **place)
    store.commit(first, actor="human", now=clock())
    store.commit(RunWork(work_queries.live(store.db)[0].uid, Process(), "Do it"), actor="system", now=clock())
    beside = StartWork(
        task, "claude", str(repo), str(repo), makes_worktree=False, is_shared=True, is_race=True, **place
    )
    (found,) = store.commit(beside, actor="human", now=clock())
    store.commit(RunWork(found.uid, Process(), "Review it"), actor="system", now=clock())

    def state() -> str:
        work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1))
        return work_queries.find(store.db, found.uid).state

    (repo / "of the other.txt").write_text("changed")
    report(store, clock, TurnEnded("Looks good"))
    assert state() == "working"
    store.commit(ReportWork(task, "Looks good"), actor="claude-1", now=clock())
    assert (state(), work_queries.find(store.db, found.uid).summary) == ("working", "Looks good")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Mend it")
    assert state() == "ready"


def test_work_that_came_to_conflict_with_its_base_says_so_in_the_files_until_it_merges_again(
    store, clock, repo, task, tmp_path
):
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", "-b", "task", str(tree))
    (tree / "a.txt").write_text("mine\n")
    git(tree, "commit", "-qam", "Mine")
    started = StartWork(task, "claude", str(repo), str(tree), branch="task", base="main", base_commit="c")
    (work,) = store.commit(started, actor="human", now=clock())
    store.commit(RunWork(work.uid), ReportWork(task, "Done"), actor="human", now=clock())

    def obstacle() -> str:
        work_outcomes.look(store, clock.forward(1))
        return work_text.obstacle(store.db, work_queries.find(store.db, work.uid))

    assert obstacle() == ""
    (repo / "a.txt").write_text("theirs\n")
    git(repo, "commit", "-qam", "Theirs")
    assert obstacle() == "conflicts with main: a.txt"
    git(repo, "revert", "--no-edit", "HEAD")
    assert obstacle() == ""
    store.commit(BeginMerge(work.uid, {}), GiveUpMerge(work.uid, "move a.txt out"), actor="human", now=clock())
    assert obstacle() == "not merged: move a.txt out"


@pytest.mark.parametrize(
    ("near", "limit", "obstacle"),
    [
        ("near its limit: 8 of 10 turns", "near its limit: 8 of 10 turns", ""),
        ("conflicts with main: a", None, "conflicts with main: a"),
    ],
)
def test_a_limit_stands_in_no_way_of_a_review_and_a_conflict_is_no_limit_of_its_agent(
    store, clock, task, near, limit, obstacle
):
    (work,) = store.commit(StartWork(task, "claude", "/r", "/r/t", base="main"), actor="human", now=clock())
    ready = RunWork(work.uid), ReportWork(task, "Done"), CountWork(work.uid, {"near": near})
    store.commit(*ready, actor="human", now=clock())
    found = work_queries.find(store.db, work.uid)
    assert work_text.near_limits(store.db).get(found.agent) == limit
    assert work_text.obstacle(store.db, found) == obstacle


def test_the_name_of_a_file_in_conflict_stays_in_one_line_and_a_merge_that_git_cannot_try_conflicts_in_nothing(
    work, monkeypatch
):
    name = "a\n ✓ checked: 12 of 12 checks passed"
    merge_trees = lambda *_: ("", (name, "b" * 300))  # noqa: E731
    monkeypatch.setattr(work_outcomes, "merge_trees", merge_trees)
    work_outcomes._conflicting.cache_clear()
    started = work()
    head = git(Path(started.worktree), "rev-parse", "HEAD")
    found = work_outcomes._conflicts(started, head, 0)
    assert found is not None
    assert "\n" not in found and len(found) < 160 and "a␤" in found

    tried = []

    def fails(*given):
        tried.append(given)
        raise GitFailed("git merge-tree timed out")

    monkeypatch.setattr(work_outcomes, "merge_trees", fails)
    work_outcomes._conflicting.cache_clear()
    assert [work_outcomes._conflicts(started, head, now) for now in range(3)] == [None] * 3
    assert len(tried) == 1 and tried[0][-1] <= 5


def test_a_merge_that_git_did_not_try_in_time_is_tried_again_ten_minutes_later(work, monkeypatch):
    started, answers = work(), iter([GitFailed("git merge-tree timed out"), ("", ("a.txt",))])

    def merge_trees(*_):
        if isinstance(answer := next(answers), GitFailed):
            raise answer
        return answer

    monkeypatch.setattr(work_outcomes, "merge_trees", merge_trees)
    work_outcomes._conflicting.cache_clear()
    head = git(Path(started.worktree), "rev-parse", "HEAD")
    assert work_outcomes._conflicts(started, head, 0) is None
    assert work_outcomes._conflicts(started, head, 10 * MINUTE - 1) is None
    assert work_outcomes._conflicts(started, head, 10 * MINUTE) == "conflicts with main: a.txt"


def test_near_a_limit_agents_shows_it_and_at_the_limit_the_human_is_asked(store, clock, work):
    found = work()
    limits = LimitSettings(tokens=1_000)
    for tokens, near, asked in (
        (799, None, 0),
        (800, "near its limit: 800 of 1,000 tokens", 0),
        (1_000, "at its limit: 1,000 of 1,000 tokens", 1),
    ):
        use(store, clock, tokens)
        work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1), limits)
        assert (shown(store, clock), len(ask_queries.open_asks(store.db))) == (near, asked)
    work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1), limits)
    assert len(ask_queries.open_asks(store.db)) == 1


@pytest.fixture
def at_limit(store: Store, clock, repo, task, monkeypatch):
    """A work in a terminal with changes, whose turn was ended at a limit, and the question about that."""
    started = StartWork(
        task, "claude", str(repo), str(repo), True, "task", "main", "c", has_terminal=True, limits={"tokens": 1_000}
    )
    (found,) = store.commit(started, actor="human", now=clock())
    store.commit(RunWork(found.uid, Process(), "Do it"), actor="system", now=clock())
    (repo / "a.txt").write_text("changed")
    use(store, clock, 1_000)
    work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1))
    report(store, clock, TurnInterrupted())
    work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1))
    return found.uid, ask_queries.open_asks(store.db)[0].uid


def test_at_a_limit_the_agent_is_idle_and_its_work_waits_for_the_answer(store, clock, at_limit):
    uid, _ = at_limit
    assert session_queries.find(store.db, "claude-1").state == "idle"
    assert work_queries.find(store.db, uid).state == "working"


def test_work_that_is_stopped_at_a_limit_is_ready_for_review(store, clock, at_limit):
    uid, ask = at_limit
    store.commit(AnswerAsk(ask, "Stop"), actor="human", now=clock())
    work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
    assert work_queries.find(store.db, uid).state == "ready"


def test_an_agent_that_may_continue_beyond_a_limit_is_woken_once(store, clock, at_limit, monkeypatch):
    uid, ask = at_limit
    typed = []
    monkeypatch.setattr(Terminals, "type_line", lambda _, name, text: typed.append(text))
    monkeypatch.setattr(comments.clean_up, "is_gone", lambda *_: False)
    store.commit(AnswerAsk(ask, "Continue"), actor="human", now=clock())
    for _ in range(3):
        work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
        assert (typed, work_queries.find(store.db, uid).state) == ([comments.PROMPT], "working")
    store.commit(DeliverMessages("claude-1"), actor="claude-1", now=clock.forward(1))
    report(store, clock, PromptSubmitted(comments.PROMPT))
    report(store, clock, TurnEnded("Done"))
    work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
    assert work_queries.find(store.db, uid).state == "ready"


def test_an_agent_behind_a_dialog_is_woken_once_the_dialog_is_gone(store, clock, at_limit, monkeypatch):
    uid, ask = at_limit
    typed, screen = [], ["Do you like this program? 1 Yes 2 No"]
    monkeypatch.setattr(Terminals, "type_line", lambda *_: typed.append(tuple(screen)) or screen == ["> "])
    monkeypatch.setattr(Terminals, "lines", lambda *_: list(screen))
    monkeypatch.setattr(comments.clean_up, "is_gone", lambda *_: False)
    store.commit(AnswerAsk(ask, "Continue"), actor="human", now=clock())

    def look() -> int:
        for _ in range(2):
            work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
        return len(typed)

    assert look() == 1
    screen[:] = ["> "]
    assert look() == 2
    screen[:] = ["> thinking"]
    assert look() == 2


def test_a_program_that_has_ended_at_a_limit_is_started_again_to_continue(store, clock, at_limit, monkeypatch):
    uid, ask = at_limit
    again = []
    monkeypatch.setattr(comments.Starter, "go_on", lambda _, work: again.append(work.uid))
    store.commit(EndSession("claude-1", "its process has ended"), actor="system", now=clock())
    work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
    assert work_queries.find(store.db, uid).state == "working"
    store.commit(AnswerAsk(ask, "Continue"), actor="human", now=clock())
    work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
    work_outcomes.look_at(store, work_queries.find(store.db, uid), clock.forward(1))
    assert (again, work_queries.find(store.db, uid).state) == ([uid], "working")


def test_a_message_alone_starts_no_program_again_that_has_ended_and_goes_with_the_next_comment(
    store, clock, repo, work, monkeypatch
):
    found, again = work(), []
    monkeypatch.setattr(comments.Starter, "go_on", lambda _, work: again.append(work.uid))
    (repo / "new.txt").write_text("new\n")
    store.commit(SendMessage("claude-1", "Rename it too"), actor="human", now=clock())
    store.commit(EndSession("claude-1", "its process has ended"), actor="system", now=clock())
    work_outcomes.look_at(store, found, clock.forward(1))
    assert (again, work_queries.find(store.db, found.uid).state) == ([], "ready")
    (commented,) = store.commit(CommentWork(found.uid, "Again"), actor="human", now=clock())
    assert comments.wake(store, commented, clock()) and again == [found.uid]
    assert [one.text for one in message_queries.waiting(store.db, "claude-1")] == ["Rename it too", "Again"]


def test_how_a_program_ended_is_left_to_its_launcher_for_a_moment(store, clock, work):
    found = work()
    store.commit(EndSession("claude-1", "its process has ended"), actor="system", now=clock())
    work_outcomes.look_at(store, found, clock.forward(4))
    assert work_queries.find(store.db, found.uid).state == "working"
    work_outcomes.look_at(store, found, clock(), status=3)
    assert work_queries.find(store.db, found.uid).message == "claude-1 ended with exit 3 without a change"


def test_without_its_launcher_a_program_has_failed_a_moment_after_its_end(store, clock, work):
    found = work()
    store.commit(EndSession("claude-1", "its process has ended"), actor="system", now=clock())
    work_outcomes.look_at(store, found, clock.forward(6))
    assert work_queries.find(store.db, found.uid).message == "claude-1 has ended without a change"


def test_an_agent_that_the_human_stopped_at_a_limit_says_so_and_no_exit_status(store, clock, work):
    found = work(tokens=1_000)
    use(store, clock, 1_000)
    work_outcomes.look_at(store, found, clock.forward(1))
    store.commit(AnswerAsk(ask_queries.open_asks(store.db)[0].uid, "Stop"), actor="human", now=clock())
    store.commit(EndSession("claude-1", "its process has ended"), actor="system", now=clock())
    work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(6), status=130)
    assert work_queries.find(store.db, found.uid).message == "claude-1 was stopped at its limit, without a change"


def test_a_program_that_waits_for_a_login_says_so_until_it_has_begun(store, clock, work, monkeypatch):
    found = work()
    states = iter((True, False))
    monkeypatch.setattr(work_queries, "is_silent", lambda *_: next(states))
    monkeypatch.setattr(work_outcomes, "last_lines", lambda *_: ["Select login method:"])
    for near in ("not logged in: log in in its terminal", None):
        work_outcomes.look_at(store, work_queries.find(store.db, found.uid), clock.forward(1))
        assert shown(store, clock) == near


def test_limits_of_the_work_take_the_place_of_those_of_the_settings(store, clock, work):
    found = work(tokens=5_000)
    use(store, clock, 2_000)
    session = session_queries.seen(store.db, "claude-1")
    assert most_used(store, found, session, LimitSettings(tokens=1_000), clock()).limit == 5_000


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"cost_usd": 2.0}, "$1.50 of $2.00"),
        ({"minutes": 40}, "30 of 40 minutes"),
        ({"turns": 4}, "2 of 4 turns"),
        ({"context": 0.8}, "75% of the context window, where 80% is the limit"),
    ],
)
def test_each_limit_is_counted_in_its_unit(store, clock, work, limits, text):
    found = work(**limits)
    use(store, clock, 10, 1.5, context=0.75)
    session = session_queries.find(store.db, "claude-1")
    again = SessionReport("claude", session.session, (PromptSubmitted("And now"),), clock())
    store.commit(RecordReport(again, "", tasks=False), actor="claude-1", now=clock())
    session = session_queries.seen(store.db, "claude-1")
    assert str(most_used(store, found, session, LimitSettings(), found.started_at + 30 * MINUTE)) == text


def test_without_limits_nothing_is_counted(store, clock, work):
    found = work()
    assert most_used(store, found, session_queries.seen(store.db, "claude-1"), LimitSettings(), clock()) is None


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0, -1])
def test_a_limit_that_is_no_number_above_0_is_not_stored(work, value):
    with pytest.raises(InvalidArgument, match="the limit cost_usd must be a number above 0"):
        work(cost_usd=value)


def test_a_stored_limit_that_is_no_number_limits_nothing_and_is_named(store, clock, work):
    found = work(cost_usd=2.0)
    store.db.sql("UPDATE work SET limits = ? WHERE uid = ?", ('{"own":{"cost_usd":null}}', found.uid))
    use(store, clock, 1_000, 900.0)
    work_outcomes.look(store, clock.forward(1))
    assert shown(store, clock) == "its limit cost_usd is no number, so it has none"
    assert work_queries.find(store.db, found.uid).state == "working"
    assert any("its limit cost_usd is no number" in line for line in recovery.orphans(store))


def test_limits_that_were_changed_by_hand_are_named(store, work):
    found = work(cost_usd=2.0)
    store.db.sql("UPDATE work SET limits = ? WHERE uid = ?", ('{"own":{"cost_usd":"two"}}', found.uid))
    with pytest.raises(StorageFailed, match="the field limits of the work of claude-1"):
        work_limit_rules.limits_of(work_queries.find(store.db, found.uid))
