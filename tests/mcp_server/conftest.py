from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from tests.mcp_server.shared import Driven, driven


@pytest.fixture(scope="session")
def client(tmp_path_factory: Any) -> Iterator[Driven]:
    """A client of a server that tests share; each works on a list of its own."""
    with driven(tmp_path_factory.mktemp("mcp") / "tasks.db") as found:
        yield found
