"""Long texts: the input of a form, dialogs for a text of several lines, and the human's own editor, to which the
screen gives the terminal meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
from rich.text import Text
from textual import events
from textual.app import SuspendNotSupported
from textual.widgets import Static, TextArea
from typing_extensions import override

from tui_tasks import regular_files
from tui_tasks.text.safe import one_to_one
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context, Hint


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
        raise NoEditor(f"{argv[0]} {how_ended(status)}; nothing was changed")


def how_ended(status: int) -> str:
    """Return in words how a program ended that failed; a shell reports a signal as 128 and its number."""
    number = -status if status < 0 else status - 128
    if number == signal.SIGINT:
        return "was interrupted by ^C"
    if number > 0:
        known = number in list(signal.Signals)
        return f"was ended by {signal.Signals(number).name if known else f'signal {number}'}"
    return f"ended with status {status}"


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
        # As in every shell; no search opens over what is being typed.
        steps = {"ctrl+f": self.action_cursor_right, "ctrl+b": self.action_cursor_left}
        return self._add_line if key in _NEW_LINE else steps.get(key)

    def _add_line(self) -> None:
        self._insert("\n")

    def _insert(self, text: str) -> None:
        if not self.read_only:
            self.move_cursor(self.replace(text, *self.selection).end_location)

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn."""
        return Text(one_to_one(self.document.get_line(line_index)), end="", no_wrap=True)


LINE_KEYS: Final[tuple[Hint, ...]] = (("^j", "New line", ""), ("^e", "In $EDITOR", ""))
"""The keys of the input beside those of its place."""


class TextInput(ResilientMessages, LongText):
    """An input of several lines, as high as its text needs up to a limit. Enter does what its place says; `^j` adds a
    line, and `^e` opens the editor.
    """

    DEFAULT_CSS = """
    TextInput { height: auto; max-height: 8; }
    Screen.-short TextInput { max-height: 3; }
    TextInput > .text-area--placeholder { color: $muted; text-style: italic; }
    """

    def __init__(
        self,
        context: Context,
        text: str = "",
        *,
        keys: Mapping[str, Callable[[], object]],
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(text, id=id)
        self.context = context
        self.placeholder = placeholder
        self.highlight_cursor_line = False
        self._keys = {
            **dict.fromkeys(("tab", "shift+tab"), _do_nothing),
            "ctrl+e": self._open_editor,
            "ctrl+u": self._clear,
            **keys,
        }
        self.go_to_end()

    def go_to_end(self) -> None:
        """Put the cursor behind the text, which is all of one draft until it is changed."""
        self._draft = self.text
        self.move_cursor(self.document.end)

    def _clear(self) -> None:
        """Delete an unchanged draft; else what stands before the cursor in its line."""
        if self.text == self._draft:
            self.clear()
        else:
            self.action_delete_to_start_of_line()

    def focus(self, scroll_visible: bool = True, **_: Any) -> Self:
        """Take the focus at once, before the next key is handled."""
        self.screen.set_focus(self, scroll_visible)
        return self

    def does(self, key: str) -> Callable[[], object] | None:
        """As `LongText.does`, and what the keys of its place do."""
        return self._keys.get(key) or super().does(key)

    def on_paste(self, event: events.Paste) -> None:
        """Insert the lines of a paste, without line ends around them; refuse what is too long."""
        event.stop()
        event.prevent_default()
        # Terminals paste a line end as a carriage return.
        text = "\n".join(event.text.strip("\r\n").splitlines())
        if len(self.text) + len(text) > LONGEST:
            self.context.say(f"Not pasted: it is longer than the {LONGEST:,} characters that fit here.")
        else:
            self._insert(text)

    def _open_editor(self) -> None:
        text = edit(self.context, self.value)
        if text is not None:
            self.value = text.rstrip("\n")
            self.go_to_end()


def _do_nothing() -> None:
    pass


class TextDialog(LineDialog):
    """A dialog with a text of several lines. Result: as `LineDialog`."""

    AUTO_FOCUS = "TextInput"
    # Important, as the App's styles come before those of a widget.
    DEFAULT_CSS = "TextDialog TextInput { padding: 0 1 !important; }"

    @override
    def _input(self, text: str) -> TextInput:
        return TextInput(self.context, text, id="answer", placeholder=self._hint, keys=self._line_keys)

    @property
    @override
    def _text(self) -> str:
        return self.query_one(TextInput).value

    @override
    def _keys(self) -> Sequence[Hint]:
        return ("Enter", self._done, ""), *LINE_KEYS, ("Esc", "Back", "")


class Recipient(msgspec.Struct, frozen=True):
    """Where typed text can go.

    Attributes:
        draft: names the kind of text, and by id what it is about.
        prompt: names it above the text.
        done: the word for Enter.
        word: the word for the key that goes there from another.
    """

    draft: str
    prompt: str
    done: str
    word: str


class MessageDialog(TextDialog):
    """A dialog with a text for one of several recipients; Tab goes to the next. Result: as `LineDialog`.

    A text that was kept comes back with the recipient that it was for.
    """

    def __init__(self, context: Context, recipients: Sequence[Recipient], value: str = "", *, note: str = "") -> None:
        """`value` is the text to begin with; `note` stands before each prompt."""
        self.to = next((one for one in recipients if one.draft in context.drafts), recipients[0])
        """The recipient."""
        super().__init__(context, "", value, draft=self.to.draft)
        self._recipients = recipients
        self._note = note

    def take_key(self, event: events.Key) -> bool:
        """Go to the next recipient."""
        if event.key != "tab" or len(self._recipients) == 1:
            return False
        kept = self.context.drafts.pop(self._draft_key, None)
        self.to = self._next
        self._draft_key = self.to.draft
        if kept is not None:
            self.context.drafts[self._draft_key] = kept
        self._show_keys()
        return True

    @property
    @override
    def _brings_back(self) -> bool:
        # With a note, the text was typed just now.
        return super()._brings_back and not self._note

    @property
    def _next(self) -> Recipient:
        return self._recipients[(self._recipients.index(self.to) + 1) % len(self._recipients)]

    @override
    def _show_keys(self) -> None:
        """And the recipient."""
        self.query_one("#title", Static).update(plain(self._note + self.to.prompt, "bold"))
        super()._show_keys()

    @override
    def _keys(self) -> Sequence[Hint]:
        others = [("Tab", self._next.word, "")] if len(self._recipients) > 1 else []
        return ("Enter", self.to.done, ""), *others, ("Esc", "Back", ""), *LINE_KEYS
