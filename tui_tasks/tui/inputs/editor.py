"""Long texts: the input of a form, and the human's own editor, to which the screen gives the terminal meanwhile."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual.app import SuspendNotSupported
from textual.widgets import TextArea

from tui_tasks import regular_files
from tui_tasks.text.safe import one_to_one

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_MAX_BYTES: Final = 64 * 1024 * 1024
FALLBACKS: Final = ("sensible-editor", "nano", "vi")

LONGEST_LINE: Final = 4_000
LONGEST: Final = 100_000
"""Characters from which on each key would be waited for."""
_SHOWN: Final = 1_000
_NEW_LINE: Final = ("ctrl+j", "alt+enter", "shift+enter")


class NoEditor(Exception):
    """No editor could be run. The message says what to do."""


def command(environment: dict[str, str] | os._Environ[str] = os.environ) -> list[str]:
    """Return the argv of the human's editor: $VISUAL, $EDITOR, else one that is usually installed.

    Raises:
        NoEditor: what is set is no command.
    """
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(name, ""))
        except ValueError as error:
            raise NoEditor(f"${name} cannot be read: {error}") from error
        if words:
            return words
    return [next((each for each in FALLBACKS if _is_there(each, environment.get("PATH", ""))), FALLBACKS[-1])]


def _is_there(program: str, path: str) -> bool:
    return any(os.access(Path(folder) / program, os.X_OK) for folder in path.split(os.pathsep) if folder)


def edit(context: Context, text: str) -> str | None:
    """Let the human edit a text; return the new text, or None when it is unchanged or no editor could be run."""
    try:
        return _edited(context, text)
    except NoEditor as none:
        context.say(str(none))
        return None


def open_file(context: Context, file: Path) -> None:
    """Let the human read or change a file of their own."""
    try:
        _run(context, [*command(), str(file)])
    except NoEditor as none:
        context.say(str(none))


def _edited(context: Context, text: str) -> str | None:
    """Return the edited text; None when it is unchanged.

    Raises:
        NoEditor: none could be run, or it ended with an error; nothing is changed.
    """
    argv = command()
    with contextlib.ExitStack() as kept:
        try:
            file = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="tui-tasks-"))) / "task.md"
            # As bytes, since text mode would convert line endings.
            file.write_bytes(text.encode())
        except OSError as error:
            raise NoEditor(f"cannot write a file for {argv[0]}: {error.strerror}") from error
        _run(context, [*argv, str(file)])
        try:
            changed = regular_files.read_text(file, _MAX_BYTES)
        except (OSError, UnicodeDecodeError) as error:
            raise NoEditor(f"what {argv[0]} left cannot be read: {regular_files.reason(error)}") from error
    return None if changed == text else changed


def _run(context: Context, argv: list[str]) -> None:
    try:
        with context.suspend():
            status = _exit_status(argv)
    except SuspendNotSupported:
        raise NoEditor("the screen cannot be suspended here") from None
    except OSError as error:
        raise NoEditor(f"cannot run {argv[0]}: {error.strerror}; set $EDITOR") from error
    if status:
        raise NoEditor(f"{argv[0]} ended with status {status}; nothing was changed")


def _exit_status(argv: list[str]) -> int:
    """Run a program on the terminal to its end, and return its exit status.

    Ctrl+C and Ctrl+\\ reach only that program. A signal that asks this program to end ends that one first.
    """
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        for process in running:
            process.send_signal(number)
        before = handlers[signal.Signals(number)]
        if callable(before):
            before(number, frame)

    # Functions instead of SIG_IGN, which the program would inherit.
    ours = dict.fromkeys((signal.SIGINT, signal.SIGQUIT), lambda _number, _frame: None)
    ours |= dict.fromkeys((signal.SIGTERM, signal.SIGHUP), pass_on)
    handlers = {number: signal.signal(number, handler) for number, handler in ours.items()}
    try:
        running.append(subprocess.Popen(argv))
        return running[0].wait()
    finally:
        for number, before in handlers.items():
            signal.signal(number, before)


def as_document(name: str, description: str) -> str:
    """Return a task as the editor shows it: the title, an empty line, the description."""
    title = name.replace("\n", " ")
    return f"{title}\n\n{description}" + ("" if description.endswith("\n") or not description else "\n")


def from_document(text: str, description: str) -> tuple[str, str]:
    """Return title and description of an edited document, without the final newline that editors add."""
    title, _, rest = text.partition("\n")
    rest = rest.removeprefix("\n")
    if rest.endswith("\n") and not description.endswith("\n"):
        rest = rest.removesuffix("\n")
    return title.strip(), rest


class LongText(TextArea):
    """An input for a description or a prompt. The cursor does not blink; control characters are shown as pictures.

    A text that is too long to edit here shows only its beginning, and is changed in $EDITOR.
    """

    def __init__(self, text: str, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True, show_line_numbers=False, tab_behavior="focus")
        self.cursor_blink = False
        self.value = text

    @property
    def value(self) -> str:
        """The whole text; unless changed it is exactly as given, including its line endings."""
        return self._given if self.text == self._loaded else self.text

    @value.setter
    def value(self, text: str) -> None:
        self._given = text
        self.read_only = len(text) > LONGEST or max(map(len, text.split("\n"))) > LONGEST_LINE
        if self.read_only:
            text = f"(too long to be changed here: ^e opens it in $EDITOR)\n\n{text[:_SHOWN]}…"
        self.text = text
        self._loaded = self.text

    def does(self, key: str) -> Callable[[], object] | None:
        """Return what a key does beside writing; None: nothing. It runs after all text typed before is inserted."""
        return self._add_line if key in _NEW_LINE else None

    def _add_line(self) -> None:
        self._insert("\n")

    def _insert(self, text: str) -> None:
        if not self.read_only:
            self.move_cursor(self.replace(text, *self.selection).end_location)

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn."""
        return Text(one_to_one(self.document.get_line(line_index)), end="", no_wrap=True)
