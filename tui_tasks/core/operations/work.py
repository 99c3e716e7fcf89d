"""Writes of work: from the start of an agent on a task to its merge (docs: protocol, section 12).

All but `ReportWork` are for the human, and for the processes that carry out what the human began.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations import Operation


class StartWork(Operation, frozen=True):
    """Start an agent on a task: write down what git is about to make. The task is in progress and claimed by the agent.

    Result: the work, in the state `starting`.

    Attributes:
        task_uid: the task.
        program: the name of the agent program.
        repository: the path of the checkout.
        worktree: the path where the agent is to work; the repository's own without a worktree of its own.
        makes_worktree: whether the worktree and the branch are made for it.
        branch: the name of the branch; None: none is checked out.
        base: the branch that it is to be merged into.
        base_commit: the commit on which it begins.
        has_terminal: whether it runs in a terminal of ours.
        is_shared: whether another agent may be at work in the same folder.
        is_race: whether another agent may be at work on the same task.
        project: the project of the repository.
        folder: the folder in which the agent starts, in the worktree; empty: the worktree itself.
        limits: limits of this work by name, which take the place of those of the settings.
    """

    task_uid: str
    program: str
    repository: str
    worktree: str
    makes_worktree: bool = True
    branch: str | None = None
    base: str | None = None
    base_commit: str | None = None
    has_terminal: bool = False
    is_shared: bool = False
    is_race: bool = False
    project: str | None = None
    folder: str = ""
    limits: dict[str, float] = msgspec.field(default_factory=dict)


class RunWork(Operation, frozen=True):
    """Record that the agent of a work runs, in this process and with this prompt. Result: the work, `working`."""

    uid: str
    process: Process = Process()
    prompt: str = ""


class FailWork(Operation, frozen=True):
    """Record that a work cannot go on, and why. Its task is pending again, or done if the work was merged before.

    Result: the work.
    """

    uid: str
    message: str


class ReportWork(Operation, frozen=True):
    """Report the work on a task ready for review, by its agent. Result: the work."""

    task_uid: str
    summary: str | None = None


class WorkReady(Operation, frozen=True):
    """Record that the turn of an agent is over with changes to review. Result: the work.

    `message`: why it did not go on.
    """

    uid: str
    summary: str | None = None
    message: str | None = None


class CountWork(Operation, frozen=True):
    """Keep what git has counted of a work; the journal has no entry of it. Result: None.

    Attributes:
        uid: the work.
        counts: `head`, `ahead`, `behind`, `files`, `insertions`, `deletions`, `dirty` and `near`, None if unknown.
    """

    uid: str
    counts: dict[str, Any]


class CommentWork(Operation, frozen=True):
    """Send the human's comments on a work to its agent as one message, who goes on. Result: the work."""

    uid: str
    text: str


class BeginMerge(Operation, frozen=True):
    """Write down what git is about to do to merge a work: refs old and new, paths. Result: the work, `merging`."""

    uid: str
    intent: dict[str, Any]


class GiveUpMerge(Operation, frozen=True):
    """Record that a merge was begun and has moved nothing: the work waits for review again. Result: the work, `ready`.

    `message` says why.
    """

    uid: str
    message: str | None = None


class MergeWork(Operation, frozen=True):
    """Record that a work is merged: its task is done. Result: the work.

    Attributes:
        uid: the work.
        head: the commit that was merged.
        kept: what undoes the merge, and restores what was cleaned up: commits, refs and folders.
        intent: what is still to be done: the clean-up.
        goes_on: whether the agent goes on in the same worktree; its task is in progress then.
        message: why nothing was merged.
    """

    uid: str
    head: str
    kept: dict[str, Any] | None = None
    intent: dict[str, Any] | None = None
    goes_on: bool = False
    message: str | None = None


class ConflictWork(Operation, frozen=True):
    """Record that a work does not merge cleanly, or that its merge was given up. Result: the work.

    `files` are the paths in conflict; `message` says what else stands in the way.
    """

    uid: str
    files: tuple[str, ...] = ()
    message: str = ""


class DiscardWork(Operation, frozen=True):
    """Record that a work is discarded: its task is pending again. Result: the work.

    Attributes:
        uid: the work.
        head: the last commit of its branch.
        kept: what is remembered of its files, beside what was kept of it before.
        message: why, where it lost a race.
    """

    uid: str
    head: str | None = None
    kept: dict[str, Any] | None = None
    message: str | None = None


class RestoreWork(Operation, frozen=True):
    """Record that a work that was merged, discarded or failed is back for review, or that the merge after which its
    agent went on was undone. Result: the work.

    `kept`: what undoes a merge from before it was discarded. `is_race`: other work on the task may wait as well.
    `failure`: why a discarded work has nothing to review: it is back as failed.
    """

    uid: str
    kept: dict[str, Any] | None = None
    is_race: bool = False
    failure: str | None = None


class SetWork(Operation, frozen=True):
    """Set columns of a work that no other operation sets: `pull_request`, `intent`, `kept`. Result: the work."""

    uid: str
    changes: dict[str, Any] = msgspec.field(default_factory=dict)


class LimitWork(Operation, frozen=True):
    """Record that an agent has reached a limit: its turn is ended, and the human is asked. Result: the work.

    Attributes:
        uid: the work.
        limit: the name of the limit, as in `[work.limits]`.
        used: how much the agent has used, for people: `1,200 of 1,000 tokens`.
    """

    uid: str
    limit: str
    used: str


class SetAuto(Operation, frozen=True):
    """Let the ready tasks of a list be started as places get free. Result: the list's `Auto`.

    Attributes:
        list_uid: the list.
        folder: a folder in the repository in which agents work.
        program: the program to start; empty: as for a start by hand.
        at_once: how many agents of the list may be at work at once.
        failures: after so many failures in a row it stops.
        stays: whether it is still on when the database is opened anew.
        host: the process that starts the agents; empty: the next screen or scheduler that looks.
    """

    list_uid: str
    folder: str
    program: str = ""
    at_once: int = 1
    failures: int = 3
    stays: bool = False
    host: str = ""


class HostAuto(Operation, frozen=True):
    """Record which process starts the agents of a list. Result: the list's `Auto`."""

    list_uid: str
    host: str


class StopAuto(Operation, frozen=True):
    """Start no more tasks of a list by themselves; `message` says why. Result: the list's `Auto`."""

    list_uid: str
    message: str | None = None
