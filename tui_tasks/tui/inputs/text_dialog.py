"""Dialogs for a text of several lines, and their input, which the inbox uses too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
from textual import events
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.inputs.editor import LONGEST, LongText
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context, Hint

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
        text = editor.edit(self.context, self.value)
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
        keys = {"enter": self.submit, "escape": self.action_leave}
        return TextInput(self.context, text, id="answer", placeholder=self._hint, keys=keys)

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

    def __init__(self, context: Context, recipients: Sequence[Recipient], *, note: str = "") -> None:
        """`note` stands before each prompt."""
        self.to = next((one for one in recipients if one.draft in context.drafts), recipients[0])
        """The recipient."""
        super().__init__(context, "", draft=self.to.draft)
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
