"""What the tests with a PostgreSQL server share. Where none can be started they are skipped, with the reason."""

from collections.abc import Iterator

import pytest

from tests.postgres import cluster as clusters
from tests.postgres.cluster import Cluster


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


@pytest.fixture
def database(cluster: Cluster) -> Iterator[str]:
    """The name of an empty database of the test's own."""
    with cluster.database() as name:
        yield name


@pytest.fixture
def server_url(cluster: Cluster, database: str) -> str:
    """How the owner of that database reaches it."""
    return cluster.conninfo(database)
