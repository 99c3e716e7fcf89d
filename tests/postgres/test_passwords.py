"""Where a password of the server must not be seen, and where libpq looks for it."""

import subprocess
from pathlib import Path

import psutil
import pytest
from psycopg import sql

from tests.contract.client import environment, program, terminal_input
from tests.postgres.cluster import WITH_PASSWORD
from tests.started import DEADLINE, Started
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.store import Store
from tui_tasks.postgres import team_server
from tui_tasks.postgres.journal_client import JournalClient
from tui_tasks.postgres.team_server import server_id

SECRET = "hunter2-s3cr3t"


@pytest.fixture
def role(cluster, database):
    """A role with a password, which the cluster asks for."""
    name = f"{database}_pw"
    statement = "CREATE ROLE {} LOGIN SUPERUSER PASSWORD {} IN ROLE {}"
    with cluster.connect(database) as owner:
        owner.execute(
            sql.SQL(statement).format(sql.Identifier(name), sql.Literal(SECRET), sql.Identifier(WITH_PASSWORD))
        )
    yield name
    with cluster.connect() as owner:
        owner.execute(sql.SQL("REASSIGN OWNED BY {} TO owner").format(sql.Identifier(name)))
    cluster.sql(database, f'REASSIGN OWNED BY "{name}" TO owner; DROP OWNED BY "{name}"; DROP ROLE "{name}"')


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ana:{SECRET}@db/tasks",
        f"postgresql://ana@db/tasks?password={SECRET}",
        f"postgresql://ana:{SECRET}@@db/tasks",
        f"postgresql://ana:x@{SECRET}@db/tasks",
        f"postgresql://ana:{SECRET}@db:port/tasks",
        f"postgresql://ana@db/tasks?sslpassword={SECRET}",
        f"postgresql://ana@db/tasks?{SECRET}",
    ],
)
def test_a_url_with_a_password_is_refused_without_repeating_it(url):
    with pytest.raises(DatabaseRefused) as refused:
        team_server.connect(url)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_password_comes_from_pgpass_or_a_service_file(cluster, database, role, tmp_path, monkeypatch):
    url = cluster.conninfo(database, role)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StorageFailed, match="password") as refused:
        team_server.connect(url)
    assert "\n" not in refused.value.message
    passfile = tmp_path / "pass"
    passfile.write_text(f"*:*:{database}:{role}:wrong-{SECRET}\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    with pytest.raises(StorageFailed, match="authentication failed") as refused:
        team_server.connect(url)
    assert SECRET not in refused.value.message
    passfile.write_text(f"*:*:{database}:{role}:{SECRET}\n")
    team_server.connect(url).close()
    monkeypatch.delenv("PGPASSFILE")
    service = tmp_path / "services"
    service.write_text(f"[team]\nhost={cluster.folder}\ndbname={database}\nuser={role}\npassword={SECRET}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    team_server.connect("postgresql://?service=team").close()
    service.write_text(service.read_text().replace(SECRET, f"wrong-{SECRET}"))
    with pytest.raises(StorageFailed, match="the service team") as refused:
        team_server.connect("postgresql://?service=team")
    assert SECRET not in refused.value.message


def test_settings_of_tls_are_libpqs(cluster, database):
    with pytest.raises(StorageFailed):
        team_server.connect(f"{cluster.conninfo(database)}&sslmode=nonsense")
    given = team_server.parameters(
        "postgresql://ana@db/tasks?sslmode=verify-full&sslrootcert=/x&channel_binding=require"
    )
    assert (given["sslmode"], given["sslrootcert"], given["channel_binding"]) == ("verify-full", "/x", "require")


def test_a_stopped_client_and_a_cut_cable_have_limits_in_every_connection(cluster, database):
    def of_a_replica(url):
        return JournalClient(url, server_id(url)).connected()

    for opening in (team_server.connect, of_a_replica):
        with opening(cluster.conninfo(database)) as opened:
            for setting in ("idle_in_transaction_session_timeout", "lock_timeout"):
                assert opened.execute(f"SHOW {setting}").fetchone() == ("2s",)
            told = opened.info.get_parameters()
        assert (told["tcp_user_timeout"], told["connect_timeout"]) == ("2000", "2")
        with opening(f"{cluster.conninfo(database)}&connect_timeout=9&options=-c%20jit%3Don") as opened:
            assert opened.info.get_parameters()["connect_timeout"] == "9"
            assert opened.execute("SHOW jit").fetchone() == ("on",)
            assert opened.execute("SHOW lock_timeout").fetchone() == ("2s",)


def test_a_move_leaves_no_password_in_processes_output_journal_or_the_servers_log(cluster, database, role, tmp_path):
    with Store(str(tmp_path / "from.db")) as store:
        store.commit(EnsureList("work", "task"), actor="bob", now=1)
    passfile = tmp_path / "pass"
    passfile.write_text(f"*:*:*:{role}:{SECRET}\n")
    passfile.chmod(0o600)
    url = cluster.conninfo(database, role)
    environ = environment(tmp_path, PGPASSFILE=str(passfile), TUI_TASKS_DB=str(tmp_path / "from.db"))
    with terminal_input() as terminal:
        process = Started(
            program("move", str(tmp_path / "from.db"), url),
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            text=True,
        )
        shown = " ".join(psutil.Process(process.pid).cmdline())
        output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, output
    assert "entries, as in" in output
    titles = cluster.sql(database, "SELECT string_agg(query || application_name, ' ') FROM pg_stat_activity")
    journal = cluster.sql(database, "SELECT string_agg(j::text, ' ') FROM tui_tasks.journal j")
    kept = "".join(
        path.read_text(errors="replace") for path in tmp_path.iterdir() if path.is_file() and path != passfile
    )
    log = Path(cluster.log).read_text(errors="replace")
    for place in (output, shown, str(titles), str(journal), kept, log):
        assert SECRET not in place
