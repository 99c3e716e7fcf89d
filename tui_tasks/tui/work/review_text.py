"""The texts of a review: its head, and what there is to know of the work as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.snapshots import Task
from tui_tasks.text.glyphs import PROOF_LOOKS
from tui_tasks.text.safe import fit, safe_line
from tui_tasks.text.times import SECOND, ago, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.work.review_rows import shown_path

if TYPE_CHECKING:
    from tui_tasks.work.git.reviewing import CommitLine, Review

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
    """

    task: Task
    work: Work
    place: int = 1
    places: int = 1
    review: Review | None = None
    checks: tuple[Check, ...] = ()
    problem: str = ""


def head(facts: WorkFacts, width: int) -> list[Part]:
    """` Review  #31 Rotate keys   task/31-rotate-keys  2 commits ahead of main`, as much as there is room for."""
    task, work, review = facts.task, facts.work, facts.review
    race = f" ({facts.place} of {facts.places}, {agent_text.who(work.agent, 16)})" if facts.places > 1 else ""
    title = f"#{task.number} {safe_line(task.name, max(8, width // 3))}"
    parts: list[Part] = [(" Review  " if width >= 60 else " ", "bold"), (title, "bold"), (race, "$changed")]
    state = "" if work.state == "ready" else f"  {work.state}"
    parts.append((state, "$state-overdue"))
    if width >= 60:
        parts.append((f"   {safe_line(work.branch or 'no branch', max(8, width // 4))}", "$muted"))
    if review is not None and width >= 100:
        behind = f", {review.behind} behind" if review.behind else ""
        parts.append((f"  {count(review.ahead, 'commit')} ahead of {safe_line(review.base, 24)}{behind}", "$muted"))
    return parts


def checks(facts: WorkFacts, *, ascii_only: bool) -> list[Part]:
    """`✓ tests  ✗ types  on this tree`."""
    if facts.review is None:
        return []
    if not facts.checks:
        return [("no checks ", "$muted")]
    parts: list[Part] = []
    for check in facts.checks:
        shown = PROOF_LOOKS[check.state]
        parts += [(f"{shown.mark(ascii_only=ascii_only)} ", shown.color), (f"{safe_line(check.name, 16)}  ", "")]
    return [*parts, ("on this tree ", "$muted")]


def summary_word(facts: WorkFacts) -> str:
    """`12 files +41 -7`."""
    review = facts.review
    if review is None:
        return "reading" if not facts.problem else "cannot be read"
    counts = review.counts()
    lines = f"+{counts['insertions']} -{counts['deletions']}"
    wrong = [
        *([count(len(review.conflicts), "conflict")] if review.conflicts else []),
        *([f"{len(review.uncommitted)} not committed"] if review.is_dirty else []),
    ]
    return ", ".join((f"{count(len(review.files), 'file')} {lines}", *wrong))


def summary(context: Context, facts: WorkFacts, room: int) -> list[Drawn]:
    """Return what there is to know of the work as a whole: conflicts first, then what is noted, commits, checks."""
    review, work = facts.review, facts.work
    if facts.problem:
        return [*block(facts.problem, room, "$state-failed"), *block(f"It is in {work.worktree}", room, "$muted")]
    if review is None:
        return block("Reading the work.", room, "$muted")
    lines: list[Drawn] = []
    if review.conflicts:
        lines += _paths(f"It does not merge into {review.base}. In conflict:", review.conflicts, room, "$state-failed")
        lines += [*block(f"{context.keymap.key_of('work_send')} hands it back to the agent.", room, "$muted"), []]
    elif work.state == "conflict" and work.message:
        lines += [*block(work.message, room, "$state-failed"), []]
    if review.is_dirty:
        lines += [*_paths("Not committed:", review.uncommitted, room, "$state-overdue"), []]
    for note in review.notes:
        lines += block(note, room, "$state-overdue")
    if review.notes:
        lines.append([])
    who = agent_text.who(work.agent, 40)
    started = f"{who} started {ago(work.started_at, context.clock.now())}, in {work.worktree}"
    lines += block(started, room, "$muted")
    if work.summary:
        lines += [[], *block(f'"{work.summary}"', room)]
    lines += [[], [(f" {count(len(review.commits), 'commit')} ahead of {safe_line(review.base, 40)}", "bold")]]
    lines += [_commit(context, commit, room) for commit in review.commits]
    if review.behind:
        lines += block(f"{review.base} has {count(review.behind, 'commit')} that it lacks", room, "$muted")
    lines += _checks(context, facts, room)
    return lines


def _commit(context: Context, commit: CommitLine, room: int) -> Drawn:
    when = ago(commit.at * SECOND, context.clock.now())
    title = safe_line(commit.title, max(8, room - 30))
    author = safe_line(commit.author, 12)
    return [(f"   {commit.id[:9]} ", "$secondary"), (f"{title} ", ""), (f" {author}, {when}", "$muted")]


def _paths(title: str, paths: Sequence[str], room: int, style: str) -> list[Drawn]:
    more = [f"and {len(paths) - _MAX_NAMED} more"] if len(paths) > _MAX_NAMED else []
    named = [safe_line(shown_path(path), room - 3) for path in paths[:_MAX_NAMED]]
    return [*block(title, room, style), *([(f"   {name}", "")] for name in (*named, *more))]


def _checks(context: Context, facts: WorkFacts, room: int) -> list[Drawn]:
    if not facts.checks:
        return [[], [(" No checks: nothing proves this tree.", "$muted")]]
    lines: list[Drawn] = [[], [(" Checks on this tree", "bold")]]
    for check in facts.checks:
        shown = PROOF_LOOKS[check.state]
        gate = f"{f' on {check.host}' if check.host else ''}{'  gates' if check.gate else ''}"
        lines.append(
            [
                (f"   {shown.mark(ascii_only=context.ascii_only)} ", shown.color),
                (fit(check.name, 20), ""),
                (f" {shown.word}{gate}", "$muted"),
            ]
        )
        if check.state == "failed" and check.run is not None and check.run.output:
            lines += block(check.run.output.rstrip()[-_OUTPUT_CHARS:], max(8, room - 4), "", indent=5)
    return lines
