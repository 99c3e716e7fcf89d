"""What the tests of held tasks share: the human, and that the journal tells all."""

import pytest

from tests.channel.held.reviewing import Human
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store


@pytest.fixture
def human(store: Store, clock) -> Human:
    """A human who reviews the three lists of the dialects, and one that is shared."""
    human = Human(store, clock)
    human.reviews("tasklist", "task", "todo", "shared")
    return human


@pytest.fixture(autouse=True)
def replays(store: Store):
    """Every test here ends with a journal that gives the same tables."""
    yield
    assert database_findings.broken_link(store.db) is None
    with Store(":memory:") as again:
        replay(store.db, again.db)
        for name in STATE:
            query = f"SELECT * FROM {name} ORDER BY 1, 2"
            assert again.db.sql(query).fetchall() == store.db.sql(query).fetchall()
