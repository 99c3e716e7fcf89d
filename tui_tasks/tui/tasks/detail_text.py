"""The text of a task in full: what is read of it, and how it is worded, from its agent to the tasks that it blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask, Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import ask_queries, message_queries, overview, work_queries, work_text
from tui_tasks.core.read.message_queries import Sent
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.snapshots import LogEntry, Task
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, in_quotes, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts, ago, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.layout import WIDE
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, beside, block, spaced, wrapped
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.tasks.task_text import field_parts

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.links import LinkLines

# The number of newest log entries shown, and the characters of each; the log pane shows all.
MAX_LOG = 100
MAX_OF_ENTRY = 500
# The most lines of a title and the most tags, so that the text after them stays visible.
TITLE_LINES = 4
# How many questions that wait no more are shown, and how many are compared with the task.
MAX_CLOSED = 5
_COMPARED = 20
# Of a question that waits no more, and of its answer.
_LINES_OF_CLOSED = 3
MAX_TAGS = 20
# The most log entries and lines of the description in a place of a few lines.
_LOG_IN_BRIEF = 8
_WORDS_IN_BRIEF = 8
# The most lines of the output of a failed check there.
_OUTPUT_IN_BRIEF = 6
# In cells: the room from which these stand side by side, and the least between them.
_TWO_COLUMNS = WIDE - 2
_BETWEEN = 4
# The most messages to its agent.
_MAX_SENT = 2
# In cells: what stands around title and state in a head, and in one that is a rule; the width of a small screen.
_AROUND_HEAD = 4
_AROUND_RULE = 8
_SMALL = 46

# The parts of one fact about a task.
Fact: TypeAlias = tuple[Part, ...]


class TaskDetails:
    """A task with its log, questions and neighbours, read at one moment."""

    def __init__(self, context: Context, task: Task, line: TaskLine) -> None:
        db = context.db
        self.task = task
        self.line = line
        self.number = line.number
        self.state = context.state.status_of(line)
        self.log: list[LogEntry] = task_records.newest_log(db, task.uid, MAX_LOG)
        self.log_count = len(self.log) if len(self.log) < MAX_LOG else task_records.log_count(db, task.uid)
        self.after = [before for uid in task.depends_on if (before := list_pages.line(db, uid)) and not before.deleted]
        self.blocks = overview.dependents(db, task.uid)
        has_works = task.uid in context.state.works.reviewable or task.uid in context.state.works.races
        works = work_queries.of_task(db, task.uid) if has_works else []
        self.works = [work for work in works if work.state in vocab.LIVE_WORK]
        self.ready_since = {work.uid: work_queries.ready_since(db, work) for work in self.works}
        self.counts = {work.uid: work_text.counts_text(db, work.uid) for work in self.works}
        self.unsent = {work.uid: _unsent(db, work) for work in self.works}
        self.merges = work_text.merges(db, task.uid) if context.state.works.has_any else []
        self.asks: list[Ask] = [ask for ask in context.state.asks if context.state.asked_about.get(ask.uid) == task.uid]
        self.closed_asks: list[Ask] = _closed_asks(db, line)
        self.sent = _sent(db, task, self.log)

    def is_outdated_by(self, changes: StateChanges) -> bool:
        """Return whether changes touch a task shown here."""
        shown = (self.line, *self.after, *self.blocks)
        return changes.touches("ask", "human_message") or not changes.tasks().isdisjoint(task.uid for task in shown)


class DetailText(TextDrawing):
    """Draws the text below the head. `brief`: the most important lines, for a place of a few lines. `is_beside`: the
    head is no rule.
    """

    details: TaskDetails | None = None
    brief = False
    is_beside = False
    links: LinkLines | None = None

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, from the task's agent to the tasks it blocks."""
        details, room = self.details, max(8, width - 2)
        if details is None:
            return []
        if self.brief:
            return self._in_brief(details, width, height)
        lines: list[Drawn] = []
        head, facts = self.head_and_rest(details, width, self.lasts)
        if head[0][0] != f"#{details.number} {safe_line(details.task.name)}":
            title = self._words(details.task, details.task.name, room, "bold")
            lines += title[:TITLE_LINES]
            if len(title) > TITLE_LINES:
                lines.append(_line(f"… of {len(details.task.name):,} characters", "$muted"))
        lines += [*_of_facts(facts, room), *self._failed(details, room)]
        lines += self._after_failure(details)
        lines += self._fields(details.task, room)
        for ask in details.asks:
            lines += [*self._asked(ask, room), ()]
        lines += self._standstill(details, room)
        lines += self._to_review(details, room)
        lines += task_text.check_lines(self.context, details.task, room)
        if details.task.description:
            lines += [
                *([()] if lines and lines[-1] else []),
                *self._words(details.task, details.task.description, room),
            ]
        if self.links is not None:
            lines += self.links.lines(details.task, room)
        if details.task.result is not None:
            result = _as_text(details.task.result)
            lines += [(), _line("Result", "$muted"), *(block(result, room) if result else [])]
        lines += self._neighbours("After", details.after, room)
        lines += self._neighbours("Blocks", details.blocks, room)
        if details.closed_asks:
            lines += [(), _line("Questions  newest first", "$muted")]
            lines += [line for ask in details.closed_asks for line in self._closed(ask, room)]
        if details.sent:
            lines += [(), *self._sent(details, room)]
        if details.log:
            lines += [(), _line(f"Log ({details.log_count:,})  newest first", "$muted")]
            lines += self._log(details, details.log, room)
        return [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]

    def _in_brief(self, details: TaskDetails, width: int, height: int) -> list[Drawn]:
        """Return what is asked or to be reviewed, why it failed, what checks have proven, the newest log entries, the
        description, and the tasks around it, then the facts that the head has no room for, due date, links and the like
        where there is room; an empty line between these parts where all of it has room.
        """
        room = max(8, width - 2)
        waits = [line for ask in details.asks for line in self._asked(ask, room)] + self._to_review(details, room)
        closed = [line for ask in details.closed_asks[:1] for line in self._closed(ask, room)]
        proof = task_text.check_lines(self.context, details.task, room, _OUTPUT_IN_BRIEF)
        failed = [] if self._is_logged_last(details) else self._failed(details, room)
        parts = [waits + failed + self._standstill(details, room), proof, closed, self._sent(details, room)]
        left = height - sum(len(part) + 1 for part in parts if part)
        if both := self._side_by_side(details, room, left):
            parts.append(both)
        else:
            parts += [self._log(details, details.log[:_LOG_IN_BRIEF], room), *self._about(details, room)]
        _, rest = self.head_and_rest(details, width, self.lasts)
        facts = [*_of_facts(rest, room), *self._fields(details.task, room)]
        if facts and sum(len(part) + 1 for part in parts if part) + len(facts) <= height:
            parts.append(facts)
        links = self.links.lines(details.task, room)[1:] if self.links is not None else []
        for more in (links, self._after_failure(details)):
            if more and sum(len(part) + 1 for part in parts if part) + len(more) <= height:
                parts.append(more)
        return spaced(parts, height)

    def _about(self, details: TaskDetails, room: int) -> list[list[Drawn]]:
        """Return the beginning of the description, and the tasks around it."""
        words = self._words(details.task, details.task.description, room) if details.task.description else []
        around = [*self._neighbours("After", details.after, room), *self._neighbours("Blocks", details.blocks, room)]
        return [words[:_WORDS_IN_BRIEF], [line for line in around if line]]

    def _side_by_side(self, details: TaskDetails, room: int, height: int) -> list[Drawn]:
        """Return the newest log entries, and the rest at their right; nothing where there is one of them alone, or no
        room for both.
        """
        if room < _TWO_COLUMNS:
            return []
        column = room // 2
        left = self._log(details, details.log[:_LOG_IN_BRIEF], column - _BETWEEN)
        right = spaced(self._about(details, room - column), height)
        if not left or not right or max(len(left), len(right)) > height:
            return []
        return list(beside(left, right, column))

    def _failed(self, details: TaskDetails, room: int) -> list[Drawn]:
        """Return why it, or the agent on it, has failed."""
        has_failed = details.state == "failed" or details.task.uid in self.context.state.failed_work
        why = task_text.reason(self.context, details.line, details.state) if has_failed else None
        return block(why[0], room, "$state-failed") if why is not None else []

    def _after_failure(self, details: TaskDetails) -> list[Drawn]:
        """Return the keys that show what a failed agent has shown, and start another one."""
        if details.task.uid not in self.context.state.failed_work:
            return []
        key = self.context.keymap.key_of
        shows = [(f" {key('work_peek')}", "$key"), (" shows its last lines, ", "$muted")]
        return [[*shows, (key("work_start"), "$key"), (" starts another agent", "$muted")]]

    def _is_logged_last(self, details: TaskDetails) -> bool:
        """Return whether the newest log entry, which stands below, is why it has failed."""
        reason = task_records.end_reason(self.context.db, details.line)
        return bool(details.log) and details.state == "failed" and details.log[0].message == reason

    def _standstill(self, details: TaskDetails, room: int) -> list[Drawn]:
        """Return that its agent has left, is silent or suspended."""
        uid = details.task.uid
        if (lasts := task_text.standstill_lasts(self.context, uid)) is not None:
            self.lasts(lasts)
        text = task_text.stands_still(self.context, uid)
        return block(text, room, "$state-overdue") if text is not None else []

    def _to_review(self, details: TaskDetails, room: int) -> list[Drawn]:
        """Return what there is to review, whose work it is and since when it waits, and the key that shows it; of a
        race also the works that are not ready.
        """
        lines: list[Drawn] = []
        for work in details.works:
            is_ready = work.state in ("ready", "conflict")
            shown = look("reviewable" if is_ready else "in_progress")
            texts = (details.counts[work.uid], work_text.obstacle(self.context.db, work))
            what = safe_line("  ".join(dict.fromkeys(filter(None, texts)))) or (shown.word if is_ready else work.state)
            since = details.ready_since[work.uid] if is_ready else work.started_at
            facts = [agent_text.who(work.agent, 20), *([work.branch] if work.branch else [])]
            facts.append(f"{'ready' if is_ready else 'started'} {self._age(since, short=False)}")
            lines += block(f"{shown.mark(ascii_only=self.context.ascii_only)} {what}", room, shown.color)
            lines.append(_line(safe_line(" · ".join(facts), room), "$muted"))
            if unsent := details.unsent[work.uid]:
                lines.append(_line(f"{count(unsent, 'comment')} of yours not sent yet", "$changed"))
        if details.task.uid in self.context.state.works.reviewable and lines:
            key = self.context.keymap.key_of("open")
            what = "them" if len(details.works) > 1 else "it"
            lines.append([(f" {key}", "$key"), (f" reviews {what}: files, diff, checks", "$muted")])
        for text, at in details.merges:
            lines += block(f"{text}, {self._age(at, short=False)}", room, "$muted")
        return lines

    def _asked(self, ask: Ask, room: int) -> list[Drawn]:
        """Return a question about the task, with who asks it."""
        from tui_tasks.tui.asks.request_lines import asked_lines

        head = f"{agent_text.who(ask.agent, 40)} asks: "
        lines = asked_lines(ask, room, "$state-needs-you", head=head, ascii_only=self.context.ascii_only)
        key = self.context.keymap.key_of("asks")
        answers: list[Drawn] = [[(f" {key}", "$key"), (" answers it", "$muted")]]
        return lines if self.context.link.read_only else [*lines, *answers]

    def _closed(self, ask: Ask, room: int) -> list[Drawn]:
        """Return the beginning of a question that waits no more, then its answer, whose that is, and its age."""
        from tui_tasks.tui.asks import ask_text  # few tasks have a closed one

        now, who = self.context.clock.now(), agent_text.who(ask.agent, 40)
        if ask.answered_at is not None:
            self.lasts(age_lasts(ask.answered_at, now))
        # In one line and in quotes, as its words could imitate the answer below it.
        head = f"{who} asked: "
        shown = in_quotes(safe_ends(ask_text.request_line(ask), room - cell_len(head) - 2))
        asked = _line(f"{head}{shown}", "$muted")
        return [asked, *block(ask_text.closed(ask, now, MAX_OF_ENTRY), room, "")[:_LINES_OF_CLOSED]]

    def _words(self, task: Task, text: str, room: int, style: str = "") -> list[Drawn]:
        """Return words of a task; of one that waits to be accepted as the human decides about them."""
        if task.held and text:
            from tui_tasks.tui.asks.request_lines import unhidden_prose

            return [*unhidden_prose(text, room, style, ascii_only=self.context.ascii_only).lines]
        return block(text, room, style)

    def _age(self, instant: int, *, short: bool) -> str:
        now = self.context.clock.now()
        self.lasts(age_lasts(instant, now))
        return age(instant, now) if short else ago(instant, now)

    def state_of(self, details: TaskDetails) -> Part:
        """Return `◐ in progress`."""
        shown = task_text.state_look(self.context, details.task.uid, details.state)
        return f"{shown.mark(ascii_only=self.context.ascii_only)} {shown.word}", shown.color

    def head_and_rest(
        self, details: TaskDetails, width: int, lasts: Callable[[int], None]
    ) -> tuple[list[Part], list[Fact]]:
        """Return the title with the facts that have room beside it, and the other facts."""
        around = _AROUND_HEAD if self.is_beside else _AROUND_RULE
        left = width - around - cell_len(self.state_of(details)[0])
        title = safe_line(f"#{details.number} {details.task.name}", max(8, left))
        head: list[Part] = [(title, "bold")]
        left -= cell_len(title)
        facts = self._facts(details, width, lasts)
        for at, fact in enumerate(facts):
            left -= 3 + parts_width(fact)
            if left < 0:
                return head, facts[at:]
            head += [(" · ", "$muted"), *fact]
        return head, []

    def _facts(self, details: TaskDetails, width: int, lasts: Callable[[int], None]) -> list[Fact]:
        """Return who has a task, since when it is in progress, its priority and tags, its domain, whose claim it is,
        and when it was changed: the most important first.
        """
        task, now, small = details.task, self.context.clock.now(), width < _SMALL
        facts = [agent_text.who(details.line.who)] if details.line.who else []
        if task.started_at is not None and task.status == "in_progress":
            lasts(age_lasts(task.started_at, now))
            facts.append(f"{age(task.started_at, now)} in" if small else f"started {ago(task.started_at, now)}")
        marks = [(f"#{safe_line(tag)}", "$muted") for tag in task.tags[:MAX_TAGS]]
        marks += [(f"{len(task.tags) - MAX_TAGS} more tags", "$muted")] if len(task.tags) > MAX_TAGS else []
        urgency = task_text.priority_look(task)
        marks = [*([urgency] if urgency is not None else []), *marks]
        blanks = [part for mark in marks for part in ((" ", ""), mark)][1:]
        others = [safe_line(task.domain)] if task.domain else []
        if task.claimed_by and task.claimed_by != details.line.who:
            others.append(f"claimed by {agent_text.who(task.claimed_by)}")
        if not self.brief:
            lasts(age_lasts(task.updated_at, now))
            others.append(f"{'' if small else 'updated '}{ago(task.updated_at, now)}")
        shown = [*(((fact, "$muted"),) for fact in facts), tuple(blanks), *(((fact, "$muted"),) for fact in others)]
        return [fact for fact in shown if fact]

    def _fields(self, task: Task, room: int) -> list[Drawn]:
        lines: list[Drawn] = []
        for (text, style), lasts in field_parts(self.context, task, long=True, without=("links",)):
            self.lasts(lasts)
            lines += block(text, room, style)
        return lines

    def _neighbours(self, title: str, tasks: list[TaskLine], room: int) -> list[Drawn]:
        lines: list[Drawn] = [()] if tasks else []
        for task in tasks[:10]:
            shown = look(self.context.state.status_of(task))
            mark = f"  {shown.mark(ascii_only=self.context.ascii_only)} {shown.word}"
            name = safe_line(f"{title}  #{task.number} {task.name}", max(8, room - cell_len(mark)))
            lines.append([(f" {name}", ""), (mark, shown.color)])
        return lines

    def _sent(self, details: TaskDetails, room: int) -> list[Drawn]:
        """Return the last messages to its agent, newest first, each with whether it was delivered."""
        who = agent_text.who(details.task.who, 30)
        return [agent_text.sent_line(sent, self.context, room, to=who) for sent in details.sent]

    def _log(self, details: TaskDetails, entries: list[LogEntry], room: int) -> list[Drawn]:
        lines: list[Drawn] = []
        for entry in entries:
            known = entry.agent == details.task.who
            who = "" if known else f"{agent_text.who(entry.agent)}: "
            when = f"{self.context.clock.time_of(entry.at)}  "
            first, *rest = wrapped(f"{who}{entry.message}"[:MAX_OF_ENTRY], max(8, room - cell_len(when)))
            lines.append([(f" {when}", "$muted"), (first, "")])
            lines += [[(f" {' ' * cell_len(when)}{line}", "")] for line in rest]
        return lines


def _closed_asks(db: Database, task: TaskLine) -> list[Ask]:
    """Return the newest questions about a task that wait no more, newest first."""
    recent = ask_queries.closed(db, task.uid, task.who)[:_COMPARED]
    if not recent:
        return []

    return ask_queries.about_task(db, recent, task.uid)[:MAX_CLOSED]


def _sent(db: Database, task: Task, log: Sequence[LogEntry]) -> list[Sent]:
    """Return the last messages to the agent at work on a task, newest first, but for comments, which its log has."""
    if task.status != "in_progress":
        return []
    logged = {entry.message for entry in log}
    sent = message_queries.newest(db, task.who, _MAX_SENT)
    return [one for one in sent if one.message.sent_at >= (task.started_at or 0) and one.message.text not in logged]


def _unsent(db: Database, work: Work) -> int:
    """Return how many comments on a work the human has written and not sent."""
    from tui_tasks.tui.work import reviewed_work  # few tasks have work

    return len(reviewed_work.kept(db, work.uid))


def _of_facts(facts: Sequence[Fact], room: int) -> list[Drawn]:
    """Return facts in muted lines, a priority among them in its colour."""
    if not facts:
        return []
    colored = next((part for fact in facts for part in fact if part[1] not in ("", "$muted")), ("", ""))
    lines: list[Drawn] = []
    for line in block(" · ".join("".join(text for text, _ in fact) for fact in facts), room, "$muted"):
        before, found, after = "".join(text for text, _ in line).partition(colored[0] or "\n")
        lines.append([(before, "$muted"), colored, (after, "$muted")] if found else line)
    return lines


def _line(text: str, style: str) -> Drawn:
    return [(f" {text}", style)]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
