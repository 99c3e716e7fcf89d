"""The rest of a word of which a menu has taken the first letter: `one` after `s` and `d`, where `d` has chosen `done`.

These letters must not run as keys. A key that moves or shows something runs at once, as it may well be meant; one that
writes or opens an input does not, though it continues the word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_PAUSE: Final = 1.0
"""Seconds between two letters after which the second belongs to no word."""


class RestOfWord:
    """The letters that may still come of a word. `is_safe` returns whether a key may run that continues it."""

    def __init__(self, clock: Callable[[], float], is_safe: Callable[[str], bool]) -> None:
        self._clock = clock
        self._is_safe = is_safe
        self._rest = ""
        self._word = ""
        self._dropped = ""
        self._at = 0.0

    def expect(self, word: str) -> None:
        """Expect the other letters of a word that was chosen by its first one."""
        self._word, self._rest, self._dropped, self._at = word, word[1:], "", self._clock()

    def dropped(self, key: str, character: str | None) -> str:
        """Return what to say about a key that is dropped as a part of the word; empty: the key is to run."""
        is_late = self._clock() - self._at > _PAUSE
        is_first = len(self._rest) == len(self._word) - 1
        # A space may be left out.
        rest = self._rest if character == " " else self._rest.lstrip()
        is_end = key == "enter" and bool(self._dropped)
        if not self._word or is_late or not (is_end or (character and rest.startswith(character))):
            self._word = self._rest = ""
            return ""
        if not is_end:
            self._rest, self._at = rest[1:], self._clock()
            if is_first and self._is_safe(key):
                return ""
            self._dropped += character or ""
        return f"{self._word[0]} alone chooses “{self._word}”. What you typed after it was dropped: {self._dropped}"
