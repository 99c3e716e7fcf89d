"""The two lines above every pane: what needs the human and what has failed; below it, what each agent does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual import events

from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.agents.session_queries import AgentSession
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import SECOND, age, age_lasts, count, due
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.widgets.frame import NARROW, WIDE, as_of_words, is_compact

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.state.context import Context

# In cells: the longest name of an agent, and the name that is never cut.
_WHO: Final = 16
_SHORT_WHO: Final = 9
# In cells: the least of a text that is worth showing, on a wide screen and on a narrow one, and the least of a task's
# name beside its agent's last word.
_LEAST_WIDE: Final = 16
_LEAST_NARROW: Final = 10
_LEAST_NAME: Final = 10
_MAX_WORDS: Final = 200
# In cells: the longest name of the task of a failed check or of work to review.
_SHORT_NAME: Final = 24

# The kinds of entries, most urgent first.
TROUBLE, ASKS, COUNTS, WORK, FAILED = range(5)
NEEDS_YOU: Final = (ASKS, COUNTS, FAILED)
"""Those of the first line."""
AGENTS: Final = (TROUBLE, WORK)
"""Those of the second: what each agent does, those that are stuck or gone first."""
# The states of agents that have an entry, most urgent first.
_RANKS: Final = ("gone", "stuck", "stopped", "failed", "quiet", "working", "paused")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that the line shows: its first text, and the others as far as there is room.

    The texts of an agent at work are its task's number, that task's name, and its own last word, which gives way last.
    `act` is performed by a click on it.
    """

    kind: int
    mark: str
    color: str
    who: str
    texts: tuple[str, ...]
    act: Callable[[], None]
    text_color: str = ""
    number: int = 1
    """How many things it stands for."""
    rank: int = 0
    """Its place among those of its kind."""

    @property
    def name(self) -> str:
        """The name of its agent as it is shown."""
        return agent_text.who(self.who)

    def least(self, text: int) -> int:
        """Return the least width in cells that is worth showing; `text`: that of its texts."""
        least = text + 2 if self.kind == TROUBLE else text
        first = cell_len(self.texts[0]) if self.kind in (COUNTS, FAILED) else min(cell_len(" ".join(self.texts)), least)
        return self._head(min(cell_len(self.name), _SHORT_WHO)) + first

    @property
    def most(self) -> int:
        """The width in cells with which nothing is cut."""
        return self._head(min(cell_len(self.name), _WHO)) + cell_len(" ".join(self.texts))

    def parts(self, cells: int, *, ascii_only: bool) -> list[Part]:
        """Return it in at most so many cells."""
        parts: list[Part] = [(f"{self.mark} ", self.color)]
        if self.who:
            texts = cell_len(" ".join(self.texts))
            room = min(_WHO, max(_SHORT_WHO, cells - self._head(0) - 1 - texts))
            who = safe_ends(self.name, room, ascii_only=ascii_only)
            parts.append((f"{who} ", "$muted" if self.kind == WORK else self.color))
        left = cells - sum(cell_len(text) for text, _ in parts)
        return [*parts, (self._fitted(left, ascii_only), self.text_color)]

    @staticmethod
    def _head(who: int) -> int:
        return 2 + (who + 1 if who else 0)

    def _fitted(self, room: int, ascii_only: bool) -> str:
        """Return the texts in so many cells."""
        whole = " ".join(self.texts)
        if cell_len(whole) <= room:
            return whole
        if self.kind in (COUNTS, FAILED) and room - cell_len(self.texts[0]) <= _LEAST_NARROW:
            return safe_line(self.texts[0], room, ascii_only=ascii_only)
        if self.kind != WORK or len(self.texts) < 3:
            return safe_line(whole, room, ascii_only=ascii_only)
        number, name, said = self.texts
        left = room - cell_len(number) - cell_len(said) - 2
        if left >= _LEAST_NAME:
            return f"{number} {safe_line(name, left, ascii_only=ascii_only)} {said}"
        return safe_line(f"{number} {said}", room, ascii_only=ascii_only)


class NowLine(FrameLine):
    """What needs the human, and what has failed; where there is one line only, what agents do as well.

    It is cut to the width; a click on a part goes to what it names.
    """

    def __init__(self, context: Context, kinds: Collection[int], *, id: str) -> None:
        """Create a line of these kinds of entries. Where there is one line only, it shows all."""
        super().__init__(context, self._drawn, id=id)
        self._kinds = kinds
        self._acts: list[Callable[[], None] | None] = []

    def _drawn(self, width: int) -> Sequence[Part]:
        return self._in_short(width) if width < NARROW else self._in_words(width)

    # With room for words

    def _in_words(self, width: int) -> list[Part]:
        """`? claude-2 Bash: rm -rf build/   ◐ claude-1 #5 Ship auth flow "tests 14/22"   +1   ✗ 1 failed`."""
        found, is_alone = list(self._entries()), is_compact(self.app.size)
        entries = [entry for entry in found if is_alone or entry.kind in self._kinds]
        gap, least = ("   ", _LEAST_WIDE) if width >= WIDE else ("  ", _LEAST_NARROW)
        # One cell at each side stays empty, as in all lines.
        room = width - 2
        shown = _chosen(entries, room, len(gap), least)
        widths = _shared(shown, room - _needed(entries, shown, len(gap), least), least)
        line = _Line()
        for kind in dict.fromkeys(entry.kind for entry in entries):
            these = [entry for entry in entries if entry.kind == kind]
            few = [entry for entry in shown if entry.kind == kind]
            for entry in few:
                parts = entry.parts(widths[shown.index(entry)], ascii_only=self.context.ascii_only)
                line.add(parts, entry.act, gap)
            if not few:
                line.add([(f"{these[0].mark} {_number(these)}", these[0].color)], these[0].act, gap)
            elif len(these) > len(few):
                line.add([(f"+{_number(these) - _number(few)}", these[0].color)], these[len(few)].act, " ")
        if (is_alone or WORK in self._kinds) and not any(entry.kind == WORK for entry in entries):
            self._add_if_room(line, self._idle(), gap, width)
        if (is_alone or ASKS in self._kinds) and not any(entry.kind < WORK for entry in entries):
            has_trouble = any(entry.kind == TROUBLE for entry in found)
            self._add_if_room(line, f"nothing {'else ' * has_trouble}needs you", gap, width)
        self._acts = line.acts
        return line.parts

    @staticmethod
    def _add_if_room(line: _Line, text: str, gap: str, width: int) -> None:
        if line.size + cell_len(gap + text) < width:
            line.add([(text, "$muted")], None, gap)

    def _idle(self) -> str:
        here = self.context.state.agent_count
        if here and self.context.link.as_of is None:
            return f"{count(here, 'agent')}, none at work"
        return "no agent connected" if self.context.link.as_of is None else "no agent at work"

    def _entries(self) -> Iterator[Entry]:
        """Yield all that the line could show, most urgent first."""
        context, state, now = self.context, self.context.state, self.context.clock.now()
        quiet_after = context.config.quiet_after * SECOND
        found: list[Entry] = []
        for member in state.members:
            shown = agent_text.state_of(member, now, quiet_after)
            if member.session is None and shown == "working":
                self.lasts(max(1, member.last_seen + quiet_after + 1 - now))
            if entry := self._of_member(member, shown, now, quiet_after):
                found.append(entry)
        found.sort(key=lambda entry: entry.rank)
        yield from (entry for entry in found if entry.kind == TROUBLE)
        yield from map(self._of_ask, state.asks)
        if failed := len(state.unproven):
            first = self._named(state.unproven[0])
            yield self._counted("needs_you", f"{count(failed, 'check')} failed", "asks", failed, why=first)
        if ready := len(state.reviewable):
            first = self._named(next(iter(state.reviewable)))
            yield self._counted("reviewable", f"{ready} to review", "asks", ready, why=first)
        if state.held:
            yield self._counted("held", f"{state.held} filed", "asks", state.held)
        yield from (entry for entry in found if entry.kind == WORK)
        yield from self._failures()

    def _of_member(self, member: Member, shown: str, now: int, quiet_after: int) -> Entry | None:
        """Return the entry of an agent that is in trouble or at work; None of another."""
        to_review = member.task is not None and member.task.uid in self.context.state.reviewable
        if member.task is not None and not to_review and member.has_left(now, quiet_after):
            return self._entry(TROUBLE, member, "gone", (f"gone from {' '.join(self._about(member.task))}",))
        if shown == "stuck" and member.stuck is not None:
            return self._entry(TROUBLE, member, shown, (member.stuck.text,))
        if shown == "stopped":
            return self._entry(TROUBLE, member, shown, (" ".join(("stopped", *self._about(member.task))),))
        if shown == "quiet":
            self.lasts(age_lasts(member.last_seen, now))
            return self._entry(
                TROUBLE, member, shown, (f"quiet {age(member.last_seen, now)}", *self._about(member.task))
            )
        if shown == "failed" and not agent_text.is_over(member, now, self.context.state.seen_at):
            why, _ = agent_text.matter(member, self.context, shown)
            return self._entry(TROUBLE, member, shown, (why or "failed",))
        if shown == "idle" and agent_text.is_starting(member.session):
            return self._starting(member, now)
        if shown == "idle" and not to_review and member.session is not None and member.task is not None:
            return self._at_rest(member, member.session, member.task, now)
        if not member.is_there or (member.task is None and shown != "working"):
            return None
        if shown == "paused":
            return self._entry(WORK, member, shown, (" ".join(("paused", *self._about(member.task))),))
        return self._at_work(member, shown)

    def _starting(self, member: Member, now: int) -> Entry:
        """Return the entry of an agent that was started here and has reported nothing yet."""
        assert member.session is not None
        if agent_text.is_silent(member.session, now):
            return self._entry(TROUBLE, member, "quiet", ("may ask something in its terminal",))
        self.lasts(member.session.started_at + SILENT_AFTER + 1 - now)
        return self._entry(WORK, member, "working", (*self._about(member.task), "starts"))

    def _at_rest(self, member: Member, session: AgentSession, task: TaskLine, now: int) -> Entry | None:
        """Return the entry of an agent that was started here and has ended its turn with nothing to review."""
        work = work_queries.of_agent(self.context.db, member.name)
        if work is None or work.state != "working":
            return None
        rests_at = (member.since or now) + SILENT_AFTER
        if now <= rests_at:  # what it has changed is looked at
            self.lasts(rests_at + 1 - now)
            return None
        words = ("waits at its prompt", f"#{task.number}", _quoted(session.last_message or ""))
        return self._entry(TROUBLE, member, "quiet", words)

    def _at_work(self, member: Member, shown: str) -> Entry | None:
        """Return the entry of an agent at work: its task and its last word."""
        task = member.task
        if shown == "waiting":
            ask = next((one for one in reversed(self.context.state.asks) if one.agent == member.name), None)
            # One that has asked about something else, and has done something since, goes on with its task.
            goes_on = ask is not None and task is not None and ask.task_uid not in (None, task.uid)
            if not (goes_on and ask is not None and member.session is None and member.last_seen > ask.opened_at):
                return None
        elif shown != "working":
            return None
        said = self._said(member)
        if task is None:
            prompt = member.session.last_prompt if member.session is not None and member.tool is not None else None
            return self._entry(WORK, member, "working", (said or "at work", *([_quoted(prompt)] if prompt else [])))
        return self._entry(WORK, member, "working", (*self._about(task), *([said] if said else [])))

    def _said(self, member: Member) -> str:
        """Return the last word of an agent: its tool, else what it said, about its task if it has one."""
        session, word, task = member.session, member.word, member.task
        if session is not None:
            said = session.last_message or (session.last_prompt if member.task is None else "")
            return _line(member.tool) if member.tool is not None else _quoted(said)
        if task is not None and (word is None or word.task != task.uid):
            return _quoted(task_records.last_said(self.context.db, task.uid, member.name))
        return _quoted(word.text) if word is not None and word.kind in ("logged", "asked", "ran") else ""

    def _about(self, task: TaskLine | None) -> tuple[str, ...]:
        return (f"#{task.number}", safe_line(task.name, 40)) if task is not None else ()

    def _named(self, uid: str) -> str:
        task = list_pages.line(self.context.db, uid)
        return f"#{task.number} {safe_line(task.name, _SHORT_NAME)}" if task is not None else ""

    def _entry(self, kind: int, member: Member, shown: str, texts: tuple[str, ...]) -> Entry:
        looks, task = agent_text.LOOKS_OF_STATES[shown], member.task
        color = "$state-overdue" if shown == "gone" else looks.color
        act = (
            self._go_to(task.uid) if task is not None and shown in ("gone", "working", "paused") else self._do("agents")
        )
        text_color = color if kind == TROUBLE else ""
        mark = looks.mark(ascii_only=self.context.ascii_only)
        rank = _RANKS.index(shown)
        return Entry(kind, mark, color, member.name, tuple(map(_line, texts)), act, text_color, rank=rank)

    def _of_ask(self, ask: Ask) -> Entry:
        looks = look("needs_you")
        return Entry(
            ASKS,
            looks.mark(ascii_only=self.context.ascii_only),
            looks.color,
            ask.agent,
            (_line(agent_text.request_line(ask)),),
            lambda: self._show_ask(ask.uid),
        )

    def _counted(self, state: str, text: str, action: str, number: int, kind: int = COUNTS, why: str = "") -> Entry:
        looks = look(state)
        mark = looks.mark(ascii_only=self.context.ascii_only)
        texts = (text, why) if why else (text,)
        return Entry(kind, mark, looks.color, "", texts, self._do(action), looks.color, number)

    def _failures(self) -> Iterator[Entry]:
        """Yield how many tasks and jobs have failed, and why the last one did."""
        state = self.context.state
        jobs, number = state.failing, state.failed + len(state.failing)
        if state.failed:
            also = f", {count(len(jobs), 'job')}" if jobs else ""
            text, why = f"{state.failed:,} failed{also}", ""
            if state.failed_last is not None:
                task, reason = state.failed_last
                why = f"#{task.number} {_line(reason or task.name)}"
            yield self._counted("failed", text, "attention", number, FAILED, why)
        elif jobs:
            text = f"{safe_ends(jobs[0], 24) if len(jobs) == 1 else count(len(jobs), 'job')} failed"
            yield self._counted("failed", text, "pane_schedule", number, FAILED)

    # With room for marks and numbers

    def _in_short(self, width: int) -> list[Part]:
        """`◐ #5 40s   ? 2   ✗ 1   ◷ 12h`, of which the last that do not fit are left out."""
        context = self.context
        groups = list(self._short_groups())
        if context.link.as_of is not None and is_compact(self.app.size):
            # The line of the panes, which also shows it, is hidden.
            groups.insert(0, ([(as_of_words(context, context.link.as_of, 0), "$state-overdue")], None))
        line = _Line()
        for parts, act in groups:
            if line.size + 3 + sum(cell_len(text) for text, _ in parts) <= width:
                line.add(parts, act, "   ")
        self._acts = line.acts
        return line.parts

    def _short_groups(self) -> Iterator[tuple[list[Part], Callable[[], None] | None]]:
        state, now = self.context.state, self.context.clock.now()
        entries = list(self._entries())
        trouble = [entry for entry in entries if entry.kind == TROUBLE]
        if trouble:
            more = f" +{len(trouble) - 1}" if len(trouble) > 1 else ""
            yield [(f"{trouble[0].mark} {safe_ends(trouble[0].name, 8)}{more}", trouble[0].color)], trouble[0].act
        work = [entry for entry in entries if entry.kind == WORK]
        for entry in work[:1]:
            member = next(one for one in state.members if one.name == entry.who)
            self.lasts(age_lasts(member.last_seen, now))
            what = f"#{member.task.number}" if member.task is not None else safe_ends(entry.name, 8)
            more = f" +{len(work) - 1}" if len(work) > 1 else ""
            yield [(f"{entry.mark} ", entry.color), (f"{what} {age(member.last_seen, now)}{more}", "")], entry.act
        if not work and not trouble:
            yield [("idle", "$muted")], None
        if state.need_you:
            needs = look("needs_you")
            yield (
                [(f"{needs.mark(ascii_only=self.context.ascii_only)} {state.need_you}", needs.color)],
                self._do("asks"),
            )
        if ready := len(state.reviewable):
            shown = look("reviewable")
            yield [(f"{shown.mark(ascii_only=self.context.ascii_only)} {ready}", shown.color)], self._do("asks")
        if state.held:
            held = look("held")
            yield [(f"{held.mark(ascii_only=self.context.ascii_only)} {state.held}", held.color)], self._do("asks")
        if total := state.failed + len(state.failing):
            failed = look("failed")
            act = self._do("attention" if state.failed else "pane_schedule")
            yield [(f"{failed.mark(ascii_only=self.context.ascii_only)} {total:,}", failed.color)], act
        if state.next_job is not None:
            when = state.next_job[1]
            self.lasts(age_lasts(when, now))
            mark, color = sign("scheduled", ascii_only=self.context.ascii_only), ""
            if when < now:
                mark, color = look("overdue").mark(ascii_only=self.context.ascii_only), "$state-overdue"
            words = due(when, now).removeprefix("in ").removeprefix("overdue ")
            yield [(f"{mark} {words}", color)], self._do("pane_schedule")

    # Clicks

    def _do(self, action: str) -> Callable[[], None]:
        return lambda: self.context.do(action)

    def _go_to(self, uid: str) -> Callable[[], None]:
        return lambda: self.context.navigation.go_to(uid)

    def _show_ask(self, uid: str) -> None:
        from tui_tasks.tui.inbox.inbox_screen import Inbox

        self.context.link.check()
        self.context.push(Inbox(self.context, uid))

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        at = self.part_number(event.x)
        act = self._acts[at] if at is not None and at < len(self._acts) else None
        if act is not None:
            act()


class _Line:
    """A line that is put together from groups of parts, each with what a click on it does."""

    def __init__(self) -> None:
        self.parts: list[Part] = [(" ", "")]
        self.acts: list[Callable[[], None] | None] = [None]

    def add(self, parts: Sequence[Part], act: Callable[[], None] | None, gap: str) -> None:
        if len(self.parts) > 1:
            self.parts.append((gap, ""))
            self.acts.append(None)
        self.parts += parts
        self.acts += [act] * len(parts)

    @property
    def size(self) -> int:
        return sum(cell_len(text) for text, _ in self.parts)


def _line(text: str) -> str:
    return safe_line(text, _MAX_WORDS)


def _quoted(text: str | None) -> str:
    return f'"{safe_line(text, _MAX_WORDS)}"' if text else ""


def _chosen(entries: Sequence[Entry], room: int, gap: int, least: int) -> list[Entry]:
    """Return the entries for which there is room: one of each kind first, then the most urgent."""
    one_of_each = list({entry.kind: entry for entry in reversed(entries)}.values())[::-1]
    shown: list[Entry] = []
    for entry in (*one_of_each, *(entry for entry in entries if entry not in one_of_each)):
        wanted = [one for one in entries if one in shown or one is entry]
        if _needed(entries, wanted, gap, least) <= room:
            shown = wanted
    return shown


def _needed(entries: Sequence[Entry], shown: Sequence[Entry], gap: int, least: int) -> int:
    """Return the least width in cells of some entries, and of the number of all others by their kinds."""
    cells = -gap
    for kind in {entry.kind for entry in entries}:
        number = _number(entry for entry in entries if entry.kind == kind)
        few = [entry for entry in shown if entry.kind == kind]
        cells += sum(entry.least(least) for entry in few) + gap * max(1, len(few))
        if not few or _number(few) < number:
            cells += 2 + len(str(number - _number(few)))
    return cells


def _number(entries: Iterable[Entry]) -> int:
    return sum(entry.number for entry in entries)


def _shared(entries: Sequence[Entry], room: int, least: int) -> list[int]:
    """Return the width of each entry: what it needs at least, and an equal share of `room` up to what it can use.

    Reasons of failures, which rows show as well, get what the others leave.
    """
    widths = [entry.least(least) for entry in entries]
    for is_failure in (False, True):
        these = [at for at, entry in enumerate(entries) if (entry.kind == FAILED) == is_failure]
        while room > 0 and (short := [at for at in these if widths[at] < entries[at].most]):
            for at in short:
                more = min(max(1, room // len(short)), entries[at].most - widths[at], room)
                widths[at] += more
                room -= more
    return widths
