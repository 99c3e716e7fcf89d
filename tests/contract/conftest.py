"""What the tests of processes that serve share."""

import pytest

from tests.contract.client import Agent


@pytest.fixture
def db(tmp_path):
    return tmp_path / "state" / "tasks.db"


@pytest.fixture
def agent(db):
    db.parent.mkdir(mode=0o700)
    with Agent(db) as serving:
        yield serving
