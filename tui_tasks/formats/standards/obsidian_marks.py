"""Marks at the end of a Markdown task, as Obsidian's Tasks plugin writes them: `🔼 🔁 every week 📅 2026-01-31 #tag`.

A task keeps in its metadata which marks it has: the text of those that no field has (`🔁 every week`), and the sign
alone of those that a field has (`📅`), so that an export writes the field's value there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final

from tui_tasks.core.schema.due_dates import start_of_day
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import HIGH, LOW, MEDIUM, URGENT
from tui_tasks.formats.file_records import day_of, day_of_due, since_epoch

_SIGNS: Final = {"🔺": URGENT, "⏫": HIGH, "🔼": MEDIUM, "🔽": LOW, "⏬": LOW + 1}
_SIGN_OF: Final = {priority: sign for sign, priority in _SIGNS.items()}
_PRIORITY: Final = "🔼"
_DUE: Final = "📅"
_ENDS: Final = {"✅": ("done",), "❌": ("cancelled", "failed", "skipped")}
_CREATED: Final = "➕"
_NAMES: Final = {
    "🔁": "repeat",
    "🛫": "start day",
    "⏳": "scheduled day",
    "🆔": "id",
    "⛔": "dependency",
    "🏁": "on end",
}
_MAX: Final = 50
_TAG: Final = r"#(?!\d+(?:\s|$))[\w/-]+"
_ONE: Final = re.compile(
    rf"\s+(?:(?P<sign>[{''.join(_SIGNS)}])\ufe0f?"
    r"|(?P<dated>[📅🛫⏳➕✅❌])\ufe0f? ?(?P<day>\d{4}-\d\d-\d\d)"
    r"|(?P<other>🔁\ufe0f? ?[A-Za-z0-9, !]*[A-Za-z0-9!]|[🆔⛔🏁]\ufe0f? ?[\w-]+(?: ?, ?[\w-]+)*|\^[A-Za-z0-9-]+)"
    rf"|(?P<tag>{_TAG}))\s*"
)
_STARTS: Final = re.compile(r"\s+(?=[#^📅🛫⏳➕✅❌🔁🆔⛔🏁🔺⏫🔼🔽⏬])")
_TAG_IN_NAME: Final = re.compile(rf"(?:^|(?<=\s)){_TAG}(?=\s|$)")


def split(text: str) -> tuple[str, tuple[str, ...]]:
    """Split a line into what precedes the marks at its end, and the marks. A line of marks alone has none."""
    end, marks = len(text), list[str]()
    for start in reversed([match.start() for match in _STARTS.finditer(text)][-_MAX:]):
        if not text[:start].strip() or _ONE.fullmatch(text, start, end) is None:
            break
        marks.insert(0, text[start:end].strip())
        end = start
    return text[:end].rstrip() if marks else text, tuple(marks)


def reduced(marks: Sequence[str]) -> tuple[str, ...]:
    """Return the marks as metadata keeps them: of those that a field has, the sign alone."""
    return tuple(dict.fromkeys(map(_kept, marks)))


def _kept(mark: str) -> str:
    value = _parsed(mark)
    if value["sign"]:
        return _PRIORITY
    return value["dated"] if value["dated"] and (value["dated"] == _DUE or value["dated"] in _ENDS) else mark


def _parsed(mark: str) -> dict[str, str | Any]:
    match = _ONE.fullmatch(f" {mark}")
    return dict.fromkeys(("sign", "dated", "day", "other", "tag")) if match is None else match.groupdict()


def is_kept(mark: Any) -> bool:
    """Return whether a value of metadata is a mark as `reduced` returns them."""
    return isinstance(mark, str) and (mark in (_DUE, *_ENDS) or _ONE.fullmatch(f" {mark}") is not None)


def rendered(kept: Sequence[str], task: Task, now: datetime) -> Iterator[str]:
    """Yield the marks of a task as they are written: with the values of its fields, without those that it has not."""
    for mark in kept:
        if mark == _PRIORITY:
            yield _SIGN_OF[min(task.priority, LOW + 1)]
        elif mark == _DUE:
            if task.due is not None:
                yield f"{_DUE} {day_of_due(task.due, now)}"
        elif mark in _ENDS:
            if task.status in _ENDS[mark] and task.finished_at is not None:
                yield f"{mark} {day_of(task.finished_at, now).isoformat()}"
        elif not mark.startswith("#") or mark[1:] in task.tags:
            yield mark


def still_kept(written: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
    """Return what metadata keeps of the marks of a line that was written with those of `written`, and edited."""
    present = reduced(marks)
    left = [mark for mark in written if mark in (_PRIORITY, _DUE, *_ENDS) or mark.startswith("#") or mark in present]
    return tuple(dict.fromkeys([*left, *present]))


def fields(name: str, marks: Sequence[str], now: datetime) -> dict[str, Any]:
    """Return the fields that the marks, and the tags in the name, give to a task."""
    values: dict[str, Any] = {}
    tags = [tag[1:] for tag in _TAG_IN_NAME.findall(name)]
    for mark in map(_parsed, marks):
        if mark["sign"]:
            values["priority"] = _SIGNS[mark["sign"]]
        elif mark["dated"] == _DUE:
            values["due"] = mark["day"]
        elif mark["tag"]:
            tags.append(mark["tag"][1:])
    return values | ({"tags": list(dict.fromkeys(tags))} if tags else {})


def merge(own: dict[str, Any], written: Sequence[str], marks: Sequence[str], now: datetime) -> None:
    """Change the fields of a line that was written with marks to what an editor has made of these since."""
    found, kept = fields("", marks, now), reduced(marks)
    if "priority" in found and found["priority"] != min(own["priority"], LOW + 1):
        own["priority"] = found["priority"]
    elif _PRIORITY in written and _PRIORITY not in kept:
        own["priority"] = MEDIUM
    if "due" in found and (own["due"] is None or day_of_due(own["due"], now) != found["due"]):
        own["due"] = found["due"]
    elif _DUE in written and _DUE not in kept:
        own["due"] = None
    gone = {mark[1:] for mark in written if mark.startswith("#") and mark not in kept}
    added = [tag for tag in found.get("tags", ()) if tag not in own["tags"]]
    own["tags"] = [*(tag for tag in own["tags"] if tag not in gone), *added]


def times(marks: Sequence[str], now: datetime) -> dict[str, int | None]:
    """Return the instants at which the days of making and ending begin. A day that there is not is none."""
    instants: dict[str, int | None] = {}
    for mark in map(_parsed, marks):
        name = "created_at" if mark["dated"] == _CREATED else "finished_at" if mark["dated"] in _ENDS else None
        if name is not None:
            try:
                instants[name] = since_epoch(start_of_day(date.fromisoformat(mark["day"]), now))
            except ValueError:
                continue
    return instants


def without_field(marks: Sequence[str]) -> Iterator[str]:
    """Yield a name for each mark that no field has."""
    for mark in marks:
        if mark[0] in _NAMES:
            yield _NAMES[mark[0]]


def repeats(marks: Sequence[str]) -> bool:
    """Return whether a mark says that the task repeats."""
    return any(mark.startswith("🔁") for mark in marks)
