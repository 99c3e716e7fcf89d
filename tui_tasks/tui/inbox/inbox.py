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
from textual.containers import Container, VerticalScroll

from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import asks, messages, views
from tui_tasks.core.read.agents import agents
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.inbox import parts
from tui_tasks.tui.inbox.ask_answers import AskAnswers
from tui_tasks.tui.inbox.ask_detail import AskDetail
from tui_tasks.tui.inputs.reply import Reply
from tui_tasks.tui.keys.actions import bindings
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Divider
from tui_tasks.tui.projects.project_actions import ProjectActions
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.frame import FootLine, FrameLine, Rule
from tui_tasks.tui.widgets.overlay import Overlay

KEPT: Final = "inbox"
"""Under this key `views` keeps what was put off, and answers typed half."""


class AskWindow(VirtualList[Ask]):
    """The list of questions, one in each line; on a small screen only the one under the cursor, as the first line."""

    def __init__(self, context: Context, inbox: Inbox, *, id: str) -> None:
        super().__init__(context, id=id)
        self.inbox = inbox

    def draw(self, row: Ask, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw who asks, the question, and its age."""
        now, width = self.context.clock.now(), look_.width
        state = look(agent_text.ask_state(row))
        mark = state.mark(ascii_only=self.context.ascii_only)
        waited = age(row.opened_at, now)
        if row.state == "open":
            self.lasts(age_lasts(row.opened_at, now))
        number = self.inbox.number(row)
        if self.inbox.small:
            head = f" {look_.place} of {self.inbox.listed.total()}  {number or ''}  "
            return (
                (f" {mark}", state.color),
                (head, ""),
                (safe_ends(row.agent, max(4, width - len(head) - 9)), "$muted"),
                (f"  {waited if row.state == 'open' else agent_text.ask_word(row)}", "$muted"),
            )
        late = "later" if row.uid in self.inbox.later else "waiting"
        told = f"{late} {waited}" if row.state == "open" else agent_text.ask_word(row)
        project = self.context.state.projects.of_ask(row)
        where = f"{fit(project, 8)}  " if self.inbox.names_projects else ""
        right = f"{where}{fit_ends(row.agent, 10)}  {told:<11} "
        head = f" {number:<3} " if number else "     "
        room = max(1, width - 4 - len(head) - cell_len(right))
        quiet = row.state != "open" or row.uid in self.inbox.later
        return (
            (f" {sign('cursor') if look_.cursor else ' '}", "$primary bold" if look_.focused else "$muted"),
            (mark, state.color),
            (head, "$muted"),
            (fit(self._title(row, room), room), "$muted" if quiet else ""),
            (" " + right, "$muted"),
        )

    def scroll_rows(self, by: int) -> None:
        """Scroll; with only one line visible, the wheel moves from question to question."""
        if self.inbox.small:
            self.move(1 if by > 0 else -1)
        else:
            super().scroll_rows(by)

    def _title(self, row: Ask, room: int) -> str:
        """Return the question if it fits, else the name of its task if that fits."""
        question, task = safe_line(agent_text.asked(row)), self.inbox.task_of(row)
        if task is None or cell_len(question) <= room or cell_len(safe_line(task.name)) > room:
            return question
        return task.name

    def draw_empty(self, line: int) -> Sequence[Part]:
        """Draw how a question gets here."""
        text = ("   Nothing needs you.", "", "   Agents ask here with the tool `ask`; the Now line then shows it.")
        at = line if self.inbox.small else line - 1
        return [(text[at], "" if at == 0 else "$muted")] if 0 <= at < len(text) else ()


class InboxHead(FrameLine):
    """` Needs you   2 waiting, oldest first`."""

    def left(self, width: int) -> Sequence[Part]:
        """The title, and the number of waiting questions."""
        waiting = len(self.context.state.asks)
        told = "nothing waits" if not waiting else f"{waiting} waiting{', oldest first' if waiting > 1 else ''}"
        return [(" Needs you", "bold"), (f"   {told}", "$muted"), *self.context.state.projects.told_alone()]

    def right(self, width: int) -> Sequence[Part]:
        """What the other parts hold."""
        return parts.others(self.context, "asks", width)


class Inbox(Overlay):
    """The screen. `listed`: the open questions, and the one under the cursor even when it has been closed."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "asks", "agent", "inbox")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Inbox #both { height: 1fr; layout: vertical; }
    Inbox #asks { height: 30%; min-height: 3; }
    Inbox #ask-scroll { height: 1fr; width: 1fr; }
    Inbox Divider { display: none; }
    Inbox.-wide.-tall #both { layout: horizontal; }
    Inbox.-wide.-tall #asks { width: 11fr; height: 1fr; }
    Inbox.-wide.-tall #ask-scroll { width: 9fr; }
    Inbox.-wide.-tall #under-asks { display: none; }
    Inbox.-wide.-tall Divider { display: block; }
    Inbox.-narrow #asks, Inbox.-short #asks { height: 1; min-height: 1; }
    Inbox.-narrow #inbox-head, Inbox.-short #inbox-head { display: none; }
    Inbox.-narrow #under-head, Inbox.-short #under-head { display: none; }
    """

    def __init__(self, context: Context, ask: str | None = None) -> None:
        """`ask` is the uid of the question on which the cursor starts."""
        super().__init__(context)
        self._first = ask
        self.window = AskWindow(context, self, id="asks")
        agents_here = AgentActions(context, self.agent_here)
        self._answers = AskAnswers(self, agents_here)
        self.controllers = (self._answers, agents_here, RowMoves(lambda: self.window), ProjectActions(context))
        self.listed: InMemorySource[Ask] = InMemorySource(lambda ask: ask.uid, lambda ask: (ask.opened_at, ask.id))
        self.later: set[str] = set()
        self._under: str | None = None
        # Uids of the questions that have been shown to their end.
        self._read_to_end: set[str] = set()
        self._tasks: dict[str, TaskLine] = {}

    def compose(self) -> ComposeResult:
        """Compose head, questions, the detail of the one under the cursor, and the input for an answer."""
        yield InboxHead(self.context, id="inbox-head")
        yield Rule(self.context, id="under-head")
        with Container(id="both"):
            yield self.window
            yield Rule(self.context, id="under-asks")
            yield Divider(self.context)
            with VerticalScroll(id="ask-scroll", can_focus=False):
                yield AskDetail(self.context, id="ask-detail")
        yield Reply(self.context, id="reply")
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read questions and drafts; the cursor is on the oldest question that was not put off."""
        kept = views.get(self.context.db, KEPT) or {}
        self.later = set(kept.get("later", ()))
        self.query_one(Reply).drafts = {uid: tuple(draft) for uid, draft in kept.get("drafts", {}).items()}
        self.listed.take(self._asks())
        first = next((ask.uid for ask in self.listed.rows if ask.uid not in self.later), None)
        self.window.show(self.listed, first if self.listed.get(self._first) is None else self._first)
        self.window.focus()
        self.watch(self.query_one("#ask-scroll"), "scroll_y", self._note_read, init=False)
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
        scroll, ask = self.query_one("#ask-scroll"), self.ask
        end = round(scroll.scroll_y) + scroll.size.height
        if ask is not None and scroll.size.height and self.query_one(AskDetail).ends_by(ask, end):
            self._read_to_end.add(ask.uid)

    def agent_here(self) -> str | None:
        """Return the agent that asked."""
        return self.ask.agent if self.ask is not None else None

    def task_of(self, ask: Ask) -> TaskLine | None:
        """Return the task that a question is about."""
        if ask.task_uid is None:
            return None
        if ask.task_uid not in self._tasks:
            found = agent_text.live_task(self.context.db, ask.task_uid)
            if found is None:
                return None
            self._tasks[ask.task_uid] = found
        return self._tasks[ask.task_uid]

    def number(self, ask: Ask) -> str:
        """Return the number of a question's task as `#4`; empty without a task."""
        task = self.task_of(ask)
        return f"#{self.context.numbers.number(task)}" if task is not None else ""

    def changed(self, changes: StateChanges) -> None:
        """Update after questions were asked, answered elsewhere or withdrawn; typed text stays."""
        tasks = changes.tasks()
        if changes.all or changes.places or not tasks.isdisjoint(self._tasks):
            self._tasks.clear()
            self.window.again()
        if changes.touches("ask"):
            self.window.change(self._read())
        if changes.all or changes.touches("ask", "task", "log", "agent"):
            self._show()
        elif changes.touches("check_run", "task_check"):
            self.query_one(InboxHead).again()

    @property
    def names_projects(self) -> bool:
        """Whether any question comes from a project."""
        return any(map(self.context.state.projects.of_ask, self.listed.rows))

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
        return self.listed.take(rows)

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Drop a closed question and close the input, as the cursor has moved elsewhere."""
        reply = self.query_one(Reply)
        if reply.is_open and reply.uid != event.key:
            reply.close()
        left, self._under = self.listed.get(self._under), event.key
        if left is not None and left.state != "open" and left.uid != event.key:
            self.window.change(self._read())
        # At once: the scroll position belongs to the question shown before.
        self.query_one("#ask-scroll").scroll_home(animate=False, immediate=True)
        self._show()

    def _show(self) -> None:
        ask = self.ask
        detail = self.query_one(AskDetail)
        task = self.task_of(ask) if ask is not None else None
        working = agents.working(self.context.db).get(ask.agent) if ask is not None else None
        agent = messages.agent(self.context.db, ask.agent) if ask is not None else None
        detail.put(ask, task, working, agent, draft=ask is not None and ask.uid in self.query_one(Reply).drafts)
        self.query_one(Reply).told(ask)
        self.query_one(InboxHead).again()
        self.hints_again()

    def hints_again(self) -> None:
        """Show at the foot the keys for the question under the cursor, or for the input."""
        reply = self.query_one(Reply)
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
        elif ask.task_uid is not None and self.task_of(ask) is not None:
            self.do_back()
            self.context.navigation.go_to(ask.task_uid)
        else:
            self.context.say("This question is about no task.")

    def do_page_down(self) -> None:
        """Scroll the question."""
        self.query_one("#ask-scroll").scroll_page_down(animate=False)

    def do_page_up(self) -> None:
        """Scroll the question."""
        self.query_one("#ask-scroll").scroll_page_up(animate=False)

    def do_back(self) -> None:
        """Go back to the pane; what was put off and what was typed half is kept."""
        reply = self.query_one(Reply)
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
        if self.query_one(Reply).is_open:
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
