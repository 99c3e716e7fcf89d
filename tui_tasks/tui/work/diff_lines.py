"""The diff of a file as lines for the screen: safe, coloured by syntax, and broken where they are too long.

Nothing of a diff is hidden: control characters are drawn as pictures, and characters without a shape by their code.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.text.safe import beginning, cell_len, whole_text

if TYPE_CHECKING:
    from tui_tasks.tui.painting.styles import Part

Runs = Sequence[tuple[int, str]]
"""The colours of a line: how many characters each has, and the kind of the token (`KINDS`), empty for none."""
Colours = Mapping[int, Runs]
"""The colours of the lines of a diff, by their indexes."""
KINDS: Final = {
    "keyword": "$primary",
    "name": "$secondary",
    "string": "$warning",
    "comment": "$muted italic",
}
"""The style of each kind of token."""
MAX_CHARACTERS: Final = 4_000
"""The most characters of a line that are shown."""
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_HEADERS: Final = ("diff --git ", "index ", "--- ", "+++ ")
_SIGNS: Final = {"+": "$state-done", "-": "$state-failed"}
_GROUNDS: Final = {"+": "@state-done", "-": "@state-failed"}
MAX_CHARS: Final = 256 * 1024
"""The most characters of a diff that are coloured."""
SECONDS: Final = 5.0
_Lines = list[list[tuple[int, str]]]


class DiffLine(msgspec.Struct, frozen=True):
    """A line of a diff.

    Attributes:
        kind: `+`, `-`, a space, `@` for the head of a hunk, `\\` for a remark of git, `h` for a header.
        text: it without its sign, safe.
        old: its number in the old file; `new`: that in the new one; 0: it has none.
        hunk: the number of its hunk, from 1.
    """

    kind: str
    text: str
    old: int = 0
    new: int = 0
    hunk: int = 0

    @property
    def number(self) -> int:
        """Its number in the new file, of a removed line that in the old one."""
        return self.new or self.old


def parse(diff: str) -> list[DiffLine]:
    """Return the lines of a diff of one file, as git prints it, without the headers that only repeat the name."""
    lines: list[DiffLine] = []
    hunk, old, new = 0, 0, 0
    for line in diff.removesuffix("\n").split("\n") if diff else ():
        if match := _HUNK.match(line):
            hunk, old, new = hunk + 1, int(match[1]), int(match[2])
            lines.append(DiffLine("@", _safe(line), hunk=hunk))
        elif not hunk:
            if not line.startswith(_HEADERS):
                lines.append(DiffLine("h", _safe(line)))
        elif line.startswith("+"):
            lines.append(DiffLine("+", _safe(line[1:]), 0, new, hunk))
            new += 1
        elif line.startswith("-"):
            lines.append(DiffLine("-", _safe(line[1:]), old, 0, hunk))
            old += 1
        elif line.startswith("\\"):
            lines.append(DiffLine("\\", _safe(line[2:]), hunk=hunk))
        else:
            lines.append(DiffLine(" ", _safe(line[1:]), old, new, hunk))
            old, new = old + 1, new + 1
    return lines


def _safe(line: str) -> str:
    cut = len(line) - MAX_CHARACTERS
    return whole_text(line[:MAX_CHARACTERS]) + (f"… {cut:,} characters more" if cut > 0 else "")


def sides(lines: Sequence[DiffLine]) -> Iterator[list[int]]:
    """Yield, for each side of each hunk, the indexes of its lines: first those of the new file, then of the old one."""
    for kinds in ("+ ", "- "):
        hunks: dict[int, list[int]] = {}
        for at, line in enumerate(lines):
            if line.kind in kinds:
                hunks.setdefault(line.hunk, []).append(at)
        # A side without a line of its own is the other one.
        yield from (hunk for hunk in hunks.values() if kinds[0] == "+" or any(lines[at].kind == "-" for at in hunk))


def drawn(line: DiffLine, runs: Runs, width: int, digits: int) -> list[list[Part]]:
    """Return a line in parts of at most `width` cells; `digits`: the width of the numbers at the left, 0: none.

    Its text leaves the last cell free, for a scroll mark; the ground of a changed line does not.
    """
    if line.kind in "@h\\":
        style = "$secondary" if line.kind == "@" else "$muted"
        return [[(f" {text}", style)] for text in _broken(line.text, max(8, width - 2))]
    sign, ground = _SIGNS.get(line.kind, "$muted"), _GROUNDS.get(line.kind, "")
    room = max(8, width - digits - 5)
    rows: list[list[Part]] = []
    at = 0
    for text in _broken(line.text, room):
        number = f" {line.number if not rows else '':>{digits}} " if digits else " "
        mark = line.kind if not rows else " "
        parts = _coloured(text, at, runs, ground)
        filling = " " * (room + 1 - cell_len(text)) if ground else ""
        rows.append([(number, "$muted"), (f"{mark} ", f"{sign} {ground}".strip()), *parts, (filling, ground)])
        at += len(text)
    return rows


def _broken(text: str, width: int) -> Iterator[str]:
    """Yield a safe line in pieces of at most `width` cells, wherever they end: code keeps each of its spaces."""
    while cell_len(text) > width:
        piece = beginning(text, width) or text[:1]
        yield piece
        text = text[len(piece) :]
    yield text


def _coloured(text: str, start: int, runs: Runs, ground: str) -> list[Part]:
    """Return a piece of a line that begins at a character in the colours of its tokens."""
    if not runs:
        return [(text, ground)]
    parts: list[Part] = []
    at = 0
    for length, kind in runs:
        first, end = max(at, start), min(at + length, start + len(text))
        if first < end:
            parts.append((text[first - start : end - start], f"{KINDS.get(kind, '')} {ground}".strip()))
        at += length
    return parts


def digits_of(lines: Sequence[DiffLine], width: int) -> int:
    """Return the width of the column of numbers; 0 where there is no room for one."""
    return len(str(max((line.number for line in lines), default=0))) if width >= 50 else 0


class FileTexts(msgspec.Struct, frozen=True):
    """What the process is given: the name of a file, and parts of its text."""

    name: str
    texts: tuple[str, ...]


def colours(path: str, lines: Sequence[DiffLine]) -> Colours:
    """Return the colours of a diff's lines; none where its language is not known, or takes too long.

    It waits for a process, so it is called in a thread. A file may be made so that a lexer takes very long over it, and
    a regular expression holds the lock of its interpreter.
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
    runs_of: dict[int, Runs] = {}
    for side, runs in zip(taken, _ask(FileTexts(PurePosixPath(path).name, texts)), strict=False):
        for at, run in zip(side, runs, strict=False):
            if sum(length for length, _ in run) == len(lines[at].text):
                # A line that is on both sides has the colours of the new one.
                runs_of.setdefault(at, run)
    return runs_of


def _ask(source: FileTexts) -> list[_Lines]:
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
    """Read a `FileTexts` from standard input, and print the runs of its texts."""
    source = msgspec.json.decode(sys.stdin.buffer.read(), type=FileTexts)
    sys.stdout.buffer.write(msgspec.json.encode([tokens(source.name, text) for text in source.texts]))


if __name__ == "__main__":
    main()
