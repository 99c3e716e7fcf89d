"""The file of a team: JSON Lines with an empty line after each, so that git merges changes of neighbours by itself.

Beside lists and tasks it has a line for each deleted task, by which the others delete it, too. Nothing is imported here
that takes long: git starts `team_merge` for each merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tui_tasks.text import safe

Line = dict[str, Any]
LIST: Final = "list"
TASK: Final = "task"
DELETED: Final = "deleted"
_MARKS: Final = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_DELETED_LINE: Final = '{"record": "deleted"'


def parse(text: str) -> dict[str, Line]:
    """Return the lines by their uids.

    Raises:
        ValueError: it is no such file; the message names the line.
    """
    found: dict[str, Line] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        refuse_conflict_mark(f"line {number}", line)
        try:
            value = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if not isinstance(value, dict) or not isinstance(value.get("uid"), str):
            raise ValueError(f"line {number}: a line is an object with a uid")
        value["record"] = value["record"] if value.get("record") in (LIST, DELETED) else TASK
        found[value["uid"]] = value
    return found


def refuse_conflict_mark(where: str, line: str) -> None:
    """Refuse a line that git wrote where it could not merge.

    Raises:
        ValueError: the line is one.
    """
    if line.startswith(_MARKS):
        mark = line[:7]
        raise ValueError(
            f"{where}: git's conflict mark {mark}: the file is not merged yet. Keep one line of each task between the "
            "marks, and remove the marks"
        )


def write(lines: Iterable[Line]) -> str:
    """Return the text of a file: lists first, then tasks, both by uid."""
    ordered = sorted(lines, key=lambda line: (line["record"] != LIST, line["uid"]))
    return "".join(f"{safe.dumps(line)}\n\n" for line in ordered)


def deletions(text: str) -> Iterator[Line]:
    """Yield the lines of deleted tasks, without parsing the others."""
    for line in text.split("\n"):
        if line.startswith(_DELETED_LINE):
            value = json.loads(line)
            if isinstance(value, dict) and isinstance(value.get("uid"), str):
                yield value


def age(line: Line) -> tuple[str, int, str]:
    """Return what the later one of two lines has more of."""
    return (str(line.get("updated_at", "")), int(line.get("version", 0)), json.dumps(line, sort_keys=True))
