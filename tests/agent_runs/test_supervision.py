"""Runs of agent programs by real supervisors; a recording stands in the place of the program."""

import os
import signal
import sys
import threading

import pytest

from tests.agent_runs.playing import RECORDED
from tests.core.job_steps import replayed, tables
from tests.runner.hosting import ROOT, Host, hosted, runners
from tests.started import DEADLINE, until
from tui_tasks import clock
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.operations.jobs import StopRun
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.hooks import session_processes
from tui_tasks.hooks.replies.reply_sender import why_unanswerable
from tui_tasks.runner import processes

WHOLE = "claude-2.1.330-whole"


@pytest.fixture
def host(store):
    return Host(store)


def runner(tmp_path, recording, kind="claude", **more):
    """A runner that starts the stand-in as that program."""
    stand_in = [sys.executable, str(ROOT / "tests/agent_runs/stand_in.py")]
    command = [*stand_in, str(RECORDED / f"{recording}.jsonl"), str(tmp_path / "pids")]
    return runners(kind=kind, command=command, grace=5, **more)


def alive(pid):
    return processes.is_alive(processes.identity(pid)) is True


def asked(store):
    """The question that is open."""
    return until(lambda: ask_queries.open_asks(store.db), "a question")[0]


class Human:
    """Answers what the recorded program asks, in a thread with a connection of its own."""

    def __init__(self, path):
        self._path = path
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._thread.join(DEADLINE)

    def _answer(self):
        with Store(str(self._path)) as store:
            for part, answer in (("Which db", "postgres"), ("Write", "Allow"), ("denyme", "Deny: no sir")):
                ask = asked(store)
                assert part in ask.question
                if part == "Which db":
                    self._write(store, "STEER please")
                store.commit(AnswerAsk(ask.uid, answer), actor="human", now=clock.now())
                until(lambda uid=ask.uid: uid not in {one.uid for one in ask_queries.open_asks(store.db)}, "its end")
            last = asked(store)
            store.commit(AnswerAsk(last.uid, "Allow"), actor="human", now=clock.now())
            self._write(store, "enough", ends_turn=True)

    def _write(self, store, text, **more):
        store.commit(SendMessage("claude-1", text, **more), actor="human", now=clock.now())


def test_an_agent_is_started_asked_answered_steered_and_stopped(host, path, tmp_path):
    with hosted(str(path), runner(tmp_path, WHOLE)), Human(path):
        run = host.run_to_end("agent")
    assert (run.outcome, run.reason) == ("interrupted", "its turn was ended by the human: enough")
    assert (run.agent, run.turns, run.tokens, run.cost_usd) == ("claude-1", 4, 4200, 0.02)
    lines = host.log(run).splitlines()
    assert lines[:2] == ["> AskUserQuestion", "[waits for an answer: a question]"]
    assert set(lines[2:4]) == {"[the human wrote: STEER please]", "[answered]"}
    assert lines[4].startswith("> Write: /")
    assert session_queries.find(host.jobs.store.db, "claude-1").ended_by == "told"
    assert replayed(host.jobs.store) == tables(host.jobs.store.db)


def test_a_killed_supervisor_allows_nothing_and_leaves_nothing_running(host, path, tmp_path):
    store = host.jobs.store
    with hosted(str(path), runner(tmp_path, WHOLE)):
        run = host.start("agent")
        ask = asked(store)
        program, child = map(int, (tmp_path / "pids").read_text().split())
        assert alive(program)
        assert alive(child)
        os.kill(heartbeats.heartbeat_of(store.db, run.uid).pid, signal.SIGKILL)
        ended = host.ended(run)
        until(lambda: not alive(program) and not alive(child), "the end of all that it has started")
    assert (ended.outcome, ended.reason) == ("interrupted", "its supervisor died")
    assert (ended.agent, ended.tokens, ended.cost_usd) == ("claude-1", 1050, None)
    assert why_unanswerable(store.db, ask) is not None
    session_processes.end_departed(store, clock.now())
    assert session_queries.find(store.db, "claude-1").state == "gone"
    assert ask_queries.open_asks(store.db) == []


def test_a_run_that_is_stopped_ends_with_what_its_agent_has_used(host, path, tmp_path):
    store = host.jobs.store
    with hosted(str(path), runner(tmp_path, WHOLE, max_turns=9)):
        run = host.start("agent")
        asked(store)
        host.jobs.commit(StopRun(run.uid), "human")
        ended = host.ended(run)
    assert (ended.outcome, ended.reason, ended.tokens) == ("interrupted", "stopped by human", 1050)
    assert session_queries.find(store.db, "claude-1").state == "gone"
    assert ask_queries.open_asks(store.db) == []


def test_codex_is_started_and_ends_with_its_turn(host, path, tmp_path):
    with hosted(str(path), runner(tmp_path, "codex-0.169.0-plain", "codex", cwd=str(tmp_path))):
        run = host.run_to_end("agent")
    assert (run.outcome, run.result, run.reason) == ("success", "All done.", None)
    assert (run.agent, run.turns, run.tokens) == ("codex-1", 4, 4200)


def test_an_agent_program_that_is_not_there_is_the_reason(host, path):
    with hosted(str(path), runners(kind="claude", command=["/nowhere/claude"])):
        run = host.run_to_end("agent")
    assert (run.outcome, run.reason) == ("error", "cannot start /nowhere/claude: No such file or directory")
    assert session_queries.live(host.jobs.store.db) == []
    assert job_queries.run(host.jobs.store.db, run.uid).agent is None
