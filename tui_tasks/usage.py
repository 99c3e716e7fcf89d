"""Reading a command line: what argparse leaves to be done."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

# A path may be any bytes.
_PATHS: Final = frozenset({"db", "file"})


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options and words given. Ends the program with 2 where they are wrong, as argparse does."""
    options, more = parser.parse_known_args(arguments)
    # The words of `call` may stand on both sides of its options.
    if more and hasattr(options, "arguments") and not any(word.startswith("-") for word in more):
        options.arguments += more
        more = []
    if more:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    for name, given in vars(options).items():
        texts = given if isinstance(given, list) else [given]
        if name not in _PATHS and any(isinstance(text, str) and not _is_text(text) for text in texts):
            parser.error(f"{name}: not valid UTF-8")
    return options


def _is_text(given: str) -> bool:
    """Whether the bytes that the system gave were UTF-8: those that were not stand there as surrogates."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True
