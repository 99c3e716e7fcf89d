"""Reads a command line without options. Importing argparse and making its parser takes a tenth of a short command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class NeedsParser(Exception):
    """The command line has an option, or is wrong usage, or the command declares what only argparse reads."""


class WordReader:
    """Takes the declarations of a command as `argparse.ArgumentParser` does, and reads words."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._declared: list[tuple[str, dict[str, Any]]] = []

    def add_argument(self, *names: str, **given: Any) -> None:
        """Declare an argument; an option has its default."""
        name = names[-1]
        if not name.startswith("-"):
            self._declared.append((name, given))
            return
        if given.get("required"):
            raise NeedsParser
        dest = given.get("dest") or name.lstrip("-").replace("-", "_")
        self._values[dest] = given.get("default", False if given.get("action") == "store_true" else None)

    def add_argument_group(self, _title: str) -> WordReader:
        """Return itself: groups are for `--help`."""
        return self

    def add_mutually_exclusive_group(self, *, required: bool) -> WordReader:
        """Return itself where no option of the group is needed."""
        if required:
            raise NeedsParser
        return self

    def set_defaults(self, **given: Any) -> None:
        """Set values that no word sets."""
        self._values |= given

    def get_default(self, name: str) -> Any:
        """Return a value of `set_defaults`."""
        return self._values.get(name)

    def format_help(self) -> str:
        """Leave the help to argparse."""
        raise NeedsParser

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all arguments.

        Raises:
            NeedsParser: argparse must read the words, or refuse them.
        """
        left, values = list(words), dict(self._values)
        for name, given in self._declared:
            count = given.get("nargs")
            if count in ("*", "+"):
                taken, left = left, []
                values[name] = taken
            else:
                taken, left = left[:1], left[1:]
                values[name] = taken[0] if taken else given.get("default")
            choices = given.get("choices")
            if (not taken and count in (None, "+")) or (choices and not set(taken) <= set(choices)) or "type" in given:
                raise NeedsParser
        if left or not all(_is_plain(word) for word in words):
            raise NeedsParser
        return values


def _is_plain(word: str) -> bool:
    """Return whether a word is no option, and was UTF-8; other bytes are surrogates in it."""
    try:
        return bool(word.encode()) and not word.startswith("-")
    except UnicodeEncodeError:
        return False
