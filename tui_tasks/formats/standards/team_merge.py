"""The file of a team: JSON Lines with an empty line after each, so that git merges changes of neighbours by itself, and
its merge by task and field, the same whoever merges.

Beside lists and tasks it has a line for each deleted task, by which the others delete it, too. Nothing is imported here
that takes long: git starts this module for each merge.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tui_tasks.core.commit.rank import is_file_rank, without_collisions
from tui_tasks.core.vocab import MAX_TEXT, SET_FIELDS
from tui_tasks.formats import closing_edges
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
    by_id: dict[str, Line] = {}
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
        by_id[value["uid"]] = value
    return by_id


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


AUTHOR: Final = "git"
"""Who logs what a merge leaves out."""
_NAMESPACE: Final = uuid.UUID("5f0b7c1e-6b0e-5d0b-8a3e-2f6f1d7c9a10")
# Fields that are one: they are taken from one side together.
_GROUPS: Final = (("list", "rank"), ("status", "started_at", "finished_at"))
_COUNTED: Final = frozenset({"version", "updated_at", "log"})
_NAMES: Final = {"list": "its place", "status": "status"}


def merge(base: str, ours: str, theirs: str) -> str:
    """Return the merged text. Which side is `ours` makes no difference.

    Raises:
        ValueError: a text is no file of tasks; the message names the line.
    """
    sides = [parse(text) for text in (base, ours, theirs)]
    lines: dict[str, Line] = {}
    for id_ in sorted({*sides[1], *sides[2]}):
        merged = _merged(*(side.get(id_) for side in sides))
        if merged is not None:
            lines[id_] = merged
    _settle(lines, sides[1:])
    return write(lines.values())


def _merged(base: Line | None, ours: Line | None, theirs: Line | None) -> Line | None:
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        # One side removed the line and the other changed it.
        return ours or theirs
    if ours["record"] == theirs["record"] == DELETED:
        return max(ours, theirs, key=age) | {"version": max(ours.get("version", 1), theirs.get("version", 1))}
    if ours["record"] != theirs["record"]:
        # One side deleted the task and the other changed it.
        live, other = (theirs, ours) if ours["record"] == DELETED else (ours, theirs)
        return live | _newer(live, other)
    earlier, later = sorted((ours, theirs), key=age)
    fields = dict(later)
    if base is None or base["record"] != later["record"]:
        base = {}
    lost: list[tuple[str, Any]] = []
    for names in _groups({*ours, *theirs} - _COUNTED):
        was, first, last = ([line.get(name) for name in names] for line in (base, earlier, later))
        name = names[0]
        if name in SET_FIELDS:
            fields[name] = _united(was[0] or [], first[0] or [], last[0] or [])
        elif first != was:
            if last == was:
                fields |= zip(names, first, strict=True)
            elif first[0] != last[0]:
                lost.append((name, first[0]))
    if later["record"] == TASK:
        fields["log"] = _united(base.get("log", []), earlier.get("log", []), later.get("log", []))
        fields |= _newer(earlier, later)
        for name, value in lost:
            _log(fields, f"{_NAMES.get(name, name)} was also set to: {_text(value)}")
    return fields


def _groups(names: set[str]) -> Iterable[tuple[str, ...]]:
    yield from (group for group in _GROUPS if group[0] in names)
    grouped = {name for group in _GROUPS for name in group if group[0] in names}
    yield from ((name,) for name in sorted(names - grouped))


def _united(base: list[Any], earlier: list[Any], later: list[Any]) -> list[Any]:
    """Return the items that a side has added, and those that neither has removed."""
    kept = [item for item in later if item in earlier or item not in base]
    return kept + [item for item in earlier if item not in later and item not in base]


def _newer(one: Line, other: Line) -> dict[str, Any]:
    """Return a version and an instant that both sides import as newer than theirs."""
    return {
        "version": max(one.get("version", 1), other.get("version", 1)) + 1,
        "updated_at": max(str(one.get("updated_at", "")), str(other.get("updated_at", ""))) or None,
    }


def _log(line: Line, message: str) -> None:
    """Add a log entry that is the same whoever merges."""
    message = f"merge: {message}"[:MAX_TEXT]
    at = line.get("updated_at") or line.get("created_at")
    uid = str(uuid.uuid5(_NAMESPACE, f"{line['uid']}\0{at}\0{message}"))
    log = [entry for entry in line.get("log", []) if entry.get("uid") != uid]
    line["log"] = [*log, {"uid": uid, "at": at, "agent": AUTHOR, "message": message}]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _settle(lines: dict[str, Line], sides: list[dict[str, Line]]) -> None:
    """Change what the tasks of a file cannot have together, so that an import does not have to."""
    tasks = {id_: line for id_, line in lines.items() if line["record"] == TASK}
    one_in_progress = {id_ for id_, line in lines.items() if line["record"] == LIST and line.get("one_in_progress")}
    changed = {
        *_settle_turns(tasks, one_in_progress),
        *_settle_keys(tasks),
        *_settle_dependencies(tasks, lines, sides),
        *_settle_ranks(tasks),
    }
    for id_ in changed:
        tasks[id_]["version"] = tasks[id_].get("version", 1) + 1
    for line in tasks.values():
        line["log"] = sorted(line.get("log", []), key=lambda entry: (entry["at"], entry["uid"]))


def _settle_turns(tasks: dict[str, Line], one_in_progress: set[str]) -> Iterator[str]:
    """Leave one task in progress for each agent, where the list has that rule; yield the uids of the others."""

    def turn(line: Line) -> tuple[Any, ...] | None:
        is_one = line.get("status") == "in_progress" and line.get("list") in one_in_progress and line.get("agent")
        return (line["list"], line["agent"]) if is_one else None

    for line in _repeated(tasks, turn, "started_at"):
        line |= {"status": "pending", "started_at": None, "finished_at": None}
        _log(line, f"status was also set to: in_progress, as was another task of {line['agent']}")
        yield line["uid"]


def _settle_keys(tasks: dict[str, Line]) -> Iterator[str]:
    """Leave each key to one task of a list; yield the uids of the others."""

    def key(line: Line) -> tuple[Any, ...] | None:
        return (line.get("list"), line["key"]) if line.get("key") is not None else None

    for line in _repeated(tasks, key, "created_at"):
        _log(line, f"key was also: {line['key']}, as was another task's")
        line["key"] = None
        yield line["uid"]


def _repeated(tasks: dict[str, Line], values: Callable[[Line], tuple[Any, ...] | None], order: str) -> Iterator[Line]:
    """Yield the tasks but the first of those that have the same values."""
    seen = set()
    for line in sorted(tasks.values(), key=lambda line: (str(line.get(order)), line["uid"])):
        value = values(line)
        if value is None:
            continue
        if value in seen:
            yield line
        seen.add(value)


def _settle_dependencies(tasks: dict[str, Line], lines: dict[str, Line], sides: list[dict[str, Line]]) -> Iterator[str]:
    """Remove the dependencies on deleted tasks, and those that close a circle; yield the uids of the tasks."""

    def is_had(id_: str, on: str) -> bool:
        """Whether a task that one side deleted was a dependency on both, so that both databases still have it."""
        return lines.get(on, {}).get("record") != DELETED or all(
            on in side.get(id_, {}).get("depends_on", ()) for side in sides
        )

    after = {
        id_: sorted(on for on in set(line.get("depends_on", ())) if is_had(id_, on)) for id_, line in tasks.items()
    }
    for id_, on in closing_edges(after):
        after[id_].remove(on)
        _log(tasks[id_], f"depends_on had also: {on}, but the two would wait for each other")
    for id_, on_uids in after.items():
        if set(on_uids) != set(tasks[id_].get("depends_on", ())):
            yield id_
        tasks[id_]["depends_on"] = on_uids


def _settle_ranks(tasks: dict[str, Line]) -> Iterator[str]:
    """Give the tasks of each list different ranks; yield the uids of those that get another."""
    by_list: dict[Any, dict[str, str]] = {}
    for id_, line in tasks.items():
        if isinstance(line.get("rank"), str) and is_file_rank(line["rank"]):
            by_list.setdefault(line.get("list"), {})[id_] = line["rank"]
    for wanted in by_list.values():
        for id_, rank in without_collisions(wanted).items():
            if tasks[id_]["rank"] != rank:
                tasks[id_]["rank"] = rank
                yield id_


def main(arguments: list[str]) -> int:
    """Merge as git's driver: `BASE OURS THEIRS [MARKER_SIZE]`. The result replaces OURS; return the exit status.

    Texts that cannot be merged by task are merged by line, with git's conflict marks.
    """
    base, ours, theirs = (Path(name) for name in arguments[:3])
    try:
        merged = merge(*(path.read_bytes().decode() for path in (base, ours, theirs)))
    except (ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"tui-tasks: not merged by task: {error}\n")
        size = arguments[3] if len(arguments) > 3 else "7"
        return _merged_by_line(ours, base, theirs, size)
    ours.write_bytes(merged.encode())
    return 0


def _merged_by_line(ours: Path, base: Path, theirs: Path, marker_size: str) -> int:
    from tui_tasks.runner import git  # few merges need it

    try:
        return min(git.merge_lines(ours, base, theirs, marker_size), 127)
    except git.GitFailed as failed:
        sys.stderr.write(f"tui-tasks: not merged by line: {failed}\n")
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
