"""The syntax of filters: `jwt status:open who:claude-1 -tag:later "two words"`. Pure.

The signs of quick add mean the same here: `#tag`, `!priority`, `@agent`. Quotes, or a backslash before a sign, make any
word plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.read.pages.task_filter import Term
from tui_tasks.core.read.tasks.task_names import number_of
from tui_tasks.core.schema import due_dates
from tui_tasks.core.schema.due_dates import compared
from tui_tasks.core.schema.task_fields import FIELDS, NONE, TaskField
from tui_tasks.text.safe import safe_line

SORTS: Final = ("due", "urgency", "age", "agent")
"""What `sort:` sorts a list by."""
STATUSES: Final = ("open", *vocab.STATUSES, "blocked", "changed", "needs_you")
_PRIORITIES: Final = {str(number): word for word, number in vocab.PRIORITY_WORDS.items()}
# The names of the human in `who:`.
YOU: Final = ("you", "me", vocab.HUMAN)

_ANY_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)

# Quick add's signs, and the fields that they stand for.
SIGNS: Final = {"#": "tag", "!": "prio", "@": "who"}

# The names that fields have elsewhere, beside the short ones. Only the former are suggested.
NAMES: Final = {"priority": "prio", "agent": "who"}
_SUGGESTED: Final = {short: name for name, short in NAMES.items()}

_TOKEN = r'-?(?:[a-z]+:|[#@])?(?:"[^"]*"?|[^\s"]+)(?=\s|$)|\S+'
# A word with a colon that may name a field; an address such as http://x is plain text.
_FIELD = r"([a-z]+):(?!//)"


# Fields that other programs, Taskwarrior first, have by other names.
_ELSEWHERE: Final = {"pri": "priority", "tags": "tag", "project": "list", "pro": "list", "is": "status", "id": "number"}
_BOUNDS: Final = {"before": "<", "below": "<", "after": ">", "above": ">"}

_NUMBER: Final = "number: takes a task's number, such as 12"
_WITH_TIME: Final = "fri 17:00"
# Beside the suggested values, what a word that is being typed may become.
_FORMS: Final = {
    "due": (due_dates.LATE[1], "yesterday", "1d", "1w", "2026-01-31", *due_dates.WEEKDAYS),
    "estimate": ("1h1m", "1m"),
}


class Language(msgspec.Struct, frozen=True):
    """The fields that a filter may name, the fixed values of some of them, and those that take ranges."""

    fields: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    ranges: Mapping[str, TaskField] = {}


OF_TASKS: Final = Language(
    ("status", "who", "list", "number", "tag", "domain", "prio", *FIELDS, "sort"),
    {"status": STATUSES, "prio": tuple(vocab.PRIORITY_WORDS), "sort": SORTS},
    FIELDS,
)


class Parsed(msgspec.Struct, frozen=True):
    """A parsed filter; `problem` has the mistakes in it, for people."""

    terms: tuple[Term, ...] = ()
    problem: str = ""

    @property
    def of_tasks(self) -> tuple[Term, ...]:
        """The terms that tasks are matched with."""
        return tuple(term for term in self.terms if term.field not in ("list", "sort"))

    @property
    def sort(self) -> str:
        """What the list is sorted by; empty: the list's own order."""
        return next((term.value for term in self.terms if term.field == "sort" and not term.negated), "")

    @property
    def lists(self) -> tuple[Term, ...]:
        """The terms that name lists."""
        return tuple(term for term in self.terms if term.field == "list")


def parse(text: str, *, typing: bool = False, language: Language = OF_TASKS) -> Parsed:
    """Parse a filter. While `typing`, the last word may be incomplete."""
    terms: list[Term] = []
    problems: dict[str, None] = {}
    for token in re.finditer(_TOKEN, text):
        term = _term(token[0], typing and token.end() == len(text), language)
        if isinstance(term, Term):
            terms.append(term)
        problems[term if isinstance(term, str) else _unknown_field(token[0], language)] = None
    return Parsed(tuple(terms), "; ".join(filter(None, problems)))


def _unknown_field(token: str, language: Language) -> str:
    """Return the message on a word that looks like an unknown field; it is searched as plain text all the same."""
    match = re.match(_FIELD, token.removeprefix("-"))
    if match is None or NAMES.get(match[1], match[1]) in language.fields:
        return ""
    meant = _meant(token, language)
    instead = f"type {meant}" if meant else f"use one of {', '.join(f'{name}:' for name in names(language))}"
    return f"no filter word {match[0]!r}; {instead}"


def other_syntax(text: str, language: Language = OF_TASKS) -> str:
    """Return what to type instead of the words that mean a field or a task in other programs; empty: there are none."""
    hints: dict[str, None] = {}
    for token in re.finditer(_TOKEN, text):
        word = token[0].removeprefix("-")
        meant = "" if _field_of(word, language)[0] else _meant(word, language)
        if meant:
            hints[f"{meant} for {safe_line(word, 24)}"] = None
    return ", ".join(hints)


def _meant(word: str, language: Language) -> str:
    """Return what a word of another program is here: `+home` is `#home`; empty: it may mean itself alone."""
    name, colon, value = word.lower().partition(":")
    if not colon or not value or value.startswith("//"):
        field, meant = _meant_alone(word)
        if not meant and (kind := _kind_of_past(word.lower(), language)):
            field, meant = "kind", f"kind:{kind}"
        return meant if field in ("word", *language.fields) else ""
    name, _, bound = name.partition(".")
    field = _SUGGESTED.get(name, _ELSEWHERE.get(name, name))
    begun = [each for each in names(language) if each.startswith(field)]
    if field not in begun and len(begun) == 1 and len(field) > 2:
        field = begun[0]
    if NAMES.get(field, field) not in language.fields:
        return ""
    if field == "priority":
        value = vocab.PRIORITY_LETTERS.get(value, value)
    return f"{field}:{_BOUNDS.get(bound, '')}{quoted(value)}"


def _meant_alone(word: str) -> tuple[str, str]:
    """Return the field that a word without one may mean, and how it is typed."""
    if word[:1] == "+" and word[1:2].isalpha():
        return "tag", f"#{word[1:]}"
    if len(word) > 2 and word[0] == word[-1] == "/":
        return "word", word[1:-1]
    if word.isdecimal() and word.isascii():
        return "number", f"#{word}"
    if word.lower() in due_dates.LATE:
        return "due", f"due:{due_dates.LATE[0]}"
    return ("status", f"status:{word.lower()}") if word.lower() in STATUSES else ("", "")


def _kind_of_past(word: str, language: Language) -> str:
    """Return the kind of entries that a word in the past names: `deleted` is `delete`; empty: none."""
    begun = (word[:-1], word[:-2]) if word.endswith("ed") else ()
    return next((kind for kind in begun if kind in language.values.get("kind", ())), "")


def names(language: Language) -> list[str]:
    """Return the fields that a filter may name, by the names that are suggested."""
    return [_SUGGESTED.get(field, field) for field in language.fields]


def _term(token: str, open_end: bool, language: Language) -> Term | str:
    """Return the term of a word, or its mistake; both empty for an incomplete word."""
    negated = token.startswith("-") and len(token) > 1
    body = token[1:] if negated else token
    field, value = _field_of(body, language)
    if not field:
        word = value.strip('"')
        if open_end and word in SIGNS:
            return ""
        return Term("word", word[1:] if word[:1] == "\\" and word[1:2] in SIGNS else word, negated) if word else ""
    is_sign = body[0] in SIGNS
    value = value.strip('"')
    if is_sign and field == "prio":
        # As in quick add, a priority is named by its number or by a prefix of its name.
        return (
            _choice(field, _PRIORITIES.get(value, value), language.values[field], negated, True) or "! wants a priority"
        )
    if not value:
        return "" if open_end else f"{_SUGGESTED.get(field, field)}: wants a value"
    if field == "number":
        number = number_of(value)
        return Term(field, str(number), negated) if number is not None else _NUMBER
    if field in language.values:
        return _choice(field, value, language.values[field], negated, open_end)
    if field in language.ranges:
        return _ranged(language.ranges[field], value.lower(), negated, open_end)
    if field == "who" and value.casefold() in YOU:
        value = vocab.HUMAN
    return Term(field, value, negated, prefix=open_end)


def _field_of(body: str, language: Language) -> tuple[str, str]:
    """Return the field that a word names (empty: plain text), and the word's value."""
    sign = SIGNS.get(body[:1], "")
    if sign == "tag" and body[1:].isdigit():
        # As in quick add, `#12` is a task's number, and no tag.
        sign = "number"
    if sign in language.fields and len(body) > 1:
        return sign, body[1:]
    name, colon, value = body.partition(":")
    field = NAMES.get(name, name)
    return (field, value) if colon and field in language.fields else ("", body)


def _ranged(field: TaskField, value: str, negated: bool, open_end: bool) -> Term | str:
    if value != NONE:
        try:
            # Only checked here: it is resolved when the filter is used, as it depends on the current time.
            field.ranges(value, _ANY_TIME)
        except ValueError as error:
            return "" if open_end and _is_begun(field, value) else _unreadable(field.name, value, str(error))
    return Term(field.name, value, negated)


def _unreadable(field: str, value: str, takes: str) -> str:
    return f"no {field} {safe_line(value, 40)!r}: {takes}"


def _is_begun(field: TaskField, value: str) -> bool:
    """Return whether a value may be the beginning of one that the field's filter takes."""
    shape = _shape(value)
    return any(_shape(form).startswith(shape) for form in (*field.suggested, *_FORMS.get(field.name, ())))


def _shape(value: str) -> str:
    """Return a value without a sign of comparison, each of its numbers as one digit."""
    return re.sub(r"\d+", "0", compared(value)[1])


def _choice(field: str, value: str, known: Sequence[str], negated: bool, open_end: bool) -> Term | str:
    word = value.casefold().replace("-", "_")
    if word in known:
        return Term(field, word, negated)
    begun = [each for each in known if each.startswith(word)]
    if open_end and len(begun) == 1:
        return Term(field, begun[0], negated)
    if open_end and begun:
        return ""
    meant = vocab.STATUSES_ELSEWHERE.get(word, "") if field == "status" else ""
    instead = f"type {field}:{meant}" if meant else f"use one of {', '.join(known)}"
    return f"no {_SUGGESTED.get(field, field)} {value!r}; {instead}"


def candidates(text: str, known: Mapping[str, Sequence[str]], language: Language = OF_TASKS) -> list[str]:
    """Return the full words that the last word of `text` may become; `known`: values by field, beyond the fixed
    ones.
    """
    word = _last_word(text)
    minus, body = ("-", word[1:]) if word.startswith("-") else ("", word)
    field, colon, value = body.partition(":")
    head = f"{minus}{field}:"
    if SIGNS.get(body[:1]) in language.fields:
        field, value, head = SIGNS[body[0]], body[1:], f"{minus}{body[0]}"
    elif not colon:
        named = [each for each in names(language) if each.startswith(body)]
        return [f"{minus}{each}:" for each in named or language.fields if each.startswith(body)]
    field = NAMES.get(field, field)
    values: Sequence[str] = language.values.get(field) or known.get(field, ())
    if field in language.ranges:
        values = language.ranges[field].suggested
    begun = value.strip('"').casefold()
    fitting = [quoted(each) for each in values if each.casefold().startswith(begun)]
    return [f"{head}{each}" for each in fitting if each != value]


def quick_add_candidates(text: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """As `candidates`, in the syntax of quick add: tags, priorities, agents, `after #` and fields with their values."""
    word = _last_word(text)
    if word[:1] == "#" and text.removesuffix(word).casefold().split()[-1:] == ["after"]:
        return []  # the number of a task, not a tag
    if word[:1] in SIGNS:
        return candidates(text, known)
    field, colon, begun = word.partition(":")
    if not colon:
        return [each for each in (*(f"{name}:" for name in FIELDS), "after #") if each.startswith(word.casefold())]
    values = FIELDS[field].suggested if field in FIELDS else ()
    if field == "due" and not begun:
        values = (*values, _WITH_TIME)
    return [f"{field}:{each}" for each in values if each.startswith(begun) and each != begun and _is_value(field, each)]


def _is_value(field: str, text: str) -> bool:
    """Return whether a text that is suggested for filters is a value of the field, not a range of values."""
    try:
        FIELDS[field].parse(text, _ANY_TIME)
    except ValueError:
        return False
    return True


def quoted(value: str) -> str:
    """Return a value as it is written after its field: quoted when it has spaces."""
    return f'"{value}"' if any(letter.isspace() for letter in value) else value


def _last_word(text: str) -> str:
    """Return the word that is being typed; open quotes include spaces."""
    for token in re.finditer(_TOKEN, text):
        if token.end() == len(text):
            return token[0]
    return ""


def _common(words: Sequence[str]) -> str:
    """Return the longest common prefix of the words."""
    first, last = min(words), max(words)
    return next((first[:at] for at, letter in enumerate(first) if last[at : at + 1] != letter), first)


def complete(text: str, found: Sequence[str]) -> str:
    """Return `text` with its last word extended to the common prefix of all that was `found`."""
    if not found:
        return text
    head = text.removesuffix(_last_word(text))
    common = _common(found)
    whole = head + common
    if len(found) == 1 and not common.endswith((":", "after #")):
        whole += " "
    return whole if len(whole) > len(text) else text
