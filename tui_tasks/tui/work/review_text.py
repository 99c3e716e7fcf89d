"""The texts of a review: its head, with the state of the checks, and what there is to know of the work as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.read import check_queries, work_text
from tui_tasks.core.snapshots import Task
from tui_tasks.text.glyphs import PROOF_LOOKS
from tui_tasks.text.output_lines import said_once
from tui_tasks.text.safe import cell_len, fit, one_to_one, safe_ends, safe_line
from tui_tasks.text.times import SECOND, age_lasts, ago, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, block, quoted
from tui_tasks.tui.state.context import Context
from tui_tasks.work.comments import comments_in

if TYPE_CHECKING:
    from tui_tasks.work.git.reviewing import CommitLine, FileChange, Review

_MAX_NAMED: Final = 50
_OUTPUT_CHARS: Final = 4_000


class WorkFacts(msgspec.Struct, frozen=True):
    """What is reviewed.

    Attributes:
        task: the task; `work`: the work on it.
        place: which of the works on the task it is, from 1; `places`: how many there are.
        review: what git has; None: not read yet, or not to be read.
        checks: the checks of the task, with their states on the reviewed tree.
        problem: why it cannot be reviewed.
        can_push: whether a pull request has somewhere to go, or there is one.
        sent: the comments that were sent last, and when; `sent_version`: of which review, if it is known.
    """

    task: Task
    work: Work
    place: int = 1
    places: int = 1
    review: Review | None = None
    checks: tuple[Check, ...] = ()
    problem: str = ""
    can_push: bool = False
    sent: tuple[str, int] | None = None
    sent_version: str | None = None

    @property
    def is_on_base(self) -> bool:
        """Whether the work was done on the branch itself with which it is compared."""
        return self.review is not None and self.work.is_on_base and self.review.base == self.work.base

    @property
    def is_same(self) -> bool:
        """Whether the work waits for review as it was when the human sent it back."""
        is_waiting = self.review is not None and self.sent is not None and self.work.state in ("ready", "conflict")
        # An agent sets the dates of its commits.
        return is_waiting and self.review is not None and self.review.version == self.sent_version

    @property
    def is_merge(self) -> bool:
        """Whether accepting the work merges something."""
        return not self.is_on_base and not (self.review is not None and self.review.adds_nothing)


def title(facts: WorkFacts, width: int, *, ascii_only: bool) -> list[Part]:
    """` Review  #31 Rotate keys  claude-1`; on a narrow screen `#31 Rotate…  claude-1  ✓ tests`."""
    task, work = facts.task, facts.work
    is_narrow = width < NARROW
    state = "" if work.state == "ready" else f"  {work.state}"
    race = f"  {facts.place} of {facts.places}" if facts.places > 1 else ""
    who = f"  {agent_text.who(work.agent, 10 if is_narrow else 24)}"
    proof = _proof(facts, ascii_only=ascii_only) if is_narrow else []
    head = " " if is_narrow else " Review  "
    taken = sum(map(cell_len, (head, who, race, state, *(text for text, _ in proof))))
    room = width - taken - 1 if is_narrow else min(width // 3, width - taken - 1)
    name = safe_line(f"#{task.number} {task.name}", max(8, room), ascii_only=ascii_only)
    return [
        (head, "$muted" if is_narrow else "bold"),
        (name, "bold"),
        (who, "$muted"),
        (race, "$changed"),
        (state, "$state-overdue"),
        *proof,
    ]


def _proof(facts: WorkFacts, *, ascii_only: bool) -> list[Part]:
    """`  ✓ 2  ✗ 1`: how many checks are in which state."""
    if facts.review is None:
        return []
    if _none_ran(facts):
        return [(f"  {PROOF_LOOKS['unproven'].word}", _UNPROVEN)]
    counts = Counter(check.state for check in facts.checks)
    shown = [(PROOF_LOOKS[state], number) for state, number in counts.items()]
    return [(f"  {look.mark(ascii_only=ascii_only)} {number}", look.color) for look, number in shown]


_UNPROVEN: Final = "$state-overdue"


def _none_ran(facts: WorkFacts) -> bool:
    """Return whether no check of the task has begun on the reviewed tree."""
    return all(check.state == "unproven" for check in facts.checks)


def _claim(facts: WorkFacts, room: int, *, ascii_only: bool) -> list[Drawn]:
    """Return what the agent says of its work, no louder than what its checks say."""
    said: list[Drawn] = [[(f" {agent_text.who(facts.work.agent, 24)} says:", "")]]
    said += quoted(facts.work.summary or "", room, ascii_only=ascii_only)
    is_proven = bool(facts.checks) and all(check.state == "passed" for check in facts.checks)
    return said if is_proven else [[(text, "$muted") for text, _ in line] for line in said]


def _sent(context: Context, facts: WorkFacts, room: int) -> list[Drawn]:
    """Return what the human last sent back, to compare it with the work."""
    if facts.sent is None:
        return []
    text, at = facts.sent
    said = quoted(comments_in(text)[:_OUTPUT_CHARS], room, ascii_only=context.ascii_only)
    same = block("Nothing has changed since.", room, "$state-overdue") if facts.is_same else []
    return [[(f" You sent back {ago(at, context.clock.now())}", "bold")], *said, *same]


_WHOLE: Final = "The work as a whole"


# The places of the facts in the line, what matters most first.
_BY_WEIGHT: Final = (2, 0, 3, 1, 4)


def facts_line(facts: WorkFacts, unsent: int, width: int, *, ascii_only: bool) -> list[Part]:
    """`2 files +7 -1 · 2 commits ahead of main · ✓ tests  on this tree · 1 comment to send · task/31-rotate-keys`, as
    much as there is room for; `unsent`: how many comments are not sent yet.
    """
    review, work = facts.review, facts.work
    behind = f", {review.behind:,} behind" if review is not None and review.behind else ""
    commits = f"{count(review.ahead, 'commit')}{_beyond(facts, 24)}{behind}" if review is not None else ""
    pieces: list[list[Part]] = [
        [(summary_word(facts), "$state-failed" if facts.problem else "")],
        [(commits, "$muted")],
        checks(facts, ascii_only=ascii_only),
        [(f"{count(unsent, 'comment')} to send" if unsent else "", "$changed")],
        [(safe_line(work.branch or "no branch", 40), "$muted")],
    ]
    dot, kept, left = " - " if ascii_only else " · ", set[int](), width + 3
    for at in _BY_WEIGHT:
        cells = parts_width(pieces[at])
        if cells and cells + 3 <= left:
            kept.add(at)
            left -= cells + 3
    parts = [part for at in sorted(kept) for part in ((dot, "$muted"), *pieces[at])]
    return parts[1:]


def whole_word(facts: WorkFacts) -> str:
    """Return what the row above the files says; the line above it has the numbers."""
    return _WHOLE if facts.review is not None else summary_word(facts)


def path_line(change: FileChange | None, place: str, width: int) -> list[Part]:
    """Return the path of the file that is shown, and which of the files it is; None: the work as a whole."""
    if change is None:
        return [(f" {_WHOLE}", "$muted")]
    more = "  not committed" if not change.is_committed else ""
    room = max(4, width - len(more) - len(place))
    path = safe_ends(one_to_one(change.path), room - 1)
    return [(f" {path}", "bold"), (place, "$muted"), (more, "$state-overdue")]


def checks(facts: WorkFacts, *, ascii_only: bool) -> list[Part]:
    """`✗ types  ✓ tests  on this tree`, the failed ones first."""
    if facts.review is None:
        return []
    if _none_ran(facts):
        why = "no check ran" if facts.checks else "it has no check"
        return [(f"{PROOF_LOOKS['unproven'].word}: {why}", _UNPROVEN)]
    parts: list[Part] = []
    for check in sorted(facts.checks, key=lambda check: check.state != "failed"):
        shown = PROOF_LOOKS[check.state]
        word = f" {shown.word}" if check.state in ("stale", "running") else ""
        parts += [(f"{shown.mark(ascii_only=ascii_only)} ", shown.color), (f"{safe_line(check.name, 16)}{word}  ", "")]
    return [*parts, ("on this tree", "$muted")]


def summary_word(facts: WorkFacts) -> str:
    """`12 files +41 -7`."""
    review = facts.review
    if review is None:
        return "reading" if not facts.problem else "cannot be read"
    counts = review.counts()
    lines = f"+{counts['insertions']:,} -{counts['deletions']:,}"
    wrong = [
        *([count(len(review.conflicts), "conflict")] if review.conflicts else []),
        *([f"{len(review.uncommitted):,} not committed"] if review.is_dirty else []),
        *(["as you sent it back"] if facts.is_same else []),
        *([f"nothing new for {safe_line(review.base, 24)}"] if review.adds_nothing else []),
    ]
    return ", ".join((f"{count(len(review.files), 'file')} {lines}", *wrong))


class WorkSummary(TextDrawing):
    """Draws what there is to know of the work in a narrow column: without places, ids and times."""

    def __init__(
        self,
        context: Context,
        facts: Callable[[], WorkFacts],
        has_line: Callable[[], bool],
        is_beside: Callable[[], bool],
    ) -> None:
        """`has_line` returns whether the line of facts is on screen, which names the branch below the commits;
        `is_beside` returns whether all of it is on screen beside this column.
        """
        super().__init__(context)
        self._facts = facts
        self._has_line = has_line
        self._is_beside = is_beside

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return what is wrong, the agent's words, the commits and the checks, unless all of it stands beside them."""
        if self._is_beside():
            return []
        facts, room = self._facts(), max(10, width - 2)
        review, work = facts.review, facts.work
        if review is None:
            return summary(self.context, facts, room)
        lines = _troubles(self.context, facts, room)
        lines += [*_claim(facts, room, ascii_only=self.context.ascii_only), []] if work.summary else []
        if facts.sent is not None:
            self.lasts(age_lasts(facts.sent[1], self.context.clock.now()))
            lines += [*_sent(self.context, facts, room), []]
        of = "" if self._has_line() else _beyond(facts, 24)
        lines.append([(f" {count(len(review.commits), 'commit')}{of}", "bold")])
        lines += [[(f"   {safe_line(commit.title, room - 3)}", "")] for commit in review.commits[:_MAX_NAMED]]
        return lines + _checks(self.context, facts, room)


def summary(context: Context, facts: WorkFacts, room: int) -> list[Drawn]:
    """Return what there is to know of the work as a whole: conflicts first, then what is noted, commits, checks."""
    review, work = facts.review, facts.work
    if facts.problem:
        where = [] if work.worktree in facts.problem else block(f"It is in {work.worktree}", room, "$muted")
        return [*block(facts.problem, room, "$state-failed"), *where]
    if review is None:
        return block("Reading the work.", room, "$muted")
    lines = _troubles(context, facts, room)
    who = agent_text.who(work.agent, 40)
    started = f"{who} started {ago(work.started_at, context.clock.now())}, in {work.worktree}"
    lines += block(started, room, "$muted")
    if work.summary:
        lines += [[], *_claim(facts, room, ascii_only=context.ascii_only)]
    lines += [[], *sent] if (sent := _sent(context, facts, room)) else []
    lines += [[], [(f" {count(len(review.commits), 'commit')}{_beyond(facts, 40)}", "bold")]]
    lines += [_commit(context, commit, room) for commit in review.commits]
    if review.behind:
        lines += block(f"{review.base} has {count(review.behind, 'commit')} that it lacks", room, "$muted")
    return lines + _checks(context, facts, room)


def _beyond(facts: WorkFacts, cells: int) -> str:
    """` ahead of main`; work on the base branch itself is not ahead of it."""
    review = facts.review
    if review is None:
        return ""
    base = safe_line(review.base, cells)
    return f" on {base} itself" if facts.is_on_base else f" ahead of {base}"


def _troubles(context: Context, facts: WorkFacts, room: int) -> list[Drawn]:
    """Return what is in the way, with a blank line below each: conflicts, what is not committed, notes."""
    review, work = facts.review, facts.work
    lines: list[Drawn] = []
    if review is None:
        return lines
    if review.conflicts:
        lines += _paths(f"It does not merge into {review.base}. In conflict:", review.conflicts, room, "$state-failed")
        lines += [*block(f"{context.keymap.key_of('work_send')} hands it back to the agent.", room, "$muted"), []]
    elif review.adds_nothing:
        key = context.keymap.key_of("work_accept")
        has = "" if review.ahead else ", which has its commits (reverted ones stay so)"
        text = f"It has nothing new for {review.base}{has}: nothing is merged, {key} sets the task done."
        lines += [*block(text, room, "$state-overdue"), []]
    elif work.message:
        lines += [*block(work_text.obstacle(context.db, work), room, "$state-failed"), []]
    if review.is_dirty:
        lines += [*_paths("Not committed:", review.uncommitted, room, "$state-overdue"), []]
    for note in review.notes:
        lines += block(note, room, "$state-overdue")
    return [*lines, []] if review.notes else lines


def _commit(context: Context, commit: CommitLine, room: int) -> Drawn:
    when = ago(commit.at * SECOND, context.clock.now())
    title = safe_line(commit.title, max(8, room - 30))
    author = safe_line(commit.author, 12)
    return [(f"   {commit.id[:9]} ", "$secondary"), (f"{title} ", ""), (f" {author}, {when}", "$muted")]


def _paths(title: str, paths: Sequence[str], room: int, style: str) -> list[Drawn]:
    more = [f"and {len(paths) - _MAX_NAMED} more"] if len(paths) > _MAX_NAMED else []
    named = [safe_line(one_to_one(path), room - 3) for path in paths[:_MAX_NAMED]]
    return [*block(title, room, style), *([(f"   {name}", "")] for name in (*named, *more))]


def _checks(context: Context, facts: WorkFacts, room: int) -> list[Drawn]:
    if not facts.checks:
        words = "[check.NAME] in the configuration file defines a check."
        if check_queries.definitions(context.db):
            words = f"`tui-tasks check give {facts.task.number} NAME` gives #{facts.task.number} a check."
        return [[], *block(words, room, "$muted")]
    lines: list[Drawn] = [[], [(" Checks on this tree", "bold")]]
    cells = min(20, max(cell_len(safe_line(check.name)) for check in facts.checks))
    for check in facts.checks:
        shown = PROOF_LOOKS[check.state]
        gate = f"{f' on {check.host}' if check.host else ''}{'  gates' if check.gate else ''}"
        lines.append(
            [
                (f"   {shown.mark(ascii_only=context.ascii_only)} ", shown.color),
                (fit(check.name, cells), ""),
                (f" {shown.word}{gate}", "$muted"),
            ]
        )
        if check.state == "stale" and check.run is not None:
            key = context.keymap.key_of("work_run")
            passed = "It passed, but its files have changed since it began."
            how = {"stale": passed, "failed": "It failed on earlier files."}.get(check.run.state, "")
            lines += block(f"{how} {key} runs it again.".lstrip(), max(8, room - 4), "$muted", indent=5)
        if check.run is not None and check.run.state == "failed" and check.run.output:
            output = check.run.output.rstrip()
            place, reason, rest = said_once(output)
            for text, style in ((place, ""), (reason, shown.color), ("\n".join(rest)[-_OUTPUT_CHARS:], "")):
                lines += block(text, max(8, room - 4), style, indent=5) if text else []
    return lines
