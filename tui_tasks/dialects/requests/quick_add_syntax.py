"""The syntax of quick add: `Rotate API keys #infra !high @claude-2 after #5 due:fri`. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.schema.due_dates import DAYS, WEEKDAYS
from tui_tasks.core.schema.task_fields import FIELDS, SYNTAX, read
from tui_tasks.text.safe import is_blank

# The expressions are compiled on first use: every command imports this, and a plain title needs none of them.
_AFTER: Final = r"(?i)(?:^|(?<=\s))after\s+(#\d{1,9}(?:\s*,\s*#\d{1,9})*)(?=\s|$)"
_FIELD: Final = f"(?:{'|'.join(FIELDS)}):"
# A field's value may be quoted; a time may follow a day: `due:fri 17:00`.
_WORD: Final = rf'[#@]"[^"\n]*"(?=\s|$)|(?i:{_FIELD}"[^"\n]*"|due:[^\s"]+\s+\d{{1,2}}:\d\d)(?=\s|$)|\S+'
# `-#tag` takes a tag off where a task is edited.
_REMOVED: Final = r'(?<!\S)-#(?:"([^"\n]+)"|([^\s"]\S*))(?!\S)'
# The words that clear a field in an edit, as `due:none` does, and the field of each.
_CLEARED: Final = r"(?i)(?<!\S)(#none|@none|after\s+none)(?!\S)"
_CLEARED_BY: Final = {"#": "tags", "@": "agent", "a": "after"}
# Where the next tag begins in `a#b` and `a,#b`.
_NEXT_TAG: Final = r"(?<=\w),?#(?=\w)"
# The bullet of a list item in notes: "- ", "* ", "3. ", "- [ ] ".
_BULLET: Final = r"^(?:[-*+•]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?"
_SIGNS: Final = "#!@"
_NAMES_OF_DAYS: Final = frozenset(("today", "tomorrow", *DAYS, *WEEKDAYS))
# A text with none of these is a title alone.
_MARKS: Final = (*_SIGNS, ":", "\\")
# Words that name a field in filters or in Taskwarrior, and are plain text here.
_FOREIGN: Final = (
    r"(?i)(?<!\S)(?:(\+)([^\W\d]\w+)"
    r"|(pri|prio|priority|tags?|who|agent|depends(?=:\d+(?!\S))|list|project):([\w.-]+))(?!\S)"
)
# Dates of other programs, and `due:` with a space behind it.
_DATES: Final = r"(?i)(?<!\S)(?:((?:wait|scheduled|until):[\w.-]+)|due:\s+([\w.-]+))(?!\S)"
_EMPTY: Final = ("#", "@", *(f"{name}:" for name in FIELDS))
"""Words that lack their value."""
_PRIORITIES: Final = ("p1", "p2", "p3", "p4")
_TIME: Final = r"\d{1,2}:\d\d"
# A time to parse with; tags and names do not depend on it.
_ANY_TIME: Final = datetime.fromtimestamp(0, UTC)
SIGNS_HELP: Final = f"#tag !priority @agent after #N {SYNTAX}"
"""What quick add accepts besides a title, for hints."""


class Draft(msgspec.Struct, frozen=True):
    """A parsed quick add.

    Attributes:
        name: the title.
        tags: the tags.
        priority: None: not given.
        agent: the agent; None: not given.
        after: the numbers of the tasks on which it depends.
        fields: values of `task_fields.FIELDS`; None clears a field.
        problem: a message for the human about a part without meaning; "" if there is none.
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    priority: int | None = None
    agent: str | None = None
    after: tuple[int, ...] = ()
    fields: dict[str, Any] = {}
    problem: str = ""


def parse(text: str, now: datetime) -> Draft:
    """Return the draft of a quick add; `now` is local time. A backslash makes `#`, `!`, `@` or a field plain text."""
    if not any(mark in text for mark in _MARKS):
        return Draft(" ".join(text.split()))
    after: list[int] = []

    def parse_word(match: re.Match[str]) -> str:
        after.extend(int(number) for number in re.findall(r"\d+", match[1]))
        return " "

    tags: list[str] = []
    priority: int | None = None
    agent: str | None = None
    fields: dict[str, Any] = {}
    words: list[str] = []
    problem = ""
    for word in re.findall(_WORD, re.sub(_AFTER, parse_word, text)):
        quoted = word[1:2] == '"' == word[-1:] and len(word) > 3
        sign, rest = word[0], word[2:-1] if quoted else word[1:]
        field, _, value = word.partition(":")
        field = field.lower()
        if sign == "\\" and (rest[:1] in _SIGNS or rest.partition(":")[0].lower() in FIELDS) and rest:
            words.append(rest)
        elif field in FIELDS and value:
            try:
                fields[field] = read(field, value.strip('"'), now)
            except ValueError as error:
                problem = f"no {field} {value[:40]!r}: {error}"
        elif sign in "#@" and rest and is_blank(rest):
            problem = f"the name after {sign} has nothing that can be seen"
        elif sign == "#" and rest and (quoted or not rest.isdigit()):
            tags += [rest] if quoted else re.split(_NEXT_TAG, rest)
        elif sign == "@" and ",@" in rest and not quoted:
            problem = f"{word[:40]}: a task has one agent"
        elif sign == "@" and rest:
            agent = rest
        elif sign == "!" and rest.isalnum():
            level = _priority(rest)
            priority = level or priority
            if level is None:
                problem = f"no priority {rest!r}; use one of {', '.join(vocab.PRIORITY_WORDS)}"
        else:
            words.append(word)
    numbers = tuple(dict.fromkeys(after))
    return Draft(" ".join(words), tuple(dict.fromkeys(tags)), priority, agent, numbers, fields, problem)


def split_removed(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an edit without its words `-#tag`, and the tags that these remove."""
    if "-#" not in text:
        return text, ()
    tags = [quoted or tag for quoted, tag in re.findall(_REMOVED, text)]
    return re.sub(_REMOVED, " ", text), tuple(dict.fromkeys(tags))


def split_cleared(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an edit without its words `#none`, `@none` and `after none`, and the fields that these clear."""
    if "none" not in text.lower():
        return text, ()
    fields = [_CLEARED_BY[word[0].lower()] for word in re.findall(_CLEARED, text)]
    return re.sub(_CLEARED, " ", text), tuple(dict.fromkeys(fields))


def title_hint(title: str, of_list: str) -> str:
    """Return what to type instead of the words of a title that look like fields; empty: there are none.

    `of_list` says how a task gets into another list.
    """
    found = list(re.finditer(_FOREIGN, title)) if "+" in title or ":" in title else []
    hints = [f"{each[0]} ({_instead(each[1] or each[3].lower(), each[2] or each[4], of_list)})" for each in found]
    dates = re.finditer(_DATES, title) if ":" in title else ()
    hints += [f"{each[0]} ({'the one date is due:' if each[1] else f'type due:{each[2]}'})" for each in dates]
    hints += _hints_of_words(title.split())
    return f"in the title: {', '.join(hints)}" if hints else ""


def _hints_of_words(words: list[str]) -> list[str]:
    """Return the hints on `!!!`, on `#` or `due:` alone, and on a day, `p1` or `after 2` at the end of a title."""
    hints = [f"{word} (type !high)" for word in words if len(word) > 1 and not word.strip("!")]
    hints += [f"{word} (type !{word[1:]})" for word in words[1:][-1:] if word.lower() in _PRIORITIES]
    hints += [f"{word} (its value is missing)" for word in words[-1:] if word in _EMPTY]
    before, last = ["", "", *words][-2:]
    day = f"{before} {last}" if ":" in last and re.fullmatch(_TIME, last) else last
    if day.partition(" ")[0].lower() in _NAMES_OF_DAYS and len(words) > len(day.split()):
        hints.append(f"{day} (type due:{day.lower()})")
    elif before.lower() == "after" and last.isdecimal():
        hints.append(f"after {last} (type after #{last})")
    return hints


def fields_in_title(title: str, now: datetime) -> str:
    """Return the words of a title, typed in a form, that quick add reads as fields; empty: there are none."""
    draft = parse(title, now)
    kept = draft.name.split()
    words = [word for word in title.split() if word not in kept]
    return ", ".join(words) if draft != Draft(draft.name) and not draft.problem else ""


def _instead(field: str, value: str, of_list: str) -> str:
    if field in ("list", "project"):
        return of_list
    if field == "depends":
        return f"type after #{value}"
    if field.startswith("pri"):
        level = _priority(vocab.PRIORITY_LETTERS.get(value.lower(), value))
        return f"type !{vocab.priority_word(level)}" if level is not None else "type !high"
    return f"type {'@' if field in ('who', 'agent') else '#'}{value}"


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, stripped."""
    return [line for each in text.splitlines() if (line := each.strip())]


def items_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without bullets or numbers, for one task each."""
    return [item for line in lines_of(text) if (item := re.sub(_BULLET, "", line))]


def _priority(word: str) -> int | None:
    begun = [number for name, number in vocab.PRIORITY_WORDS.items() if name.startswith(word.casefold())]
    if word.isdecimal():
        return int(word) if 1 <= int(word) <= vocab.LOW else None
    return begun[0] if len(begun) == 1 else None


def can_write(sign: str, name: str) -> bool:
    """Return whether `parse` reads a tag or an agent's name back unchanged."""
    draft = parse(_quoted(sign, name), _ANY_TIME)
    return (draft.tags if sign == "#" else (draft.agent,)) == (name,)


def _quoted(sign: str, name: str) -> str:
    plain = parse(sign + name, _ANY_TIME)
    return sign + name if (plain.tags or (plain.agent,)) == (name,) else f'{sign}"{name}"'


def fields(tags: tuple[str, ...], priority: int, agent: str | None, after: tuple[int, ...]) -> str:
    """Return fields of a task in the syntax that `parse` reads: `#infra !high @claude-2 after #5`."""
    parts = [_quoted("#", tag) for tag in tags]
    if priority != vocab.MEDIUM:
        parts.append(f"!{vocab.priority_word(priority)}")
    if agent:
        parts.append(_quoted("@", agent))
    if after:
        parts.append(f"after {', '.join(f'#{number}' for number in after)}")
    return " ".join(parts)


def line(title: str, fields: str, values: Mapping[str, str]) -> str:
    """Return a line that `parse` reads as a title, a line of fields, and the texts of `task_fields.FIELDS` by name.

    Words of the title that would be read as fields get a backslash.
    """
    words = [word if parse(word, _ANY_TIME).name == word else f"\\{word}" for word in title.split()]
    # After a word, a number is a task.
    after = [at for at, word in enumerate(words) if word.casefold() == "after"]
    words = [f"\\{word}" if at - 1 in after and word.startswith("#") else word for at, word in enumerate(words)]
    texts = [f'{name}:"{text}"' if " " in text else f"{name}:{text}" for name, text in values.items() if text]
    return " ".join((*words, *fields.split(), *texts))
