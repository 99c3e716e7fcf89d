"""The words of a filter: `jwt status:open who:claude-1 -tag:later "two words"`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.wanted import Term

STATUSES: Final = ("open", *vocab.STATUSES, "blocked", "changed")
# Under these the human is known in `who:`.
YOU: Final = ("you", "me", vocab.HUMAN)

_TOKEN = re.compile(r'-?(?:[a-z]+:)?(?:"[^"]*"?|[^\s"]+)(?=\s|$)|\S+')


class Language(msgspec.Struct, frozen=True):
    """The fields that a filter may name, and the values that some of them take alone."""

    fields: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]


OF_TASKS: Final = Language(
    ("status", "who", "list", "tag", "domain", "prio"), {"status": STATUSES, "prio": tuple(vocab.PRIORITY_WORDS)}
)


class Parsed(msgspec.Struct, frozen=True):
    """What a filter says; `problem` is the first thing in it that means nothing, for people."""

    terms: tuple[Term, ...] = ()
    problem: str = ""

    @property
    def of_tasks(self) -> tuple[Term, ...]:
        """The terms less those that name lists."""
        return tuple(term for term in self.terms if term.field != "list")

    @property
    def lists(self) -> tuple[Term, ...]:
        """The terms that name lists."""
        return tuple(term for term in self.terms if term.field == "list")


def parse(text: str, *, typing: bool = False, language: Language = OF_TASKS) -> Parsed:
    """Read the words of a filter. While `typing`, the last word may be the beginning of what is meant."""
    terms: list[Term] = []
    problem = ""
    for token in _TOKEN.finditer(text):
        term = _term(token[0], typing and token.end() == len(text), language)
        if isinstance(term, Term):
            terms.append(term)
        elif term and not problem:
            problem = term
    return Parsed(tuple(terms), problem)


def _term(token: str, open_end: bool, language: Language) -> Term | str:
    """Return the term of a word, or what is wrong with it; an unfinished word is nothing yet: empty."""
    negated = token.startswith("-") and len(token) > 1
    body = token[1:] if negated else token
    field, colon, value = body.partition(":")
    if not colon or field not in language.fields:
        word = body.strip('"')
        return Term("word", word, negated) if word else ""
    value = value.strip('"')
    if not value:
        return "" if open_end else f"{field}: wants a value"
    if field in language.values:
        return _choice(field, value.replace("-", "_"), language.values[field], negated, open_end)
    if field == "who" and value.casefold() in YOU:
        value = vocab.HUMAN
    return Term(field, value, negated, prefix=open_end)


def _choice(field: str, value: str, known: Sequence[str], negated: bool, open_end: bool) -> Term | str:
    value = value.casefold()
    if value in known:
        return Term(field, value, negated)
    begun = [each for each in known if each.startswith(value)]
    if open_end and len(begun) == 1:
        return Term(field, begun[0], negated)
    if open_end and begun:
        return ""
    return f"no {field} {value!r}; there is {', '.join(known)}"


def candidates(text: str, known: Mapping[str, Sequence[str]], language: Language = OF_TASKS) -> list[str]:
    """Return what the last word of `text` may become, in full; `known` has values by field, beyond the fixed ones."""
    word = _last_word(text)
    sign, body = ("-", word[1:]) if word.startswith("-") else ("", word)
    field, colon, value = body.partition(":")
    if not colon:
        return [f"{sign}{each}:" for each in language.fields if each.startswith(body)]
    values = language.values.get(field, known.get(field, ()))
    begun = value.strip('"').casefold()
    fitting = [quoted(each) for each in values if each.casefold().startswith(begun)]
    return [f"{sign}{field}:{each}" for each in fitting if each != value]


def quoted(value: str) -> str:
    """Return a value as it stands behind its field: in quotes where it has spaces."""
    return f'"{value}"' if any(letter.isspace() for letter in value) else value


def _last_word(text: str) -> str:
    """The word that is being typed; quotes that are open hold its spaces."""
    for found in _TOKEN.finditer(text):
        if found.end() == len(text):
            return found[0]
    return ""


def _common(words: Sequence[str]) -> str:
    """What all of the words begin with."""
    first, last = min(words), max(words)
    return next((first[:at] for at, letter in enumerate(first) if last[at : at + 1] != letter), first)


def complete(text: str, found: Sequence[str]) -> str:
    """Return `text` with its last word taken as far as all that was `found` agrees."""
    if not found:
        return text
    head = text.removesuffix(_last_word(text))
    common = _common(found)
    whole = head + common
    if len(found) == 1 and not common.endswith(":"):
        whole += " "
    return whole if len(whole) > len(text) else text
