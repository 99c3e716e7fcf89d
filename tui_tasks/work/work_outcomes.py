"""How far the work of agents has come: what git counts, how much of their limits they have used, from their sessions
and records, and which work is ready because its agent has stopped.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core.agent_snapshots import KEPT_COUNTS, Work
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.work import CountWork, DiscardWork, FailWork, LimitWork, WorkReady
from tui_tasks.core.read import work_queries, work_text
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession, Seen
from tui_tasks.core.rules import work_limit_rules
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.hooks import session_records
from tui_tasks.runner import git_isolation, processes
from tui_tasks.runner.git import GitFailed
from tui_tasks.settings import live_settings
from tui_tasks.settings.work_settings import PROGRAM_NAMES, LimitSettings
from tui_tasks.text.safe import safe_ends
from tui_tasks.text.times import MINUTE, SECOND
from tui_tasks.work import clean_up, comments, merge_steps, program_commands
from tui_tasks.work.agent_terminals import last_lines
from tui_tasks.work.git import worktrees
from tui_tasks.work.git.reviewing import ahead_and_behind, changes, merge_trees
from tui_tasks.work.git.worktrees import Ends

_SECONDS: Final = 20.0
# The end of what an agent printed that is searched for an error, in lines, and the most characters of it.
_SEARCHED_LINES: Final = 40
_MAX_REASON: Final = 200
# So many files in conflict are named, each with so many cells.
_MAX_FILES: Final = 3
_MAX_PATH: Final = 60
# Git has so many seconds to find them: other works wait meanwhile.
_MERGE_SECONDS: Final = 5.0
# For so many microseconds what git found counts, or that it found nothing in time.
_TRIED_FOR: Final = 10 * MINUTE
# So many microseconds a launcher has, once its program has ended, to record that with its exit status.
_LAUNCHER: Final = 5 * SECOND
# A shell's exit status of a program that was killed by signal N is this much more than N.
_BY_SIGNAL: Final = 128
# So many files that git calls binary are looked into: each costs up to two of its processes.
_MAX_BINARY: Final = 20
_MAX_BYTES: Final = 4 * 1024 * 1024
_NO_LIMITS: Final = LimitSettings()
_NONE: Final[dict[str, Any]] = dict.fromkeys(KEPT_COUNTS)


def count(work: Work) -> dict[str, Any]:
    """Return what git counts of a work against its merge base, by the HEAD of its worktree; None where unknown."""
    folder = Path(work.worktree)
    counts = dict(_NONE)
    words = ("status", "--porcelain", "-z", "--untracked-files=normal")
    try:
        with git_isolation.opened(folder) as work_tree:
            counts["head"] = work_tree.head
            counts["dirty"] = bool(work_tree.read(*words, timeout=_SECONDS, max_bytes=_MAX_BYTES))
        if counts["head"] is not None and (ends := _ends(work, folder, counts["head"])) is not None:
            counts |= _counts(folder, counts["head"], ends.base, ends.merge_base)
    except (GitFailed, OSError):
        pass
    return counts


def _ends(work: Work, folder: Path, head: str) -> Ends | None:
    """Return the commit of the base branch of a work, and what it has in common with the worktree's; if the branch is
    gone or the work is on it, of the commit on which the work began.
    """
    ends = None
    if work.base is not None and not work.is_on_base:
        ends = worktrees.ends(folder, f"refs/heads/{work.base}", head)
    if ends is None and work.base_commit is not None:
        ends = worktrees.ends(folder, work.base_commit, head)
    return ends


@lru_cache(64)
def _counts(folder: Path, head: str, base: str, merge_base: str | None) -> dict[str, Any]:
    """Return what git counts between two commits, which never changes; lines as the review says: those of texts that
    an attribute calls binary count.

    Raises:
        GitFailed: git failed.
    """
    ahead, behind = ahead_and_behind(folder, head, base)
    counts: dict[str, Any] = {"ahead": ahead, "behind": behind}
    if merge_base is not None:
        files = changes(folder, merge_base, head, most_binary=_MAX_BINARY)
        counts["files"] = len(files)
        counts["insertions"] = sum(one.insertions or 0 for one in files)
        counts["deletions"] = sum(one.deletions or 0 for one in files)
    return counts


def _conflicts(work: Work, head: str, now: int) -> str | None:
    """Return in which files a work does not merge into its base branch now, for people; None: it does, or unknown."""
    folder = Path(work.worktree)
    try:
        ends = worktrees.ends(folder, f"refs/heads/{work.base}", head)
    except (GitFailed, OSError):
        return None
    files = _conflicting(folder, ends.base, head, now // _TRIED_FOR) if ends is not None else ()
    # An agent names files: a line break in a name would begin a line of its own.
    named = ", ".join(safe_ends(path.replace("\n", "␤"), _MAX_PATH) for path in files[:_MAX_FILES])
    more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    return f"{work_text.CONFLICTS}{work.base}: {named}{more}" if files else None


@lru_cache(64)
def _conflicting(folder: Path, ours: str, theirs: str, _turn: int) -> tuple[str, ...]:
    """Return the paths in which two commits conflict; none where git fails, or takes too long.

    `_turn`: the next one tries again.
    """
    try:
        with git_isolation.opened(folder) as work_tree:
            return merge_trees(work_tree, ours, theirs, _MERGE_SECONDS)[1]
    except GitFailed:
        return ()


def look(store: Store, now: int) -> int:
    """Count unfinished work, set ended work ready or failed, and stop agents at their limits;
    return how many have changed.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    works = [work for work in work_queries.live_here(store.db) if work.state not in ("merging", "starting")]
    if not works:
        return 0
    settings = live_settings.work().limits
    return sum(look_at(store, work, now, settings) for work in works)


def look_at(
    store: Store, work: Work, now: int, settings: LimitSettings = _NO_LIMITS, *, status: int | None = None
) -> bool:
    """Do as `look` does for one work; `settings` are the limits of the settings, `status` is the one with which its
    program has ended, where it is known.
    """
    seen = session_queries.seen(store.db, work.agent)
    session = seen.session if seen is not None else None
    counts = count(work)
    operations: list[Operation] = []
    stop = None
    if work.state == "working" and seen is not None and seen.session.state != session_queries.GONE:
        use = most_used(store, work, seen, settings, now)
        counts["near"] = near_limit(use) or work_limit_rules.wrong_limit(work) or _first_question(store, work, now)
        if (stop := reached_limit(work, use)) is not None:
            operations.append(stop)
    elif work.state == "ready" and counts["ahead"] and counts["behind"]:
        counts["near"] = _conflicts(work, counts["head"], now)
    known = work_text.counts(store.db, work.uid)
    if known is None or any(getattr(known, name) != value for name, value in counts.items()):
        operations.append(CountWork(work.uid, counts))
    if work.state == "working" and work_limit_rules.limits_of(work).ask is None and comments.wake(store, work, now):
        operations = [one for one in operations if isinstance(one, CountWork)]
        session = None
    if (
        work.state == "working"
        and session is not None
        and (after := _after_turn(store, work, session, counts, now, status)) is not None
    ):
        operations.append(after)
    if not operations:
        return False
    try:
        store.commit(*operations, actor=SYSTEM, now=now)
    except Refusal:  # its state has changed meanwhile
        return False
    if stop is not None and session is not None and work.program not in PROGRAM_NAMES and session.pid:
        # It has no hook that could end its turn.
        processes.send_group(session.pid, signal.SIGINT)
    return True


def _after_turn(
    store: Store, work: Work, session: AgentSession, counts: dict[str, Any], now: int, status: int | None
) -> Operation | None:
    """Return what follows from the end of a turn, or of the agent; None while it works or waits."""
    owner = work_queries.owner(store.db, work)
    has_changes = bool(counts["ahead"] or counts["dirty"]) and (
        work.makes_worktree or counts["head"] != work.base_commit
    )
    if owner is not None:
        # Both agents commit on one branch, so nobody knows whose a commit is.
        has_changes = has_changes and (work.summary is not None or clean_up.is_gone(store.db, owner))
    if work_limit_rules.limits_of(work).ask is not None:
        return None  # the human says whether it goes on
    if session.state == session_queries.GONE:
        commented = work_queries.commented_at(store.db, work)
        is_recent = commented is not None and now - commented[1] < work_text.START_TAKES
        if is_recent and not work_queries.has_ended_turn(store.db, work):
            return None  # it is being started again
        if has_changes:
            how = _how_it_ended(last_lines(store.path, work, _SEARCHED_LINES), status) if status else ""
            return WorkReady(work.uid, message=f"{work_text.ITS_AGENT}{how}" if how else None)
        if work.merged_at is not None:
            return merge_steps.ended_after_merge(work)
        if owner is not None:
            return DiscardWork(work.uid, counts["head"], message=f"it has ended, with no commit beside {owner.agent}'s")
        if work.makes_worktree and not Path(work.worktree).is_dir():
            return FailWork(work.uid, "its worktree is gone: `tui-tasks work restore` makes it again, with its commits")
        if status is None and now - (session.ended_at or 0) < _LAUNCHER:
            return None  # its launcher knows how it ended
        if work_limit_rules.limits_of(work).is_stopped:
            return FailWork(work.uid, f"{work.agent} was stopped at its limit, without a change")
        how = _how_it_ended(last_lines(store.path, work, _SEARCHED_LINES), status)
        return FailWork(work.uid, f"{work.agent} {how}{'' if ': ' in how else ' without a change'}")
    is_idle = session.state == "idle" and session.last_prompt is not None
    if is_idle and has_changes and work_queries.has_ended_turn(store.db, work):
        return WorkReady(work.uid)
    return None


def _how_it_ended(lines: Sequence[str], status: int | None) -> str:
    """Return how a program ended: `ended with exit 3: Traceback: boom`."""
    how, why = "has ended", program_commands.refusal(lines)
    if status is not None and status > _BY_SIGNAL:
        with contextlib.suppress(ValueError):
            how = f"was killed by {signal.Signals(status - _BY_SIGNAL).name}"
    elif status:
        how = f"ended with exit {status}"
        why = why or next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{how}: {why[:_MAX_REASON]}" if why else how


def _first_question(store: Store, work: Work, now: int) -> str | None:
    """Return what a program asks before it begins; None if it has begun."""
    if not work_queries.is_silent(store.db, work, now):
        return None
    return program_commands.first_question(last_lines(store.path, work, _SEARCHED_LINES))


NEAR: Final = 0.8
"""The share of a limit from which an agent is near to it."""


class Use(NamedTuple):
    """What an agent has used of one limit.

    Attributes:
        name: the limit, as in `[work.limits]`.
        used: how much it has used, in the limit's unit.
        limit: the limit that is in force.
    """

    name: str
    used: float
    limit: float

    @property
    def share(self) -> float:
        """The share of the limit that is used."""
        return self.used / self.limit

    def __str__(self) -> str:
        return _WORDS[self.name](self.used, self.limit)


_WORDS: Final = {
    "tokens": lambda used, limit: f"{used:,.0f} of {limit:,.0f} tokens",
    "cost_usd": lambda used, limit: f"${used:,.2f} of ${limit:,.2f}",
    "minutes": lambda used, limit: f"{used:,.0f} of {limit:,.0f} minutes",
    "turns": lambda used, limit: f"{used:,.0f} of {limit:,.0f} turns",
    "context": lambda used, limit: f"{used:.0%} of the context window, where {limit:.0%} is the limit",
}


def most_used(store: Store, work: Work, seen: Seen, settings: LimitSettings, now: int) -> Use | None:
    """Return the limit of which an agent has used the largest share; None without limits, or if nothing is known."""
    set_ones = {name: value for name, value in msgspec.structs.asdict(settings).items() if value is not None}
    limits = work_limit_rules.limits_in_force(work, set_ones)
    if not limits:
        return None
    used = {
        "tokens": seen.session.tokens,
        "cost_usd": seen.session.cost_usd,
        "minutes": (now - work.started_at) / MINUTE,
        "turns": session_queries.turns(store.db, work.agent) if "turns" in limits else None,
        "context": session_records.of(seen.activity).context,
    }
    uses = [Use(name, amount, limits[name]) for name, amount in used.items() if amount is not None and name in limits]
    return max(uses, key=lambda use: use.share, default=None)


def reached_limit(work: Work, use: Use | None) -> LimitWork | None:
    """Return the operation that stops an agent at a limit; None while it may go on, or the human has been asked."""
    if use is None or use.share < 1 or work_limit_rules.is_stopped_at_limit(work):
        return None
    return LimitWork(work.uid, use.name, str(use))


def near_limit(use: Use | None) -> str | None:
    """Return, for people, the limit that an agent is near to or at; None if there is none."""
    if use is None or use.share < NEAR:
        return None
    return f"at its limit: {use}" if use.share >= 1 else f"near its limit: {use}"
