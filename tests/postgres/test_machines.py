"""Which machine a process belongs to: only that machine says whether it lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from tests.hooks.playing import COMMAND
from tests.postgres.machines import digest
from tests.started import DEADLINE, Started
from tui_tasks import clock
from tui_tasks.channel.presence import Presence
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import agent_views, session_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects import control_agents
from tui_tasks.hooks import hooks_folder, intake, screen_presence, session_processes
from tui_tasks.hooks.hook_folder import Spool, put_payload
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.postgres import moving, no_report
from tui_tasks.postgres.replica import Replica
from tui_tasks.runner import processes
from tui_tasks.state.callers import other_caller
from tui_tasks.tui.agents import agent_text

START = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}
PERMISSION = {
    "session_id": "s1",
    "hook_event_name": "PermissionRequest",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
}


def leave(store: Store, payload: dict[str, object], process: subprocess.Popen[bytes] | None = None) -> None:
    """Leave a payload of Claude Code, from a process of this machine, and take it in."""
    boot, namespace, pid, born = processes.identity(process.pid if process is not None else None)
    head = {"program": "claude", "at": clock.now(), "boot": boot, "namespace": namespace, "pid": pid, "born": born}
    with Spool(store.path, make=True) as spool:
        put_payload(spool.folder, head, json.dumps(payload).encode())
    intake.process_payloads(store, clock.now())


def state_of(store: Store, agent: str = "claude-1") -> str:
    store.db.catch_up()
    found = session_queries.find(store.db, agent)
    assert found is not None
    return found.state


def test_a_machine_keeps_its_id_when_its_replica_is_deleted_and_another_has_another(store_on, tmp_path):
    here, there = store_on("a"), store_on("b")
    assert here.db.machine != there.db.machine
    path, before = here.path, here.db.machine
    here.close()
    for file in Path(path).parent.glob("*.replica*"):
        if not file.name.endswith("-server"):
            file.unlink()
    with Store(path) as again:
        assert again.db.machine == before


def test_a_folder_that_was_copied_to_another_host_is_another_machine(store_on, monkeypatch):
    here = store_on("a")
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self: "other\n" if str(self) == "/etc/machine-id" else real(self))
    with Store(here.path) as copied:
        assert copied.db.machine != here.db.machine


def test_only_its_own_machine_ends_a_session_whose_process_has_ended(store_on):
    here, there = store_on("a"), store_on("b")
    program = Started(["sleep", "1000"])
    leave(here, START, program)
    assert state_of(there) == "idle"
    program.kill()
    program.wait()
    assert session_processes.end_departed(there, clock.now()) == 0
    assert state_of(there) == "idle"
    assert session_processes.end_departed(here, clock.now()) == 1
    assert state_of(there) == "gone"


def test_a_session_of_an_earlier_boot_is_ended_by_its_own_machine_alone(store_on, monkeypatch):
    here, there = store_on("a"), store_on("b")
    leave(here, START)
    state_of(there)
    monkeypatch.setattr(processes, "_boot", lambda: "another boot")
    assert session_processes.end_departed(there, clock.now()) == 0
    assert session_processes.end_departed(here, clock.now()) == 1


def test_sessions_of_two_machines_have_names_of_their_own_and_one_can_go_on_elsewhere(store_on):
    here, there = store_on("a"), store_on("b")
    leave(here, START)
    leave(there, {**START, "session_id": "s2"})
    assert state_of(here, "claude-2") == "idle"
    program = Started(["sleep", "1000"])
    leave(there, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}, program)
    assert state_of(here, "claude-1") == "working"
    program.kill()
    program.wait()
    assert session_processes.end_departed(here, clock.now()) == 0
    assert session_processes.end_departed(there, clock.now()) == 1
    assert state_of(here, "claude-2") == "idle"


def test_a_payload_is_recorded_once_though_the_machine_lost_its_last_transaction(store_on, monkeypatch):
    here = store_on("a")

    def fail(self: intake.Spool, name: str) -> None:
        raise OSError("the machine loses its power")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="power"):
        patched.setattr(intake.Spool, "drop", fail)
        leave(here, START)
    path = here.path
    here.close()
    for suffix in ("", "-wal", "-shm", "-heard"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    again = store_on("a")
    before = again.db.scalar("SELECT max(seq) FROM journal")
    intake.process_payloads(again, clock.now())
    assert again.db.scalar("SELECT max(seq) FROM journal") == before


def test_what_an_agent_has_started_is_no_person_on_a_server_too(store_on):
    here = store_on("a")
    boot, namespace, pid, born = processes.identity(os.getppid())
    head = {"program": "claude", "at": clock.now(), "boot": boot, "namespace": namespace, "pid": pid, "born": born}
    with Spool(here.path, make=True) as spool:
        put_payload(spool.folder, head, json.dumps(START).encode())
    intake.process_payloads(here, clock.now())
    caller = other_caller(here.db, None, {})
    assert caller is not None
    assert caller.agent == "claude-1"


def test_a_moved_sessions_process_counts_as_ended_where_the_journal_went(store_on, server_url, tmp_path):
    here = store_on("a")
    leave(here, START)
    target = tmp_path / "copy.db"
    with psycopg.connect(server_url, autocommit=True) as connection:
        moving.to_file(connection, target, no_report)
    with Store(str(target)) as copy:
        assert session_processes.end_departed(copy, clock.now()) == 1


def hook(url: str, folder: Path, payload: dict[str, object], *flags: str) -> Started:
    command = [sys.executable, *flags, *COMMAND[1:], "claude", "--db", url]
    started = Started(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
    )
    process = started.__enter__()
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    process.stdin = None
    return started


def test_a_payload_that_changes_nothing_in_the_journal_asks_no_server(store_on, monkeypatch):
    here = store_on("a")
    locks: list[str] = []
    real = Replica._lock_journal
    monkeypatch.setattr(Replica, "_lock_journal", lambda self: (locks.append("lock"), real(self)))
    tool = {"session_id": "s1", "tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "make"}}
    for payload, expected in (
        (START, 1),
        ({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}, 1),
        ({"hook_event_name": "PreToolUse", **tool}, 0),
        ({"hook_event_name": "PostToolUse", "tool_response": "done", **tool}, 0),
        ({"hook_event_name": "PreToolUse", **tool}, 0),
        ({"hook_event_name": "PostToolUseFailure", "error": "no", **tool}, 1),
    ):
        locks.clear()
        leave(here, payload)
        assert len(locks) == expected, payload
    there = store_on("b")
    assert digest(here.path) == digest(there.path)


def test_a_hook_leaves_its_payload_without_a_connection_to_the_server(store_on, machine, server_url):
    here = store_on("a")
    with hook(server_url, machine("a"), START, "-X", "importtime") as process:
        _, errors = process.communicate(timeout=DEADLINE)
    assert b"tui_tasks.hooks" in errors
    assert b"psycopg" not in errors
    assert b"sqlite3" not in errors
    assert list(Path(f"{hooks_folder(here.path)}/payloads").iterdir())
    intake.process_payloads(here, clock.now())
    assert state_of(here) == "idle"


def test_without_a_screen_a_hook_answers_nothing_and_the_program_asks_by_itself(store_on, machine, server_url):
    store_on("a")
    with hook(server_url, machine("a"), PERMISSION) as process:
        assert process.communicate(timeout=DEADLINE) == (b"", b"")
    assert process.returncode == 0


def test_a_hook_for_a_server_that_was_never_opened_here_fails_in_silence(machine, server_url):
    with hook(server_url, machine("never"), PERMISSION) as process:
        assert process.communicate(timeout=DEADLINE) == (b"", b"")
    assert process.returncode == 0


@pytest.mark.parametrize("answers", ["a", "b"])
def test_a_permission_is_answered_on_either_machine(store_on, machine, server_url, answers):
    stores = {name: store_on(name) for name in "ab"}
    here = stores["a"]
    leave(here, START)
    with (
        screen_presence.announced(here.path, {"claude": DEADLINE}),
        hook(server_url, machine("a"), PERMISSION) as process,
    ):
        asks: list[ask_queries.Ask] = []
        while not asks:
            intake.process_payloads(here, clock.now())
            asks = list(ask_queries.open_asks(here.db))
        stores[answers].db.catch_up()
        assert reply_sender.why_unanswerable(stores[answers].db, asks[0]) is None
        stores[answers].commit(AnswerAsk(asks[0].uid, "Allow"), actor="human", now=clock.now())
        here.db.catch_up()
        reply_sender.ReplySender(here).look(clock.now())
        output, _ = process.communicate(timeout=DEADLINE)
    assert json.loads(output)["hookSpecificOutput"]["decision"] == {"behavior": "allow"}


def test_a_message_is_left_for_the_hook_of_the_sessions_own_machine_alone(store_on):
    from tui_tasks.core.operations.asks import SendMessage
    from tui_tasks.hooks.hook_folder import Folder
    from tui_tasks.hooks.replies import message_folders

    here, there = store_on("a"), store_on("b")
    leave(here, START)
    leave(there, {**START, "session_id": "s2"})
    there.commit(SendMessage("claude-1", "stop that"), actor="human", now=clock.now())
    here.db.catch_up()
    for store, expected in ((here, 1), (there, 0)):
        reply_sender.ReplySender(store).look(clock.now())
        with Folder(hooks_folder(store.path), make=False) as folder:
            session_folder = message_folders.opened(folder, "claude", "s1", make=False)
            assert (session_folder is not None) == bool(expected)
            if session_folder is not None:
                session_folder.close()


def test_the_json_of_agents_names_the_machine_of_each(store_on):
    here, there = store_on("a"), store_on("b")
    leave(here, START)
    Presence(there, stays=True).record_speakers({"codex"}, clock.now())
    state_of(there)
    found = {one["agent"]: one["machine"] for one in control_agents.agents_page(there.db, clock.now(), everyone=True)}
    assert found == {"claude-1": here.db.machine, "codex": there.db.machine}


def test_the_agents_pane_names_the_host_of_an_agent_elsewhere_alone(store_on):
    here, there = store_on("a"), store_on("b")
    leave(here, {**START, "cwd": "/src/web"})
    state_of(there)
    # Both machines are of one host, which would not tell them apart.
    for store, expected in ((here, "web"), (there, f"web@{here.db.machine}")):
        [member] = agent_views.everyone(store.db, 0)
        context = SimpleNamespace(db=store.db, state=SimpleNamespace(projects=SimpleNamespace(of_member=lambda _: ())))
        assert agent_text.where(member, context) == expected
