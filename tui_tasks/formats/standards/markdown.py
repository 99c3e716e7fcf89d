"""Markdown checklists: `- [ ] name`, the description quoted under it, a heading a list.

A comment at the end of a line of ours has what a checklist has no place for, the id above all; nobody sees it where the
Markdown is shown. In what others wrote, a task waits for those that are nested in it, and a heading is their domain.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import CLOSED, MEDIUM
from tui_tasks.formats.records import ListRecord, Read, Record, Rows, Step, checked, no_step, plain, plain_name
from tui_tasks.text import json_text

_BOX: Final = re.compile(r"\[([ xX/-])\]\s+(\S.*)", re.DOTALL)
_COMMENT: Final = re.compile(r"(.*)<!-- (\{[^\n]*\}) -->", re.DOTALL)
_QUOTED: Final = re.compile(r"^ *> ?", re.MULTILINE)
_STATUS: Final = {" ": "pending", "x": "done", "X": "done", "/": "in_progress", "-": "cancelled"}
_LISTS: Final = ("bullet_list", "ordered_list")
_MOST_NESTED: Final = 100
_ELSE: Final = "text: what is no item with a box is not imported"


class _Comment(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What a line of ours says of its task beside its name; `status` where the box does not tell it."""

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


class _ListComment(msgspec.Struct):
    """What the heading of a list of ours says."""

    list: str


def write(rows: Rows, now: datetime) -> Iterator[str]:
    """Write a heading for each list that has tasks, and these in their order."""
    for home, tasks in ((home, tasks) for home, tasks in rows.lists if tasks):
        yield f"# {plain_name(home.name, one_line=True)} {_comment({'list': home.uid})}\n\n"
        for task in tasks:
            yield _item(task)
        yield "\n"


def _item(task: Task) -> str:
    box = {"done": "x"}.get(task.status, "-" if task.status in CLOSED else " ")
    told = _Comment(
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
    )
    lines = [f"- [{box}] {_name(task.name)} {_comment(msgspec.to_builtins(told))}"]
    if task.description:
        lines += ["", *(f"  > {line}".rstrip(" ") for line in _text(task.description).split("\n")), ""]
    return "\n".join(lines) + "\n"


def _name(name: str) -> str:
    return plain_name(name, one_line=True)


def _text(text: str) -> str:
    """Markdown drops the spaces at the end of a line, and empty lines at the end of a quotation."""
    return re.sub(r"[ \t]+$", "", plain(text), flags=re.MULTILINE).rstrip("\n")


def _comment(value: dict[str, Any]) -> str:
    """JSON in a comment, which two hyphens would end."""
    return "<!-- " + json_text.shown(value).replace("--", "-\\u002d") + " -->"


def read(text: str, now: datetime, step: Step = no_step) -> Read:
    """Read every item with a box.

    Raises:
        InvalidArgument: the comment of an item is not as it was written.
    """
    parser = MarkdownIt("commonmark", {"maxNesting": _MOST_NESTED})
    # Names are kept as they are written, so nothing within a line is looked at.
    parser.disable("inline")
    found = Read(
        coarse={
            "name": _name,
            "description": _text,
            "status": lambda status: status if status in ("pending", "done") else status in CLOSED,
        }
    )
    reader = _Reader(found, text.replace("\r\n", "\n").replace("\r", "\n"), now, step)
    tokens = parser.parse(text)
    if max((token.level for token in tokens), default=0) >= _MOST_NESTED - 2:
        found.lost[f"text: what is nested deeper than {_MOST_NESTED // 2 - 1} items is not imported"] += 1
    reader.blocks(SyntaxTreeNode(tokens).children)
    return found


class _Reader:
    """Goes through the blocks of a document, and knows under which heading it is."""

    def __init__(self, found: Read, text: str, now: datetime, step: Step) -> None:
        self._found = found
        self._lines = text.split("\n")
        self._now = now
        self._step = step
        self._seen: Counter[tuple[str, str]] = Counter()
        self._home: str | None = None
        self._heading: str | None = None

    def blocks(self, nodes: list[SyntaxTreeNode]) -> None:
        """Take the tasks of a document."""
        for node in nodes:
            if node.type == "heading":
                self._take_heading(node.children[0].content if node.children else "")
            elif node.type in _LISTS:
                self._list(node, None)
            else:
                self._found.lost[_ELSE] += 1

    def _take_heading(self, text: str) -> None:
        if (ours := _COMMENT.fullmatch(text)) and (told := _decoded(ours[2], _ListComment)) is not None:
            self._home, self._heading = told.list, None
            self._found.lists.append(ListRecord(told.list, "list", ours[1].strip() or told.list))
        else:
            self._home, self._heading = None, text or None

    def _list(self, node: SyntaxTreeNode, parent: Record | None) -> list[str]:
        """Take the tasks of a list; return their ids."""
        ids = []
        for item in node.children:
            text = item.children[0].children[0].content if item.children and item.children[0].children else ""
            box = _BOX.fullmatch(text) if item.children and item.children[0].type == "paragraph" else None
            if box is None:
                self._found.lost[_ELSE] += 1
                for child in item.children:
                    ids += self._list(child, parent) if child.type in _LISTS else []
            else:
                ids.append(self._item(item, box, parent))
        return ids

    def _item(self, item: SyntaxTreeNode, box: re.Match[str], parent: Record | None) -> str:
        where = f"line {(item.map or (0, 0))[0] + 1}"
        status = _STATUS[box[1]]
        ours = _COMMENT.fullmatch(box[2])
        if ours is None:
            name = " ".join(box[2].split("\n"))
            fields: dict[str, Any] = {"domain": self._heading} if self._heading else {}
            id_ = self._id(name, parent)
        else:
            name = " ".join(ours[1].split("\n")).strip() or "\ufffd"
            told = _decoded(ours[2], _Comment)
            if told is None:
                raise InvalidArgument("file", f"{where}: the comment at its end is not as it was written")
            fields = msgspec.structs.asdict(told)
            fields["links"] = list(told.links)
            id_ = fields.pop("uid")
            own = fields.pop("status")
            # The box may have been ticked since.
            if (own == "in_progress" and box[1] == " ") or (own in CLOSED and box[1] == "-"):
                status = own
        description, nested = self._under(item, is_ours=ours is not None)
        if description or ours is not None:
            fields["description"] = description
        record = Record(where, id_, {}, home=self._home)
        self._found.records.append(record)
        self._step()
        children = [id_ for node in nested for id_ in self._list(node, record)]
        if children:
            fields["depends_on"] = list(dict.fromkeys([*fields.get("depends_on", ()), *children]))
        record.fields = checked(where, {"name": name, "status": status, **fields}, self._found, self._now)
        return id_

    def _id(self, name: str, parent: Record | None) -> str:
        key = ("" if parent is None else parent.id, name)
        self._seen[key] += 1
        return "\0".join([*key, str(self._seen[key])])

    def _under(self, item: SyntaxTreeNode, *, is_ours: bool) -> tuple[str, list[SyntaxTreeNode]]:
        """Return what stands under an item as its description, and the lists in it that have tasks."""
        texts, nested = [], []
        for node in item.children[1:]:
            if node.type in _LISTS and self._has_box(node):
                nested.append(node)
                continue
            first, last = node.map or (0, 0)
            text = "\n".join(self._lines[first:last])
            if is_ours and node.type == "blockquote":
                texts.append(_QUOTED.sub("", text).rstrip("\n"))
            else:
                texts.append(textwrap.dedent(text).strip("\n"))
        return "\n\n".join(texts), nested

    def _has_box(self, node: SyntaxTreeNode) -> bool:
        return any(child.type == "inline" and _BOX.fullmatch(child.content) for child in node.walk())


def _decoded(text: str, kind: Any) -> Any:
    """Return what a comment says; None where it says none of ours."""
    try:
        return msgspec.convert(json.loads(text), kind)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return None
