"""Names of agents: which a person could confuse, and how outputs show them. Every judgement of a name is made here.

After Unicode's UTS #39: two names are alike if their skeletons are the same.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import InvalidRequest, ReservedName
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.text.safe import is_invisible, safe_line, whole_text

IMPORTED: Final = "imported:"
"""What precedes the name of an author of imported log entries."""
IMPORT: Final = "import"
"""The owner of a name that begins with `IMPORTED`."""

_ASCII: Final = str.maketrans("I1|0", "lllo")
# Signs that are written for letters. They count for reserved names alone: `agent-5` and `agent-s` are two agents.
_LEET: Final = str.maketrans("345@$7", "easast")
# Letters that resemble another one without looking the same, for reserved names alone.
_NEAR: Final = str.maketrans({"\u043f": "n", "\u03c0": "n", "\u03b7": "n", "\u014b": "n", "\u0438": "u"})
_TURNED: Final = (
    r"LATIN (?:SMALL|CAPITAL|LETTER SMALL CAPITAL)(?: LETTER)?"
    r"(?: (?:SIDEWAYS|TURNED|REVERSED|INVERTED|DIAERESIZED|OPEN))+ ([A-Z])(?: WITH .+)?"
)
# Unicode names of Latin letters: `LATIN LETTER SMALL CAPITAL H`, `NEGATIVE SQUARED LATIN CAPITAL LETTER H`.
_LATIN: Final = (
    r"(?:(?:NEGATIVE |CROSSED )?(?:CIRCLED |SQUARED )?LATIN (?:SMALL|CAPITAL|LETTER SMALL CAPITAL)(?: LETTER)?"
    r"(?: SCRIPT)?|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])( WITH .+)?"
)
_UNSEEN: Final = frozenset({"Cc", "Co", "Cn", "Mn", "Me"})
# One step in the index on (actor, seq) for each distinct actor, however long the journal is.
ACTORS: Final = """
WITH RECURSIVE known(name) AS (
    SELECT min(actor) FROM journal
    UNION ALL
    SELECT (SELECT min(actor) FROM journal WHERE actor > known.name) FROM known WHERE known.name IS NOT NULL
)
"""
_AGENTS: Final = f"{ACTORS} SELECT name FROM known WHERE name IS NOT NULL"
_AGENTS_SINCE: Final = "SELECT DISTINCT actor FROM journal NOT INDEXED WHERE seq > ?"
# Reading more entries takes longer than a step for each agent.
_FEW_ENTRIES: Final = 500
_IS_ACTOR: Final = Statement(lambda: J.select(J.seq).where(J.actor == slot("actor")).limit(1))
# The screen calls the human "you", and the actor that starts jobs "scheduler". Signs within a name do not count.
_OF_PROGRAM: Final = ("scheduler", "tuitasks", "tui tasks", "admin", "administrator")
_RESERVED: Final = {
    **{name: name for name in vocab.RESERVED_AGENTS},
    "you": vocab.HUMAN,
    **dict.fromkeys(_OF_PROGRAM, vocab.SYSTEM),
}
# The marks of states on screen (`text.glyphs`).
_MARKS: Final = frozenset("○◐?⊘✓✗▲◷◇⇡•")
_BESIDE: Final = frozenset({"a", "the", "real", "lmported"})


@cache
def _confusables() -> dict[int, str]:
    """Return the text that each character looks like, by Unicode's table. It is read for names that are not ASCII."""
    letters: dict[int, str] = {}
    with open(os.path.join(os.path.dirname(__file__), "confusables.txt"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            like, chars = line.split(";")
            text = "".join(chr(int(code, 16)) for code in like.split())
            letters.update((int(code, 16), text) for code in chars.split())
    return letters


def looks_like_ascii(char: str) -> bool:
    """Return whether a character is not ASCII, and looks like text in ASCII by Unicode's table."""
    return not char.isascii() and _confusables().get(ord(char), char).isascii()


@lru_cache(16_384)
def skeleton(name: str) -> str:
    """Return a form of a name such that names with the same form look the same."""
    seen = name if name.isascii() else "".join(map(_looks_like, _shapes("".join(map(_looks_like, _shapes(name))))))
    folded = "".join(char for char in seen if char.isprintable()).translate(_ASCII)
    # Small capital m has a shape of its own in the table.
    return " ".join(folded.replace("O", "o").replace("\u028d", "m").replace("rn", "m").replace("vv", "w").split())


def _shapes(text: str) -> str:
    """Return a text in compatibility decomposition, without marks and what has no shape; what the table has stays."""
    return "".join(
        char
        for part in text
        for char in (part if ord(part) in _confusables() else unicodedata.normalize("NFKD", part))
        if not is_invisible(char) and (ord(char) in _confusables() or unicodedata.category(char) not in _UNSEEN)
    )


def _looks_like(char: str) -> str:
    """Return the letter of a character's name, or the text that it or its capital looks like, or the character."""
    if char.isascii():
        return char
    if unicodedata.category(char) == "Pd":
        return "-"
    match = re.fullmatch(_LATIN, unicodedata.name(char, ""))
    if match and not match[2]:
        return match[1].lower()
    capitals = map(_confusables().get, map(ord, char.upper()))
    by_table = _confusables().get(ord(char)) or next(filter(None, capitals), char)
    return match[1].lower() if match and by_table == char else by_table


def reserved(name: str) -> str | None:
    """Return the reserved actor whose name this is or looks like; None if it is nobody's.

    The human's name also counts beside other words, as in `claude (human)`, and before a number. Words that a hyphen, a
    dot or an underscore joins are one word: `human-in-the-loop` is free.
    """
    seen = _reserved_form(name)
    if re.match("lmported *:", seen):
        return IMPORT
    without_number: str = re.sub(r"[\W_]*\d+$", "", name)
    if without_number != name and reserved(without_number) == vocab.HUMAN:
        return vocab.HUMAN
    near = seen if name.isascii() else _reserved_form("".join(map(_nearly, name))).translate(_NEAR)
    for text in dict.fromkeys((seen, seen.translate(_LEET), near, _reserved_form(name.replace("|", " ")))):
        words = re.findall(r"[^\W_]+", text)
        joined = re.sub(r"[^\w ]|_", "", text)
        spelled = "".join(words) if all(len(word) == 1 for word in words) else ""
        if whose := _RESERVED_FORMS.get(joined) or _RESERVED_FORMS.get(spelled):
            return whose
        if any(_RESERVED_FORMS.get(word.strip("-._")) == vocab.HUMAN for word in re.findall(r"[\w.-]+", text)):
            return vocab.HUMAN
        whose_words = [_RESERVED_FORMS.get(word) for word in words if word not in _BESIDE]
        if whose_words and None not in whose_words:
            return whose_words[0]
    return None


def _nearly(char: str) -> str:
    """Return the letter that this one resembles, or that was turned or mirrored to make it, or the character."""
    match = None if char.isascii() else re.fullmatch(_TURNED, unicodedata.name(char, ""))
    return match[1].lower() if match else char.translate(_NEAR)


def _reserved_form(name: str) -> str:
    """Return the skeleton of a name regardless of case: a capital I looks like an l, so an i is an l, too."""
    return skeleton(name).casefold().replace("i", "l")


_RESERVED_FORMS: Final = {_reserved_form(name): whose for name, whose in _RESERVED.items()}


def mixed_letter(name: str) -> str | None:
    """Return the first letter of another alphabet in a word that reads as Latin and has Latin letters, too."""
    words: list[str] = [] if name.isascii() else re.findall(r"[^\W_]+", name)
    for word in words:
        if re.search("[A-Za-z]", word) and skeleton(word).isascii():
            for char in word:
                if not char.isascii() and char.isalpha() and "LATIN" not in unicodedata.name(char, ""):
                    return char
    return None


def refuse_misleading(name: str, tool: str = "") -> None:
    """Refuse a name that no agent can have; `tool` is the requested tool, for the refusal.

    Raises:
        ReservedName: it is, or looks like, that of the human, of the program or of an imported author.
        InvalidRequest: it has an invisible character, a blank at an end, or a word of two alphabets.
    """
    if whose := reserved(name):
        speaker = {IMPORT: "an imported author", vocab.SYSTEM: "the program"}.get(whose, f"the {whose}")
        message = f"the name {name} is reserved: no agent speaks as {speaker}; leave agent out, or give your own name"
        raise ReservedName(message, tool=tool[: vocab.MAX_NAME])
    if name != name.strip():
        raise InvalidRequest(f"the agent's name {name!r} begins or ends with a blank")
    hidden = next(filter(is_invisible, name), None)
    if hidden is not None:
        raise InvalidRequest(f"the agent's name {name!a} holds U+{ord(hidden):04X}, which cannot be seen")
    if (mixed := mixed_letter(name)) is not None:
        raise InvalidRequest(
            f"the agent's name {name!a} mixes two alphabets in a word, and U+{ord(mixed):04X} in it reads as Latin: "
            "write each word in one alphabet"
        )


def has_spoken(db: Database, name: str) -> bool:
    """Return whether the journal has an entry of an agent of that name."""
    return db.one(_IS_ACTOR, actor=name) is not None


def agents(db: Database) -> list[str]:
    """Return the name of every agent that has changed something."""
    return [name for (name,) in db.sql(_AGENTS).fetchall() if name not in vocab.RESERVED_AGENTS]


class Lookalikes:
    """The agents in the journal by the skeletons of their names, so that a new name is not compared with each.

    They are kept with the newest entry at the last look, and read on from there.
    """

    def __init__(self) -> None:
        self._by_skeleton: dict[str, str] = {}
        self._seq, self._hash = 0, b""

    def find(self, db: Database, name: str, seq: int, hash: bytes) -> str | None:
        """Return the agent in the journal that looks like a name without entries; None if there is none.

        `seq` and `hash` are those of the newest entry.
        """
        if (seq, hash) != (self._seq, self._hash):
            if self._may_read_on(db, seq):
                new = [actor for (actor,) in db.sql(_AGENTS_SINCE, (self._seq,)).fetchall()]
            else:
                self._by_skeleton.clear()
                new = agents(db)
            for agent in new:
                # A name of an older journal that no new agent may have: `shown` tells it apart by code points.
                has_hidden = agent != agent.strip() or any(map(is_invisible, agent))
                if agent not in vocab.RESERVED_AGENTS and not has_hidden:
                    self._by_skeleton.setdefault(skeleton(agent), agent)
            self._seq, self._hash = seq, hash
        return self._by_skeleton.get(skeleton(name))

    def _may_read_on(self, db: Database, seq: int) -> bool:
        """Return whether the journal goes on from the entry of the last look, with few entries since."""
        if not 0 < self._seq <= seq <= self._seq + _FEW_ENTRIES:
            return False
        known = db.scalar("SELECT 1 FROM journal WHERE seq = ? AND hash = ?", (self._seq, self._hash))
        return known is not None


@lru_cache(16_384)
def display_name(name: str, limit_cells: int | None = None) -> str:
    """Return a name as outputs show it, in one line that is safe to print, at most `limit_cells` wide.

    A name that is not what it looks like stands in quotes, with every invisible character as its code point. An author
    of imported log entries keeps `IMPORTED` before the name.
    """
    if name.startswith(IMPORTED):
        author = name.removeprefix(IMPORTED)
        return safe_line(IMPORTED + (author if author in vocab.RESERVED_AGENTS else display_name(author)), limit_cells)
    if name not in vocab.RESERVED_AGENTS and _is_deceptive(name):
        name = f'"{whole_text(name)}"'
    return safe_line(name, limit_cells)


def _is_deceptive(name: str) -> bool:
    # Parts of a line stand apart by two blanks, and names in it by commas; a mark begins what is said of something.
    if reserved(name) is not None or name != name.strip() or "  " in name or ", " in name or _MARKS & {*name}:
        return True
    # It would read as a count (`9`, `+12`), a task (`#4`) or a job (`S3`).
    if name.lstrip("#+S").isdecimal():
        return True
    return any(map(is_invisible, name)) or mixed_letter(name) is not None
