"""`work`: its actions, and what a person decides: review, merge, pr, comment, discard, restore, clean (docs: work)."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tui_tasks import clock
from tui_tasks.cli import person_rights
from tui_tasks.cli.command_parser import CommandAction, declare_actions
from tui_tasks.cli.options import TASK_REFERENCE, open_store, require_database, session_of
from tui_tasks.cli.person_rights import diff_lines, quoted, review_lines
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.supervise import work_agents
from tui_tasks.cli.supervise.work_agents import (
    acceptance_of,
    declare_base,
    declare_one,
    print_changed,
    recover,
    refresh,
    work_json,
    work_of,
)
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.unhidden_text import unhidden_line
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.command_tools import SHELL as TOOLS
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import Check, Work
    from tui_tasks.core.snapshots import Task
    from tui_tasks.core.store import Store
    from tui_tasks.work.accepting import Acceptance, Outcome
    from tui_tasks.work.comments import SentComments
    from tui_tasks.work.git.reviewing import Review


_EPILOG: Final = (
    "Without an action: as `ls`. All but `ls`, `show` and `review` need a person at a terminal. "
    "See also `tui-tasks help work`."
)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    declare_actions(name, command, _ACTIONS)
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """Act, or list the work. Exit status 0."""
    require_database(options)
    _ACTIONS[options.action or "ls"].run(options)
    return 0


def _declare_review(command: argparse.ArgumentParser) -> None:
    declare_base(command)
    command.add_argument("--diff", action="store_true", help="show the diffs of the files, if there is room")


class _Reviewed(NamedTuple):
    """A task, the work on it, its review, and its changes."""

    task: Task
    work: Work
    acceptance: Acceptance
    review: Review


def _reviewed(options: argparse.Namespace, store: Store, *, merges: bool = False) -> _Reviewed:
    """Review a work; `merges`: it is to be merged, which is refused before it is shown.

    Raises:
        Conflict: it cannot be reviewed or merged.
    """
    session = session_of(options, store, TOOLS)
    session.look_at_checks()
    task, work = work_of(session, options.task, options.by)
    acceptance = acceptance_of(options, store)
    if merges:
        acceptance.check_can_merge(work, go_on=options.go_on)
    return _Reviewed(task, work, acceptance, acceptance.review(work, options.base))


def _review(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        task, work, acceptance, review = _reviewed(options, store)
        checks = acceptance.checks(work, review)
        if options.json:
            print_json({**work_json(store, work), "review": _review_json(review, checks)})
            return
        diffs = list(diff_lines(review)) if options.diff else []
        more = " --commit MESSAGE" * review.is_dirty
        does = "sets the task done" if review.adds_nothing else "merges exactly this"
        named = work_queries.reference(store.db, work, task.number)
        then = f"`tui-tasks work merge {named}{more} --reviewed {review.version}` {does}"
        if review.conflicts:
            then = f"`tui-tasks work merge {named} --hand-back` sends the conflict to the agent, to resolve it"
        try:
            acceptance.check_can_merge(work, go_on=True)
        except Conflict as refused:
            then = refused.message
    print(titled(task.number, task.name), *review_lines(review, checks), *diffs, sep="\n")
    print(then)


def _review_json(review: Review, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "version": review.version,
        "head": review.head,
        "tree": review.tree,
        "files": [one.to_json() for one in review.files],
        "commits": [one._asdict() for one in review.commits],
        "conflicts": review.conflicts,
        "notes": review.notes,
        "checks": [one.to_json() for one in checks],
    }


def _declare_merge(command: argparse.ArgumentParser) -> None:
    declare_base(command)
    command.add_argument(
        "--method", choices=("squash", "merge", "rebase", "ff"), help="how to merge (default: as in [work])"
    )
    command.add_argument("--message", default="", help="the message of the merged commit")
    command.add_argument("--commit", metavar="MESSAGE", default="", help="commit what is not committed, with a message")
    command.add_argument(
        "--reviewed", metavar="VERSION", help="merge what `work review` showed as this version, without asking"
    )
    command.add_argument("--go-on", action="store_true", help="the agent continues in the same worktree")
    command.add_argument("--unproven", action="store_true", help="merge although gating checks have not passed")
    command.add_argument("--hand-back", action="store_true", help="send a conflict to the agent, to resolve it")


def _merge(options: argparse.Namespace) -> None:
    from tui_tasks.work.comments import review_message
    from tui_tasks.work.git import merging

    with open_store(options) as store:
        recover(store)
        task, work, acceptance, review = _reviewed(options, store, merges=True)
        if options.reviewed is not None and options.reviewed != review.version:
            raise Conflict(f"its version is {review.version}, not {options.reviewed[:90]}: look again")
        if not options.commit:
            merging.check_committed(review)
        method = options.method or acceptance.method
        does = "accept as done" if review.adds_nothing else f"{method} into {unhidden_line(review.base)}"
        head = f"{does}, version {review.version}, the work of {work.agent} on"
        checks = acceptance.checks(work, review)
        what = [head, *quoted(task.name), *review_lines(review, checks), *diff_lines(review)]
        if options.reviewed is None:
            named = work_queries.reference(store.db, work, task.number)
            shows = f"`tui-tasks work review {named}` shows it, then add --reviewed {review.version}"
            question = "Set the task done?" if review.adds_nothing else "Merge exactly this?"
            person_rights.confirm_at_terminal(options, store, what, question, shows)
        person_rights.confirm(options, store, what)
        person_rights.record(options, store)
        outcome = acceptance.accept(
            work,
            review,
            method=method,
            message=options.message,
            commit_message=options.commit,
            go_on=options.go_on,
            unproven=options.unproven,
        )
        if outcome.state == "conflict" and options.hand_back:
            sent = acceptance.comment(work, review_message(review.base, conflicts=outcome.files), review.version)
            message = f"it conflicts in {safe_line(', '.join(outcome.files))}; {_sent_text(sent)}"
        else:
            message = _merged_text(store, outcome, review, task.number)
        for note in outcome.notes:
            print(safe_line(note), file=sys.stderr)
        print_changed(options, store, work, message)


def _merged_text(store: Store, outcome: Outcome, review: Review, number: int) -> str:
    """Return what was merged, as a line.

    Raises:
        Conflict: nothing was; the message says why, and what to do.
    """
    if outcome.state == "conflict":
        files = ", ".join(outcome.files)
        message = f"it conflicts with {review.base} in {files}: --hand-back sends it to the agent, to resolve it"
        raise Conflict(message, files=list(outcome.files))
    if outcome.state == "unproven":
        raise Conflict(f"{outcome.work.message}; `tui-tasks check {number}`; --unproven merges it anyway")
    commit, base = outcome.work.merge_commit, safe_line(review.base)
    why = f"{base} has it already" if outcome.work.is_on_base else f"it had nothing new for {base}"
    parts = [f"merged into {base} as {commit[:10]}" if commit else f"accepted: {why}"]
    if outcome.discarded:
        parts.append(f"discarded the work of {', '.join(one.agent for one in outcome.discarded)}")
    reference = work_queries.reference(store.db, outcome.work, number)
    return "; ".join([*parts, f"`tui-tasks work restore {reference}` undoes it"])


def _size(review: Review) -> str:
    counts = review.counts()
    return f"{count(counts['files'], 'file')} +{counts['insertions']} -{counts['deletions']} at {review.head[:10]}"


def _declare_pull_request(command: argparse.ArgumentParser) -> None:
    declare_base(command)
    command.add_argument("--to", metavar="URL", default="", help="the address to push to; without it, show the address")
    command.add_argument("--title", default="", help="its title (default: the task's name)")
    command.add_argument("--message", default="", help="its text (default: the agent's summary)")


def _pull_request(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        task, work = work_of(session_of(options, store, TOOLS), options.task, options.by)
        acceptance = acceptance_of(options, store)
        review = acceptance.review(work, options.base)
        push = acceptance.planned_push(work, review)
        if options.to != push.to.url:
            raise Conflict(f"{push.text} Then add --to {push.to.url}", to=push.to.url, branch=push.branch)
        named = f"{_size(review)}, of {work.agent} on"
        what = [push.text, named, *quoted(task.name), *review_lines(review, ()), *diff_lines(review)]
        person_rights.confirm(options, store, what)
        person_rights.record(options, store)
        opened = acceptance.open_pull_request(work, review, push, title=options.title, body=options.message)
        print_changed(options, store, work, safe_line(opened.pull_request or ""))


def _declare_comment(command: argparse.ArgumentParser) -> None:
    declare_one(command)
    command.add_argument("message", metavar="TEXT", nargs="+", help="what to change")


def _comment(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        _, work = work_of(session_of(options, store, TOOLS), options.task, options.by)
        person_rights.record(options, store)
        sent = acceptance_of(options, store).comment(work, " ".join(options.message))
        print_changed(options, store, work, _sent_text(sent))


def _sent_text(sent: SentComments) -> str:
    return f"sent to {sent.work.agent}" + ", which is started again" * sent.is_started_again


def _discard(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        task, work = work_of(session_of(options, store, TOOLS), options.task, options.by, deleted=True)
        person_rights.confirm(options, store, [f"Discard the work of {work.agent} on", *quoted(task.name)])
        person_rights.record(options, store)
        acceptance_of(options, store).discard(work)
        message = (
            f"discarded; `tui-tasks work restore {work_queries.reference(store.db, work, task.number)}` brings it back"
        )
        if task_queries.status(store.db, task.uid) is None:
            message = "discarded; its branch and files stay"
        print_changed(options, store, work, message)


def _declare_restore(command: argparse.ArgumentParser) -> None:
    declare_one(command)
    command.add_argument("--revert", action="store_true", help="revert a merge by a commit, if others have built on it")


def _restore(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        _, work = work_of(session_of(options, store, TOOLS), options.task, options.by)
        person_rights.record(options, store)
        is_merged = work_queries.stands(work, "work.merged")
        acceptance = acceptance_of(options, store)
        restored = acceptance.take_back(work, is_revert=options.revert)
        base = safe_line(work.base or "")
        was = f"taken out of {base} again; " if work.merge_commit else f"{base} keeps its commits; "
        was = was if is_merged else ""
        now = _RESTORED.get(restored.state, "back for review").format(agent=work.agent)
        with contextlib.suppress(Conflict):  # it is back, even where it cannot be reviewed
            if restored.state == "ready" and not acceptance.review(restored).files:
                now += ", but nothing is changed there"
        print_changed(options, store, work, was + now)


_RESTORED: Final = {"working": "{agent} continues", "failed": "back, with nothing to review: {agent} changed nothing"}


def _declare_clean(command: argparse.ArgumentParser) -> None:
    command.add_argument("tasks", metavar="TASK", nargs="*", default=[], help=f"{TASK_REFERENCE}; left out: all")


def _clean(options: argparse.Namespace) -> None:
    from tui_tasks.work import recovery

    with open_store(options) as store:
        refresh(store)
        session = session_of(options, store, TOOLS)
        uids = {find_task(session, reference).uid for reference in options.tasks}
        person_rights.record(options, store)
        done = recovery.clean_ended(store, uids, clock.now())
    if options.json:
        print_json(done, indent=2)
        return
    for line in done:
        print(safe_line(line))
    if not done:
        print("Nothing to clean.")


_ACTIONS: Final = work_agents.ACTIONS | {
    "review": CommandAction("show what a task's work has changed: files, commits, conflicts", _declare_review, _review),
    "comment": CommandAction("send the agent back to work, with what to change", _declare_comment, _comment),
    "merge": CommandAction("merge the work on a task as you reviewed it, and clean up", _declare_merge, _merge),
    "pr": CommandAction("push the work on a task and open a pull request by gh", _declare_pull_request, _pull_request),
    "discard": CommandAction("discard the work on a task; its branch and files stay", declare_one, _discard),
    "restore": CommandAction("undo a merge, or bring discarded work back", _declare_restore, _restore),
    "clean": CommandAction("remove worktrees, terminals and files of ended work", _declare_clean, _clean),
}
