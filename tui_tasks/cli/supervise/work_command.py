"""`work`: starts agents on tasks, each in a git worktree, and follows their work (docs: work)."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.channel.session import Session
from tui_tasks.cli import person
from tui_tasks.cli.decided import diff_lines, quoted, review_lines, task_lines
from tui_tasks.cli.options import TASK_REFERENCE, open_store, require_database, session_of
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.supervise.command_actions import CommandAction, declare_actions
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.agents.request_text import decided_line
from tui_tasks.core.snapshots import Task, Work
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.shell import SHELL as TOOLS
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago

if TYPE_CHECKING:
    from tui_tasks.work.accepting import Acceptance, Sent
    from tui_tasks.work.git_review import Review

_EPILOG: Final = (
    "Without an action: as `ls`. All but `ls`, `show` and `review` need a person at a terminal. "
    "See also `tui-tasks help work`."
)
_LINES: Final = 20
_SILENT: Final = "it has not reported yet: it may ask something in its terminal"


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    declare_actions(name, command, _ACTIONS)
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """Act, or list the work. Exit status 0."""
    require_database(options, on_server=False)
    _ACTIONS[options.action or "ls"].run(options)
    return 0


def _declare_start(command: argparse.ArgumentParser) -> None:
    command.add_argument("tasks", metavar="TASK", nargs="+", help=TASK_REFERENCE)
    command.add_argument("--program", default="", help="claude, codex, gemini, opencode, or one of the settings")
    command.add_argument("--here", action="store_true", help="in this checkout, without a worktree of its own")
    command.add_argument("--base", default="", help="the branch to begin on and to merge into")
    command.add_argument("--branch", default="", help="the name of the new branch")
    command.add_argument("--words", default="", help="extra words for the agent")
    command.add_argument(
        "--limit",
        metavar="NAME=VALUE",
        action="append",
        type=_limit,
        default=[],
        help="tokens, cost_usd, minutes, turns or context, in place of the settings' limit",
    )
    command.add_argument(
        "--race", action="store_true", help="a second agent on the same task, in a worktree of its own"
    )
    command.add_argument(
        "--beside", action="store_true", help="a second agent in the worktree of the task's newest work"
    )
    command.add_argument("--share", action="store_true", help="a second agent in the same folder")


def _limit(text: str) -> tuple[str, float]:
    """Return the name and the value of a limit.

    Raises:
        ArgumentTypeError: it is none.
    """
    from tui_tasks.settings.work_settings import LimitSettings

    name, _, value = text.partition("=")
    try:
        checked = msgspec.convert({name: float(value)}, LimitSettings, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no limit, as `minutes=30` is: {error}") from None
    return name, getattr(checked, name)


def _start(options: argparse.Namespace) -> None:
    from tui_tasks.work.starting import Request, Starter

    with open_store(options, on_server=False) as store:
        session = session_of(options, store, TOOLS)
        tasks = [find_task(session, reference) for reference in options.tasks]
        named = f"{options.program or 'the program that is set'}{', here' * options.here}"
        what = [f"Start {decided_line(named)} in {decided_line(str(Path.cwd()))} on"]
        for task in tasks:
            what += [f"#{task.number}:", *task_lines(store.db, task, with_log=False)]
        what += ["Extra words:", *quoted(options.words)] if options.words else []
        person.confirm(options, store, what)
        for task in tasks:
            if task_queries.task(store.db, task.uid).version != task.version:
                raise Conflict(f"#{task.number} has changed since it was shown: look at it again")
        person.record(options, store)
        starter = Starter(store, Path.cwd(), clock.now, show=lambda line: print(safe_line(line), file=sys.stderr))
        names = ("program", "here", "words", "base", "branch", "race", "share", "beside")
        request = Request(**{name: getattr(options, name) for name in names}, limits=dict(options.limit))
        started = []
        for task in tasks:
            work, notes = starter.start(task.uid, request)
            started.append(_json(store, work))
            for note in notes:
                print(safe_line(note), file=sys.stderr)
            if not options.json:
                print(f"{work.agent} is at work on {titled(task.number, task.name)} in {safe_line(work.worktree)}")
        if options.json:
            print_json(started, indent=2)


def _json(store: Store, work: Work) -> dict[str, Any]:
    task = task_queries.any_task(store.db, work.task_uid)
    named = {"task": work.task_uid, "number": task.number if task is not None else None}
    return {**named, **work.to_json(work_queries.counts_json(store.db, work.uid))}


def _declare_ls(command: argparse.ArgumentParser) -> None:
    command.add_argument("--all", action="store_true", help="merged, discarded and failed work as well")


def _ls(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        _refresh(store)
        everyone = getattr(options, "all", False)
        found = work_queries.everything(store.db) if everyone else work_queries.live(store.db)
        if options.json:
            print_json([_json(store, work) for work in found], indent=2)
            return
        for work in found:
            print(_line(store, work))
        if not found:
            print("No agent is at work. `tui-tasks work start TASK` starts one.")


def _refresh(store: Store) -> None:
    """Count what git has, and end what has ended."""
    if store.read_only:
        return
    from tui_tasks.hooks import departures
    from tui_tasks.work import progress, recovery

    departures.end_departed(store, clock.now())
    recovery.recover(store, clock.now())
    progress.look(store, clock.now())


def _line(store: Store, work: Work) -> str:
    task = task_queries.any_task(store.db, work.task_uid)
    title = titled(task.number, safe_line(task.name, 40)) if task is not None else work.task_uid
    words = [
        title,
        work.state,
        work.agent,
        work_queries.counts_text(store.db, work.uid),
        work.branch or work.worktree,
        work.message or "",
    ]
    return "  ".join(safe_line(word, 60) for word in words if word)


def _declare_task(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", metavar="TASK", help=TASK_REFERENCE)


def _work_of(session: Session, reference: str, agent: str = "") -> tuple[Task, Work]:
    """Return a task and the newest work on it, or that of an agent.

    Raises:
        NotFound: there is no such task, or no agent was started on it.
    """
    task = find_task(session, reference)
    works = work_queries.of_task(session.store.db, task.uid)
    if not works:
        raise NotFound("work", f"on #{task.number}; `tui-tasks work start {task.number}` starts an agent on it")
    if agent and not (of_agent := [work for work in works if work.agent == agent]):
        raise NotFound("work", f"of {agent} on #{task.number}; use one of {', '.join(one.agent for one in works)}")
    return task, of_agent[-1] if agent else works[-1]


def _show(options: argparse.Namespace) -> None:
    from tui_tasks.work.starting import last_lines

    with open_store(options, on_server=False) as store:
        _refresh(store)
        task, work = _work_of(session_of(options, store, TOOLS), options.task)
        lines = last_lines(store.path, work, _LINES)
        if options.json:
            print_json({**_json(store, work), "lines": lines}, indent=2)
            return
        print(titled(task.number, task.name))
        print(f"{work.state}  {work.agent}  started {ago(work.started_at, clock.now())}")
        for name, value in (("worktree", work.worktree), ("branch", work.branch), ("base", work.base)):
            if value:
                print(f"{name} {safe_line(value)}")
        if work_queries.is_silent(store.db, work, clock.now()):
            print(_SILENT)
        known = work_queries.counts(store.db, work.uid)
        near = known.near if known is not None else None
        for text in (work_queries.counts_text(store.db, work.uid), near, work.message, work.summary):
            if text:
                print(safe_line(text))
        if lines:
            print()
        for line in lines:
            print(safe_line(line))


def _attach(options: argparse.Namespace) -> None:
    from tui_tasks.work.terminals import DETACH_WORDS, Terminals

    with open_store(options, on_server=False) as store:
        task, work = _work_of(session_of(options, store, TOOLS), options.task)
        terminals = Terminals(store.path)
        if options.json:
            argv = terminals.attach_argv(work.terminal) if work.terminal is not None else None
            print_json({"agent": work.agent, "argv": argv})
            return
        if work.terminal is None:
            raise Conflict(f"{work.agent} has no terminal: `tui-tasks work show {task.number}` shows its last lines")
        if not terminals.has(work.terminal):
            raise Conflict(f"the terminal of {work.agent} is closed")
        argv = terminals.attach_argv(work.terminal)
        person.record(options, store)
    print(f"{DETACH_WORDS} comes back", file=sys.stderr)
    subprocess.run(argv, check=False, env=os.environ)


def _declare_one(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    command.add_argument("--by", metavar="AGENT", default="", help="the work of this agent, if there are several")


def _declare_base(command: argparse.ArgumentParser) -> None:
    _declare_one(command)
    command.add_argument("--base", default="", help="compare with this branch")


def _declare_review(command: argparse.ArgumentParser) -> None:
    _declare_base(command)
    command.add_argument("--diff", action="store_true", help="show the diffs of the files, if there is room")


def _acceptance(options: argparse.Namespace, store: Store) -> Acceptance:
    from tui_tasks.work.accepting import Acceptance

    return Acceptance(store, clock.now, show=lambda line: print(safe_line(line), file=sys.stderr))


def _review(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        session = session_of(options, store, TOOLS)
        session.look_at_checks()
        task, work = _work_of(session, options.task, options.by)
        acceptance = _acceptance(options, store)
        found = acceptance.review(work, options.base)
        checks = acceptance.checks(work, found)
        if options.json:
            files = [{**one._asdict(), "is_binary": one.is_binary} for one in found.files]
            commits = [one._asdict() for one in found.commits]
            found_json: dict[str, Any] = {"version": found.version, "head": found.head, "tree": found.tree}
            found_json |= {"files": files, "commits": commits}
            found_json |= {
                "conflicts": found.conflicts,
                "notes": found.notes,
                "checks": [one.to_json() for one in checks],
            }
            print_json({**_json(store, work), "review": found_json})
            return
        diffs = list(diff_lines(found)) if options.diff else []
    print(titled(task.number, task.name), *review_lines(found, checks), *diffs, sep="\n")
    more = " --commit MESSAGE" * found.is_dirty
    print(f"`tui-tasks work merge {task.number}{more} --reviewed {found.version}` merges exactly this")


def _declare_merge(command: argparse.ArgumentParser) -> None:
    _declare_base(command)
    command.add_argument("--method", choices=("squash", "merge", "rebase", "ff"), help="as set in [work] by default")
    command.add_argument("--message", default="", help="the message of the merged commit")
    command.add_argument("--commit", metavar="MESSAGE", default="", help="commit what is not committed, with a message")
    command.add_argument(
        "--reviewed", metavar="VERSION", help="merge what `work review` showed as this version, without asking"
    )
    command.add_argument("--go-on", action="store_true", help="the agent continues in the same worktree")
    command.add_argument("--unproven", action="store_true", help="although checks that gate have not passed")
    command.add_argument("--hand-back", action="store_true", help="send a conflict to the agent, to resolve it")


def _merge(options: argparse.Namespace) -> None:
    from tui_tasks.work.accepting import conflict_text

    with open_store(options, on_server=False) as store:
        session = session_of(options, store, TOOLS)
        session.look_at_checks()
        task, work = _work_of(session, options.task, options.by)
        acceptance = _acceptance(options, store)
        review = acceptance.review(work, options.base)
        if options.reviewed is not None and options.reviewed != review.version:
            raise Conflict(f"its version is {review.version}, not {options.reviewed[:90]}: look again")
        method = options.method or acceptance.method
        head = f"{method} into {decided_line(review.base)}, version {review.version}, the work of {work.agent} on"
        checks = acceptance.checks(work, review)
        what = [head, *quoted(task.name), *review_lines(review, checks), *diff_lines(review)]
        if options.reviewed is None:
            shows = f"`tui-tasks work review {task.number}` shows it, then add --reviewed {review.version}"
            person.agree(options, store, what, "Merge exactly this?", shows)
        person.confirm(options, store, what)
        person.record(options, store)
        outcome = acceptance.accept(
            work,
            review,
            method=method,
            message=options.message,
            commit_message=options.commit,
            go_on=options.go_on,
            unproven=options.unproven,
        )
        if outcome.state == "conflict":
            files = ", ".join(outcome.files)
            if not options.hand_back:
                raise Conflict(
                    f"it conflicts with {review.base} in {files}: --hand-back sends it to the agent, to resolve it",
                    files=list(outcome.files),
                )
            sent = acceptance.comment(work, conflict_text(outcome.work, outcome.files))
            _print_changed(options, store, work, f"it conflicts in {safe_line(files)}; {_sent_text(sent)}")
            return
        if outcome.state == "unproven":
            raise Conflict(
                f"{outcome.work.message}; `tui-tasks check {task.number}`; --unproven merges it all the same"
            )
        for note in outcome.notes:
            print(safe_line(note), file=sys.stderr)
        lines = [f"merged into {safe_line(review.base)}"]
        lines += [f"discarded the work of {', '.join(one.agent for one in outcome.discarded)}"] * bool(
            outcome.discarded
        )
        lines += [f"`tui-tasks work restore {task.number}` takes it back"] * (not options.go_on)
        _print_changed(options, store, work, "; ".join(lines))


def _size(review: Review) -> str:
    found = review.counts()
    files = f"{found['files']} file{'s' * (found['files'] != 1)}"
    return f"{files} +{found['insertions']} -{found['deletions']} at {review.head[:10]}"


def _declare_pull_request(command: argparse.ArgumentParser) -> None:
    _declare_base(command)
    command.add_argument("--to", metavar="URL", default="", help="where it pushes to; without it, that is only shown")
    command.add_argument("--title", default="", help="the task's name by default")
    command.add_argument("--message", default="", help="its text; the agent's summary by default")


def _pull_request(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        task, work = _work_of(session_of(options, store, TOOLS), options.task, options.by)
        acceptance = _acceptance(options, store)
        review = acceptance.review(work, options.base)
        push = acceptance.planned_push(work, review)
        if options.to != push.to.url:
            raise Conflict(f"{push.text} Then add --to {push.to.url}", to=push.to.url, branch=push.branch)
        named = f"{_size(review)}, of {work.agent} on"
        what = [push.text, named, *quoted(task.name), *review_lines(review, ()), *diff_lines(review)]
        person.confirm(options, store, what)
        person.record(options, store)
        opened = acceptance.open_pull_request(work, review, push, title=options.title, body=options.message)
        _print_changed(options, store, work, safe_line(opened.pull_request or ""))


def _declare_comment(command: argparse.ArgumentParser) -> None:
    _declare_one(command)
    command.add_argument("message", metavar="TEXT", nargs="+", help="what to change")


def _comment(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        _, work = _work_of(session_of(options, store, TOOLS), options.task, options.by)
        person.record(options, store)
        sent = _acceptance(options, store).comment(work, " ".join(options.message))
        _print_changed(options, store, work, _sent_text(sent))


def _sent_text(sent: Sent) -> str:
    return f"sent to {sent.work.agent}" + ", which is started again" * sent.is_started_again


def _discard(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        task, work = _work_of(session_of(options, store, TOOLS), options.task, options.by)
        person.confirm(options, store, [f"Discard the work of {work.agent} on", *quoted(task.name)])
        person.record(options, store)
        _acceptance(options, store).discard(work)
        message = f"discarded; `tui-tasks work restore {task.number}` brings it back"
        _print_changed(options, store, work, message)


def _declare_restore(command: argparse.ArgumentParser) -> None:
    _declare_one(command)
    command.add_argument("--revert", action="store_true", help="add a commit that undoes a merge which others built on")


def _restore(options: argparse.Namespace) -> None:
    with open_store(options, on_server=False) as store:
        _, work = _work_of(session_of(options, store, TOOLS), options.task, options.by)
        person.record(options, store)
        _acceptance(options, store).take_back(work, is_revert=options.revert)
        _print_changed(options, store, work, "back for review")


def _print_changed(options: argparse.Namespace, store: Store, work: Work, message: str) -> None:
    if options.json:
        print_json(_json(store, work_queries.find(store.db, work.uid)))
    else:
        print(message)


def _declare_clean(command: argparse.ArgumentParser) -> None:
    command.add_argument("tasks", metavar="TASK", nargs="*", help=f"{TASK_REFERENCE}; left out: all")


def _clean(options: argparse.Namespace) -> None:
    from tui_tasks.work import recovery

    with open_store(options, on_server=False) as store:
        _refresh(store)
        session = session_of(options, store, TOOLS)
        uids = {find_task(session, reference).uid for reference in options.tasks}
        person.record(options, store)
        done = recovery.clean(store, uids, clock.now())
    if options.json:
        print_json(done, indent=2)
        return
    for line in done:
        print(safe_line(line))
    if not done:
        print("Nothing to clean.")


_ACTIONS: Final[dict[str, CommandAction]] = {
    "start": CommandAction("start an agent on each task", _declare_start, _start),
    "ls": CommandAction("list the work that is not over", _declare_ls, _ls),
    "attach": CommandAction("go to the terminal of a task's agent", _declare_task, _attach),
    "show": CommandAction("show the work on a task, and the last lines of its terminal", _declare_task, _show),
    "review": CommandAction("show what a task's work has changed: files, commits, conflicts", _declare_review, _review),
    "comment": CommandAction("send the agent back to work, with what to change", _declare_comment, _comment),
    "merge": CommandAction("merge the work on a task as you reviewed it, and clean up", _declare_merge, _merge),
    "pr": CommandAction("push the work on a task and open a pull request by gh", _declare_pull_request, _pull_request),
    "discard": CommandAction("discard the work on a task; its branch and files stay", _declare_one, _discard),
    "restore": CommandAction("take a merge back, or bring discarded work back", _declare_restore, _restore),
    "clean": CommandAction("remove worktrees, terminals and files of ended work", _declare_clean, _clean),
}
