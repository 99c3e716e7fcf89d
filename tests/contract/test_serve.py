"""`serve` over real pipes: lines in, replies out, and how it starts and ends (docs: protocol, sections 1 to 3)."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests import fork_server
from tests.contract.client import DEADLINE, ROOT, Agent, environment, line, program
from tests.started import Started, until
from tests.talking import ADD
from tui_tasks import clock
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


def serve(db, data: bytes, *options: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """A whole conversation at once."""
    return fork_server.run(
        program("serve", "--db", str(db), *options),
        input=data,
        capture_output=True,
        timeout=DEADLINE,
        env=environment(db.parent.parent, **environ),
        check=False,
    )


def replies(done: subprocess.CompletedProcess[bytes]) -> list:
    assert (done.returncode, done.stderr) == (0, b""), done
    return [json.loads(line) for line in done.stdout.splitlines()]


# Starting and ending


def test_it_ends_at_the_end_of_input_with_0_after_every_reply(db):
    data = b"".join(line(ADD, n, name=str(n)) for n in range(500))
    answered = replies(serve(db, data))
    assert [reply["id"] for reply in answered] == list(range(500))
    assert [reply["seq"] for reply in answered] == list(range(1, 501))


def test_nothing_in_gives_nothing_out(db):
    assert replies(serve(db, b"")) == []
    assert replies(serve(db, b"\n\r\n  \n\t\n")) == []


def test_a_last_line_without_its_end_is_served(db):
    assert replies(serve(db, line(ADD, 1, name="one").strip()))[0]["ok"]


def test_either_line_end_will_do(db):
    data = line(ADD, 1, name="one\r").replace(b"\n", b"\r\n") + line("tasklist:display", 2)
    assert [reply["ok"] for reply in replies(serve(db, data))] == [True, True]


@pytest.mark.parametrize("source", ["file", "null"])
def test_input_may_be_a_file_or_nothing(db, tmp_path, source):
    requests, taken = tmp_path / "requests.jsonl", tmp_path / "replies"
    requests.write_bytes(line(ADD, 1, name="one") * 3)
    given = requests if source == "file" else Path(os.devnull)
    with given.open("rb") as stdin, taken.open("wb") as stdout:
        done = subprocess.run(
            program("serve", "--db", str(db)), stdin=stdin, stdout=stdout, env=environment(tmp_path), timeout=DEADLINE
        )
    assert done.returncode == 0
    assert len(taken.read_bytes().splitlines()) == (3 if source == "file" else 0)


def test_a_database_and_its_folder_are_made_private(db):
    previous = os.umask(0)
    try:
        serve(db, line(ADD, 1, name="one"))
    finally:
        os.umask(previous)
    assert stat.S_IMODE(db.stat().st_mode) == 0o600
    assert stat.S_IMODE(db.parent.stat().st_mode) == 0o700


def test_the_database_is_named_by_option_environment_or_the_users_data_directory(tmp_path):
    def run(*options: str, **environ: str) -> None:
        done = fork_server.run(
            program("serve", *options),
            input=line(ADD, 1, name="one"),
            capture_output=True,
            env=environment(tmp_path, **environ),
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stderr

    run("--db", str(tmp_path / "option.db"), TUI_TASKS_DB=str(tmp_path / "environment.db"))
    assert (tmp_path / "option.db").exists()
    assert not (tmp_path / "environment.db").exists()
    run(TUI_TASKS_DB=str(tmp_path / "environment.db"))
    assert (tmp_path / "environment.db").exists()
    run(XDG_DATA_HOME=str(tmp_path / "data"))
    assert (tmp_path / "data" / "tui-tasks" / "tasks.db").exists()
    assert stat.S_IMODE((tmp_path / "data" / "tui-tasks").stat().st_mode) == 0o700


@pytest.mark.parametrize("what", ["text", "foreign", "newer", "folder"])
def test_a_database_that_is_not_fit_is_refused_at_the_start_with_1_and_left_alone(tmp_path, what):
    path = tmp_path / "tasks.db"
    if what == "text":
        path.write_text("no database\n" * 500)
    elif what == "folder":
        path.mkdir()
    else:
        if what == "newer":
            Store(str(path)).close()
        other = connect(path)
        other.execute("CREATE TABLE notes (text TEXT)" if what == "foreign" else "PRAGMA user_version = 999")
        other.close()
    before = path.read_bytes() if path.is_file() else b""
    done = serve(path, line(ADD, 1, name="one"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert str(path).encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_the_name_human_is_reserved(db):
    for name in ("human", "Human", " human "):
        done = serve(db, line(ADD, 1, name="one"), "--agent", name)
        assert done.returncode in (1, 2)
        assert done.stdout == b""
        assert b"Traceback" not in done.stderr


def test_agent_and_list_are_taken_as_options(db):
    hello, added = replies(serve(db, line("control:hello", 1) + line(ADD, 2, name="x"), "--agent", "w", "--list", "l"))
    assert (hello["result"]["agent"], hello["result"]["list"]) == ("w", "l")
    with Store(str(db)) as store:
        task = task_queries.task(store.db, added["result"]["uid"])
        assert (task.created_by, task_queries.list_by_id(store.db, task.list_id).name) == ("w", "l")


def test_read_only_reads_and_refuses_writes(db):
    replies(serve(db, line(ADD, 1, name="one")))
    before = db.read_bytes()
    shown, added = replies(serve(db, line("tasklist:display", 1) + line(ADD, 2, name="two"), "--read-only"))
    assert len(shown["result"]) == 1
    assert added["error"]["code"] == "forbidden"
    assert db.read_bytes() == before


def test_wrong_usage_is_told_with_2(db):
    assert serve(db, b"", "--no-such-option").returncode == 2


def test_a_process_that_serves_imports_no_screen(db):
    code = (
        "import sys, tui_tasks.cli.main as cli\n"
        f"status = cli.main(['serve', '--db', {str(db)!r}])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=line(ADD, 1, name="one"),
        capture_output=True,
        env=environment(ROOT),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    assert not {"textual", "rich", "mcp", "pydantic"} & set(done.stderr.decode().split())


def test_when_the_reader_of_the_replies_is_gone_it_leaves_quietly(tmp_path):
    with Agent(tmp_path / "tasks.db", reading=False) as agent:
        agent.process.stdout.close()
        agent.write({"tool": "control:hello"})
        assert agent.process.wait(DEADLINE) in (0, 1)
        assert "Traceback" not in agent.said()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_without_a_traceback(agent, number):
    agent.ok("control:hello")
    agent.process.send_signal(number)
    agent.process.wait(DEADLINE)
    assert "Traceback" not in agent.said()


# A thread beside the main one is given every signal.
ELSEWHERE = """
import signal, sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
from tui_tasks.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & (1 << (number - 1)))


@pytest.mark.linux
@pytest.mark.parametrize("command", ["serve", "scheduler"])
def test_a_signal_ends_it_whichever_thread_the_system_gives_it_to(db, command):
    started = [sys.executable, "-c", ELSEWHERE, command, "--db", str(db)]
    with Started(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(db.parent)) as process:
        until(lambda: catches(process.pid, signal.SIGHUP))
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(DEADLINE) == 0
        finally:
            process.kill()


# Waits


def answer(db, text: str) -> None:
    with Store(str(db)) as store:
        for question in ask_queries.open_asks(store.db):
            store.commit(AnswerAsk(question.uid, text), actor="human", now=clock.now())


def test_a_question_is_answered_by_the_human_in_another_process_and_holds_up_nobody(agent, db):
    agent.write({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", "options": ["yes", "no"]}})
    agent.write({"id": 2, "tool": ADD, "arguments": {"name": "meanwhile"}})
    assert agent.reply()["id"] == 2
    answer(db, "yes")
    reply = agent.reply()
    assert (reply["id"], reply["ok"], reply["result"]["answer"]) == ("q", True, "yes")
    assert agent.finish() == []


def test_an_agent_cannot_answer(agent, db):
    agent.write({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?"}})
    agent.ok("control:hello")
    with Store(str(db)) as store:
        (question,) = ask_queries.open_asks(store.db)
    for name in ("uid", "ask", "id"):
        error = agent.refused("control:answer", {"agent": "other"}, **{name: question.uid, "answer": "yes"})
        assert error["code"] == "forbidden"
    assert agent.refused("control:answer", {"agent": "human"}, uid=question.uid)["code"] == "invalid_request"
    with Store(str(db)) as store:
        assert ask_queries.open_asks(store.db) == [question]


def test_at_the_end_of_input_a_question_without_a_timeout_is_withdrawn_and_answered_timeout(agent, db):
    agent.write({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?"}}, {"id": 2, "tool": "control:hello"})
    assert agent.reply()["id"] == 2
    (reply,) = agent.finish()
    assert (reply["id"], reply["error"]["code"]) == ("q", "timeout")
    with Store(str(db)) as store:
        assert ask_queries.open_asks(store.db) == []


def test_at_the_end_of_input_a_wait_goes_on_to_its_timeout_and_may_still_be_answered(agent, db):
    ask = {"tool": "ask", "arguments": {"question": "Shall I?", "timeout": 0.7}}
    agent.write(ask | {"id": "late"})
    (reply,) = agent.finish()
    assert (reply["id"], reply["error"]["code"]) == ("late", "timeout")
    with Agent(db) as second:
        second.write({"id": "q", "tool": "ask", "arguments": {"question": "Shall I?", "timeout": 60}})
        second.write({"id": 2, "tool": "control:hello"})
        assert second.reply()["id"] == 2
        second.end_input()
        answer(db, "in time")
        assert second.reply()["result"]["answer"] == "in time"
        assert second.reply() is None
        assert second.process.wait(DEADLINE) == 0


# Storage


def test_a_writer_held_off_past_the_limit_is_told_busy_once_and_reads_are_served(agent, db):
    agent.ok(ADD, name="kept")
    holder = connect(db)
    holder.execute("BEGIN IMMEDIATE")
    agent.send(b"".join(line(ADD, n, name=str(n)) for n in range(3)) + line("tasklist:display", "read"))
    for n in range(3):
        reply = agent.reply()
        assert (reply["id"], reply["error"]["code"], reply["error"]["data"]["retryable"]) == (n, "busy", True)
    read = agent.reply()
    assert (read["id"], [task["name"] for task in read["result"]]) == ("read", ["kept"])
    holder.execute("ROLLBACK")
    holder.close()
    assert agent.ok(ADD, name="now")
    assert len(agent.ok("tasklist:display")) == 2


def test_a_database_that_is_damaged_while_open_is_a_storage_error_and_the_channel_goes_on(agent, db):
    for n in range(200):
        agent.ok(ADD, name=f"{n} " + "x" * 200)
    checkpoint = connect(db)
    checkpoint.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    checkpoint.close()
    whole = db.read_bytes()
    agent.kill()
    with Agent(db) as second:
        second.ok("control:hello")
        with db.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(len(whole) - 4096))
        for request in ({"tool": "tasklist:display"}, {"tool": ADD, "arguments": {"name": "x"}}):
            second.write(request | {"id": 1})
            reply = second.reply()
            assert (reply["ok"], reply["error"]["code"]) == (False, "storage_error"), reply
            assert isinstance(reply["error"]["data"]["retryable"], bool)
        second.send(b"{\n")
        assert second.reply()["error"]["code"] == "parse_error"
        second.end_input()
        assert second.process.wait(DEADLINE) == 0
        assert "Traceback" not in second.said()


@pytest.mark.parametrize("timeouts", [(None,), (0.5, 5, 50)], ids=["without", "with"])
@pytest.mark.parametrize("taken", ["file", "all"])
def test_at_the_end_of_input_a_question_whose_database_was_taken_away_is_answered_and_nothing_is_made(
    db, taken, timeouts
):
    db.parent.mkdir(mode=0o700)
    for timeout in timeouts:
        for file in db.parent.iterdir():
            file.unlink()
        with Agent(db) as agent:
            ask = {"question": "Shall I?"} | ({"timeout": timeout} if timeout is not None else {})
            agent.write({"id": "q", "tool": "ask", "arguments": ask}, {"id": 2, "tool": "tasks"})
            first = agent.reply()
            for file in [db] if taken == "file" else list(db.parent.glob(f"{db.name}*")):
                file.unlink()
            agent.end_input()
            rest = [first, *iter(agent.reply, None)]
            assert agent.process.wait(DEADLINE) == 0
        told = {reply["id"]: reply for reply in rest}
        # On a busy machine the timeout may be over before the database is taken away.
        if timeout is None or told["q"]["error"]["code"] != "timeout":
            break
    assert told.keys() == {"q", 2}
    assert told["q"]["error"]["code"] == "storage_error"
    assert told["q"]["error"]["data"] == {"retryable": True}
    # Once for each part of the process that reads it.
    assert agent.said().count("is gone") <= 3, agent.said()
    assert not db.exists()


def test_a_copy_of_the_database_holds_all_there_was(agent, db, tmp_path):
    uids = [agent.ok(ADD, name=str(n))["uid"] for n in range(20)]
    agent.kill()
    shutil.copytree(db.parent, tmp_path / "copy")
    with Store(str(tmp_path / "copy" / "tasks.db")) as store:
        assert [task_queries.task(store.db, uid).name for uid in uids] == [str(n) for n in range(20)]


@pytest.mark.parametrize("blocking", [True, False])
def test_the_pipes_may_be_sockets_as_some_runtimes_make_them(db, blocking):
    """Node.js gives its children sockets, and some parents leave them not to block."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(blocking)
        process = Started(
            program("serve", "--db", str(db)), stdin=theirs, stdout=theirs, env=environment(db.parent.parent)
        )
        theirs.close()
        ours.settimeout(DEADLINE)
        ours.sendall(line(ADD, "great", name="x", description="d" * 900_000))
        uid = json.loads(read_line(ours))["result"]["uid"]
        ours.sendall(line("tasklist:get_task", "n", uid=uid) * 5)
        ours.shutdown(socket.SHUT_WR)
        taken = b"".join(iter(lambda: ours.recv(65536), b""))
        assert [len(json.loads(reply)["result"]["description"]) for reply in taken.splitlines()] == [900_000] * 5
        assert process.wait(DEADLINE) == 0


def read_line(end: socket.socket) -> bytes:
    taken = b""
    while not taken.endswith(b"\n"):
        taken += end.recv(65536)
    return taken
