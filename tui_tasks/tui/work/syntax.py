"""Colours source by its syntax, with Pygments in a process of its own.

A file of a repository may be made so that a lexer takes very long over it. The screen must not wait for that, and a
thread would make it wait too, as a regular expression holds the interpreter's lock.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from tui_tasks.tui.work.diff_lines import Colours, DiffLine, Runs, sides

MAX_CHARS: Final = 256 * 1024
"""The most characters of a diff that are coloured."""
SECONDS: Final = 5.0
_Lines = list[list[tuple[int, str]]]


class Source(msgspec.Struct, frozen=True):
    """What the process is given: the name of a file, and parts of its text."""

    name: str
    texts: tuple[str, ...]


def colours(path: str, lines: Sequence[DiffLine]) -> Colours:
    """Return the colours of a diff's lines; none where its language is not known, or takes too long.

    It waits for a process, so it is called in a thread.
    """
    taken: list[list[int]] = []
    left = MAX_CHARS
    for side in sides(lines):
        left -= sum(len(lines[at].text) + 1 for at in side)
        if left < 0:
            break
        taken.append(side)
    if not taken:
        return {}
    texts = tuple("\n".join(lines[at].text for at in side) for side in taken)
    found: dict[int, Runs] = {}
    for side, runs in zip(taken, _ask(Source(PurePosixPath(path).name, texts)), strict=False):
        for at, run in zip(side, runs, strict=False):
            if sum(length for length, _ in run) == len(lines[at].text):
                # A line that is on both sides has the colours of the new one.
                found.setdefault(at, run)
    return found


def _ask(source: Source) -> list[_Lines]:
    command = [sys.executable, "-P", "-m", __name__]
    try:
        done = subprocess.run(
            command, input=msgspec.json.encode(source), capture_output=True, timeout=SECONDS, check=True
        )
        return msgspec.json.decode(done.stdout, type=list[_Lines])
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
        return []


def tokens(name: str, text: str) -> _Lines:
    """Return the runs of each line of a text, by the language of a file of that name."""
    from pygments.lexers import find_lexer_class_for_filename
    from pygments.token import Token

    kinds = (
        (Token.Comment, "comment"),
        (Token.String, "string"),
        (Token.Keyword, "keyword"),
        (Token.Operator.Word, "keyword"),
        (Token.Name.Function, "name"),
        (Token.Name.Class, "name"),
        (Token.Name.Tag, "name"),
        (Token.Name.Decorator, "name"),
        (Token.Name.Builtin, "name"),
    )
    lexer = find_lexer_class_for_filename(name)
    if lexer is None:
        return []
    lines: _Lines = [[]]
    for token, value in lexer(stripnl=False, ensurenl=False).get_tokens(text):
        kind = next((word for known, word in kinds if token in known), "")
        for number, piece in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append((len(piece), kind))
    return lines


def main() -> None:
    """Read a `Source` from standard input, and print the runs of its texts."""
    source = msgspec.json.decode(sys.stdin.buffer.read(), type=Source)
    sys.stdout.buffer.write(msgspec.json.encode([tokens(source.name, text) for text in source.texts]))


if __name__ == "__main__":
    main()
