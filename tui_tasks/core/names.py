"""Names of agents, and which of them a person could confuse.

After Unicode's UTS #39: two names are alike if their skeletons are the same.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.schema.tables.journal import JournalRow as J

# Letters of other scripts, by the ASCII letter that they look like (Unicode's confusables.txt), without those that
# compatibility normalisation turns into that letter, and without those outside the Basic Multilingual Plane.
_ALIKE: Final = {
    "A": "\u0391\u0410\u13aa\u15c5\ua4ee",
    "B": "\u0392\u0412\u13f4\u15f7\ua4d0\ua7b4",
    "C": "\u0421\u13df\u2ca4\ua4da",
    "D": "\u13a0\u15de\u15ea\ua4d3",
    "E": "\u0395\u0415\u13ac\u2d39\ua4f0",
    "F": "\u03dc\u15b4\ua4dd\ua798",
    "G": "\u050c\u13c0\u13f3\ua4d6",
    "H": "\u0397\u041d\u13bb\u157c\u2c8e\ua4e7",
    "J": "\u037f\u0408\u13ab\u148d\ua4d9\ua7b2",
    "K": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7",
    "L": "\u13de\u14aa\u2cd0\ua4e1",
    "M": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df",
    "N": "\u039d\u2c9a\ua4e0",
    "O": "\u039f\u041e\u0555\u07c0\u09e6\u0b20\u0b66\u12d0\u2c9e\u2d54\u3007\ua4f3",
    "P": "\u03a1\u0420\u13e2\u146d\u2ca2\ua4d1",
    "Q": "\u2d55",
    "R": "\u01a6\u13a1\u13d2\u1587\ua4e3",
    "S": "\u0405\u054f\u13d5\u13da\ua4e2",
    "T": "\u03a4\u0422\u13a2\u2ca6\ua4d4",
    "U": "\u054d\u1200\u144c\ua4f4",
    "V": "\u0474\u0667\u06f7\u13d9\u142f\u2d38\ua4e6\ua6df",
    "W": "\u051c\u13b3\u13d4\ua4ea",
    "X": "\u03a7\u0425\u16b7\u2cac\u2d5d\ua4eb\ua7b3",
    "Y": "\u03a5\u0423\u04ae\u13a9\u13bd\u2ca8\ua4ec",
    "Z": "\u0396\u13c3\ua4dc",
    "a": "\u0251\u03b1\u0430",
    "b": "\u0184\u042c\u13cf\u1472\u15af",
    "c": "\u0441\u1d04\u2ca5\uabaf",
    "d": "\u0501\u13e7\u146f\ua4d2",
    "e": "\u0435\u04bd\uab32",
    "f": "\u0584\u1e9d\ua799\uab35",
    "g": "\u018d\u0261\u0581\u1d83",
    "h": "\u029c\u04bb\u0570\u13c2",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\ua647\uab75",
    "j": "\u03f3\u0458",
    "l": "\u0196\u01c0\u0399\u0406\u04c0\u05d5\u05df\u0627\u0661\u06f1\u07ca\u16c1\u2c92\u2d4f\ua4f2",
    "n": "\u0578\u057c",
    "o": (
        "\u03bf\u03c3\u043e\u0585\u05e1\u0647\u0665\u06be\u06c1\u06d5\u06f5\u0966\u0a66\u0ae6\u0be6\u0c66"
        "\u0ce6\u0d20\u0d66\u0e50\u0ed0\u101d\u1040\u10ff\u1d0f\u1d11\u2c9f\uab3d"
    ),
    "p": "\u03c1\u0440\u2ca3",
    "q": "\u051b\u0563\u0566",
    "r": "\u0433\u1d26\u2c85\uab47\uab48\uab81",
    "s": "\u01bd\u0455\ua731\uabaa",
    "u": "\u028b\u03c5\u057d\u1d1c\ua79f\uab4e\uab52",
    "v": "\u03bd\u0475\u05d8\u1d20\uaba9",
    "w": "\u026f\u0461\u051d\u0561\u1d21\uab83",
    "x": "\u0445\u1541\u157d",
    "y": "\u0263\u028f\u03b3\u0443\u04af\u10e7\u1d8c\u1eff\uab5a",
    "z": "\u1d22\uab93",
}
_LETTERS: Final = str.maketrans({char: letter for letter, chars in _ALIKE.items() for char in chars})
_ASCII: Final = str.maketrans("I1|0", "lllo")
# Unicode names of Latin letters: `LATIN LETTER SMALL CAPITAL H`, `LATIN SMALL LETTER H WITH STROKE`.
_LATIN: Final = r"LATIN (?:SMALL|CAPITAL|LETTER SMALL CAPITAL)(?: LETTER)?(?: SCRIPT)? ([A-Z])(?: WITH .+)?"
# Printable characters without a visible shape.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_IS_ACTOR: Final = Statement(J.select(J.seq).where(J.actor == slot("actor")).limit(1))
# The screen calls the human "you", and the actor that starts jobs "scheduler".
_RESERVED: Final = {name: name for name in vocab.RESERVED_AGENTS} | {"you": vocab.HUMAN, "scheduler": vocab.SYSTEM}


def is_invisible(char: str) -> bool:
    """Return whether a character is invisible in a text: it has no width, or only changes its neighbours."""
    if char.isascii():
        return False
    return char in _BLANK or unicodedata.category(char) == "Cf" or _is_variation(char)


def _is_variation(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff"


@lru_cache(1024)
def skeleton(name: str) -> str:
    """Return a form of a name such that names with the same form look the same."""
    parts = unicodedata.normalize("NFKD", name)
    seen = "".join(char for char in parts if not is_invisible(char) and unicodedata.category(char) not in _UNSEEN)
    folded = "".join(map(_letter, seen.translate(_LETTERS)))
    return " ".join(folded.translate(_ASCII).replace("O", "o").replace("rn", "m").replace("vv", "w").split())


_UNSEEN: Final = frozenset({"Cc", "Co", "Cn", "Mn", "Me"})


def _letter(char: str) -> str:
    if char.isascii():
        return char
    found = re.fullmatch(_LATIN, unicodedata.name(char, ""))
    return char if found is None else found[1].lower()


def reserved(name: str) -> str | None:
    """Return the reserved actor whose name this is or looks like; None if it is nobody's."""
    return _RESERVED_SKELETONS.get(skeleton(name).casefold())


_RESERVED_SKELETONS: Final = {skeleton(name).casefold(): whose for name, whose in _RESERVED.items()}


def has_spoken(db: Database, name: str) -> bool:
    """Return whether the journal has an entry of an agent of that name."""
    return db.one(_IS_ACTOR, actor=name) is not None


def alike(db: Database, name: str) -> str | None:
    """Return the agent in the journal that looks like a name without entries; None if there is none."""
    from tui_tasks.core.read.agents import agents

    wanted = skeleton(name)
    return next((known for known, *_ in agents.speakers(db) if skeleton(known) == wanted), None)
