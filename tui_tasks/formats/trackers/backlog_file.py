"""A file of Backlog.md: front matter, and sections between marks. What of it makes a task is in `backlog_md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml
from frontmatter.default_handlers import YAMLHandler

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.formats.records import plain

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
_SECTION: Final = re.compile(r"(?:## [^\n]*\n\n?)?<!-- ([A-Z:_]+):BEGIN -->\n?(.*?)\n?<!-- \1:END -->", re.DOTALL)
_MARK: Final = re.compile(r"<!--(?=\s*[A-Z:_]+:(?:BEGIN|END)\s*-->)")
_MAX_VALUES: Final = 10_000


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


class BacklogFile(msgspec.Struct):
    """A parsed file.

    Attributes:
        path: its path in the folder.
        front: its front matter.
        sections: the texts of its sections by their marks.
        fields: the front matter with a place in a task.
        own: the values that we wrote into its references, by name.
    """

    path: str
    front: dict[str, Any]
    sections: dict[str, str]
    fields: FrontMatter
    own: dict[str, str]

    @property
    def key(self) -> str:
        """The id of the task: our uid, else its own."""
        return self.own.get("uid") or self.fields.id.upper()


_SAFE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Reads every value but null as text: `title: 007` and `title: 2026-01-31` are titles.
_LOADER: Final = type(
    "_Loader",
    (_SAFE,),
    {
        "yaml_implicit_resolvers": {
            first: [(tag, pattern) for tag, pattern in resolvers if tag.endswith(":null")]
            for first, resolvers in _SAFE.yaml_implicit_resolvers.items()
        }
    },
)
_HANDLER: Final = YAMLHandler()


def parse(path: str, text: str) -> BacklogFile:
    """Parse the text of a file.

    Raises:
        InvalidArgument: it has no front matter, or one that is no task's.
    """
    if not _HANDLER.detect(text):
        raise InvalidArgument("file", f"{path}: it begins with no front matter (---)")
    try:
        head, content = _HANDLER.split(text)
        front = yaml.load(head, Loader=_LOADER)
        refuse_too_many_values(front)
        fields = msgspec.convert(front, FrontMatter, strict=False)
    except (yaml.YAMLError, msgspec.ValidationError, ValueError, RecursionError) as error:
        raise InvalidArgument("file", f"{path}: {' '.join(str(error).split())}") from None
    own = {}
    for reference in texts(fields.references):
        if reference.startswith(REFERENCE_PREFIX):
            name, is_word, value = reference.removeprefix(REFERENCE_PREFIX).partition("=")
            own[name if is_word else "uid"] = value if is_word else name
    # Text outside the marks belongs to the description.
    sections = dict(_SECTION.findall(content))
    rest = _SECTION.sub("", content).strip().removeprefix("## Description").strip()
    if rest:
        sections[DESCRIPTION] = "\n\n".join(each for each in (sections.get(DESCRIPTION), rest) if each)
    return BacklogFile(path, front, sections, fields, own)


def compose(front: Mapping[str, Any], sections: Mapping[str, str]) -> str:
    """Return the text of a file; sections without text are left out."""
    head = _HANDLER.export(dict(front), sort_keys=False, width=1_000_000)
    marks = [*HEADINGS, *sorted(sections.keys() - HEADINGS.keys())]
    body = "\n".join(_section(mark, sections[mark]) for mark in marks if sections.get(mark))
    return f"---\n{head}\n---\n\n{body}"


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
