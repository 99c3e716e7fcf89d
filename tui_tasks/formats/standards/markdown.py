"""Markdown checklists: a heading for each list, `- [ ] name` for each task, its description as a quotation below.

An HTML comment at the end of such a line holds the other fields, the id above all; it is invisible where the Markdown
is rendered. In files of others, a task depends on those nested in it, and the heading is its domain. The marks of
Obsidian's tasks stand at the end of a line, after the comment (`obsidian_marks`).
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import CLOSED, MEDIUM
from tui_tasks.formats.file_records import (
    ExportData,
    ListRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    day_of,
    foreign_of,
    no_step,
    plain,
    plain_name,
    valid_times,
)
from tui_tasks.formats.standards import obsidian_marks
from tui_tasks.text import safe

_BOX: Final = re.compile(r"\[([ xX/-])\]\s+(\S.*)", re.DOTALL)
_COMMENT: Final = re.compile(r"(.*)<!-- (\{[^\n]*\}) -->", re.DOTALL)
_QUOTE_MARK: Final = re.compile(r"^ *> ?", re.MULTILINE)
_STATUS: Final = {" ": "pending", "x": "done", "X": "done", "/": "in_progress", "-": "cancelled"}
_LISTS: Final = ("bullet_list", "ordered_list")
_MAX_NESTING: Final = 100
_FORMAT: Final = "markdown"
_ITEM: Final = re.compile(r"[-*+] \[[ xX/-]\] ")
# How long a part of a document is, in characters, before the next item with a box at the margin begins another.
_PART: Final = 50_000
_NOT_A_TASK: Final = "text: only items with a box are imported"


class _Comment(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The comment on a task's line: its fields beside the name; `status` if the box does not determine it."""

    uid: str
    status: str | None = None
    priority: int = MEDIUM
    tags: tuple[str, ...] = ()
    domain: str | None = None
    agent: str | None = None
    due: str | None = None
    estimate: int | None = None
    depends_on: tuple[str, ...] = ()
    links: tuple[dict[str, str], ...] = ()
    marks: tuple[str, ...] = ()


class _ListComment(msgspec.Struct):
    """The comment on a list's heading: its uid."""

    list: str


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write a heading for each list that has tasks, and its tasks in order."""
    for home, tasks in ((home, tasks) for home, tasks in rows.lists if tasks):
        yield f"# {plain_name(home.name)} {_format_comment({'list': home.uid})}\n\n"
        for task in tasks:
            yield _format_item(task, now)
        yield "\n"


def _format_item(task: Task, now: datetime) -> str:
    box = {"done": "x"}.get(task.status, "-" if task.status in CLOSED else " ")
    marks = _marks_of(task)
    comment = _Comment(
        task.uid,
        None if _STATUS[box] == task.status else task.status,
        task.priority,
        task.tags,
        task.domain,
        task.agent,
        task.due,
        task.estimate,
        tuple(sorted(task.depends_on)),
        task.links,
        marks,
    )
    parts = [f"- [{box}]", plain_name(task.name), _format_comment(msgspec.to_builtins(comment))]
    lines = [" ".join([*parts, *obsidian_marks.rendered(marks, task, now)])]
    if task.description:
        lines += ["", *(f"  > {line}".rstrip(" ") for line in _text(task.description).split("\n")), ""]
    return "\n".join(lines) + "\n"


def _marks_of(task: Task) -> tuple[str, ...]:
    """Return the marks that an import kept of a task. Agents write metadata, too: anything else is none."""
    marks = foreign_of(task, _FORMAT).get("marks")
    return tuple(marks) if isinstance(marks, list) and all(map(obsidian_marks.is_kept, marks)) else ()


def _text(text: str) -> str:
    """Return a text without what Markdown drops: spaces at the ends of lines, and empty lines at its end."""
    return re.sub(r"[ \t]+$", "", plain(text), flags=re.MULTILINE).rstrip("\n")


def _format_comment(value: dict[str, Any]) -> str:
    """Return JSON as an HTML comment; the two hyphens that would end it are escaped."""
    return "<!-- " + safe.dumps(value).replace("--", "-\\u002d") + " -->"


def read(lines: Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse every list item with a box.

    Raises:
        InvalidArgument: the comment of an item was damaged.
    """
    parsed = ParsedFile(
        reducers={
            "name": plain_name,
            "description": _text,
            "status": lambda status: status if status in ("pending", "done") else status in CLOSED,
            **dict.fromkeys(("created_at", "finished_at"), lambda at: at and day_of(at, now)),
        }
    )
    reader = _Reader(parsed, now, step)
    part: list[str] = []
    length, wanted = 0, _PART
    for line in lines:
        # An item with a box at the margin belongs to nothing before it, unless a block of code or HTML is open.
        if length > wanted and _ITEM.match(line):
            if reader.read_part(part):
                part, length, wanted = [], 0, _PART
            else:
                wanted = 2 * length
        part.append(line.removesuffix("\r"))
        length += len(line) + 1
    reader.read_part(part, is_last=True)
    if reader.is_too_deep:
        parsed.lost[f"text: what is nested deeper than {_MAX_NESTING // 2 - 1} items is not imported"] += 1
    return parsed


class _Reader:
    """Reads the blocks of a document part by part; knows the heading above them."""

    def __init__(self, found: ParsedFile, now: datetime, step: Step) -> None:
        self._parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
        # Names stay as they are written, so inline Markdown is not parsed.
        self._parser.disable("inline")
        self.is_too_deep = False
        self._found = found
        self._lines: list[str] = []
        self._lines_before = 0
        self._now = now
        self._step = step
        self._seen: Counter[tuple[str, str]] = Counter()
        self._home: str | None = None
        self._heading: str | None = None

    def read_part(self, lines: list[str], *, is_last: bool = False) -> bool:
        """Read the tasks of the next lines; return whether they end where a block ends. Else nothing is read."""
        text = "\n".join(lines).replace("\r", "\n")
        tokens = self._parser.parse(text)
        if not is_last and tokens and tokens[-1].type in ("fence", "html_block"):
            return False
        self.is_too_deep |= any(token.level >= _MAX_NESTING - 2 for token in tokens)
        self._lines = text.split("\n")
        for node in SyntaxTreeNode(tokens).children:
            if node.type == "heading":
                self._read_heading(node.children[0].content if node.children else "")
            elif node.type in _LISTS:
                self._read_list(node)
            else:
                self._found.lost[_NOT_A_TASK] += 1
        self._lines_before += len(self._lines)
        return True

    def _read_heading(self, text: str) -> None:
        if (ours := _COMMENT.fullmatch(text)) and (comment := _parse_comment(ours[2], _ListComment)) is not None:
            self._home, self._heading = comment.list, None
            self._found.lists.append(ListRecord(comment.list, "list", ours[1].strip() or comment.list))
        else:
            self._home, self._heading = None, text or None

    def _read_list(self, node: SyntaxTreeNode) -> None:
        """Read the tasks of a list at the margin."""
        for item in node.children:
            records: list[TaskRecord] = []
            self._read_items([item], None, records)
            for record in records:
                self._found.records.append(record)
                self._step()

    def _read_items(self, items: list[SyntaxTreeNode], parent: TaskRecord | None, into: list[TaskRecord]) -> list[str]:
        """Read the tasks of a list, and those nested in them; return the ids of the former."""
        ids = []
        for item in items:
            text = item.children[0].children[0].content if item.children and item.children[0].children else ""
            box = _BOX.fullmatch(text) if item.children and item.children[0].type == "paragraph" else None
            if box is None:
                self._found.lost[_NOT_A_TASK] += 1
                for child in item.children:
                    ids += self._read_items(child.children, parent, into) if child.type in _LISTS else []
            else:
                ids.append(self._read_item(item, box, parent, into))
        return ids

    def _read_item(
        self, item: SyntaxTreeNode, box: re.Match[str], parent: TaskRecord | None, into: list[TaskRecord]
    ) -> str:
        where = f"line {self._lines_before + (item.map or (0, 0))[0] + 1}"
        status = _STATUS[box[1]]
        first, *further = box[2].split("\n")
        first, marks = obsidian_marks.split(first)
        text = " ".join([first, *further])
        ours = _COMMENT.fullmatch(text)
        open_id = None
        if ours is None:
            name, kept = text, obsidian_marks.reduced(marks)
            fields: dict[str, Any] = {"domain": self._heading} if self._heading else {}
            fields |= obsidian_marks.fields(name, marks, self._now)
            # A repeating task that is done stands beside its next one, under the same words.
            is_occasion = obsidian_marks.repeats(marks) and status in CLOSED
            id_ = self._id_of_item(name + (f"\0{' '.join(marks)}" if is_occasion else ""), parent)
            open_id = _open_id(id_, name, parent, is_occasion=is_occasion)
        else:
            name = ours[1].strip() or "\ufffd"
            fields, kept = self._fields_of_comment(where, ours[2], marks)
            id_, own = fields.pop("uid"), fields.pop("status")
            # The user may have changed the box since it was written.
            if (own == "in_progress" and box[1] == " ") or (own in CLOSED and box[1] == "-"):
                status = own
        for what in obsidian_marks.without_field(marks):
            self._found.lost[f"{what}: kept in the metadata alone"] += 1
        description, nested = self._description_and_sublists(item, is_ours=ours is not None)
        if description or ours is not None:
            fields["description"] = description
        record = TaskRecord(
            where, id_, {}, home=self._home, foreign={"marks": list(kept)} if kept else {}, open_id=open_id
        )
        record.times = valid_times(status, obsidian_marks.times(marks, self._now))
        into.append(record)
        children = [id_ for node in nested for id_ in self._read_items(node.children, record, into)]
        if children:
            fields["depends_on"] = list(dict.fromkeys([*fields.get("depends_on", ()), *children]))
        record.fields = checked_fields(where, {"name": name, "status": status, **fields}, self._found, self._now)
        return id_

    def _fields_of_comment(
        self, where: str, text: str, marks: tuple[str, ...]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return what the comment of an item holds, as changed by the item's marks, and the marks to keep."""
        comment = _parse_comment(text, _Comment)
        if comment is None:
            raise InvalidArgument("file", f"{where}: the comment at its end is not as it was written")
        fields = msgspec.structs.asdict(comment)
        fields["links"] = list(comment.links)
        written = fields.pop("marks")
        obsidian_marks.merge(fields, written, marks, self._now)
        return fields, obsidian_marks.still_kept(written, marks)

    def _id_of_item(self, name: str, parent: TaskRecord | None) -> str:
        key = ("" if parent is None else parent.id, name)
        self._seen[key] += 1
        return "\0".join([*key, str(self._seen[key])])

    def _description_and_sublists(self, item: SyntaxTreeNode, *, is_ours: bool) -> tuple[str, list[SyntaxTreeNode]]:
        """Return the text below an item as its description, and the nested lists that have tasks."""
        texts, nested = [], []
        for node in item.children[1:]:
            if node.type in _LISTS and any(
                child.type == "inline" and _BOX.fullmatch(child.content) for child in node.walk()
            ):
                nested.append(node)
                continue
            first, last = node.map or (0, 0)
            text = "\n".join(self._lines[first:last])
            if is_ours and node.type == "blockquote":
                texts.append(_QUOTE_MARK.sub("", text).rstrip("\n"))
            else:
                texts.append(textwrap.dedent(text).strip("\n"))
        return "\n\n".join(texts), nested


def _open_id(id_: str, name: str, parent: TaskRecord | None, *, is_occasion: bool) -> str | None:
    """Return the id that a line had while it, or the repeating task it is nested in, was open; None: the same."""
    above = None if parent is None else parent.open_id
    if not is_occasion:
        return None if above is None else "\0".join([above, name, id_.rpartition("\0")[2]])
    return "\0".join([above or ("" if parent is None else parent.id), name, "1"])


def _parse_comment(text: str, kind: Any) -> Any:
    """Parse a comment; return None if it is not one that `write` wrote."""
    try:
        return msgspec.convert(json.loads(text), kind)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return None
