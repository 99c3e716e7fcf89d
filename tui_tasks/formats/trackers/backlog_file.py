"""A file of Backlog.md: front matter in YAML, and sections of Markdown. `backlog_md` makes tasks of them."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import SingleQuotedScalarString

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.formats.file_records import plain

REFERENCE_PREFIX: Final = "tui-tasks:"
# The headings of the sections in their order, by the marks around them.
HEADINGS: Final = {
    "SECTION:DESCRIPTION": "## Description\n",
    "AC": "## Acceptance Criteria",
    "DOD": "## Definition of Done",
    "SECTION:PLAN": "## Implementation Plan\n",
    "SECTION:NOTES": "## Implementation Notes\n",
    "COMMENTS": "## Comments\n",
    "SECTION:FINAL_SUMMARY": "## Final Summary\n",
}
DESCRIPTION, COMMENTS, SUMMARY = "SECTION:DESCRIPTION", "COMMENTS", "SECTION:FINAL_SUMMARY"
# The headings of sections without marks, as earlier versions of Backlog.md wrote them.
_TITLES: Final = {
    **{heading.removeprefix("## ").strip().lower(): mark for mark, heading in HEADINGS.items()},
    "acceptance criteria (optional)": "AC",
    "implementation plan (optional)": "SECTION:PLAN",
    "implementation notes (optional)": "SECTION:NOTES",
    "notes": "SECTION:NOTES",
    "notes & comments (optional)": "SECTION:NOTES",
}
_FRONT: Final = re.compile(r"---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKED: Final = re.compile(r"(?:## [^\n]*\n\s*)?<!-- ([A-Z:_]+):BEGIN -->\n?(.*?)\n?<!-- \1:END -->", re.DOTALL)
_TITLE: Final = re.compile(rf"^## ({'|'.join(map(re.escape, _TITLES))})[ \t]*$", re.MULTILINE | re.IGNORECASE)
_MARK: Final = re.compile(r"<!--(?=\s*[A-Z:_]+:(?:BEGIN|END)\s*-->)")
_STRAY_MARK: Final = re.compile(r"<!-- [A-Z:_]+:(?:BEGIN|END) -->")
# Backlog.md puts these values into quotes before it reads the YAML: `assignee: @name` is none.
_UNQUOTED: Final = re.compile(r"^([ \t]*(?:assignee|reporter):[ \t]*)([^\s\[\"'\-][^\n]*?)[ \t]*$", re.MULTILINE)
_UNQUOTED_LIST: Final = re.compile(r"^([ \t]*(?:assignee|reporter):[ \t]*\[)([^\n]*)(\][^\n]*)$", re.MULTILINE)
_LIST_ITEM: Final = re.compile(r":[ \t]*\n( *)- ")
# Words that a YAML parser takes for something else than text, and texts that begin as numbers do.
_AMBIGUOUS: Final = re.compile(r"(?i)|~|y|n|yes|no|on|off|true|false|null|[-+.=<\d].*")
_NULL: Final = re.compile(r"(?:~|null|Null|NULL|)\Z")
_MAX_VALUES: Final = 10_000


class NoTask(Exception):
    """A file of the folder is not a task. The text is the reason."""


class FrontMatter(msgspec.Struct):
    """The front matter with a place in a task."""

    id: str
    title: str
    status: str | None = None
    assignee: list[str] | str | None = None
    created_date: str | None = None
    due_date: str | None = None
    labels: list[str] | str | None = None
    dependencies: list[str] | str | None = None
    priority: str | None = None
    ordinal: str | None = None
    references: list[str] | str | None = None


class _Span(NamedTuple):
    """Where a section's text is in the body; `marked` is whether marks are around it."""

    mark: str
    start: int
    end: int
    marked: bool
    titled: bool = True


class BacklogFile(msgspec.Struct):
    """A parsed file.

    Attributes:
        path: its path in the folder.
        text: its text.
        front: its front matter.
        sections: the texts of its sections by their marks. Text outside all sections belongs to the description.
        fields: the front matter with a place in a task.
        own: the values that we wrote into its references, by name.
    """

    path: str
    text: str
    front: dict[str, Any]
    sections: dict[str, str]
    fields: FrontMatter
    own: dict[str, str]

    @property
    def key(self) -> str:
        """The id of the task: our uid, else its own."""
        return self.own.get("uid") or self.fields.id.upper()


class _TextResolver(VersionedResolver):
    """Reads every value but null as text: `title: 007` and `title: 2026-01-31` are titles."""

    @property
    def versioned_resolver(self) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
        """The patterns of values that are no text, by their first character."""
        return {first: [("tag:yaml.org,2002:null", _NULL)] for first in ("", "~", "n", "N")}


def _yaml(offset: int = 2) -> YAML:
    """Return a parser and writer that keeps comments, quotes and order; lists are indented by `offset`."""
    yaml = YAML(typ="rt", pure=True)
    yaml.Resolver = _TextResolver
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def parse(path: str, text: str) -> BacklogFile:
    """Parse the text of a file.

    Raises:
        NoTask: it has no front matter with an id.
        InvalidArgument: its front matter is invalid.
    """
    head, body = _split(text.replace("\r\n", "\n"))
    if head is None:
        raise NoTask("it begins with no front matter (---)")
    try:
        loaded = _yaml().load(_quoted(head))
        refuse_too_many_values(loaded)
        front = _plain(loaded)
        if not isinstance(front, dict) or "id" not in front:
            raise NoTask("its front matter has no id")
        fields = msgspec.convert(front, FrontMatter, strict=False)
    except (YAMLError, msgspec.ValidationError, ValueError, RecursionError) as error:
        raise InvalidArgument("file", f"{path}: {' '.join(str(error).split())}") from None
    own = {}
    for reference in texts(fields.references):
        if reference.startswith(REFERENCE_PREFIX):
            name, is_word, value = reference.removeprefix(REFERENCE_PREFIX).partition("=")
            own[name if is_word else "uid"] = value if is_word else name
    sections: dict[str, str] = {}
    for span in _spans(body):
        both = (sections.get(span.mark), body[span.start : span.end])
        sections[span.mark] = "\n\n".join(each for each in both if each)
    return BacklogFile(path, text, front, sections, fields, own)


def _split(text: str) -> tuple[str | None, str]:
    """Return the YAML of the front matter, None if there is none, and the body."""
    match = _FRONT.match(text)
    return (None, text) if match is None else (match[1] or "", text[match.end() :])


def _quoted(head: str) -> str:
    """Put quotes where Backlog.md does. Each line stays a line."""

    def listed(match: re.Match[str]) -> str:
        items = [item.strip() for item in match[2].split(",")]
        return match[1] + ", ".join(_in_quotes(item) if item[:1] == "@" else item for item in items) + match[3]

    return _UNQUOTED_LIST.sub(listed, _UNQUOTED.sub(lambda match: match[1] + _in_quotes(match[2]), head))


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(value: Any) -> Any:
    """Return a YAML value as dicts, lists, texts and None.

    Raises:
        ValueError: it has a tag.
    """
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if value is not None and not isinstance(value, str):
        raise ValueError(f"a value with a YAML tag: {getattr(value, 'tag', value)}")
    return None if value is None else str(value)


def _spans(body: str) -> list[_Span]:
    """Return where the sections of a body are: those between marks, and in the gaps those below a known heading."""
    spans: list[_Span] = []
    at = 0
    for match in _MARKED.finditer(body):
        spans += _gap(body, at, match.start())
        spans.append(_Span(match[1], match.start(2), match.end(2), marked=True))
        at = match.end()
    return spans + _gap(body, at, len(body))


def _gap(body: str, start: int, end: int) -> list[_Span]:
    titles = list(_TITLE.finditer(body, start, end))
    edges = [*(title.start() for title in titles), end]
    places = [(DESCRIPTION, start, edges[0], False)]
    places += [
        (_TITLES[title[1].lower()], title.end(), edge, True) for title, edge in zip(titles, edges[1:], strict=True)
    ]
    lines_between = []
    for mark, first, last, titled in places:
        text = body[first:last]
        if _STRAY_MARK.sub("", text).strip():
            first += len(text) - len(text.lstrip())
            lines_between.append(_Span(mark, first, first + len(text.strip()), marked=False, titled=titled))
    return lines_between


def with_changes(file: BacklogFile, front: Mapping[str, Any], sections: Mapping[str, str]) -> str:
    """Return the text of a file in which these values of the front matter, None for none, and these sections changed.

    All other lines stay as they are.
    """
    if not front and not sections:
        return file.text
    head, body = _split(file.text.replace("\r\n", "\n"))
    assert head is not None
    text = f"---\n{_changed_front(head, front) if front else head}---\n{_changed_body(body, sections)}"
    return text.replace("\n", "\r\n") if "\r\n" in file.text else text


def _changed_front(head: str, changes: Mapping[str, Any]) -> str:
    indents = _LIST_ITEM.search(head)
    yaml = _yaml(2 if indents is None else len(indents[1]))
    before, front = yaml.load(_quoted(head)), yaml.load(_quoted(head))
    for name, value in changes.items():
        if value is None:
            front.pop(name, None)
        elif isinstance(value, list):
            front[name] = _changed_list(front.get(name), value)
        else:
            front[name] = _scalar(value)
    written = io.StringIO()
    yaml.dump(front, written)
    # What the writer lays out in another way than the file stays as it is in the file, if it did not change.
    old, new = _lines_by_key(head, before), _lines_by_key(written.getvalue(), yaml.load(written.getvalue()))
    if old is None or new is None:
        return written.getvalue()
    return "".join(new[name] if name in changes or name not in old else old[name] for name in new)


def _changed_list(present: Any, values: list[str]) -> Any:
    """Return a list with these values; what stays of the present one keeps its comments and its style."""
    if not isinstance(present, CommentedSeq) or not present:
        return CommentedSeq(map(_scalar, values))
    for at in reversed(range(len(present))):
        if present[at] not in values:
            del present[at]
    present.extend(_scalar(value) for value in values if value not in present)
    if list(present) != values:
        present[:] = list(map(_scalar, values))
    return present


def _lines_by_key(text: str, front: CommentedMap) -> dict[str, str] | None:
    """Return the lines of each key, and those before the first as ""; None if two keys share a line."""
    lines = text.splitlines(keepends=True)
    starts = [front.lc.key(name)[0] for name in front]
    if any(one >= other for one, other in pairwise(starts)):
        return None
    by_key = {"": "".join(lines[: starts[0]] if starts else lines)}
    for name, start, end in zip(front, starts, [*starts[1:], len(lines)], strict=True):
        by_key[str(name)] = "".join(lines[start:end])
    return by_key


def _scalar(value: Any) -> str:
    """Return a value for the writer, in quotes if a parser could take the text for a number, a date or the like."""
    if isinstance(value, str) and _AMBIGUOUS.fullmatch(value):
        quoted: str = SingleQuotedScalarString(value)
        return quoted
    return str(value)


def _changed_body(body: str, sections: Mapping[str, str]) -> str:
    spans = _spans(body)
    for mark, text in sections.items():
        if not any(span.mark == mark for span in spans):
            if text:
                body = _with_section(body, spans, mark, text)
                spans = _spans(body)
            continue
        places = [span for span in spans if span.mark == mark]
        rest = "\n\n".join(body[span.start : span.end] for span in places[1:])
        if rest and text.endswith("\n\n" + rest):
            # Only the first of several parts changed.
            text, places = text.removesuffix("\n\n" + rest), places[:1]
        for place in reversed(places):
            new = text if place == places[0] else ""
            if new and not place.marked:
                new = (
                    f"{HEADINGS[mark]}\n" if not place.titled else ""
                ) + f"<!-- {mark}:BEGIN -->\n{new}\n<!-- {mark}:END -->"
            elif new and body[place.start - 1] != "\n":
                new = f"\n{new}"
            if new and place.marked and body[place.end : place.end + 1] != "\n":
                new += "\n"
            body = body[: place.start] + new + body[place.end :]
        spans = _spans(body)
    return body


def _with_section(body: str, spans: list[_Span], mark: str, text: str) -> str:
    """Return a body with a new section: after those that come before it in the order of Backlog.md."""
    order = list(HEADINGS)
    before = [span for span in spans if span.mark not in order or order.index(span.mark) < order.index(mark)]
    if not before:
        return f"\n{_section(mark, text)}\n{body.lstrip()}" if body.strip() else f"\n{_section(mark, text)}"
    last = before[-1]
    at = body.index("-->", last.end) + len("-->") if last.marked else last.end
    rest = body[at:].lstrip("\n")
    return f"{body[:at]}\n\n{_section(mark, text)}" + (f"\n{rest}" if rest else "")


def compose(front: Mapping[str, Any], sections: Mapping[str, str]) -> str:
    """Return the text of a new file; sections without text are left out."""
    head = io.StringIO()
    _yaml().dump(CommentedMap((name, _composed(value)) for name, value in front.items()), head)
    marks = [*HEADINGS, *sorted(sections.keys() - HEADINGS.keys())]
    body = "\n".join(_section(mark, sections[mark]) for mark in marks if sections.get(mark))
    return f"---\n{head.getvalue()}---\n\n{body}"


def _composed(value: Any) -> Any:
    if isinstance(value, dict):
        return CommentedMap((_scalar(name), _composed(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return CommentedSeq(map(_composed, value))
    return None if value is None else _scalar(value)


def _section(mark: str, text: str) -> str:
    heading = HEADINGS.get(mark)
    return f"{heading}\n" * (heading is not None) + f"<!-- {mark}:BEGIN -->\n{text}\n<!-- {mark}:END -->\n"


def section_text(text: str) -> str:
    """Return a text for a section, with marks in it made harmless."""
    return _MARK.sub("<! --", plain(text)).strip()


def refuse_too_many_values(value: Any) -> None:
    """Refuse front matter whose YAML aliases expand to more values than fit into memory.

    Raises:
        ValueError: it has too many.
    """
    left, level = _MAX_VALUES, [value]
    while level:
        each = level.pop()
        left -= 1
        if left < 0:
            raise ValueError(f"over {_MAX_VALUES:,} values in the front matter")
        if isinstance(each, dict):
            level += each.values()
        elif isinstance(each, list):
            level += each


def texts(value: Any) -> list[str]:
    """Return the texts of a value that is one or several, or missing."""
    if isinstance(value, list):
        return [str(each) for each in value if each is not None]
    return [] if value in (None, "") else [str(value)]
