"""All there is to know of one task: beside the list, below it, or on a small screen in its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tui_tasks.core import glance, pages, queries, vocab
from tui_tasks.core.pages import TaskLine
from tui_tasks.core.snapshots import Ask, LogEntry, Task
from tui_tasks.tui.actions import Actor, bindings
from tui_tasks.tui.drafts import priority_word
from tui_tasks.tui.format import SECOND, age, age_lasts, ago, block, look, plain, safe_line
from tui_tasks.tui.ink import Part
from tui_tasks.tui.now_line import Line

if TYPE_CHECKING:
    from tui_tasks.tui.app import TaskApp

MOST_LOG = 100


class Sheet:
    """A task with what stands beside it, as it was read at one moment."""

    def __init__(self, app: TaskApp, task: Task) -> None:
        db = app.bridge.db
        self.task = task
        line = pages.line(db, task.uid)
        assert line is not None
        self.line: TaskLine = line
        self.place = app.place(line)
        self.state = app.situation.status_of(line)
        self.log: list[LogEntry] = glance.log_page(db, task.uid, MOST_LOG)
        self.log_count = len(self.log) if len(self.log) < MOST_LOG else glance.log_count(db, task.uid)
        self.after = [found for uid in task.depends_on if (found := pages.line(db, uid)) and not found.deleted]
        self.blocks = glance.dependents(db, task.uid)
        self.asks: list[Ask] = [ask for ask in app.situation.asks if ask.task_uid == task.uid]

    @property
    def uids(self) -> set[str]:
        """The tasks that it tells of."""
        return {self.task.uid, *(task.uid for task in (*self.after, *self.blocks))}


class DetailHead(Line):
    """` #5 Ship auth flow                ◐ in progress`; below the list the rest of the facts are here too."""

    sheet: Sheet | None = None
    brief = False

    def left(self, width: int) -> Sequence[Part]:
        """Number and title."""
        sheet = self.sheet
        if sheet is None:
            return ()
        title = f" #{sheet.place} {safe_line(sheet.task.name, max(8, width - 26))}"
        if not self.brief:
            return [(title, "bold")]
        now = self.host.now()
        facts = [fact for fact in (sheet.line.who and _you(sheet.line.who), _since(sheet.task, now, self)) if fact]
        return [(title, "bold"), ("".join(f" · {safe_line(fact, 24)}" for fact in facts), "$muted")]

    def right(self, width: int) -> Sequence[Part]:
        """The state."""
        if self.sheet is None:
            return ()
        shown = look(self.sheet.state)
        return [(f"{shown.mark(ascii_only=self.host.ascii_only)} {shown.word} ", shown.color)]


class Detail(Actor, Vertical):
    """Shows the task that it is given. `brief`: a few lines, for below a list."""

    SCOPES = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("rows")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.brief = False
        self._sheet: Sheet | None = None
        self._wanted: str | None = None
        self._shown: Content | None = None
        self._coming = False
        self._alarm: Timer | None = None
        self._due = 0

    def compose(self) -> ComposeResult:
        """Head and text."""
        yield DetailHead(id="detail-head")
        with VerticalScroll(id="detail-scroll"):
            yield Static(id="detail-text")

    @property
    def uid(self) -> str | None:
        """The task that it shows, or is about to."""
        return self._wanted

    def show(self, uid: str | None) -> None:
        """Show another task; of several that the cursor runs past, the last."""
        if uid == self._wanted:
            return
        self._wanted = uid
        if not self._coming:
            self._coming = self.call_later(self._read)

    def changed(self, uids: Iterable[str], *, asks: bool = False) -> None:
        """Read again if it tells of one of the tasks."""
        if asks or self._sheet is None or not self._sheet.uids.isdisjoint(uids):
            self._read()

    def again(self) -> None:
        """Lay it out again: the size or the hour has changed."""
        head = self.query_one(DetailHead)
        head.brief, head.sheet = self.brief, self._sheet
        head.again()
        self._due = 0
        text = self._brief_text() if self.brief else self._full_text()
        if self._shown is None or text.markup != self._shown.markup:
            self._shown = text
            self.query_one("#detail-text", Static).update(text)
        if self._alarm is not None:
            self._alarm.stop()
        self._alarm = self.set_timer(max(self._due, SECOND) / SECOND, self.again) if self._due else None

    def _read(self) -> None:
        self._coming = False
        if not self.display or not self.size.width:
            return
        was = self._sheet.task.uid if self._sheet else None
        task = queries.any_task(self.host.bridge.db, self._wanted) if self._wanted else None
        self._sheet = Sheet(self.host, task) if task is not None and not task.deleted else None
        if (self._sheet.task.uid if self._sheet else None) != was:
            self.query_one(VerticalScroll).scroll_home(animate=False)
        self.again()

    def on_resize(self) -> None:
        """Read what was not worth reading while it was not shown."""
        if self._sheet is None or self._sheet.task.uid != self._wanted:
            self._read()
        else:
            self.again()

    def _age(self, instant: int, *, short: bool = False) -> str:
        now = self.host.now()
        span = age_lasts(instant, now)
        self._due = min(self._due or span, span)
        return age(instant, now) if short else ago(instant, now)

    def _brief_text(self) -> Content:
        sheet = self._sheet
        if sheet is None:
            return Content()
        lines = self._log_lines(sheet.log[:8], sheet.task)
        if len(lines) < 3 and sheet.task.description:
            lines.append(block(sheet.task.description, limit_chars=1_000))
        return Content("\n").join(lines)

    def _full_text(self) -> Content:
        sheet = self._sheet
        if sheet is None:
            return Content()
        parts = [self._facts(sheet), *self._more_facts(sheet)]
        if sheet.task.description:
            parts += [Content(), block(sheet.task.description)]
        for ask in sheet.asks:
            question = f"{safe_line(ask.agent, 40)} asks: {ask.question}"
            parts += [Content(), block(question, "$state-needs-you")]
        if sheet.task.result is not None:
            parts += [Content(), plain("Result", "$muted"), block(_as_text(sheet.task.result))]
        parts += self._neighbours("After", sheet.after)
        if sheet.log:
            parts += [Content(), plain(f"Log ({sheet.log_count})  newest first", "$muted")]
            parts += self._log_lines(sheet.log, sheet.task)
        parts += self._neighbours("Blocks", sheet.blocks)
        return Content("\n").join(parts)

    def _facts(self, sheet: Sheet) -> Content:
        small = self.size.width < 45
        task, who = sheet.task, sheet.line.who
        facts = [_you(who)] if who else []
        if task.started_at is not None and task.status == "in_progress":
            facts.append(
                f"{self._age(task.started_at, short=True)} in" if small else f"started {self._age(task.started_at)}"
            )
        facts.append(self._age(task.updated_at) if small else f"updated {self._age(task.updated_at)}")
        return plain(" · ".join(facts), "$muted")

    @staticmethod
    def _more_facts(sheet: Sheet) -> list[Content]:
        task = sheet.task
        facts = [] if task.priority == vocab.MEDIUM else [priority_word(task.priority)]
        facts += [f"#{tag}" for tag in task.tags[:20]]
        facts += [task.domain] if task.domain else []
        facts += [f"claimed by {task.claimed_by}"] if task.claimed_by else []
        return [plain(" · ".join(facts), "$muted")] if facts else []

    def _neighbours(self, title: str, tasks: list[TaskLine]) -> list[Content]:
        if not tasks:
            return []
        lines: list[Content] = [Content()]
        for task in tasks[:10]:
            shown = look(self.host.situation.status_of(task))
            name = f"{title}  #{self.host.place(task)} {safe_line(task.name, 80)}  "
            mark = f"{shown.mark(ascii_only=self.host.ascii_only)} {shown.word}"
            lines.append(Content.assemble(plain(name), plain(mark, shown.color)))
        return lines

    def _log_lines(self, log: list[LogEntry], task: Task) -> list[Content]:
        lines = []
        for entry in log:
            who = "" if entry.agent in (task.agent, task.updated_by) else f"{_you(entry.agent)}: "
            when = self.host.time_of(entry.at)
            lines.append(Content.assemble(plain(f"{when}  ", "$muted"), plain(who + entry.message, limit_cells=500)))
        return lines

    def focus_text(self) -> None:
        """Give the keys to the text, to scroll it."""
        self.screen.set_focus(self.query_one(VerticalScroll))

    def do_down(self) -> None:
        """Scroll."""
        self._scroll(1)

    def do_up(self) -> None:
        """Scroll."""
        self._scroll(-1)

    def do_page_down(self) -> None:
        """Scroll a page."""
        self._scroll(max(1, self.size.height - 2))

    def do_page_up(self) -> None:
        """Scroll a page."""
        self._scroll(-max(1, self.size.height - 2))

    def do_first(self) -> None:
        """To the top."""
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def do_last(self) -> None:
        """To the end."""
        self.query_one(VerticalScroll).scroll_end(animate=False)

    def _scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


def _you(name: str) -> str:
    return "you" if name == vocab.HUMAN else name


def _since(task: Task, now: int, line: Line) -> str:
    if task.started_at is None or task.status != "in_progress":
        return ""
    line.lasts(age_lasts(task.started_at, now))
    return f"started {ago(task.started_at, now)}"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
