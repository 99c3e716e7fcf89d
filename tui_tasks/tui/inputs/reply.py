"""The input for an answer. It stays with one question, whatever arrives meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from tui_tasks.core.snapshots import Ask
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.text_line import WordLine
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.bases import plain
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

_MAX: Final = 100_000


class ReplyLine(WordLine):
    """The input line."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.max_length = _MAX
        self.select_on_focus = False

    def does(self, key: str) -> Callable[[], object] | None:
        """Return what a key does: Enter sends the text, Esc keeps it and closes."""
        reply = self.query_ancestor(Reply)
        return {"enter": reply.give, "escape": reply.close}.get(key) or super().does(key)


class Reply(ResilientMessages, Vertical):
    """Hidden until it is opened. `drafts` holds unsent text as (kind, text), by question."""

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

    def __init__(self, context: Context, why_not: Callable[[str], str | None], *, id: str) -> None:
        """`why_not` returns why what is typed cannot be sent yet as the answer to a question; None if it can."""
        super().__init__(id=id)
        self.context = context
        self._why_not = why_not
        self.drafts: dict[str, tuple[str, str]] = {}
        self._of: Ask | None = None
        self._kind = "reply"

    def compose(self) -> ComposeResult:
        """Compose the label and the input."""
        yield Static(id="reply-title")
        yield ReplyLine(id="reply-text")

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
        return ("Enter", "Send", ""), ("Esc", "Keep for later", "")

    def open(self, ask: Ask, kind: str) -> None:
        """Start an answer, or resume a draft of the same kind."""
        kept_kind, kept = self.drafts.get(ask.uid, (kind, ""))
        self._of, self._kind = ask, kind
        line = self.query_one(ReplyLine)
        line.value = kept if kept_kind == kind else ""
        line.cursor_position = len(line.value)
        self.add_class("-open")
        self._title(ask)
        line.focus()

    def show_state(self, ask: Ask | None) -> None:
        """Show when the question has been closed meanwhile; the typed text stays."""
        if self._of is not None and ask is not None and ask.uid == self._of.uid:
            self._title(ask)

    def _title(self, ask: Ask) -> None:
        who = agent_text.who(ask.agent, 20)
        if ask.state != "open":
            text = f"{agent_text.closed(ask, self.context.clock.now())}. Enter sends this as a message."
            self.query_one("#reply-title", Static).update(plain(text, "$state-failed bold"))
        else:
            text = f"Reply to {who}" if self._kind == "reply" else f"Deny; tell {who} why, or nothing"
            self.query_one("#reply-title", Static).update(plain(text, "bold"))

    def close(self) -> None:
        """Close the input; keep the text as a draft."""
        if self._of is not None:
            text = self.query_one(ReplyLine).value
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
        text = self.query_one(ReplyLine).value.strip()
        if text or self._kind != "reply":
            self.post_message(self.Given(self._of.uid, self._kind, text))
            self._hide()
