"""What list and board show of a task beside its name: due date, questions, proof, and who emptied the list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask, Check
from tui_tasks.core.read import check_queries, work_text
from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_records
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Task, verified
from tui_tasks.text.glyphs import PROOF_LOOKS, Look, look, proof_words
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import age_lasts, ago, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, wrapped
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.core.operations import Operation
    from tui_tasks.core.read.pages.change_summaries import Deletion

# The number of last lines of a failed check's output that a detail shows.
OUTPUT_LINES: Final = 8
_KEYS: Final = "123456789"


def checks_of(context: Context, task: Any) -> list[Check]:
    """Return a task's checks; `task` is a `Task` or a `TaskLine`."""
    home = context.state.lists.get(task.list_id)
    known = check_queries.definitions(context.db)
    if home is None or not (known or task.checks):
        return []
    return check_queries.of_tasks(context.db, [(task.uid, task.checks)], home, known).get(task.uid, [])


class Proof(NamedTuple):
    """What checks have proven of a task, in a word or two (None: nothing to say), and whether nothing speaks against a
    task that is done: it has no checks, or they have passed.
    """

    note: Part | None
    is_proven: bool


def proof(context: Context, task: Any) -> Proof:
    """Return what checks have proven of a task; of one that is not done, only when its checks have been run."""
    checks = checks_of(context, task)
    state = verified(check.state for check in checks)
    if state is None or (task.status != "done" and state == "unproven"):
        return Proof(None, is_proven=True)
    failed = [check.name for check in checks if check.state == "failed"]
    note = proof_words(state, failed, ascii_only=context.ascii_only), PROOF_LOOKS[state].color
    return Proof(note, is_proven=state == "passed")


def failed_check(context: Context, task: TaskLine) -> str | None:
    """Return `tests failed: 1 failed, 1 passed` of a task that needs the human because a check has failed."""
    if task.uid not in context.state.failing_checks:
        return None
    from tui_tasks.text.output_lines import check_failure  # the first paint does not wait for it

    failed = [check for check in checks_of(context, task) if check.state == "failed"]
    # The mark of the task's state says it too.
    words = proof_words("failed", [check.name for check in failed], ascii_only=context.ascii_only).partition(" ")[2]
    run = failed[0].run if failed else None
    why = check_failure(run.output or "") if run is not None else ""
    return f"{words}{': ' if why else ''}{safe_line(why, _NOTE_CHARS)}"


def check_lines(context: Context, task: Task, room: int, most: int = OUTPUT_LINES) -> list[Drawn]:
    """Return a task's checks for its detail: each with its state, a failed one with its failed test, why that failed,
    and the last lines of its output that say something else, `most` in all, those of errors in its colour.

    Of work to review only its review says what has not been proven: there, checks are about the files of the work.
    """
    drawn: list[Drawn] = []
    is_reviewed = task.uid in context.state.works.reviewable
    for check in checks_of(context, task):
        if is_reviewed and check.state == "unproven":
            continue
        shown, run = PROOF_LOOKS[check.state], check.run
        style = shown.color
        verdict = (
            shown.word if check.state != "failed" or run is None or run.exit_code is None else f"exit {run.exit_code}"
        )
        commit = run.git_commit if run is not None else None
        of = " of its branch" if run is not None and run.worktree is not None else ""
        where = [f"on {check.host}"] if check.host else []
        facts = [verdict, *where, *["gate"] * check.gate, *([f"at commit {commit[:7]}{of}"] if commit else [])]
        head = f" {shown.mark(ascii_only=context.ascii_only)} "
        name = safe_line(check.name, max(4, room - cell_len(head) - 2))
        more = f"  {' · '.join(facts)}"[: max(0, room - cell_len(name) - 2)]
        drawn.append([(head, style), (name, ""), (more, style)])
        if check.state == "failed" and run is not None and run.output:
            drawn += _output_lines(run.output, max(8, room - 2), most, style)
    return drawn


def _output_lines(output: str, cells: int, most: int, style: str) -> list[Drawn]:
    """Return where and why a check failed, and the last other lines of its output, `most` in all."""
    from tui_tasks.text.output_lines import names_error, said_once

    place, why, others = said_once(output)
    first = [
        (line, color)
        for text, color in ((place, ""), (why, style))
        for line in (wrapped(safe_line(text, _NOTE_CHARS), cells) if text else [])
    ][:most]
    rest = [line for line in wrapped("\n".join(others).rstrip(), cells) if line.strip()]
    if len(rest) + len(first) > most:
        rest = rest[-most:][len(first) :]
    of_rest = ((line, style if names_error(line) else "$muted") for line in rest)
    return [[(f"   {line}", color)] for line, color in (*first, *of_rest)]


_ENDED: Final = {
    "passed": "passed",
    "stale": "passed",
    "failed": "failed",
    "interrupted": "was interrupted",
    "unproven": "has not run",
}


def ended_text(checks: Iterable[Check]) -> str:
    """Return how the runs of checks ended: `tests failed: assert 403 == 200, types passed while files changed`."""
    from tui_tasks.text.output_lines import check_failure  # the first paint does not wait for it

    ends = []
    for check in checks:
        state = check.run.state if check.run is not None else "unproven"
        words = (
            f"{safe_line(check.name, 20)} {_ENDED.get(state, state)}{' while files changed' * (check.state == 'stale')}"
        )
        why = check_failure(check.run.output or "") if check.run is not None and state == "failed" else ""
        ends.append(f"{words}{': ' * bool(why)}{safe_line(why, _NOTE_CHARS)}")
    return ", ".join(ends)


def choices(context: Context, task: Task) -> Iterator[tuple[str, str, str, tuple[Operation, ...]]]:
    """Yield the actions on a task's checks: a key, its word, its style, and the operations."""
    from tui_tasks.core.operations.jobs import GiveChecks, RequestChecks

    known = sorted({each.name for each in check_queries.definitions(context.db)})
    checks = checks_of(context, task)
    has = [*dict.fromkeys(check.name for check in checks)]
    for key, name in zip(_KEYS, [*known, *(name for name in has if name not in known)], strict=False):
        is_given = name in has
        names = tuple(each for each in has if each != name) if is_given else (*has, name)
        state = verified(check.state for check in checks if check.name == name) or ""
        known_as = f"  ({PROOF_LOOKS[state].word})" if is_given else ""
        word = f"{'take' if is_given else 'give'} {safe_line(name, 40)}{known_as}"
        yield key, word, "" if is_given else "$muted", (GiveChecks(task.uid, names),)
    if task.checks is not None:
        yield "l", "those of its list", "", (GiveChecks(task.uid, None),)
    if checks:
        yield "r", "run them now", "", (RequestChecks(task.uid),)


# The states whose marks have a colour that calls the human: a reason beside such a mark needs none.
_ATTENTION: Final = ("needs_you", "check_failed", "left", "quiet", "reviewable", "failed", "agent_failed")
_NOTE_CHARS: Final = 400
# The most dependencies read to find the one that blocks a task.
_MAX_DEPENDENCIES: Final = 20
_PRIORITIES: Final[dict[int, Part]] = {
    vocab.URGENT: ("!urgent", "$urgent"),
    vocab.HIGH: ("!high", "$state-overdue"),
    vocab.LOW: ("!low", "$muted"),
}


def ask_of(context: Context, task: TaskLine) -> Ask | None:
    """Return the oldest open question about a task."""
    return next((ask for ask in context.state.asks if context.state.asked_about.get(ask.uid) == task.uid), None)


def after_text(context: Context, task: TaskLine) -> str:
    """Return what a blocked task waits for, a failed one first: `after #5 +1`, `after #5 (failed)`."""
    read = (list_pages.line(context.db, uid) for uid in task.depends_on[:_MAX_DEPENDENCIES])
    waited_for = [waited for waited in read if waited and vocab.blocks_dependents(waited.status, waited.deleted)]
    first = min(waited_for, key=lambda waited: waited.status != "failed", default=None)
    if first is None:
        return "blocked"
    return ready_tasks.blocked_text(first.number, first.status, len(waited_for) - 1)


def last_word(context: Context, task: TaskLine, state: str) -> str:
    """Return what its worker said last: quoted for a task in progress, of a race who is at it; the reason for a failed
    or cancelled one.
    """
    if state == "in_progress":
        if (works := context.state.works.races.get(task.uid)) is not None:
            return work_text.agents_text(works)
        said = task_records.last_said(context.db, task.uid, task.who)
        return quoted(said) if said else ""
    if state in ("failed", "skipped", "cancelled"):
        return safe_line(task_records.end_reason(context.db, task), _NOTE_CHARS)
    return ""


def quoted(text: str) -> str:
    """Return a text as one safe line in quotes."""
    return f'"{safe_line(text, _NOTE_CHARS)}"'


def field_parts(
    context: Context, task: Any, *, long: bool = False, without: Collection[str] = ()
) -> Iterator[tuple[Part, int]]:
    """Yield a part for each of `task_fields.FIELDS` with a value, and for how many microseconds they stay true.

    `without`: fields to leave out. A late value is marked. `task`: a `Task`, or a `TaskLine`, which has only some
    fields.
    """
    values = task_fields.of(task)
    if not values:
        return
    now = task_fields.local_time(context.clock.now(), context.clock.zone)
    late = look("overdue")
    for name, value in values.items():
        if name in without:
            continue
        field = task_fields.FIELDS[name]
        words = (field.long if long else field.short)(value, now)
        is_late = not task.finished_at and field.is_late(value, now)
        mark = f"{late.mark(ascii_only=context.ascii_only)} " if is_late else ""
        yield (f"{mark}{words}", late.color if is_late else "$muted"), field.lasts(value, now)


def late_mark(context: Context, task: TaskLine) -> Part | None:
    """Return the mark of an open task with a late value, for a row without room for the value."""
    values = {} if task.finished_at else task_fields.of(task)
    if not values:
        return None
    now = task_fields.local_time(context.clock.now(), context.clock.zone)
    late = look("overdue")
    is_late = any(task_fields.FIELDS[name].is_late(value, now) for name, value in values.items())
    return (late.mark(ascii_only=context.ascii_only), late.color) if is_late else None


def state_look(context: Context, uid: str, state: str) -> Look:
    """Return the mark, word and colour of a task in a state of `AppState.status_of`, or of its agent that is stuck."""
    return look("stuck" if state == "in_progress" and uid in context.state.stuck else state)


def stands_still(context: Context, uid: str) -> str | None:
    """Return `claude-1 gone 5m` of a task whose agent is gone, or why else nobody is at work on it (`left_text`), and
    `claude-1 stuck: suspended` where its agent is stuck; None of other tasks.
    """
    if (left := context.state.without_agent(uid)) is not None:
        name, now = safe_ends(agent_text.who(left.agent), 16), context.clock.now()
        return agent_states.left_text(left, name, now)
    if (stuck := context.state.stuck.get(uid)) is not None:
        return f"{safe_ends(agent_text.who(stuck.agent), 16)} stuck: {safe_line(stuck.why, _NOTE_CHARS)}"
    return None


def standstill_lasts(context: Context, uid: str) -> int | None:
    """Return for how many microseconds `stands_still` stays the same; None: until something changes."""
    left = context.state.without_agent(uid)
    return None if left is None else age_lasts(left.at, context.clock.now())


def reason(context: Context, task: TaskLine, state: str) -> Part | None:
    """Return why a task stands still or needs the human: its agent is gone or stuck, it is held, a question, or why it
    or the agent that was started on it failed; None if it does not.

    It has a colour of its own only where the mark of the state does not call the human.
    """
    if (why := stands_still(context, task.uid)) is not None:
        return why, "$muted" if state in _ATTENTION else "$state-overdue"
    if state == "held":
        return "new task?", "$muted"
    ask = ask_of(context, task) if state == "needs_you" else None
    if ask is not None:
        from tui_tasks.tui.asks import ask_text  # few lists begin with a question

        asker = "" if ask.agent == task.who else f"{safe_ends(agent_text.who(ask.agent), 16)}: "
        asked = safe_line(ask_text.request_line(ask, ascii_only=context.ascii_only), _NOTE_CHARS)
        return f"{asker}{asked}", "$muted"
    if state == "reviewable":
        return safe_line(context.state.works.reviewable[task.uid] or "to be reviewed", 60), "$muted"
    word = last_word(context, task, state) if state == "failed" else ""
    word = failed_work(context, task.uid) or word
    return (word, "$muted" if state in _ATTENTION else "$state-failed") if word else None


def failed_work(context: Context, uid: str) -> str | None:
    """Return `claude-1 ended with exit 3` of a task on which an agent that the human started has failed; else None.

    What another agent has made of the task shows once the human has hidden it.
    """
    state = context.state
    failed = state.works.failed.get(uid)
    if failed is None or (failed.become and uid not in state.failed_work):
        return None
    return safe_line(failed.text, _NOTE_CHARS)


def last_words(context: Context, task: TaskLine, state: str) -> Part | None:
    """Return what its agent said last, or why it was ended."""
    word = last_word(context, task, state)
    return (word, "$muted") if word else None


def priority(task: TaskLine) -> Part | None:
    """Return the priority of an open task, unless it is the usual one."""
    return None if task.finished_at else priority_look(task)


def priority_look(task: Task | TaskLine) -> Part | None:
    """Return the priority of a task, unless it is the usual one; faint where the task is over."""
    part = _PRIORITIES.get(min(task.priority, vocab.LOW))
    return part if part is None or not task.finished_at else (part[0], "$muted")


class EmptiedNote:
    """The last deletion in the current list; read once for each state of the journal."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._read_at: tuple[int, int] | None = None
        self._found: Deletion | None = None

    def text(self) -> str:
        """Return `rogue deleted 24 tasks here 9m ago`; empty when no task was deleted recently."""
        deletion = self._deletion()
        if deletion is None:
            return ""
        when = ago(deletion.at, self._context.clock.now())
        when = f"just {when}" if when == "now" else when
        return f"{agent_text.who(deletion.actor)} deleted {count(deletion.tasks, 'task')} here {when}"

    def way_back(self) -> str:
        """Return what takes the deletion back, in words."""
        return "bring it back" if self._found is not None and self._found.tasks == 1 else "bring them back"

    def short(self) -> str:
        """Return `rogue deleted 24`, for a column of the board."""
        deletion = self._deletion()
        return f"{agent_text.who(deletion.actor)} deleted {deletion.tasks:,}" if deletion else ""

    def _deletion(self) -> Deletion | None:
        now = (self._context.link.seq, self._context.state.list_id)
        if now != self._read_at and self._context.link.seq:
            from tui_tasks.core.read.pages.change_summaries import last_deletion  # for lists that had tasks

            self._read_at, self._found = now, last_deletion(self._context.db, self._context.state.list_id)
        return self._found


def twin(context: Context, uid: str) -> str:
    """Return which other open task of its list has the title of a task, as a sentence; empty if none has, or the list
    is very long.
    """
    line = list_pages.line(context.db, uid)
    home = context.state.lists.get(line.list_id) if line is not None else None
    is_short = home is None or home.total <= list_pages.MAX_SORTED
    number = task_queries.open_twin(context.db, uid) if is_short else None
    return f"#{number} has this title, too. " if number is not None else ""
