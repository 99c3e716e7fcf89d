"""Links of a task to its work: a branch, commits, a pull request, files.

A link is `{"kind", "target"}`. Targets are written by agents, and screens open them: so each kind takes only valid
targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

BRANCH: Final = "branch"
COMMIT: Final = "commit"
PULL_REQUEST: Final = "pull_request"
FILE: Final = "file"
KINDS: Final = (BRANCH, COMMIT, PULL_REQUEST, FILE)
OF_GIT: Final = (BRANCH, COMMIT)
"""The kinds that name objects of git."""
MAX_LINKS: Final = 50
MAX_CHARS: Final = 2_000

Link = dict[str, str]

# The expressions are compiled on first use: every command imports this.
_HEX: Final = r"[0-9a-fA-F]{4,64}"
_COMMIT_WORD: Final = r"[0-9a-f]{7,40}"
_URL: Final = r"https://[^\s/@\\]+(?:/[^\s\\]*)?"
# What git refuses in the name of a branch (git-check-ref-format), and what it would read as an option.
_NO_BRANCH: Final = r"[\s~^:?*\[\\]|\.\.|@\{|//|^[-/.@]|/\.|[/.]$|\.lock(?:/|$)"
_ACCEPTED: Final = {
    BRANCH: "the name of a branch",
    COMMIT: "the hash of a commit, 4 to 64 hexadecimal digits",
    PULL_REQUEST: "an address that begins with https://, without a name or a password",
    FILE: "a path",
}
_HELP: Final = "links takes branch:NAME, commit:HASH, pull_request:https://... and file:PATH, with spaces between"


def checked(kind: str, target: str) -> Link:
    """Return a link after checking it.

    Raises:
        ValueError: there is no such kind, or it does not take such a target.
    """
    if kind not in KINDS:
        raise ValueError(f"no kind of link {kind[:40]!r}; use one of {', '.join(KINDS)}")
    if not 1 <= len(target) <= MAX_CHARS or not _is_plain(target) or not _is_valid_target(kind, target):
        raise ValueError(f"{kind} takes {_ACCEPTED[kind]}, up to {MAX_CHARS:,} characters, not {target[:80]!r}")
    return {"kind": kind, "target": target}


def _is_valid_target(kind: str, target: str) -> bool:
    if kind == BRANCH:
        return not re.search(_NO_BRANCH, target)
    if kind == COMMIT:
        return re.fullmatch(_HEX, target) is not None
    return re.fullmatch(_URL, target) is not None if kind == PULL_REQUEST else bool(target.strip())


def _is_plain(text: str) -> bool:
    """Return whether a text has no character that is invisible or reverses others."""
    import unicodedata

    return not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text)


def joined(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return links in their order, without duplicates.

    Raises:
        ValueError: there are too many.
    """
    distinct = tuple({(link["kind"], link["target"]): link for link in links}.values())
    if len(distinct) > MAX_LINKS:
        raise ValueError(f"a task has up to {MAX_LINKS} links, not {len(distinct)}")
    return distinct


def changed(links: tuple[Link, ...], named: Iterable[Link], *, remove: bool = False) -> tuple[Link, ...]:
    """Return links with the named ones appended, or with `remove` without those.

    Raises:
        ValueError: there are too many.
    """
    named = tuple(named)
    return tuple(link for link in links if link not in named) if remove else joined((*links, *named))


def load(value: Any, _: datetime) -> tuple[Link, ...]:
    """Return the links of a JSON value.

    Raises:
        ValueError: it is not an array of valid links.
    """
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError('links is an array of {"kind", "target"}')
    return joined(checked(str(each.get("kind")), str(each.get("target", ""))) for each in value)


def parse(text: str, _: datetime) -> tuple[Link, ...]:
    """Return the links that a person typed: `branch:phone 1f2e3d4 https://...`, quoted where they have spaces.

    Raises:
        ValueError: a word is not a link.
    """
    import shlex  # only here: every command imports the fields

    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError(f"{_HELP}: a quote is open") from None
    return joined(map(read, words))


def read(word: str) -> Link:
    """Return the link that one word names.

    Raises:
        ValueError: it names none.
    """
    kind, colon, target = word.partition(":")
    if colon and kind in KINDS:
        return checked(kind, target)
    if word.startswith("https://"):
        return checked(PULL_REQUEST, word)
    if re.fullmatch(_COMMIT_WORD, word):
        return checked(COMMIT, word)
    raise ValueError(f"{_HELP}, not {word[:40]!r}")


def write(links: Iterable[Link], _: datetime) -> str:
    """Return the links as a text that `parse` reads back."""
    import shlex

    return " ".join(shlex.quote(f"{link['kind']}:{link['target']}") for link in links)


def short(links: tuple[Link, ...], _: datetime) -> str:
    """Return a text such as `3 links`."""
    return f"{len(links)} link{'s' * (len(links) != 1)}"


def long(links: tuple[Link, ...], _: datetime) -> str:
    """Return a text such as `branch phone, commit 1f2e3d4`."""
    return ", ".join(f"{link['kind'].replace('_', ' ')} {link['target']}" for link in links)
