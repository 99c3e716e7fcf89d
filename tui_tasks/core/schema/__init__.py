"""The steps of the schema: `N.sql` takes a database from version N - 1 to N. A released step is never edited.

A step adds tables, columns and indexes. A column that it adds has a default, which rows, journal entries and copies
written earlier read as. What would change rows is an operation, not a step: replaying the journal must give the same
tables. docs: architecture, "A schema step".
"""

from __future__ import annotations

import os
from collections.abc import Iterator


def statements(version: int) -> Iterator[str]:
    """Yield the SQL statements of the step that ends at `version`, in order."""
    with open(os.path.join(os.path.dirname(__file__), f"{version}.sql"), encoding="ascii") as file:
        for statement in file.read().split(";\n"):
            if statement.strip():
                yield statement
