"""All there is to know of one task: beside the list, below it, or on a small screen in its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Vertical

from tui_tasks.core import vocab
from tui_tasks.core.read import overview
from tui_tasks.core.read.tasks import pages, queries
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.snapshots import Ask, LogEntry, Task
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import age, age_lasts, ago
from tui_tasks.tui.app.actions import AppAccess
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.screens import agent_text
from tui_tasks.tui.tasks.task_note import field_parts
from tui_tasks.tui.widgets.frame import FrameLine
from tui_tasks.tui.widgets.painting import NoRelayout
from tui_tasks.tui.widgets.scroll_lines import ScrollLines
from tui_tasks.tui.widgets.styles import Part
from tui_tasks.tui.widgets.text_lines import Drawn, wrapped

if TYPE_CHECKING:
    from tui_tasks.tui.app.app import TaskApp

MOST_LOG = 100
# Of a long entry of the log so many characters are shown here; the log pane has all of it.
MOST_OF_ENTRY = 500
# So many lines and tags are shown of a task that has more: what else there is to know must not be out of reach.
TITLE_LINES = 4
MOST_TAGS = 20


class Sheet:
    """A task with what stands beside it, as it was read at one moment."""

    def __init__(self, app: TaskApp, task: Task, line: TaskLine) -> None:
        db = app.bridge.db
        self.task = task
        self.line = line
        self.place = app.place(line)
        self.state = app.situation.status_of(line)
        self.log: list[LogEntry] = overview.log_page(db, task.uid, MOST_LOG)
        self.log_count = len(self.log) if len(self.log) < MOST_LOG else overview.log_count(db, task.uid)
        self.after = [found for uid in task.depends_on if (found := pages.line(db, uid)) and not found.deleted]
        self.blocks = overview.dependents(db, task.uid)
        self.asks: list[Ask] = [ask for ask in app.situation.asks if ask.task_uid == task.uid]

    def tells_of(self, changes: Changes) -> bool:
        """Whether it says something else after these changes: about its tasks, or by the numbers that they have."""
        told = (self.line, *self.after, *self.blocks)
        if changes.touches("ask") or not changes.tasks().isdisjoint(task.uid for task in told):
            return True
        return any(home == task.list_id and rank < task.rank for home, rank in changes.places for task in told)


class DetailHead(FrameLine):
    """` #5 Ship auth flow                ◐ in progress`; below the list the rest of the facts are here too."""

    sheet: Sheet | None = None
    brief = False

    def left(self, width: int) -> Sequence[Part]:
        """Number and title."""
        sheet = self.sheet
        if sheet is None:
            return ()
        facts = self._facts(sheet) if self.brief else ""
        room = width - sum(cell_len(text) for text, _ in self.right(width)) - cell_len(facts) - 2
        title = safe_line(f"#{sheet.place} {sheet.task.name}", max(8, room))
        return [(f" {title}", "bold"), (facts, "$muted")]

    def right(self, width: int) -> Sequence[Part]:
        """The state."""
        if self.sheet is None:
            return ()
        shown = look(self.sheet.state)
        return [(f" {shown.mark(ascii_only=self.host.ascii_only)} {shown.word} ", shown.color)]

    def _facts(self, sheet: Sheet) -> str:
        facts = [agent_text.who(sheet.line.who)] if sheet.line.who else []
        if sheet.task.started_at is not None and sheet.task.status == "in_progress":
            now = self.host.now()
            self.lasts(age_lasts(sheet.task.started_at, now))
            facts.append(f"started {ago(sheet.task.started_at, now)}")
        return "".join(f" · {safe_line(fact, 24)}" for fact in facts)


class DetailText(ScrollLines):
    """What is below the head. `brief`: the newest of the log, for a place of a few lines."""

    sheet: Sheet | None = None
    brief = False

    def lines(self, width: int) -> list[Drawn]:
        """From who has it to what it blocks."""
        sheet, room = self.sheet, max(8, width - 2)
        if sheet is None:
            return []
        if self.brief:
            lines = self._log(sheet, sheet.log[:8], room)
            return lines if len(lines) > 2 else lines + _block(sheet.task.description, room, "")[:8]
        lines = []
        if cell_len(f"#{sheet.place} {safe_line(sheet.task.name)}") > room - cell_len(look(sheet.state).word) - 4:
            title = _block(sheet.task.name, room, "bold")
            lines += title[:TITLE_LINES]
            if len(title) > TITLE_LINES:
                lines.append(_line(f"… of {len(sheet.task.name):,} characters", "$muted"))
        lines += [_line(self._facts(sheet, room), "$muted"), *self._fields(sheet.task, room)]
        lines += self._more_facts(sheet.task, room)
        if sheet.task.description:
            lines += [(), *_block(sheet.task.description, room, "")]
        for ask in sheet.asks:
            lines += [(), *_block(f"{safe_line(ask.agent, 40)} asks: {ask.question}", room, "$state-needs-you")]
        if sheet.task.result is not None:
            lines += [(), _line("Result", "$muted"), *_block(_as_text(sheet.task.result), room, "")]
        lines += self._neighbours("After", sheet.after, room)
        if sheet.log:
            lines += [(), _line(f"Log ({sheet.log_count:,})  newest first", "$muted")]
            lines += self._log(sheet, sheet.log, room)
        return lines + self._neighbours("Blocks", sheet.blocks, room)

    def _age(self, instant: int, *, short: bool) -> str:
        now = self.host.now()
        self.lasts(age_lasts(instant, now))
        return age(instant, now) if short else ago(instant, now)

    def _facts(self, sheet: Sheet, room: int) -> str:
        task, small = sheet.task, room < 44
        facts = [agent_text.who(sheet.line.who)] if sheet.line.who else []
        if task.started_at is not None and task.status == "in_progress":
            started = self._age(task.started_at, short=small)
            facts.append(f"{started} in" if small else f"started {started}")
        updated = self._age(task.updated_at, short=False)
        facts.append(updated if small else f"updated {updated}")
        return safe_line(" · ".join(facts), room)

    def _fields(self, task: Task, room: int) -> list[Drawn]:
        lines: list[Drawn] = []
        for (text, ink), lasts in field_parts(self.host, task, long=True):
            self.lasts(lasts)
            lines += _block(text, room, ink)
        return lines

    @staticmethod
    def _more_facts(task: Task, room: int) -> list[Drawn]:
        facts = [] if task.priority == vocab.MEDIUM else [vocab.priority_word(task.priority)]
        facts += [f"#{tag}" for tag in task.tags[:MOST_TAGS]]
        facts += [f"{len(task.tags) - MOST_TAGS} more tags"] if len(task.tags) > MOST_TAGS else []
        facts += [task.domain] if task.domain else []
        facts += [f"claimed by {task.claimed_by}"] if task.claimed_by else []
        return _block(" · ".join(facts), room, "$muted") if facts else []

    def _neighbours(self, title: str, tasks: list[TaskLine], room: int) -> list[Drawn]:
        lines: list[Drawn] = [()] if tasks else []
        for task in tasks[:10]:
            shown = look(self.host.situation.status_of(task))
            mark = f"  {shown.mark(ascii_only=self.host.ascii_only)} {shown.word}"
            name = safe_line(f"{title}  #{self.host.place(task)} {task.name}", max(8, room - cell_len(mark)))
            lines.append([(f" {name}", ""), (mark, shown.color)])
        return lines

    def _log(self, sheet: Sheet, entries: list[LogEntry], room: int) -> list[Drawn]:
        lines: list[Drawn] = []
        for entry in entries:
            known = entry.agent in (sheet.task.agent, sheet.task.updated_by)
            who = "" if known else f"{agent_text.who(entry.agent)}: "
            when = f"{self.host.time_of(entry.at)}  "
            first, *rest = wrapped(f"{who}{entry.message}"[:MOST_OF_ENTRY], max(8, room - cell_len(when)))
            lines.append([(f" {when}", "$muted"), (first, "")])
            lines += [[(f" {' ' * cell_len(when)}{line}", "")] for line in rest]
        return lines


class Detail(AppAccess, Vertical, NoRelayout):
    """Shows the task that it is given. `brief`: a few lines, for below a list."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.brief = False
        self._sheet: Sheet | None = None
        self._wanted: str | None = None
        self._coming = False

    def compose(self) -> ComposeResult:
        """Head and text."""
        yield DetailHead(id="detail-head")
        yield DetailText(id="detail-text")

    @property
    def uid(self) -> str | None:
        """The task that it shows, or is about to."""
        return self._wanted

    @property
    def text(self) -> DetailText:
        """What is below the head."""
        return self.query_one(DetailText)

    def show(self, uid: str | None) -> None:
        """Show another task; of several that the cursor runs past, the last."""
        if uid == self._wanted:
            return
        self._wanted = uid
        if not self._coming:
            self._coming = self.call_later(self._read)

    def changed(self, changes: Changes) -> None:
        """Read again what it tells of, where that has changed."""
        if self._sheet is None or self._sheet.tells_of(changes):
            self._read()

    def refreshed(self) -> None:
        """Read again: much may have changed while it was not shown."""
        self._read()

    def again(self) -> None:
        """Lay it out again: what it has room for has changed."""
        for part in (self.query_one(DetailHead), self.text):
            part.brief, part.sheet = self.brief, self._sheet
            part.again()

    def focus_text(self) -> None:
        """Give the keys to the text, to scroll it."""
        self.screen.set_focus(self.text)

    def _read(self) -> None:
        self._coming = False
        if self.size.width:
            self.show_now(self._wanted)

    def show_now(self, uid: str | None) -> None:
        """Show a task before anything is painted, the part not being on screen yet too."""
        self._wanted = uid
        app = self.host
        was = self._sheet.task.uid if self._sheet else None
        task = queries.any_task(app.bridge.db, self._wanted) if self._wanted else None
        line = pages.line(app.bridge.db, task.uid) if task is not None else None
        there = task is not None and line is not None and not task.deleted
        self._sheet = Sheet(app, task, line) if there and task and line else None
        if (self._sheet.task.uid if self._sheet else None) != was:
            self.text.first = 0
        self.again()

    def on_resize(self) -> None:
        """Read what was not worth reading while it was not shown."""
        if self._sheet is None or self._sheet.task.uid != self._wanted:
            self._read()
        else:
            self.again()


def _line(text: str, ink: str) -> Drawn:
    return [(f" {text}", ink)]


def _block(text: str, room: int, ink: str) -> list[Drawn]:
    return [_line(line, ink) for line in wrapped(text, room)] if text else []


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
