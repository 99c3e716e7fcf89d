"""The server's tables: who makes them, who updates them, and which program may use them."""

import contextlib
import re
import threading

import psycopg
import pytest
from psycopg import sql

from tests.postgres.journal_writer import NOTHING, entries, write
from tui_tasks import __version__
from tui_tasks.core.engine.open_checks import SCHEMA
from tui_tasks.core.errors import DatabaseRefused, RoleRefused
from tui_tasks.postgres import team_server
from tui_tasks.postgres.journal_client import JournalClient
from tui_tasks.postgres.roles import AgentRole, script
from tui_tasks.postgres.team_server import SERVER_SCHEMA, prepare, server_id


@pytest.fixture
def owner(cluster, database):
    with cluster.connect(database) as connection:
        yield connection


def test_whoever_comes_first_makes_the_tables_and_others_find_them(owner):
    made = prepare(owner)
    assert (made.schema, made.journal, made.needs) == (SERVER_SCHEMA, SCHEMA, __version__)
    write(owner)
    assert prepare(owner) == made


def test_several_who_come_first_at_once_find_one_journal(cluster, database):
    connections = [cluster.connect(database) for _ in range(4)]
    found = []
    threads = [threading.Thread(target=lambda one=one: found.append(prepare(one))) for one in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("schema", f"(server schema {SERVER_SCHEMA + 1}; this one knows {SERVER_SCHEMA})"),
        ("journal", f"(schema {SCHEMA + 1}; this one knows {SCHEMA})"),
    ],
)
@pytest.mark.parametrize(("needs", "end"), [("7.8.9", "update it to 7.8.9 or newer"), (__version__, "update it")])
def test_an_older_program_is_refused_by_one_line_that_names_the_schema_and_the_version(
    owner, column, named, needs, end
):
    prepare(owner)
    owner.execute(f"UPDATE tui_tasks.about SET {column} = {column} + 1, needs = %s", (needs,))
    with pytest.raises(DatabaseRefused) as refused:
        prepare(owner)
    assert str(refused.value).endswith(f" was made by a newer tui-tasks {named}: {end}")


def test_older_tables_are_taken_to_the_newest_by_steps(owner, monkeypatch):
    old = prepare(owner)
    head = write(owner)
    real = team_server._script
    monkeypatch.setattr(team_server, "SERVER_SCHEMA", SERVER_SCHEMA + 1)
    step = b"ALTER TABLE tui_tasks.head ADD COLUMN more text NOT NULL DEFAULT 'x'"
    name = f"server_{SERVER_SCHEMA + 1}.sql"
    monkeypatch.setattr(team_server, "_script", lambda asked: step if asked == name else real(asked))
    done = prepare(owner)
    assert (done.id, done.schema) == (old.id, SERVER_SCHEMA + 1)
    assert owner.execute("SELECT more FROM tui_tasks.head").fetchone() == ("x",)
    write(owner, head)
    assert prepare(owner) == done


def test_whoever_may_lock_may_do_so_after_an_update(cluster, database, owner, monkeypatch):
    role = f"{database}_writer"
    monkeypatch.setattr(team_server, "SERVER_SCHEMA", 1)
    prepare(owner)
    owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    owner.execute(sql.SQL("GRANT USAGE ON SCHEMA tui_tasks TO {}").format(sql.Identifier(role)))
    owner.execute(sql.SQL("GRANT EXECUTE ON FUNCTION tui_tasks.lock_head() TO {}").format(sql.Identifier(role)))
    owner.execute("INSERT INTO tui_tasks.member VALUES (%s, 'human')", (role,))
    monkeypatch.undo()
    assert prepare(owner).schema == SERVER_SCHEMA
    with cluster.connect(database, role) as writer:
        assert writer.execute("SELECT seq FROM tui_tasks.lock_head()").fetchone() == (0,)
    owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(f"{role}2")))
    owner.execute(sql.SQL("GRANT USAGE ON SCHEMA tui_tasks TO {}").format(sql.Identifier(f"{role}2")))
    with cluster.connect(database, f"{role}2") as other, pytest.raises(psycopg.errors.InsufficientPrivilege):
        other.execute("SELECT seq FROM tui_tasks.lock_head()")


def test_whoever_may_append_may_do_so_without_the_lock_after_an_update(cluster, database, owner, monkeypatch):
    monkeypatch.setattr(team_server, "SERVER_SCHEMA", 5)
    prepare(owner)
    names = {kind: f"{database}_{kind}" for kind in ("monitor", "agent", "human")}
    # As it was granted before there was `append_next`.
    granted = script([names["monitor"]], [AgentRole(names["agent"], "robin")], [names["human"]])
    owner.execute(re.sub(r", tui_tasks\.append_next\([^)]*\)", "", granted).encode())
    monkeypatch.undo()
    assert prepare(owner).schema == SERVER_SCHEMA
    head, time = NOTHING, owner.execute("SELECT tui_tasks.clock()").fetchone()[0]
    for kind, name in names.items():
        url = cluster.conninfo(database, name)
        with contextlib.closing(JournalClient(url, server_id(url))) as client:
            if kind == "monitor":
                with pytest.raises(RoleRefused, match="permission denied for function append_next"):
                    client.append_next(head, 0, [], [], time, 0)
            else:
                rows = entries(head, {"actor": "robin"})
                client.append_next(head, 0, rows, [], client.time(), 0)
                head = rows[-1][0], rows[-1][-1]
    assert head[0] == 2
    for name in names.values():
        owner.execute(f'DROP OWNED BY "{name}"; DROP ROLE "{name}"'.encode())


def test_a_program_whose_entries_hold_more_says_so_on_the_server(owner, monkeypatch):
    prepare(owner)
    monkeypatch.setattr(team_server, "SCHEMA", SCHEMA + 1)
    assert prepare(owner).journal == SCHEMA + 1


def test_a_role_that_may_not_make_or_update_the_tables_is_refused_by_one_line(cluster, database, owner, monkeypatch):
    role = f"{database}_guest"
    owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    with cluster.connect(database, role) as guest:
        with pytest.raises(DatabaseRefused, match=r"may not make them: its owner opens it first$"):
            prepare(guest)
        prepare(owner)
        with pytest.raises(DatabaseRefused, match=r"permission denied for schema tui_tasks[^\n]*$"):
            prepare(guest)
        owner.execute(sql.SQL("GRANT USAGE ON SCHEMA tui_tasks TO {}").format(sql.Identifier(role)))
        owner.execute(sql.SQL("GRANT SELECT ON tui_tasks.about TO {}").format(sql.Identifier(role)))
        assert prepare(guest) == prepare(owner)
        monkeypatch.setattr(team_server, "SCHEMA", SCHEMA + 1)
        with pytest.raises(DatabaseRefused, match=r"is older than .*: its owner opens it with [\d.]+ or newer first$"):
            prepare(guest)
        for statement in ("SELECT tui_tasks.lock_head()", "SELECT tui_tasks.cut(0)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                guest.execute(statement)


def test_a_database_in_another_encoding_is_refused(cluster, owner):
    name = "latin"
    owner.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    try:
        with cluster.connect(name) as connection, pytest.raises(DatabaseRefused, match="not in UTF-8"):
            prepare(connection)
    finally:
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_no_message_has_a_password(cluster, database):
    with psycopg.connect(f"{cluster.conninfo(database)}&password=hunter2", autocommit=True) as connection:
        prepare(connection)
        connection.execute("UPDATE tui_tasks.about SET schema = 99")
        with pytest.raises(DatabaseRefused) as refused:
            prepare(connection)
    assert "hunter2" not in str(refused.value)
