"""The inbox of questions: what agents ask the human, oldest first, answered by single keys (docs: protocol, section 7,
`ask`).

An answer always goes to the question under the cursor. A question that is answered elsewhere or withdrawn stays under
the cursor and shows that, until the human goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import asks, messages, views
from tui_tasks.core.read.agents import agents
from tui_tasks.core.snapshots import Ask
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.agents.answering import OptionKeys
from tui_tasks.tui.inbox import parts
from tui_tasks.tui.inbox.ask_answers import AskAnswers
from tui_tasks.tui.inbox.ask_detail import AskDetail
from tui_tasks.tui.inbox.ask_rows import AskedTasks, AskRows
from tui_tasks.tui.inputs.reply import Reply
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.frame_line import FrameLine, rule
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import TextLines
from tui_tasks.tui.projects.project_actions import ProjectActions
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.widgets import breakpoints
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.rows_and_detail import PageKeys, RowsAndDetail

KEPT: Final = "inbox"
"""Under this key `views` keeps what was put off, and answers typed half."""


class Inbox(Overlay):
    """The screen. `listed`: the open questions, and the one under the cursor even when it has been closed."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "asks", "agent", "inbox")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Inbox #asks { height: 30%; min-height: 3; }
    Inbox.-wide.-tall #asks { width: 11fr; height: 1fr; }
    Inbox.-narrow #asks, Inbox.-short #asks { height: 1; min-height: 1; }
    Inbox.-narrow #inbox-head, Inbox.-short #inbox-head { display: none; }
    Inbox.-narrow #under-head, Inbox.-short #under-head { display: none; }
    """

    def __init__(self, context: Context, ask: str | None = None) -> None:
        """`ask` is the uid of the question on which the cursor starts."""
        super().__init__(context)
        self._first = ask
        self.listed: InMemorySource[Ask] = InMemorySource(lambda ask: ask.uid, lambda ask: (ask.opened_at, ask.id))
        # Read here, since a key may leave before the screen is mounted, and keeps what is known then.
        kept = views.get(context.db, KEPT) or {}
        self.later: set[str] = set(kept.get("later", ()))
        self.tasks = AskedTasks(context)
        rows = AskRows(context, self.listed, self.tasks, self.later, lambda: self.small)
        self.window = VirtualList(context, rows, id="asks")
        self._head = FrameLine(
            context, self._title, lambda width: parts.others(context, "asks", width), id="inbox-head"
        )
        self._asked = AskDetail(context, lambda: breakpoints.is_wide(self.size))
        self._detail = TextLines(context, self._asked, id="ask-detail")
        self._both = RowsAndDetail(context, self.window, self._detail)
        agents_here = AgentActions(context, self.agent_here)
        self._answers = AskAnswers(self, agents_here)
        self._reply = Reply(context, id="reply")
        self._reply.drafts = {uid: tuple(draft) for uid, draft in kept.get("drafts", {}).items()}
        self.controllers = (
            self._answers,
            OptionKeys(context, lambda: self.ask, self._answers.give, self._answers.why_not),
            agents_here,
            PageKeys(self._both),
            RowMoves(lambda: self.window),
            ProjectActions(context),
        )
        self._under: str | None = None
        # Uids of the questions that have been shown to their end.
        self._read_to_end: set[str] = set()

    def compose(self) -> ComposeResult:
        """Compose head, questions, the detail of the one under the cursor, and the input for an answer."""
        yield self._head
        yield rule(self.context, id="under-head")
        yield self._both
        yield self._reply
        yield FootLine(self.context, id="foot")

    def _title(self, width: int) -> Sequence[Part]:
        """` Needs you   2 waiting, oldest first`."""
        waiting = len(self.context.state.asks)
        words = "nothing waits" if not waiting else f"{waiting} waiting{', oldest first' if waiting > 1 else ''}"
        return [(" Needs you", "bold"), (f"   {words}", "$muted"), *self.context.state.projects.alone_parts()]

    def on_mount(self) -> None:
        """Read the questions; the cursor is on the oldest question that was not put off."""
        self.listed.replace(self._asks())
        first = next((ask.uid for ask in self.listed.rows if ask.uid not in self.later), None)
        self.window.show(self.listed, first if self.listed.get(self._first) is None else self._first)
        self.window.focus()
        self.watch(self._both.scroll, "scroll_y", self._note_read, init=False)
        self._show()

    def on_resize(self) -> None:
        """Draw the foot line again, which depends on the width."""
        self.window.again()
        self._show()

    # State

    @property
    def ask(self) -> Ask | None:
        """The question that keys act on."""
        return self.listed.get(self.window.cursor)

    def is_read(self, ask: Ask) -> bool:
        """Return whether a question has been shown to its end."""
        self._note_read()
        return ask.uid in self._read_to_end

    def _note_read(self) -> None:
        ask = self.ask
        if ask is not None and self._asked.ends_by(ask, self._both.seen_lines):
            self._read_to_end.add(ask.uid)

    def agent_here(self) -> str | None:
        """Return the agent that asked."""
        return self.ask.agent if self.ask is not None else None

    def changed(self, changes: StateChanges) -> None:
        """Update after questions were asked, answered elsewhere or withdrawn; typed text stays."""
        if changes.all or changes.places or self.tasks.holds_any(changes.tasks()):
            self.tasks.forget()
            self.window.again()
        if changes.touches("ask"):
            self.window.change(self._read())
        if changes.all or changes.touches("ask", "task", "log", "agent"):
            self._show()
        elif changes.touches("check_run", "task_check"):
            self._head.again()

    def _asks(self) -> list[Ask]:
        projects = self.context.state.projects
        return [ask for ask in self.context.state.asks if projects.shows(projects.of_ask(ask))]

    def _read(self) -> set[str]:
        rows = self._asks()
        under = self.ask
        if under is not None and all(ask.uid != under.uid for ask in rows):
            # It may be missing when the database was replaced or the past is shown.
            with contextlib.suppress(NotFound):
                rows.append(asks.ask(self.context.db, under.uid))
        return self.listed.replace(rows)

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Drop a closed question and close the input, as the cursor has moved elsewhere."""
        reply = self._reply
        if reply.is_open and reply.uid != event.key:
            reply.close()
        left, self._under = self.listed.get(self._under), event.key
        if left is not None and left.state != "open" and left.uid != event.key:
            self.window.change(self._read())
        # At once: the scroll position belongs to the question shown before.
        self._both.show_beginning()
        self._show()

    def _show(self) -> None:
        ask = self.ask
        task = self.tasks.of(ask) if ask is not None else None
        working = agents.working(self.context.db).get(ask.agent) if ask is not None else None
        agent = messages.agent(self.context.db, ask.agent) if ask is not None else None
        is_begun = ask is not None and ask.uid in self._reply.drafts
        self._asked.put(ask, task, working, agent, draft=is_begun)
        self._detail.again()
        self._reply.show_state(ask)
        self._head.again()
        self.hints_again()

    def hints_again(self) -> None:
        """Show at the foot the keys for the question under the cursor, or for the input."""
        reply = self._reply
        ask = self.ask
        if reply.is_open:
            self.hint(*reply.hints)
        elif ask is None:
            self.hint(self.hint_of("back"))
        elif ask.state != "open":
            word = "Next" if self.context.state.asks else "Back"
            self.hint(self.hint_of("ask_open", word), self.hint_of("agent_message", "Message"))
        elif self.small:
            keys = "/".join(map(self.context.keymap.key_of, ("ask_approve", "ask_deny")))
            back = (self.context.keymap.key_of("back"), "", "back")
            reply_key = (self.context.keymap.key_of("ask_reply"), "", "ask_reply")
            self.hint(("1-9", "pick", ""), (keys, "", ""), reply_key, self.hint_of("ask_later", "later"), back)
        else:
            more: tuple[str, ...] = ("ask_always",) if agent_text.allowing_always(ask) else ()
            more += ("ask_edit",) if (ask.request or {}).get("program") == "claude" else ()
            others = map(self.hint_of, ("ask_approve", *more, "ask_deny", "ask_reply", "ask_later", "back"))
            self.hint(("1-9", "Choose", ""), *others)

    # Actions

    def put_off(self, ask: Ask) -> None:
        """Put a question off and go to the next; take it up again when it was put off."""
        self.later ^= {ask.uid}
        self.window.again()
        if ask.uid in self.later:
            self._next()

    def do_ask_open(self) -> None:
        """Open the task that it is about; where it is answered, go on to the next."""
        ask = self.ask
        if ask is None:
            self.do_back()
        elif ask.state != "open":
            self._next()
        elif ask.task_uid is not None and self.tasks.of(ask) is not None:
            self.do_back()
            self.context.navigation.go_to(ask.task_uid)
        else:
            self.context.say("This question is about no task.")

    def do_back(self) -> None:
        """Go back to the pane; what was put off and what was typed half is kept."""
        reply = self._reply
        if reply.is_open:
            reply.close()
            return
        openly = {ask.uid for ask in self.context.state.asks}
        drafts = {uid: draft for uid, draft in reply.drafts.items() if uid in openly}
        kept = {"later": sorted(self.later & openly), "drafts": drafts}
        if kept != (views.get(self.context.db, KEPT) or {"later": [], "drafts": {}}):
            self.context.run(self.context.link.remember(KEPT, kept))
        super().do_back()

    def do_inbox_part(self) -> None:
        """Go to the next part."""
        if self._reply.is_open:
            return
        self.do_back()
        parts.go_on(self.context, "asks")

    def _next(self) -> None:
        """Go to the next open question that was not put off; without one, back to the pane."""
        rows = self.listed.rows
        at = next((at for at, ask in enumerate(rows) if ask.uid == self.window.cursor), -1)
        others = [ask for ask in rows[at + 1 :] + rows[: max(at, 0)] if ask.state == "open"]
        wanted = next((ask for ask in others if ask.uid not in self.later), None)
        if wanted is None:
            self.do_back()
        else:
            self.window.move_to(wanted.uid)

    def on_reply_given(self, event: Reply.Given) -> None:
        """Send the typed answer."""
        self._answers.send_reply(event)

    def on_reply_closed(self, event: Reply.Closed) -> None:
        """Give the keys back to the screen."""
        self.window.focus()
        self._show()
