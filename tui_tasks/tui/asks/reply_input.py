"""The input for an answer in the human's own words. It belongs to one question, even if others arrive meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.word_cuts import safe_words
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.answer_keys import no_title
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.inputs.dialogs import DRAFT
from tui_tasks.tui.inputs.editor import LINE_KEYS, TextInput
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

# In cells: what stands at both sides of the label, and the least of the question that it names.
_AROUND: Final = 2
_LEAST_ASKED: Final = 8


class Reply(ResilientMessages, Vertical):
    """An input that is hidden until it is opened. `drafts` holds unsent text as (kind, text), by question.

    Its label says whom it writes to and what that one asks: an answer is final.
    """

    DEFAULT_CSS = """
    Reply { height: auto; display: none; dock: bottom; margin-bottom: 1; padding: 0 1; border-top: solid $rule; }
    Reply.-open { display: block; }
    Reply Static { height: 1; }
    """

    class Given(Message):
        """Enter was pressed. `kind` is reply or deny; `text` may be empty."""

        def __init__(self, uid: str, kind: str, text: str) -> None:
            super().__init__()
            self.uid = uid
            self.kind = kind
            self.text = text

    class Closed(Message):
        """The input was closed; the typed text is kept as a draft."""

    def __init__(
        self,
        context: Context,
        why_not: Callable[[str], str | None],
        drafts: dict[str, tuple[str, str]],
        *,
        id: str,
    ) -> None:
        """`why_not` returns why the text cannot be sent yet, or None. `drafts` gets unsent text."""
        super().__init__(id=id)
        self.context = context
        self._why_not = why_not
        self.drafts = drafts
        self._of: Ask | None = None
        self._kind = "reply"

    def compose(self) -> ComposeResult:
        """Compose the label and the input."""
        yield Static(id="reply-title")
        keys = {"enter": self.give, "escape": self.close}
        yield TextInput(self.context, id="reply-text", keys=keys)

    @property
    def is_open(self) -> bool:
        """Whether an answer is being typed."""
        return self._of is not None

    @property
    def uid(self) -> str | None:
        """The uid of the question that is being answered."""
        return self._of.uid if self._of is not None else None

    @property
    def hints(self) -> tuple[tuple[str, str, str], ...]:
        """The keys to show in the foot line meanwhile."""
        return ("Enter", "Send", ""), ("Esc", "Keep for later", ""), *LINE_KEYS

    def open(self, ask: Ask, kind: str) -> None:
        """Start an answer, or resume a draft of the same kind."""
        kept_kind, kept = self.drafts.get(ask.uid, (kind, ""))
        self._of, self._kind = ask, kind
        line = self.query_one(TextInput)
        line.value = kept if kept_kind == kind else ""
        line.go_to_end()
        self.add_class("-open")
        self._title(ask)
        line.focus()
        if line.value:
            self.context.say(DRAFT)

    def show_state(self, ask: Ask | None) -> None:
        """Show that the question was closed; keep the typed text."""
        if self._of is not None and ask is not None and ask.uid == self._of.uid:
            self._title(ask)

    def _title(self, ask: Ask) -> None:
        who = agent_text.who(ask.agent, 20)
        if ask.state != "open":
            text = f"{ask_text.closed(ask, self.context.clock.now())}. Enter sends this as a message."
            self.query_one("#reply-title", Static).update(plain(text, "$state-failed bold"))
        else:
            asked = ask_text.request_line(ask, ascii_only=self.context.ascii_only)
            begins = f"Reply to {who}: " if self._kind == "reply" else f"{no_title(AskView(ask), who)}: "
            room = self.app.size.width - cell_len(begins) - _AROUND
            words = safe_words(asked, room)
            # Cut at words, a text with few spaces would leave next to nothing.
            asked = words if cell_len(words) > room // 2 else safe_line(asked, max(0, room))
            text = f"{begins}{asked}" if room >= _LEAST_ASKED else begins.removesuffix(": ")
            self.query_one("#reply-title", Static).update(plain(text, "bold"))

    def close(self) -> None:
        """Close the input; keep the text as a draft."""
        if self._of is not None:
            text = self.query_one(TextInput).value
            self.drafts.pop(self._of.uid, None)
            if text.strip():
                self.drafts[self._of.uid] = (self._kind, text)
        self._hide()

    def _hide(self) -> None:
        self._of = None
        self.remove_class("-open")
        self.post_message(self.Closed())

    def give(self) -> None:
        """Post the answer; an empty reply only closes."""
        if self._of is None:
            return
        if (why := self._why_not(self._of.uid)) is not None:
            self.context.say(why)
            return
        text = self.query_one(TextInput).value.strip()
        if text or self._kind != "reply":
            self.post_message(self.Given(self._of.uid, self._kind, text))
            self._hide()
