"""What the tests with a PostgreSQL server share. Where none can be started they are skipped, with the reason."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import cluster as clusters
from tests.postgres.cluster import Cluster
from tests.work.conftest import configure, first_repo, repo  # noqa: F401 - fixtures
from tui_tasks.core.store import Store
from tui_tasks.postgres import team_server
from tui_tasks.postgres.replica_files import replica_of
from tui_tasks.postgres.roles import AgentRole, script
from tui_tasks.state.open_state import State, open_state


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Cluster]:
    """The cluster of the whole session: of all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    yield from _held(lambda: clusters.shared(base if worker_id == "master" else base.parent))


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """A cluster of one test alone, which may stop it."""
    yield from _held(Cluster.make)


def _held(make) -> Iterator[Cluster]:
    try:
        made = make()
    except clusters.Unavailable as error:
        pytest.skip(f"without PostgreSQL: {error}")
    yield made
    made.release()


@pytest.fixture(scope="session")
def with_tables(cluster: Cluster) -> Iterator[str]:
    """The name of a database with the program's tables, without rows: to copy it takes half as long as to make them."""
    with cluster.database() as name:
        with cluster.connect(name) as connection:
            team_server.prepare(connection)
        yield name


@pytest.fixture
def database(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """The name of a database of the test's own: with the tables where it opens the state of machines, else empty."""
    opens = {"store_on", "opened_on"} & set(request.fixturenames)
    with cluster.database(request.getfixturevalue("with_tables") if opens else "template1") as name:
        yield name


@pytest.fixture
def server_url(cluster: Cluster, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the owner of that database reaches it, waiting longer than 2 s for it: a test's machine may be busy."""
    session = "-c idle_in_transaction_session_timeout=60s -c lock_timeout=60s"
    monkeypatch.setattr(team_server, "_SESSION", session)
    return f"{cluster.conninfo(database)}&connect_timeout=60&tcp_user_timeout=60000"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Make what follows happen on the machine of that name."""
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.delenv("TUI_TASKS_DB", raising=False)

    def use(name: str) -> Path:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        return tmp_path / name

    return use


@pytest.fixture
def opened_on(machine, server_url):
    """Open the state on the machine of that name."""
    with contextlib.ExitStack() as opened:

        def open_on(name: str, agent: str = "codex") -> State:
            machine(name)
            return opened.enter_context(open_state(server_url, agent=agent))

        yield open_on


@pytest.fixture
def store_on(machine, server_url):
    """Open the store of the machine of that name, which knows the server."""
    opened: list[Store] = []

    def open_on(name: str) -> Store:
        machine(name)
        opened.append(Store(replica_of(server_url)))
        opened[-1].db.catch_up()
        return opened[-1]

    yield open_on
    for store in opened:
        with contextlib.suppress(OSError):  # a test has closed it
            store.close()


@pytest.fixture
def agents_store(store_on, cluster, database, machine) -> Iterator[Store]:
    """The store of a machine "c" whose role is that of the agent codex."""
    store_on("a")  # the owner's
    role = f"{database}_agent"
    cluster.sql(database, script([], [AgentRole(role, "codex")], []))
    machine("c")
    with Store(replica_of(cluster.conninfo(database, role))) as store:
        store.db.catch_up()
        yield store
    cluster.sql(database, f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')
