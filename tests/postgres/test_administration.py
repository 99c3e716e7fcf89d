"""What keeps a database on a server whole, and what serves it to others: doctor, backup, token, mcp --http, web."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from tests import fork_server
from tests.contract.client import ROOT, program, terminal_input
from tests.fork_server import Forked
from tests.postgres.machines import digest, run
from tests.started import DEADLINE, Started, until
from tui_tasks import clock
from tui_tasks.cli.command_parser import parser as made_parser
from tui_tasks.cli.supervise import screen_commands
from tui_tasks.core.store import Store
from tui_tasks.postgres import replica_files, server_findings
from tui_tasks.postgres.server_findings import compare
from tui_tasks.postgres.team_server import SERVER_SCHEMA
from tui_tasks.state.open_state import open_state


@pytest.fixture
def here(opened_on):
    """A machine that has added some tasks."""
    state = opened_on("here")
    for name in ("Build", "Ship", "Paint"):
        state.call("tasklist:add_task", {"name": name}, idempotency_key=name)
    return state


@pytest.fixture
def owner(server_url, here):
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield connection


def compared(state, *, whole: bool = False) -> list[str]:
    """What `doctor` says of the server."""
    return list(compare(state._session.store.db, clock.now(), whole=whole))


def test_doctor_says_what_the_server_holds_and_finds_nothing_wrong_in_a_sound_one(here, server_url, monkeypatch):
    heard = Path(f"{here._session.store.path}-heard").stat().st_mtime
    monkeypatch.setattr(replica_files, "time", SimpleNamespace(time=lambda: heard + 7))
    (about,) = compared(here)
    assert re.fullmatch(
        rf"the database \S+ at \S+: PostgreSQL \d\S*.*, tables of version {SERVER_SCHEMA}, entries 1 to \d+, no "
        r"snapshot, role owner writes; the replica of machine (\S+) is 7 s old",
        about,
    ), about
    assert f"machine {here._session.store.db.machine} " in about
    here._session.store.db.cut(1)
    assert f"entries 2 to {here.seq}, a snapshot at entry {here.seq}, " in compared(here)[0]
    shown = run("--db", server_url, "doctor").stdout
    assert "role owner writes" in shown
    assert f"{here.seq} journal entries" in shown


def test_doctor_tells_an_agents_role_and_one_that_reads(here, owner, cluster, database, machine):
    role = f"{database}_bot"
    script = run("admin", "roles", "--agent", f"{role}=bot-*", "--monitor", f"{role}_watch").stdout
    owner.execute(script)
    for name, says in ((role, "writes"), (f"{role}_watch", "only reads")):
        machine(name)
        path = replica_files.replica_of(cluster.conninfo(database, name))
        with Store(path) as store:
            assert f"role {name} {says};" in next(compare(store.db, clock.now(), whole=False))
    owner.execute(f'DROP OWNED BY "{role}"; DROP OWNED BY "{role}_watch"; DROP ROLE "{role}"; DROP ROLE "{role}_watch"')


def test_doctor_finds_an_entry_that_was_altered_on_the_server(here, owner, server_url):
    owner.execute("UPDATE tui_tasks.journal SET new = replace(new, 'Ship', 'Sink') WHERE kind = 'task.created'")
    _, found = compared(here)
    assert re.match(r"entry \d+ is not the same here and on the server", found)
    assert "! entry" in run("--db", server_url, "doctor").stdout


def test_doctor_compares_the_newest_entries_and_all_of_them_when_asked(here, owner, monkeypatch):
    owner.execute("UPDATE tui_tasks.journal SET why = 'x' WHERE seq = 1")
    monkeypatch.setattr("tui_tasks.postgres.server_findings.AT_ONCE", 2)
    assert len(compared(here)) == 1
    assert compared(here, whole=True)[1].startswith("entry 1 is not the same")


def test_doctor_finds_a_server_that_was_set_back(here, owner):
    owner.execute("DELETE FROM tui_tasks.journal WHERE seq > 2")
    owner.execute("UPDATE tui_tasks.head SET seq = 2, hash = (SELECT hash FROM tui_tasks.journal WHERE seq = 2)")
    assert "entries more than the server: the server was set back" in compared(here)[1]


def test_doctor_finds_a_replica_that_has_another_newest_entry_or_lacks_replies(here, owner):
    owner.execute("UPDATE tui_tasks.head SET hash = '\\x00'")
    assert "is another one on the server" in compared(here)[1]
    owner.execute("UPDATE tui_tasks.head SET hash = (SELECT hash FROM tui_tasks.journal ORDER BY seq DESC LIMIT 1)")
    owner.execute("UPDATE tui_tasks.head SET number = number + 1")
    assert "lacks replies or leases" in compared(here)[1]


def test_doctor_waits_for_a_process_that_has_written_to_the_server_and_not_here_yet(here, monkeypatch):
    real, looks = server_findings.companions.number, []

    def late(replica):
        looks.append(replica)
        return real(replica) - (len(looks) == 1)

    monkeypatch.setattr(server_findings.companions, "number", late)
    assert len(compared(here)) == 1


def at_clock(monkeypatch, microseconds: int) -> None:
    """Let the server's clock stand still."""
    clock_of_the_server = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    assert clock_of_the_server in server_findings._HEAD
    monkeypatch.setattr(server_findings, "_HEAD", server_findings._HEAD.replace(clock_of_the_server, str(microseconds)))


def test_doctor_compares_the_clocks(here, owner, monkeypatch):
    now = clock.now()
    at_clock(monkeypatch, now)

    def found(apart: int) -> str:
        _, each = compare(here._session.store.db, now + apart, whole=False)
        return each

    assert "this machine's clock is 0:01:00 behind the server's" in found(-60_500_000)
    assert "this machine's clock is 0:01:00 ahead of the server's" in found(60_500_000)
    owner.execute("UPDATE tui_tasks.head SET now = %s", (now + 3_600_500_000,))
    assert found(0).startswith("the server gave times 1:00:00 ahead of its clock")


def test_doctor_compares_the_clocks_before_the_entries_which_may_take_long(here, monkeypatch):
    monkeypatch.setattr(server_findings, "_first_other", lambda *_: at_clock(monkeypatch, clock.now() + 60_000_000))
    assert len(compared(here)) == 1


def test_doctor_tells_how_old_the_replica_is_where_the_server_is_away_or_newer(machine, own_cluster):
    machine("here")
    with own_cluster.database() as name, open_state(own_cluster.conninfo(name), agent="codex") as state:
        state.call("tasklist:add_task", {"name": "Build"})
        own_cluster.sql(name, "UPDATE tui_tasks.about SET schema = 99, needs = '9.9'")
        assert "(server schema 99; this one knows" in compared(state)[1]
        own_cluster.sql(name, "UPDATE tui_tasks.about SET schema = 2")
        own_cluster.stop()
        about, found = compared(state)
        assert re.search(r"not compared; the replica of machine \S+ is \d+ s old$", about)
        assert found.startswith("the server of this database cannot be reached")


def test_a_backup_that_is_named_as_a_replica_is_refused(here, server_url, tmp_path):
    done = run("--db", server_url, "backup", str(tmp_path / "copy.replica"))
    assert (done.returncode, list(tmp_path.glob("copy*"))) == (1, [])
    assert "name the backup otherwise" in done.stderr


def test_a_backup_is_a_file_that_opens_alone(here, server_url, tmp_path):
    file = tmp_path / "copy.db"
    done = run("--db", server_url, "backup", str(file))
    assert done.stdout == f"{file}: whole up to entry {here.seq}\n", done.stderr
    copied = digest(str(file))
    with open_state(str(file), agent="codex") as alone:
        assert [task["name"] for task in alone.tasks("tasklist")] == ["Build", "Ship", "Paint"]
        again = alone.call("tasklist:add_task", {"name": "Build"}, idempotency_key="Build")
        assert again["name"] == "Build"
        assert alone.seq == here.seq
        alone.call("tasklist:add_task", {"name": "Later"})
    assert "entries were cut off" not in run("--db", str(file), "doctor", "--replay").stdout
    assert copied == digest(here._session.store.path)


def by_a_person(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command from a terminal."""
    with terminal_input() as terminal:
        return fork_server.run(
            program(*words), stdin=terminal, capture_output=True, text=True, cwd=ROOT, check=False, timeout=DEADLINE
        )


def test_a_restore_says_what_to_do_instead(here, server_url, tmp_path):
    done = by_a_person("--db", server_url, "restore", str(tmp_path / "copy.db"))
    assert done.returncode != 0
    assert "tui-tasks move FILE URL" in done.stderr.splitlines()[-1]


def test_an_agent_elsewhere_works_over_http_with_a_token(here, machine, server_url):
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    machine("there")
    token = by_a_person("--db", server_url, "token", "add", "robin").stdout.strip()
    assert by_a_person("--db", server_url, "token", "list").stdout.startswith("robin ")
    command = program("mcp", "--http", "--port", "0", "--db", server_url)
    with Forked(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()

        def call(tool: str, **arguments) -> dict:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            message["params"] = {"name": tool, "arguments": arguments}
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            headers["Accept"] = "application/json, text/event-stream"
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
            for each in (begin, message):
                request = urllib.request.Request(address, json.dumps(each).encode(), headers)
                with urllib.request.urlopen(request, timeout=DEADLINE) as reply:
                    headers["Mcp-Session-Id"] = reply.headers["Mcp-Session-Id"] or headers.get("Mcp-Session-Id", "")
                    text = reply.read().decode()
            return json.loads(re.sub(r"(?s).*?^data: ", "", text, flags=re.MULTILINE))["result"]

        assert call("tasklist_add_task", name="Sweep")["isError"] is False
        assert "Sweep" in call("tasklist_display")["content"][0]["text"]
        before = here.seq
        here._session.store.db.catch_up()
        assert "robin" in {event["actor"] for event in here.changes(before - 1)}
        here.call("tasklist:add_task", {"name": "Later"})
        until(lambda: "Later" in call("tasklist_display")["content"][0]["text"], "what another machine wrote")
        server.send_signal(signal.SIGTERM)
        assert server.wait(DEADLINE) == 0
    by_a_person("--db", server_url, "token", "revoke", "robin")
    assert by_a_person("--db", server_url, "token", "list").stdout == ""


def test_the_screen_in_a_browser_is_a_servers_too(here, machine, server_url):
    pytest.importorskip("textual_serve", reason="the extra `web` is not installed")
    from aiohttp.test_utils import TestClient, TestServer

    from tui_tasks.web import page_server

    machine("there")
    command = screen_commands.screen_of(made_parser("web").parse_args(["web", "--db", server_url]))
    assert command[-2:] == ["--db", server_url]

    async def story() -> None:
        async with (
            TestClient(TestServer(page_server.application(command, "token"))) as client,
            client.ws_connect("/token/ws?width=120&height=40") as page,
        ):
            drawn = b""
            while b"Paint" not in re.sub(rb"\x1b\[[^a-zA-Z]*[a-zA-Z]", b"", drawn):
                drawn += await asyncio.wait_for(page.receive_bytes(), DEADLINE)
            await page.send_str(json.dumps(["stdin", "q"]))
            async for _ in page:
                pass

    asyncio.run(story())


def test_the_web_command_serves_a_database_on_a_server(here, machine, server_url, tmp_path):
    pytest.importorskip("textual_serve", reason="the extra `web` is not installed")
    machine("there")
    with Started(program("web", "--db", server_url, "--port", "0"), cwd=ROOT, stdout=subprocess.PIPE, text=True) as web:
        assert web.stdout is not None
        assert web.stdout.readline().startswith("http://127.0.0.1:")
        web.send_signal(signal.SIGTERM)
        assert web.wait(DEADLINE) in (0, -signal.SIGTERM)
    assert Path(replica_files.replica_of(server_url)).exists()
