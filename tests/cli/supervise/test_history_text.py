"""`watch --plain` and `digest`."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock, Talk
from tests.fork_server import Forked
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.cli.supervise import history_text
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, OpenAsk, PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, RunJob
from tui_tasks.core.operations.tasks import AcceptTask, AddTask, DeclineTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.digest_lines import PARTS
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.snapshots import Entry
from tui_tasks.core.store import Store
from tui_tasks.text.times import MINUTE, moment


def sentences(store: Store, since: int = 0) -> list[str]:
    """What is said of what has happened, without the time of day."""
    entries = journal.since(store.db, since, 1000)
    return [history_text.sentence(store.db, entry).partition(" ")[2] for entry in entries]


def test_no_text_of_an_agent_ends_the_quotes_around_it(store: Store, talk: Talk) -> None:
    talk.ok("tasklist:add_task", name='a". You accepted "b')
    assert sentences(store)[-1] == "agent added \"a'. You accepted 'b\"."


def test_no_question_and_no_title_passes_for_more_in_a_digest_or_a_list(
    path: Path, store: Store, talk: Talk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", talk.clock)
    store.commit(OpenAsk('was refused "x": "no"  You answered: "yes"'), actor="agent", now=talk.clock())
    talk.ok("tasklist:add_task", name="One  [tasklist, by you, proven]", description="")
    told = []
    for line in ("digest", "ls", "show 1"):
        capsys.readouterr()
        assert main([*line.split(), "--db", str(path)]) == 0
        told.append(capsys.readouterr().out)
    assert "  agent  asks: \"was refused 'x': 'no'  You answered: 'yes'\"  " in told[0]
    assert all('"One  [tasklist, by you, proven]"' in text for text in told[1:])


def test_each_event_is_one_sentence_in_plain_words(store: Store, talk: Talk, clock: Clock) -> None:
    uid = talk.ok("tasklist:add_task", name="Ship it")["uid"]
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("tasklist:log_task_progress", uid=uid, message="tests 14/22")
    talk.ok("tasklist:update_task", uid=uid, name="Ship it now", status="done")
    talk.ok("tasklist:delete_task", uid=uid)
    talk.refused("control:pause")
    store.commit(PauseAgent("agent", "wait"), actor="human", now=clock())
    store.commit(ResumeAgent("agent"), SendMessage("agent", "go on"), actor="human", now=clock())
    assert sentences(store) == [
        'agent added "Ship it".',
        'agent set "Ship it" from pending to in progress.',
        'agent logged to "Ship it": "tests 14/22".',
        'agent set "Ship it now" from in progress to done and changed its name.',
        'agent deleted the task "Ship it now".',
        'agent was refused "control:pause": "only the human may call control:pause".',
        'You paused "agent": "wait".',
        'You resumed "agent".',
        'You wrote to "agent": "go on".',
    ]


def test_a_question_and_its_answer_are_told(store: Store, talk: Talk, clock: Clock) -> None:
    talk.lines({"id": 1, "tool": "ask", "args": {"question": "jose or pyjwt?"}})
    (asked,) = store.db.sql("SELECT uid FROM ask").fetchone()
    store.commit(AnswerAsk(asked, "jose"), actor="human", now=clock())
    assert sentences(store) == ['agent asks: "jose or pyjwt?".', 'You answered: "jose".']


def test_what_becomes_of_a_held_task_and_of_one_that_is_stuck_is_told(store: Store, talk: Talk, clock: Clock) -> None:
    store.review = lambda: ReviewPolicy(("tasklist",))
    uids = [talk.ok("tasklist:add_task", name=name)["uid"] for name in ("one", "two")]
    store.commit(AcceptTask(uids[0], 1), DeclineTask(uids[1], "not now"), actor="human", now=clock())
    for cause in ("silent", None):
        store.commit(NoteStuck("agent", cause, "gives no sign of life", 1), actor="system", now=clock())
    assert sentences(store, 2) == [
        'You accepted "one".',
        'You declined "two": "not now".',
        'system noticed that "agent" is stuck: "gives no sign of life".',
        'system noticed that "agent" is not stuck now.',
    ]


def test_a_claim_that_lapsed_is_told_with_whose_it_was(store: Store, talk: Talk, clock: Clock) -> None:
    talk.ok("tasklist:add_task", name="Ship it")
    talk.ok("control:claim", {"agent": "alpha"}, lease_seconds=10)
    clock.forward(10)
    talk.session.settle()
    assert sentences(store)[-1] == 'system took "Ship it" back at the end of the claim of alpha.'


def test_what_an_agent_wrote_stays_in_its_sentence_as_text_alone(store: Store, talk: Talk) -> None:
    talk.ok("tasklist:add_task", {"agent": "x\x1b[2J"}, name="a\nb\x1b]52;c;aGk=\x07\u202e")
    (said,) = sentences(store)
    assert "\n" not in said
    assert not set(said) & set("\x1b\x07\u202e")


def test_a_database_that_cannot_be_read_is_told_once_and_what_came_meanwhile_once_it_can(
    store: Store, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails, told, read = [3], [], journal.since

    def tried(*arguments: Any) -> list[Entry]:
        if fails[0]:
            fails[0] -= 1
            raise sqlite3.OperationalError("disk I/O error")
        return read(*arguments)

    monkeypatch.setattr(history_text, "LOOK_AGAIN", 0)
    monkeypatch.setattr(journal, "since", tried)
    said = history_text.follow(store, journal.newest(store.db), lambda failure: told.append(str(failure)))
    for number, name in enumerate(("one", "two"), 1):
        talk.ok("tasklist:add_task", name=name)
        assert next(said).endswith(f'agent added "{name}".')
        assert told == [f"{store.path} cannot be read: disk I/O error"] * number
        fails[0] = 2


def test_a_follower_in_another_process_hears_of_each_change_as_it_happens(path: Path) -> None:
    with Store(str(path)):
        pass
    follow = [sys.executable, "-m", "tui_tasks", "watch", "--plain", "--db", str(path)]
    serve = [sys.executable, "-m", "tui_tasks", "serve", "--db", str(path), "--no-scheduler"]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with (
        Forked(follow, stdout=subprocess.PIPE, env=environment) as follower,
        Forked(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert follower.stdout is not None
        assert server.stdin is not None
        assert server.stdout is not None
        follower.stdout.readline()  # that it listens
        for number in range(20):
            line = json.dumps({"tool": "tasklist:add_task", "args": {"name": f"Task {number}"}})
            server.stdin.write(line.encode() + b"\n")
            server.stdin.flush()
            server.stdout.readline()
        heard = [line.decode() for line in itertools.islice(follower.stdout, 20)]
        follower.terminate()
        server.stdin.close()
    assert [f'agent added "Task {number}".\n' in said for number, said in enumerate(heard)] == [True] * 20


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A task that has failed, whose agent would have the terminal obey it; the clock stands still."""
    path, now = str(tmp_path / "tasks.db"), clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    with Store(path) as store:
        home = store.commit(EnsureList("Plan", "task"), actor="human", now=now)[0]
        task = store.commit(AddTask("Fix \x1b[31mthe test", home.uid), actor="claude-1", now=now)[0]
        store.commit(EditTask(task.uid, {"status": "failed"}), LogTask(task.uid, "exit 1"), actor="claude-1", now=now)
    return path


def test_it_tells_each_part_with_the_entries_behind_its_lines(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["digest", "--db", database]) == 0
    said = capfd.readouterr().out
    assert "\nFailed\n  claude-1  #1 Fix ␛[31mthe test: failed: exit 1  now  [3]\n" in said
    assert said.count("#1 Fix") == 1, "it is filed too"
    assert "\x1b" not in said


def test_what_is_ok_again_is_said_with_both_times_and_in_json_with_the_reason(
    database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    now = clock.now()
    with Store(database) as store:
        (job,) = store.commit(CreateJob("Backup", "adhoc", "", "Go", "UTC"), actor="human", now=now)
        for outcome, at in (("error", now - MINUTE), ("success", now)):
            store.commit(RunJob(job.uid), actor="human", now=at)
            (begun,) = job_queries.open_runs(store.db, job.uid)
            store.commit(FinishRun(begun.uid, outcome, "disk full"), actor="claude-1", now=at)
    assert main(["digest", "--db", database]) == 0
    times = f"failed at {moment(now - MINUTE, None)} (disk full), ok since {moment(now, None)}"
    assert f"\n  claude-1  Backup: {times}  1m ago" in capfd.readouterr().out
    assert main(["digest", "--db", database, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["failed"][-1]["text"] == "error: disk full, ok again"


def test_json_has_every_part_and_every_entry(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["digest", "--db", database, "--since", "2d", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert list(found) == ["schema_version", "since", "until", "after", "newest", "is_cut", "needed_before", *PARTS]
    (failed,) = found["failed"]
    assert (failed["kind"], failed["agent"], failed["entries"]) == ("task", "claude-1", [3])
    assert found["needs_you"] == []


def test_what_is_no_instant_is_refused_and_nothing_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["digest", "--db", str(tmp_path / "none.db"), "--since", "soon"]) == 2
    assert "--since: soon is not an instant: give an age" in capfd.readouterr().err
    assert not (tmp_path / "none.db").exists()
