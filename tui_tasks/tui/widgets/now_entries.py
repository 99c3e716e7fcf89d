"""What the lines above the panes can show: how the agents are, what each does, and what needs the human."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.read.agents.session_queries import AgentSession
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.glyphs import Look, look
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND, age, age_lasts, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.state.app_state import MAX_DUE, MAX_FAILED
from tui_tasks.tui.tasks.task_note import failed_check
from tui_tasks.tui.widgets.now_entry import ASKS, COUNTS, FAILED, JOBS, LATE, OTHERS, TROUBLE, WHO, WORK, Entry

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.state.context import Context

_MAX_WORDS: Final = 200
_MAX_WHOLE: Final = 1_000
# The most questions that have an entry each; 1,000 may be open, and a screen has room for few.
_MOST_ASKS: Final = 40
# In cells: the longest name of the task of a failed check or of work to review.
_SHORT_NAME: Final = 24
# The states of agents, most urgent first.
_RANKS: Final = (
    "stuck",
    "gone",
    "stopped",
    "failed",
    "quiet",
    "working",
    "asking",
    "paused",
    "waiting",
    "ready",
    "idle",
)


class Health(NamedTuple):
    """How all agents are: how many there are, how many are in each kind of trouble (`1 stuck`), and how many failed."""

    total: int
    troubles: tuple[str, ...]
    failed: int


class NowEntries:
    """Makes the entries from the state. It calls `lasts` with how many microseconds they stay true."""

    def __init__(self, context: Context, lasts: Callable[[int], None]) -> None:
        self.context = context
        self.lasts = lasts

    def of_agents(self) -> tuple[list[Entry], Health]:
        """Return an entry for each agent, those in trouble and at work first; and how all are."""
        now, quiet_after = self.context.clock.now(), self.context.config.quiet_after * SECOND
        found: list[Entry] = []
        for member in self.context.state.members:
            shown = agent_text.state_of(member, now, quiet_after)
            if member.session is None and shown == "working":
                self.lasts(max(1, member.last_seen + quiet_after + 1 - now))
            if entry := self._of_member(member, shown, now, quiet_after):
                found.append(entry)
            elif member.is_there or shown in ("waiting", "working"):
                found.append(self._of_other(member, shown))
        found.sort(key=lambda entry: (entry.kind, entry.rank))
        kinds = [_RANKS[entry.rank] for entry in found if entry.kind == TROUBLE]
        troubles = (f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds) if kind != "failed")
        return found, Health(len(found), tuple(troubles), kinds.count("failed"))

    def sums(self, agents_failed: int) -> list[tuple[str, Look]]:
        """Return how many things need the human, have failed, or are late: `2 ask`, each with its look."""
        state, now = self.context.state, self.context.clock.now()
        asking, asks = len({ask.agent for ask in state.asks}), len(state.asks)
        tasks = len(self.late_tasks())
        late = tasks + sum(when < now for _, when in state.next_jobs)
        failed = state.failed + len(state.failing) + agents_failed
        found = (
            (asks, f"{asks} ask{'s' if asks == 1 else ''}" if asks == asking else count(asks, "question"), "needs_you"),
            (len(state.unproven), f"{count(len(state.unproven), 'check')} failed", "needs_you"),
            (len(state.reviewable), f"{len(state.reviewable)} to review", "reviewable"),
            (state.held, f"{state.held} filed", "held"),
            (failed, f"{failed:,} failed", "failed"),
            (late, f"{late}{_or_more(tasks)} late", "overdue"),
        )
        return [(words, look(kind)) for number, words, kind in found if number]

    def late_tasks(self) -> list[str]:
        """Return the uids of the open tasks whose due date is over, the first due first."""
        context = self.context
        if not context.state.due:
            return []
        now = task_fields.local_time(context.clock.now(), context.clock.zone)
        self.lasts(min(task_fields.FIELDS["due"].lasts(due, now) for _, due in context.state.due))
        return [uid for uid, due in context.state.due if due_dates.is_overdue(due, now)]

    def of_needs(self) -> Iterator[Entry]:
        """Yield what needs the human, most urgent first, then what has failed."""
        state = self.context.state
        yield from map(self._of_ask, state.asks[:_MOST_ASKS])
        if others := len(state.asks[_MOST_ASKS:]):
            text, looks = f"{others:,} more", look("needs_you")
            mark = looks.mark(ascii_only=self.context.ascii_only)
            yield Entry(ASKS, mark, looks.color, "", (text,), self.act("asks"), number=others, label="ask", whole=text)
        if failed := len(state.unproven):
            first, more = self._named(state.unproven[0]), _more(failed)
            task = list_pages.line(self.context.db, state.unproven[0])
            reason = failed_check(self.context, task) if task is not None else None
            more = f": {reason[0]}{more}" if reason is not None else more
            text = f"{count(failed, 'check')} failed"
            yield self._counted(
                "needs_you", text, "asks", failed, why=first, label="check failed", whole=f"{first}{more}"
            )
        if ready := len(state.reviewable):
            uid, counts = next(iter(state.reviewable.items()))
            first, more = self._named(uid), _more(ready)
            agent, since = state.first_to_review or ("", None)
            whole = "  ".join(filter(None, (first, agent_text.who(agent, WHO), _line(counts)))) + more
            yield self._counted(
                "reviewable",
                f"{ready} to review",
                "asks",
                ready,
                why=first,
                label="to review",
                whole=whole,
                since=since,
            )
        if state.held:
            text = f"{state.held} filed"
            yield self._counted("held", text, "asks", state.held, label="to accept", whole=f"{text} by agents")
        yield from self._failures()
        yield from self._late()

    def _is_ready(self, member: Member) -> bool:
        """Return whether an agent has ended its work, which waits to be merged."""
        return member.task is not None and member.task.uid in self.context.state.reviewable

    def _of_member(self, member: Member, shown: str, now: int, quiet_after: int) -> Entry | None:
        """Return the entry of an agent that is in trouble or at work; None of another."""
        is_ready = self._is_ready(member)
        if member.task is not None and not is_ready and member.has_left(now, quiet_after):
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
        if shown == "idle" and not is_ready and member.session is not None and member.task is not None:
            return self._at_rest(member, member.session, member.task, now)
        is_there = member.is_there or shown in ("waiting", "asking", "working")
        if not is_there or (member.task is None and shown != "working"):
            return None
        if is_ready and member.tool is None:
            return None
        if shown == "paused":
            return self._entry(WORK, member, shown, (" ".join(("paused", *self._about(member.task))),))
        return self._at_work(member, shown)

    def _of_other(self, member: Member, shown: str) -> Entry:
        """Return the entry of an agent that waits for an answer, whose work is ready, or that does nothing."""
        if shown == "waiting":
            about = self.context.state.asked_about.get(member.ask.uid) if member.ask is not None else None
            task = list_pages.line(self.context.db, about) if about is not None else None
            return self._entry(OTHERS, member, shown, (f"waiting #{task.number}" if task is not None else "waiting",))
        if self._is_ready(member) and member.task is not None:
            return self._entry(OTHERS, member, "ready", (f"#{member.task.number} to review",))
        return self._entry(OTHERS, member, "idle", ("idle",))

    def _starting(self, member: Member, now: int) -> Entry:
        """Return the entry of an agent that was started here and has reported nothing yet."""
        assert member.session is not None
        if agent_text.is_silent(member.session, now):
            return self._entry(TROUBLE, member, "quiet", (member.near or "may ask something in its terminal",))
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
        if shown not in ("working", "asking"):
            return None
        said = self._said(member)
        if task is None:
            prompt = member.session.last_prompt if member.session is not None and member.tool is not None else None
            return self._entry(WORK, member, shown, (said or "at work", *([_quoted(prompt)] if prompt else [])))
        return self._entry(WORK, member, shown, (*self._about(task), *([said] if said else [])))

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
        return (f"#{task.number}", _line(task.name, 40)) if task is not None else ()

    def _named(self, uid: str) -> str:
        task = list_pages.line(self.context.db, uid)
        return f"#{task.number} {_line(task.name, _SHORT_NAME)}" if task is not None else ""

    def _entry(self, kind: int, member: Member, shown: str, texts: tuple[str, ...]) -> Entry:
        looks, task = agent_text.LOOKS_OF_STATES[shown], member.task
        color = "$state-overdue" if shown == "gone" else looks.color
        act = (
            self._go_to(task.uid)
            if task is not None and shown in ("gone", "working", "asking", "paused")
            else self.act("agents")
        )
        text_color = color if kind == TROUBLE else ""
        mark = looks.mark(ascii_only=self.context.ascii_only)
        rank = _RANKS.index(shown)
        noun = {"waiting": "waiting", "ready": "ready", "idle": "idle"}.get(shown, "")
        return Entry(kind, mark, color, member.name, tuple(map(_line, texts)), act, text_color, rank=rank, noun=noun)

    def _of_ask(self, ask: Ask) -> Entry:
        looks, asked = look("needs_you"), agent_text.request_line(ask, ascii_only=self.context.ascii_only)
        task = self.context.state.asked_about.get(ask.uid)
        line = list_pages.line(self.context.db, task) if task is not None else None
        number = f"#{line.number} " if line is not None else ""
        return Entry(
            ASKS,
            looks.mark(ascii_only=self.context.ascii_only),
            looks.color,
            ask.agent,
            (_line(asked),),
            lambda: self.context.navigation.show_ask(self.context, ask.uid),
            whole=f"{number}{_whole(asked)}",
            since=ask.opened_at,
            is_question=not agent_text.is_permission(ask),
        )

    def _counted(
        self,
        state: str,
        text: str,
        action: str,
        number: int,
        kind: int = COUNTS,
        *,
        label: str,
        whole: str,
        why: str = "",
        since: int | None = None,
        noun: str = "",
        brief: str = "",
    ) -> Entry:
        looks = look(state)
        mark = looks.mark(ascii_only=self.context.ascii_only)
        texts, act = (text, why) if why else (text,), self.act(action)
        return Entry(kind, mark, looks.color, "", texts, act, looks.color, number, 0, label, whole, brief, since, noun)

    def _failures(self) -> Iterator[Entry]:
        """Yield how many tasks and jobs have failed, and why the last ones did."""
        state = self.context.state
        if number := state.failed:
            shown, more = state.failed_last, _more(number - len(state.failed_last) + 1)
            why = "; ".join(f"#{task.number} {_line(reason or task.name)}" for task, reason in shown)
            named = (
                f"#{task.number} {_line(task.name, 40)}{': ' * bool(reason)}{_line(reason)}" for task, reason in shown
            )
            whole, brief = f"{'; '.join(named)}{more}", f"task {why}{more}"
            since = shown[0][0].updated_at if shown else None
            text, noun = f"{count(number, 'task')} failed", count(number, "task")
            yield self._counted(
                "failed", text, "attention", number, FAILED, why=why,
                noun=noun, label="failed", whole=f"task {whole}", brief=brief, since=since,
            )  # fmt: skip
        if state.failing:
            number, first = len(state.failing), _line(state.failing[0].name, _SHORT_NAME)
            text = f"job {first} failed" if number == 1 else f"{count(number, 'job')} failed"
            named = (
                f"{_line(name, _SHORT_NAME)}{': ' * bool(reason)}{_line(reason)}"
                for name, reason, _ in state.failing[:MAX_FAILED]
            )
            since, more = state.failing[0][2], _more(number - MAX_FAILED + 1)
            whole = f"{'; '.join(named)}{more}"
            why = _line(state.failing[0].why) if number == 1 else whole
            yield self._counted(
                "failed", text, "pane_schedule", number, JOBS, why=why,
                noun=count(number, "job"), label="failed", whole=f"job {whole}", since=since,
            )  # fmt: skip

    def _late(self) -> Iterator[Entry]:
        """Yield how many tasks are late, and the first of them."""
        late = self.late_tasks()
        if not late:
            return
        number = f"{len(late)}{_or_more(len(late))}"
        first, due = self._named(late[0]), dict(self.context.state.due)[late[0]]
        now = task_fields.local_time(self.context.clock.now(), self.context.clock.zone)
        since = task_fields.FIELDS["due"].short(due, now)
        noun = f"{number} task{'s' * (len(late) != 1)}"
        others = "  and others" if _or_more(len(late)) else _more(len(late))
        whole = f"task {first}: {since}{others}"
        entry = self._counted(
            "overdue", f"{noun} late", "", len(late), LATE, why=first, label="late", whole=whole, noun=noun
        )
        yield msgspec.structs.replace(entry, act=self._go_to(late[0]))

    # Clicks

    def act(self, action: str) -> Callable[[], None]:
        """Return what a click does that performs an action."""
        return lambda: self.context.do(action)

    def _go_to(self, uid: str) -> Callable[[], None]:
        def go() -> None:
            self.context.navigation.close_overlays()
            self.context.navigation.go_to(uid)

        return go


def _line(text: str, cells: int = _MAX_WORDS) -> str:
    """Return a text as one line with single spaces: the entries of a line stand apart by more."""
    return re.sub(" {2,}", " ", safe_line(text, cells))


@lru_cache(128)
def _whole(text: str) -> str:
    return _line(text, _MAX_WHOLE)


def _quoted(text: str | None) -> str:
    return f'"{_line(text)}"' if text else ""


def _or_more(late: int) -> str:
    """Return the sign after a number of late tasks of which not all are known."""
    return "+" if late >= MAX_DUE else ""


def _more(number: int) -> str:
    return f"  +{number - 1} more" if number > 1 else ""
