"""CSV (RFC 4180) for spreadsheets, a row for each task. For export only, as it loses too much to be imported."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.formats.file_records import ExportData, format_instant, plain
from tui_tasks.text import safe

_TEXTS: Final = ("key", "name", "description", "status", "priority", "domain", "agent", "intent", "due", "estimate")
_MANY: Final = ("tags", "depends_on", "node_ids")
_LINKS: Final = "links"
_JSON: Final = ("result", "metadata")
_INSTANTS: Final = ("created_at", "started_at", "finished_at", "updated_at")
COLUMNS: Final = ("uid", "number", "list", *_TEXTS, *_MANY, _LINKS, *_INSTANTS, "created_by", "updated_by", *_JSON)
# A spreadsheet takes such a cell for a formula, which can run programs and send the contents of other cells.
_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20|%]")


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write the header, then the tasks in the order of their lists."""
    yield _row(COLUMNS)
    for home, tasks in rows.lists:
        for task in tasks:
            yield _row([_cell(value) for value in _values(task, home, now)])


def _row(cells: Any) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _values(task: Task, home: TaskList, now: datetime) -> Iterator[Any]:
    yield from (task.uid, task.number, home.handle, *(getattr(task, name) for name in _TEXTS))
    yield from (", ".join(getattr(task, name)) for name in _MANY)
    yield FIELDS[_LINKS].write(task.links, now)
    yield from (format_instant(getattr(task, name)) for name in _INSTANTS)
    yield from (task.created_by, task.updated_by)
    yield from (None if (value := getattr(task, name)) is None else safe.dumps(value) for name in _JSON)


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if _FORMULA.match(text) else text


def count_losses(rows: ExportData) -> Counter[str]:
    """Count what has no column."""
    lost = sum(bool(rows.logs.get(task.uid, [])) for _, tasks in rows.lists for task in tasks)
    return Counter({"log: no column for it": lost}) if lost else Counter()
