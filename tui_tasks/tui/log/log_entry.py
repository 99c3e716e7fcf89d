"""One journal entry in full: its text, the old and new values, and the agent's reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll

from tui_tasks.core.commit import journal
from tui_tasks.core.errors import CursorExpired
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import log_folds, log_lines
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.core.read.pages.log_words import OK, phrase
from tui_tasks.core.snapshots import Entry
from tui_tasks.dialects.requests import REASONING_KEYS
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import clock as time_of_day
from tui_tasks.text.times import duration, moment
from tui_tasks.tui import layout
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.keys.actions import Actor, ScrollKeys
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.log.log_text import EARLIER, MARKS, SEEN, mark_of, name_and_text, who_of
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines, wrapped
from tui_tasks.tui.tasks.task_pane import Detail
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_SAYS: Final = ("message", "question", "answer", "text")
# Fields whose change is shown in another way, or is of no use to a human.
_HIDDEN: Final = frozenset(
    {"status", "priority", "agent", "domain", "deleted", "enabled", "outcome", "state", "rank", "list_id", "name_key"}
    | {"id", "uid", "task_uid", "at", "token_hash", "opened_at", "answered_at", "depends_on"}
)
_MAX_LINES: Final = 200
# In cells: the most of an actor's name, and what stands around title and kind in the rule.
_WHO: Final = 30
_AROUND_RULE: Final = 8
# Instants whose name does not say so; those of the others end with `_at`.
_INSTANTS: Final = frozenset({"next_run", "decided_until"})


class EntryText(TextDrawing):
    """Draws one entry; `folded` are the instants and the texts of what its line stands for, newest first. `label_of`
    returns the number of the task or job of a line.
    """

    line: LogLine | None = None
    entry: Entry | None = None
    folded: Sequence[tuple[int, str]] = ()

    def __init__(self, context: Context, label_of: Callable[[LogLine], str]) -> None:
        super().__init__(context)
        self._label_of = label_of

    @property
    def state(self) -> Part:
        """Its mark and its kind."""
        if self.line is None:
            return ("", "")
        mark, style = mark_of(self.line, ascii_only=self.context.ascii_only)
        return f"{mark} {self.line.word}", style

    def head_and_rest(self, width: int) -> tuple[list[Part], list[str]]:
        """Return what it is about with the facts that have room beside that, who and when, and the other facts."""
        line, zone = self.line, self.context.clock.zone
        if line is None:
            return [], []
        assert zone is not None
        facts = [moment(line.at, zone) if width >= NARROW else self.context.clock.time_of(line.at)]
        name = MARKS.get(line.word) or line.name
        title = f"{self._label_of(line)} {name}".strip() if name else ""
        who = safe_line(who_of(line), _WHO)
        facts = [who, *facts] if title and line.word not in MARKS else facts
        room = width - _AROUND_RULE - cell_len(self.state[0])
        title = safe_line(title or who, max(8, room), ascii_only=self.context.ascii_only)
        head: list[Part] = [(title, "bold")]
        room -= cell_len(title)
        for number, fact in enumerate(facts):
            room -= 3 + cell_len(fact)
            if room < 0:
                return head, facts[number:]
            head.append((f" · {fact}", "$muted"))
        return head, []

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines below the head: what has no room there, text, changed fields and reasoning."""
        line, entry = self.line, self.entry
        if line is None:
            return []
        _, rest = self.head_and_rest(width)
        shown: list[Drawn] = self._block(" · ".join(rest), width, "$muted") if rest else []
        if line.word == SEEN:
            return [*shown, [(" What is below has happened since.", "")]]
        if line.word == EARLIER:
            return [*shown, [(" Earlier entries were compacted away.", "")]]
        if len(self.folded) > 1:
            return [*shown, *self._folded_lines(width)]
        values = (entry.new if entry is not None else line.new) or {}
        said = [str(values[name]) for name in _SAYS if isinstance(values.get(name), str)]
        for text in said or [name_and_text(line, ascii_only=self.context.ascii_only)[1]]:
            shown += self._block(text, width)
        if entry is not None and entry.why is not None:
            shown += self._why(entry.why, width)
        if entry is not None and entry.old is not None and not said:
            shown += self._changes(entry, width)
        return shown[:_MAX_LINES]

    def _folded_lines(self, width: int) -> list[Drawn]:
        """Return the entries folded into this line with their times, newest first."""
        zone = self.context.clock.zone
        shown: list[Drawn] = []
        for at, text in self.folded:
            when = time_of_day(at, zone, seconds=True)
            first, *rest = wrapped(text, max(8, width - 12), ascii_only=self.context.ascii_only) or [""]
            shown.append([(f" {when}  ", "$muted"), (first, "")])
            shown += [[(" " * 11 + line, "")] for line in rest]
        return shown[:_MAX_LINES]

    def _block(self, text: str, width: int, style: str = "", indent: int = 1) -> list[Drawn]:
        room = width - indent - 1
        return [[(" " * indent + line, style)] for line in wrapped(text, room, ascii_only=self.context.ascii_only)]

    def _changes(self, entry: Entry, width: int) -> list[Drawn]:
        """Return the old and the new value of each field."""
        shown: list[Drawn] = []
        for name, (was, became) in entry.changes.items():
            if name in _HIDDEN:
                continue
            shown += [[], [(f" {name.replace('_', ' ')}", "$muted")]]
            shown += self._block(self._value(name, became), width, indent=3)
            if was not in (None, "", [], {}):
                shown += self._block(f"was: {self._value(name, was)}", width, "$muted", indent=3)
        return shown

    def _value(self, name: str, value: Any) -> str:
        """Return a field's value as text; an instant as a moment here."""
        is_instant = isinstance(value, int) and (name.endswith("_at") or name in _INSTANTS)
        return moment(value, self.context.clock.zone) if is_instant else _plain(value)

    def _why(self, why: Mapping[str, Any], width: int) -> list[Drawn]:
        """Return the agent's reasoning."""
        shown: list[Drawn] = []
        for name in [
            *(each for each in REASONING_KEYS if each in why),
            *(each for each in why if each not in REASONING_KEYS),
        ]:
            shown += [[], [(f" {safe_line(name, 30)}", "$muted")]]
            for item in _items(why[name]):
                shown += self._block(item, width, indent=3)
        return shown


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _items(value: Any) -> Iterable[str]:
    return (_plain(each) for each in value) if isinstance(value, list) else (_plain(value),)


class EntryDetail(Actor, ResilientMessages, Vertical):
    """The entry under the cursor below a rule with what it is about and, if there is room, its task beside it."""

    SCOPES = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("rows")]
    DEFAULT_CSS = """
    EntryDetail, #entry-parts { height: 1fr; }
    EntryDetail #entry-scroll { height: 1fr; width: 7fr; }
    EntryDetail Detail { height: 1fr; width: 5fr; border-left: solid $rule; }
    """

    def __init__(self, context: Context, label_of: Callable[[LogLine], str]) -> None:
        super().__init__()
        self.context = context
        self._drawing = EntryText(context, label_of)
        self._head = FrameLine(context, self._rule, id="entry-head")
        self._text = TextLines(context, self._drawing)
        self._scroll = VerticalScroll(self._text, id="entry-scroll")
        self._task_detail = Detail(context)
        self._task_detail.is_beside = True
        self.controllers = (ScrollKeys(self),)

    def compose(self) -> ComposeResult:
        """Compose the head, below it entry and task."""
        yield self._head
        with Horizontal(id="entry-parts"):
            yield self._scroll
            yield self._task_detail

    def _rule(self, width: int) -> Sequence[Part]:
        """`─ #5 Ship auth flow · claude-1 · Sat 21 Nov 20:13 ─────── · log ─`."""
        head, _ = self._drawing.head_and_rest(width)
        return rule_parts(self.context, width, head, [self._drawing.state] if head else ())

    def show(self, line: LogLine | None) -> None:
        """Show another entry."""
        drawing = self._drawing
        if drawing.line == line and line is not None:
            return
        drawing.line, drawing.entry = line, self._read(line)
        drawing.folded = self._folded(line) if line is not None and line.count > 1 else ()
        self._head.redraw()
        self._text.redraw()
        self._scroll.scroll_home(animate=False)
        has_task = line is not None and line.task is not None and not line.gone
        self._task_detail.display = has_task and layout.is_wide(self.app.size)
        self._task_detail.show(line.task if line is not None else None)

    def changed(self, changes: StateChanges) -> None:
        """Draw the task again if it was touched."""
        self._task_detail.changed(changes)

    def _read(self, line: LogLine | None) -> Entry | None:
        if line is None or line.word in MARKS:
            return None
        try:
            entries = journal.since(self.context.db, line.seq - 1, 1)
        except CursorExpired:
            return None
        return entries[0] if entries and entries[0].seq == line.seq else None

    def _folded(self, line: LogLine) -> list[tuple[int, str]]:
        """Return what is folded into a line: messages of an agent, moves, or runs of a job with how long each was."""
        db = self.context.db
        if line.word == "move":
            return [(at, phrase(line.kind, line.new)) for at, _ in log_lines.progress_of(db, line)]
        if line.word == "log":
            return log_lines.progress_of(db, line)
        runs = log_folds.good_runs(db, [line.seq])[line.seq].ends
        lengths = {uid: log_folds.took(db, uid) for _, uid in runs}
        return [(at, OK if (took := lengths[uid]) is None else f"{OK} {duration(took)}") for at, uid in runs]

    def focus_text(self) -> None:
        """Focus the entry, to scroll it."""
        self.screen.set_focus(self._scroll)

    @property
    def page_rows(self) -> int:
        """The rows of a page: two lines stay on screen."""
        return self._scroll.size.height - 2

    def scroll_rows(self, by: int) -> None:
        """Scroll the entry's text."""
        self._scroll.scroll_relative(y=by, animate=False)
