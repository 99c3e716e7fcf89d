"""What the tests of the core share."""

import pytest

from tests.conftest import Clock
from tests.core.job_steps import Jobs
from tui_tasks.core.store import Store


@pytest.fixture
def jobs(store: Store, clock: Clock) -> Jobs:
    """Jobs of a database, by a clock that stands still."""
    return Jobs(store, clock)
