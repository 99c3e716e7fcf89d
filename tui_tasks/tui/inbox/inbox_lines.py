"""The lines of the inbox, in order: questions, many of one agent folded, and the rows of other kinds.

Each kind of row has a source: it reads its rows, says what helps to decide, and performs the actions on the row under
the cursor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import ask_queries
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import age_lasts, ago
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.ask_views import AskedTasks
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.needs.open_needs import FAILURES, Kind, Need, Needs
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.state.context import Context


class InboxItem(msgspec.Struct, frozen=True):
    """One line of the inbox.

    Attributes:
        need: what it is about.
        kind: the `KIND` of its source.
        row: what the source read.
        state: the name of its look in `glyphs.LOOKS`.
        title: what it is about, in words.
        number: that of its task or job; empty without one.
        who: its agent; empty without one.
        place: the name of its list, by which it is found.
        brief: what stands for the title where that takes more than its line; empty: its beginning.
    """

    need: Need
    kind: str
    row: Any
    state: str
    title: str
    number: str = ""
    who: str = ""
    place: str = ""
    brief: str = ""

    @property
    def uid(self) -> str:
        """Its key, unique in the inbox."""
        return self.need.key

    @property
    def at(self) -> int:
        """Since when it waits."""
        return self.need.at or 0


R = TypeVar("R")


class RowSource(Controller, Generic[R]):
    """Reads one kind of row, and acts on the row under the cursor.

    - KIND: its name; the actions of the scope `inbox` that need it are its own.
    - KINDS: the kinds of needs (see `open_needs`) that it may list.
    - ONE: what a row is called.
    - OPEN: the action of Enter. FOOT: the actions that the foot may show, in the order of use.
    """

    KIND: ClassVar[str]
    KINDS: ClassVar[Collection[Kind]]
    ONE: ClassVar[str]
    OPEN: ClassVar[str]
    FOOT: ClassVar[Sequence[str]]

    def __init__(
        self, context: Context, item_here: Callable[[], InboxItem | None], has_stood: Callable[[InboxItem], bool]
    ) -> None:
        """`item_here` returns the line under the cursor, of any kind; `has_stood` whether a line had been there, as it
        is, for long enough to be read when the key was pressed.
        """
        self.context = context
        self._item_here = item_here
        self._has_stood = has_stood
        self.lasts: Callable[[int], object] = lambda span_us: None
        """Called, while a row is drawn in full, with for how many microseconds that stays true."""
        self.open_task: Callable[[str], object] = lambda uid: None
        """Shows a task in full, from where Back leads to the row."""

    def ago(self, at: int) -> str:
        """Return how long ago an instant was, in a row that is drawn in full."""
        now = self.context.clock.now()
        self.lasts(age_lasts(at, now))
        return ago(at, now)

    def items(self, needs: Sequence[Need]) -> Iterable[InboxItem]:
        """Read the rows of what needs the human, which is of its `KINDS`."""
        raise NotImplementedError

    def read(self, needs: Iterable[Need]) -> Iterable[InboxItem]:
        """Read the rows of those that are of its kinds; where there are none, nothing is read."""
        own = [need for need in needs if need.kind in self.KINDS]
        return self.items(own) if own else ()

    def name(self, row: R) -> str:
        """Return the name of what a row is about."""
        raise NotImplementedError

    def lines(self, row: R, room: int, is_named: bool) -> list[Drawn]:
        """Return a row in full, `room` cells wide; `is_named`: the rule above has its name, agent and age."""
        raise NotImplementedError

    def more(self, row: R) -> Sequence[Part]:
        """Return what helps to decide beside the title, each text for lines of its own; only for rows on screen."""
        return ()

    def found_by(self, row: R) -> Iterable[str]:
        """Return the texts by which a filter finds a row beside its title."""
        return (text for text, _ in self.more(row))

    def foot(self, row: R) -> Sequence[str]:
        """Return the actions that the foot shows for a row."""
        return self.FOOT

    def has_verb(self, verb: str) -> bool:
        """Return whether a key with this meaning acts on its rows."""
        return any(ACTIONS[name].verb == verb for name in self.FOOT)

    def painted(self, row: R, *, is_whole: bool) -> None:
        """Note that the line of a row is on screen. `is_whole`: with its whole title."""

    def seen(self, row: R, lines: int) -> None:
        """Note that so many lines of a row in full, from its beginning, are on screen or were."""

    def on_screen(self, rows: Sequence[R], in_full: R | None) -> None:
        """Note the rows whose lines are on screen, and the one that is there in full."""

    def version(self, row: R) -> Hashable:
        """Return an id of what the human decides about, which changes with the row's content."""
        return None

    def is_under_cursor(self) -> bool:
        """Return whether the row under the cursor had been there, as it is, for long enough to be read."""
        item = self._item_here()
        return item is not None and self._has_stood(item)

    def row_that_was_read(self) -> R | None:
        """Return the row under the cursor; None, after saying so, if there was no time to read it."""
        if self.row is not None and not self.is_under_cursor():
            self.context.say("It came up just now: read it first.")
            return None
        return self.row

    @property
    def row(self) -> R | None:
        """The row under the cursor; None if that is of another kind."""
        item = self._item_here()
        return item.row if item is not None and item.kind == self.KIND else None

    @override
    def takes_key(self, action: Action) -> bool:
        """Keys act on the row under the cursor."""
        return self.row is not None

    @override
    def why_not(self, action: Action) -> str | None:
        """All actions need a row."""
        return f"No {self.ONE} is under the cursor." if self.row is None else None


class FoldedAsks(msgspec.Struct, frozen=True):
    """Further open questions of an agent, oldest first, in one line. `uid` is its key among the questions."""

    uid: str
    agent: str
    asks: tuple[Ask, ...]


AskLine = Ask | FoldedAsks
InboxLine = AskLine | InboxItem


def kind_of(line: InboxLine) -> Kind:
    """Return the kind of a line, as `open_needs` has it."""
    return line.need.kind if isinstance(line, InboxItem) else Kind.ASKS


_LAST: Final = 2**63
MAX_SHOWN: Final = 3
"""How many questions of one agent are listed before the others are folded."""


class AskFolding:
    """Folds the questions of an agent that asks many, but for its oldest ones."""

    def __init__(self) -> None:
        self._unfolded: set[str] = set()

    def lines(self, asks: Sequence[Ask]) -> list[AskLine]:
        """Return the lines of open questions, which are given oldest first."""
        by_agent: dict[str, list[Ask]] = {}
        for ask in asks:
            by_agent.setdefault(ask.agent, []).append(ask)
        lines: list[AskLine] = []
        for agent, own in by_agent.items():
            # One line would save nothing.
            most = MAX_SHOWN if len(own) > MAX_SHOWN + 1 and agent not in self._unfolded else len(own)
            lines += own[:most]
            if own[most:]:
                lines.append(FoldedAsks(f"folded:{agent}", agent, tuple(own[most:])))
        return lines

    def unfold(self, agent: str) -> None:
        """List all questions of an agent from now on."""
        self._unfolded.add(agent)


class InboxLines:
    """Reads the lines. `listed`: the most urgent kind first, each kind from the oldest; then what is put off."""

    def __init__(self, context: Context, sources: Mapping[str, RowSource[Any]], tasks: AskedTasks) -> None:
        """`tasks`: what questions are about."""
        self._tasks = tasks
        self._context = context
        self._sources = sources
        self._folding = AskFolding()
        self._needs = Needs(context)
        self.filter = ""
        """The words that hide other lines."""
        self._total = 0
        self.listed: InMemorySource[InboxLine] = InMemorySource(lambda line: line.uid, self._order)

    def read(self, under: Ask | None = None) -> set[str]:
        """Read all lines; return the keys of those that have changed. `under`, a question, stays when it is closed."""
        words = self.filter.casefold().split()
        lines: list[InboxLine] = [*self._folding.lines(self.asks())]
        needs = [need for need in self._needs.all() if self._shows(need)]
        lines += [item for source in self._sources.values() for item in source.read(needs)]
        self._total = len(lines)
        rows = [line for line in lines if not words or self._has(line, words)]
        if under is not None and all(line.uid != under.uid for line in rows):
            # It may be missing when the database was replaced or the past is shown.
            with contextlib.suppress(NotFound):
                rows.append(ask_queries.ask(self._context.db, under.uid))
        return self.listed.replace(rows)

    def _has(self, line: InboxLine, words: Sequence[str]) -> bool:
        """Return whether a line shows each of the words."""
        text = "\n".join(self._says(line)).casefold()
        return all(word in text for word in words)

    def _says(self, line: InboxLine) -> Iterator[str]:
        if isinstance(line, InboxItem):
            words = line.need.word, look(line.state).word
            yield from (line.number, line.title, agent_text.who(line.who), *words, line.place)
            yield from self._sources[line.kind].found_by(line.row) if line.row is not None else ()
            return
        for ask in line.asks if isinstance(line, FoldedAsks) else (line,):
            task = self._tasks.of(ask)
            about = f"#{task.number} about {task.name}" if task is not None else ""
            project = self._context.state.projects.of_ask(ask)
            yield from (agent_text.who(ask.agent), ask_text.request_line(ask), about, project, *ask.options)
            request = ask.request or {}
            given = request.get("input")
            yield str(request.get("cwd") or "")
            yield str((given.get("description") if isinstance(given, dict) else None) or "")

    def title(self, marked: int) -> list[Part]:
        """Return ` Inbox   2 of 9 with "words", 3 marked`; `marked`: how many rows are marked."""
        number = f"{len(self.listed.rows)} of {self._total}"
        words = [f'{number} with "{safe_line(self.filter, 20)}"'] if self.filter else []
        words += [f"{marked} marked"] if marked else []
        parts: list[Part] = [(" Inbox", "bold")]
        return [*parts, (f"   {', '.join(words)}", "$changed")] if words else parts

    def asks(self) -> list[Ask]:
        """Return the open questions of the chosen project."""
        projects = self._context.state.projects
        return [ask for ask in self._context.state.asks if projects.shows(projects.of_ask(ask))]

    def _shows(self, need: Need) -> bool:
        """Return whether it belongs to the chosen project."""
        projects = self._context.state.projects
        if not projects.is_alone or (need.kind != Kind.AGENTS and need.task is None):
            return True
        member = next((one for one in self._context.state.present if one.name == need.agent), None)
        if need.kind == Kind.AGENTS and member is not None:
            return projects.shows_member(member)
        return projects.shows(projects.of_task(need.task))

    def unfold(self, folded: FoldedAsks) -> None:
        """List each of the folded questions from now on."""
        self._folding.unfold(folded.agent)

    def unfold_of(self, uid: str | None) -> None:
        """List each question of the agent that asks the one with a uid."""
        named = next((ask for ask in self.asks() if ask.uid == uid), None)
        if named is not None:
            self._folding.unfold(named.agent)

    def next_after(self, key: str | None) -> str | None:
        """Return the key of the line that waits and was not put off that is the next below one, else above it."""
        return next((line.uid for line in self._around(key) if self._waits(line)), None)

    def next_question(self, key: str) -> str | None:
        """Return `next_after` among the lines with open questions."""
        lines = (line for line in self._around(key) if not isinstance(line, InboxItem))
        return next((line.uid for line in lines if self._waits(line)), None)

    def _around(self, key: str | None) -> Iterator[InboxLine]:
        """Return the lines below one from the nearest, then those above it from the nearest."""
        rows = self.listed.rows
        at = next((at for at, line in enumerate(rows) if line.uid == key), -1)
        return chain(rows[at + 1 :], reversed(rows[: max(at, 0)]))

    def _order(self, line: InboxLine) -> tuple[Any, ...]:
        """Return what lines are sorted by: their urgency, then their age."""
        if isinstance(line, InboxItem):
            return line.need.order
        oldest = line if isinstance(line, Ask) else line.asks[0]
        return _LAST if self.is_put_off(line) else Kind.ASKS, *ask_queries.by_age(oldest)

    def is_put_off(self, line: InboxLine) -> bool:
        """Return whether it is a question that the human has put off."""
        return line.uid in self._context.state.seen.put_off

    def _waits(self, line: InboxLine) -> bool:
        """Return whether the human is asked to decide about a line now: not about what failed or is late."""
        if isinstance(line, InboxItem):
            return line.need.kind not in FAILURES
        return not isinstance(line, Ask) or (line.state == "open" and not self.is_put_off(line))
