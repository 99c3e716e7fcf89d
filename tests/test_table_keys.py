"""Tables in the source: a key that is written twice would lose its first value in silence."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import tui_tasks


def keys(table: ast.Dict) -> Iterator[str]:
    """The literal keys of a table and of each `**dict.fromkeys((KEYS), VALUE)` in it, which the linter does not see."""
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant):
            yield repr(key.value)
        elif key is None and isinstance(value, ast.Call) and ast.unparse(value.func) == "dict.fromkeys":
            yield from (repr(one.value) for one in ast.walk(value.args[0]) if isinstance(one, ast.Constant))


def test_no_key_of_a_table_is_written_twice() -> None:
    twice = [
        f"{file.name}:{table.lineno}: {key}"
        for file in Path(tui_tasks.__file__).parent.rglob("*.py")
        if "**dict.fromkeys(" in (text := file.read_text())
        for table in ast.walk(ast.parse(text))
        if isinstance(table, ast.Dict)
        for key, number in Counter(keys(table)).items()
        if number > 1
    ]
    assert twice == []
