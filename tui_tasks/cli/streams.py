"""The standard streams of a command: results are printed, a failed write is reported once, without a traceback, and
long work shows a progress bar on a terminal.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tui_tasks.text import safe

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_ESCAPE: Final = "tui-tasks.escape"


class OutputFailed(Exception):
    """Standard output could not be written. The message says why."""


class _Output(io.FileIO):
    """File descriptor 1; its failures are distinguished from those of other files."""

    def write(self, data: Any) -> int:
        """Write all of `data`: without a buffer above (PYTHONUNBUFFERED) nobody would write what is left."""
        left = memoryview(data)
        try:
            while left:
                written = super().write(left)
                if written is None:  # the reader of a non-blocking pipe is slow
                    select.select((), (self,), ())
                else:
                    left = left[written:]
            return len(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(error.strerror) from error


def prepare() -> None:
    """Prepare the standard streams for a command that prints, unless something else has replaced them.

    Closed streams are opened, so that no later file gets their numbers; writing to such a standard output still fails.
    Characters outside the encoding of standard output are written as JSON escapes.
    """
    _open_closed()
    if sys.stdout is not None and sys.stdout is not sys.__stdout__:
        return
    before: Any = sys.stdout
    errors = before.errors if before is not None else "strict"
    if errors in ("strict", "surrogateescape"):
        codecs.register_error(_ESCAPE, _escaped)
        errors = _ESCAPE
    if before is not None:
        before.flush()
    at_once = before is not None and before.write_through
    output: Any = _Output(1, "wb", closefd=False)
    sys.stdout = io.TextIOWrapper(
        output if at_once else io.BufferedWriter(output),
        encoding=before.encoding if before is not None else "utf-8",
        errors=errors,
        line_buffering=before is not None and before.line_buffering,
        write_through=at_once,
    )


def _open_closed() -> None:
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            # Descriptor 1 is opened for reading, so that writing to it fails.
            nothing = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    if sys.stderr is None:
        # With None, `print` would write to standard output instead.
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return escapes of the characters' UTF-16 units, as JSON has them, and where to continue."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)), error.end


def can_write(text: str) -> bool:
    """Return whether the encoding of standard output has all characters of a text."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def flush() -> None:
    """Write the buffered output.

    Raises:
        OutputFailed: it cannot be written.
        BrokenPipeError: its reader is gone.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.strerror) from error


def discard() -> None:
    """Discard what is buffered, as nothing can be written."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


SCHEMA_VERSION: Final = 1
"""The version of printed objects: raised when a documented member is removed or changes (docs: scripts, "JSON")."""


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON. Objects begin with the version of their schema."""
    output = {"schema_version": SCHEMA_VERSION, **value} if isinstance(value, dict) else value
    print(safe.dumps(output, indent))


def print_result(text: str, value: Any, *, as_json: bool) -> None:
    """Print the result of a command: the text, or the value as JSON."""
    if as_json:
        print_json(value)
    else:
        print(text)


def inset(text: str) -> str:
    """Return a text of an agent in lines that nobody takes for the program's own, which begin at the margin."""
    from tui_tasks.text.safe import safe_text

    return "\n".join(f"  {line}" for line in safe_text(text).split("\n"))


_T = TypeVar("_T")
_FIRST_DRAW_S: Final = 0.5
_DRAW_INTERVAL_S: Final = 0.1
_CELLS: Final = 24


class ProgressBar:
    """Counts steps of `total` (0: unknown), and draws the count while the context is open.

    Nothing is drawn in the first half second, or if standard error is no terminal.
    """

    def __init__(self, word: str = "", total: int = 0) -> None:
        self._word, self._total, self._done = word, total, 0
        self._is_seen = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + _FIRST_DRAW_S
        self._is_drawn = False

    def report(self, done: int, total: int) -> None:
        """Set the number of steps done and their total, and draw."""
        self._done, self._total = done - 1, total
        self.step()

    def show(self, word: str, done: int, total: int) -> None:
        """As `report`, for one of several kinds of steps."""
        if word != self._word:
            self.clear()
            self._word = word
        self.report(done, total)

    def begin(self, _: Transaction) -> None:
        """Do nothing: a long operation calls it when its transaction begins."""

    def step(self) -> None:
        """Count one step as done."""
        self._done += 1
        if self._is_seen and time.monotonic() >= self._next:
            self._draw()

    def each(self, parts: Iterable[_T]) -> Iterator[_T]:
        """Yield the parts, counting a step after each."""
        for part in parts:
            yield part
            self.step()

    def _draw(self) -> None:
        self._next = time.monotonic() + _DRAW_INTERVAL_S
        self._is_drawn = True
        if not self._total:
            print(f"\r{self._word} {self._done:,}", end="", file=sys.stderr, flush=True)
            return
        done = min(self._done, self._total)
        filled = _CELLS * done // self._total
        bar = "#" * filled + "." * (_CELLS - filled)
        print(f"\r{self._word} [{bar}] {done:,} of {self._total:,}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_drawn = False
