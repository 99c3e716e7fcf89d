"""What only a person at a terminal may do in a shell: checked here for every command, by `command_table.RIGHTS`, asked,
and written out whole.

Refused are runs of jobs, processes of agent programs, pipes and named agents, each by its name in the journal. What a
terminal does in the human's name is in the journal with that terminal and its parents, and shown by the open screen.
What accepts, allows or deletes for good asks that screen first (docs: isolation).
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.cli.command_table import PERSON_ONLY, RIGHTS

if TYPE_CHECKING:
    import argparse

    from tui_tasks.core.agent_snapshots import Check
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.errors import Forbidden
    from tui_tasks.core.operations import Operation, RecordTerminal
    from tui_tasks.core.snapshots import Task
    from tui_tasks.core.store import Store
    from tui_tasks.work.git.reviewing import Review

YES: Final = "Do it"
NO: Final = "Refuse"
WAIT_SECONDS: Final = 300.0
"""How long a command waits for the answer of the open screen."""
_BAR: Final = "│ "
_MAX_DIFF_CHARS: Final = 10_000
"""Diffs are shown up to this; files beyond are counted."""


def check(options: argparse.Namespace) -> None:
    """Refuse a caller of a person's command that is not recognisable as a person at a terminal.

    Raises:
        Forbidden: the message has the reason, and the attempt is in the journal.
    """
    if not RIGHTS.get(options.command.name, PERSON_ONLY).is_for_person(_action_of(options)):
        return
    from tui_tasks.core.errors import DatabaseRefused, StorageFailed

    try:
        with contextlib.ExitStack() as opening:
            _refuse_others(options, _existing_store(options, opening))
    except (DatabaseRefused, StorageFailed):
        # The command tells what is wrong with the database; a person may restore it.
        _refuse_others(options, None)
    options.is_person = True


def _action_of(options: argparse.Namespace) -> str:
    """Return the word of `command_table.RIGHTS` for what is asked for; "" for the command alone."""
    name = options.command.name
    if name == "":
        return "" if options.read_only else "write"
    if name == "web":
        return "write" if options.write and not options.read_only else ""
    if name == "config":
        return "use" if options.use else ""
    if name == "check":
        return next((word for word in options.words[:1] if word in RIGHTS["check"].person.split()), "")
    return getattr(options, "action", None) or ""


def _existing_store(options: argparse.Namespace, opening: contextlib.ExitStack) -> Store | None:
    from copy import copy
    from pathlib import Path

    from tui_tasks.cli.options import open_store
    from tui_tasks.settings import paths

    if not Path(paths.database(options.db)).exists():
        return None
    # `--read-only` of `token` is about the token.
    is_read_only = options.read_only and options.command.name != "token"
    reading = copy(options)
    reading.read_only = is_read_only
    return opening.enter_context(open_store(reading))


def _refuse_others(options: argparse.Namespace, store: Store | None) -> None:
    from tui_tasks.core.errors import Forbidden
    from tui_tasks.state import callers

    # On a screen, `--agent` names who speaks on the pipe beside it.
    is_screen = options.command.name in ("", "web")
    named = None if is_screen else getattr(options, "agent", None)
    other = callers.other_caller(None if store is None else store.db, named)
    if other is None and not is_screen and not callers.has_terminal():
        other = callers.OtherCaller(None, "standard input is not a terminal")
    if other is None:
        return
    refused = Forbidden(f"`{_called(options)}` needs a person at a terminal: {other.why}")
    if store is not None and not store.read_only:
        _record_refusal(store, options, other.agent, refused)
    raise refused


def _record_refusal(store: Store, options: argparse.Namespace, agent: str | None, refused: Forbidden) -> None:
    from tui_tasks import clock
    from tui_tasks.core.errors import StorageFailed
    from tui_tasks.core.operations import RecordRefusal
    from tui_tasks.core.vocab import SHELL

    with contextlib.suppress(StorageFailed):  # it is refused even if the attempt cannot be recorded
        store.commit(RecordRefusal(_called(options), refused.message), actor=agent or SHELL, now=clock.now())


def _called(options: argparse.Namespace) -> str:
    name, action = options.command.name, _action_of(options)
    if name in ("", "web", "config"):
        action = f"--{action}" if name and action else ""
    return " ".join(filter(None, ("tui-tasks", name, action)))


def commit(
    options: argparse.Namespace,
    store: Store,
    *operations: Operation,
    what: Sequence[str] = (),
    answers: str | None = None,
) -> list[Any]:
    """Commit operations as the human; return their results.

    `what` and `answers`: what the open screen is asked about, where the action asks it; see `confirm`.

    Raises:
        Forbidden: the open screen refused it.
        Refusal: the state forbids it.
    """
    from tui_tasks import clock
    from tui_tasks.core.vocab import HUMAN

    confirm(options, store, what, answers)
    return store.commit(terminal_record(options), *operations, actor=HUMAN, now=clock.now())[1:]


def record(options: argparse.Namespace, store: Store) -> None:
    """Record in the journal that a command has used the human's name from this terminal."""
    from tui_tasks import clock
    from tui_tasks.core.vocab import HUMAN

    store.commit(terminal_record(options), actor=HUMAN, now=clock.now())


def terminal_record(options: argparse.Namespace) -> RecordTerminal:
    """Return the entry about this terminal."""
    from tui_tasks.core.operations import RecordTerminal
    from tui_tasks.state import callers

    assert options.is_person, "`check` comes before every use of the human's name"
    use = callers.terminal_use()
    return RecordTerminal(_called(options), use.terminal, use.parents)


def asks_screen(options: argparse.Namespace, store: Store) -> bool:
    """Return whether an open screen is asked before the command acts."""
    from tui_tasks.hooks import screen_presence

    rights = RIGHTS.get(options.command.name, PERSON_ONLY)
    return rights.asks_screen(_action_of(options)) and screen_presence.is_open(store.path)


def confirm_at_terminal(
    options: argparse.Namespace, store: Store, what: Sequence[str], question: str, otherwise: str
) -> None:
    """Show what is decided on the terminal and ask there, unless the open screen shows it and asks.

    Args:
        options: those of the command.
        store: the database.
        what: what is decided; see `confirm`.
        question: what is asked, to be answered by yes or no.
        otherwise: what to add to the command, where no terminal shows it.

    Raises:
        Conflict: no terminal shows it.
        Forbidden: the answer is no.
    """
    from tui_tasks.core.errors import Conflict, Forbidden

    if asks_screen(options, store):
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Conflict(f"no terminal shows what you would accept: {otherwise}")
    print(*what, "", sep="\n", file=sys.stderr)
    import termios  # for the few commands that ask

    # What was typed before it was shown is no answer.
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Forbidden(f"`{_called(options)}`: you did not accept it")


def confirm(options: argparse.Namespace, store: Store, what: Sequence[str], answers: str | None = None) -> None:
    """Ask the open screen, if there is one and the action asks it, and wait for its answer.

    Args:
        options: those of the command.
        store: the database.
        what: all that is decided, as lines that are shown as they are (`quoted`).
        answers: the uid of the question that the command answers; once that is closed, there is nothing to confirm.

    Raises:
        Conflict: it is too long for a question.
        Forbidden: the answer is another than yes, or none came.
    """
    from tui_tasks.core.errors import Forbidden

    assert options.is_person, "`check` comes before every use of the human's name"
    if not asks_screen(options, store):
        return
    print("Confirm in the inbox of the open screen (Ctrl+C cancels).", file=sys.stderr, flush=True)
    answer = _answer_of_screen(options, store, what, answers)
    if answer is None and answers is not None and _is_closed(store, answers):
        return  # the commit names what became of it
    if answer != YES:
        reason = "you refused it on the screen" if answer is not None else "no answer on the screen"
        raise Forbidden(f"`{_called(options)}`: {reason}")


def _is_closed(store: Store, ask: str) -> bool:
    from tui_tasks.core.read import ask_queries

    return ask_queries.ask(store.db, ask).state != "open"


def _answer_of_screen(
    options: argparse.Namespace, store: Store, what: Sequence[str], answers: str | None
) -> str | None:
    """Ask by a question of the shell; return the answer, or None if none came in time, or none is needed any more."""
    from tui_tasks import clock
    from tui_tasks.core.agent_snapshots import Process
    from tui_tasks.core.engine.commit_watch import Watch
    from tui_tasks.core.errors import Conflict
    from tui_tasks.core.operations.asks import CloseAsk, OpenAsk
    from tui_tasks.core.read import ask_queries
    from tui_tasks.core.unhidden_text import unhidden_line
    from tui_tasks.core.unjournaled import connections
    from tui_tasks.core.vocab import SHELL
    from tui_tasks.runner import processes
    from tui_tasks.text.safe import TEXT_CHARS

    used = terminal_record(options)
    # A row of the screen has room for the first line alone: the command and what is decided come before the place.
    first = unhidden_line(f"`{used.command}`") + "".join(f": {line}" for line in what[:1])
    where = unhidden_line(
        f"Typed at terminal {used.terminal}, in {' < '.join(used.parents)}. Refuse it if you did not type it."
    )
    text = "\n".join((first, *what[1:], "", where))
    if len(text) > TEXT_CHARS:
        raise Conflict("it is too long for a question on the open screen: decide it in the inbox or the review there")
    with store.transaction(clock.now()) as transaction, transaction.change():
        transaction.speak(SHELL)
        ask = transaction.run(OpenAsk(text, (YES, NO)))
        # If this process is killed, the screen withdraws the question.
        connections.put_asker(store.db, ask.uid, Process(*processes.identity(machine=store.db.machine)))
    end, is_moot = time.monotonic() + WAIT_SECONDS, False
    watch = Watch(store.db)
    store.db.follow()
    try:
        while (current := ask_queries.ask(store.db, ask.uid)).state == "open" and time.monotonic() < end:
            if is_moot := answers is not None and _is_closed(store, answers):
                break
            while not (watch.changed(time.monotonic()) or watch.is_lost or time.monotonic() >= end):
                watch.sleep()
        return current.answer
    finally:
        watch.close()
        with contextlib.suppress(Conflict):  # it is answered
            why = "the question was closed elsewhere" if is_moot else None
            store.commit(CloseAsk(ask.uid, "withdrawn", why), actor=SHELL, now=clock.now())


def quoted(text: str, *, is_prose: bool = True) -> list[str]:
    """Return the lines of a text of others, each behind a bar: none can pass for a line of this program."""
    from tui_tasks.core.unhidden_text import unhidden_line

    return [f"{_BAR}{unhidden_line(line, is_prose=is_prose)}" for line in text.split("\n")]


def task_lines(db: Database, task: Task, *, with_log: bool = True) -> list[str]:
    """Return all that is accepted with a task, and its log."""
    import msgspec

    from tui_tasks.core import agent_names
    from tui_tasks.core.read.tasks import task_queries, task_records
    from tui_tasks.core.rules.tasks.held_rules import ACCEPTED
    from tui_tasks.core.unhidden_text import unhidden_line
    from tui_tasks.core.vocab import priority_word

    lines = quoted(task.name)
    if task.description:
        lines += ["Description:", *quoted(task.description)]
    values = {name: getattr(task, name) for name in ACCEPTED if name not in ("name", "description", "depends_on")}
    values["priority"] = priority_word(task.priority)
    for name, value in values.items():
        if value is not None and value != ():
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines += [f"{name.capitalize()}: {unhidden_line(text)}"]
    for uid in task.depends_on:
        dependency = task_queries.any_task(db, uid)
        lines += [
            f"After #{dependency.number}:" if dependency is not None else "After:",
            *quoted(dependency.name if dependency else uid),
        ]
    for entry in task_records.logs(db, task.uid) if with_log else ():
        lines += [f"Logged by {agent_names.display_name(entry.agent)}:", *quoted(entry.message)]
    return lines


def review_lines(review: Review, checks: Sequence[Check]) -> list[str]:
    """Return the files, commits, conflicts and checks of a work, without the content of the files."""
    from tui_tasks.core.unhidden_text import unhidden_line

    where = unhidden_line(review.branch or str(review.folder))
    lines = [f"{where}  {review.ahead} ahead of {unhidden_line(review.base)}, {review.behind} behind"]
    for one in review.files:
        counted = "binary" if one.is_binary else f"+{one.insertions} -{one.deletions}"
        lines.append(f"{' ' if one.is_committed else '?'}{one.status}  {_name_text(one.path)}  {counted}")
    lines += [
        f"{commit.id[:9]}  {_name_text(commit.author)}  {unhidden_line(commit.title)}" for commit in review.commits
    ]
    lines += [f"conflict  {_name_text(path)}" for path in review.conflicts]
    lines += [f"{unhidden_line(one.name)} {one.state} on these files{', gate' * one.gate}" for one in checks]
    lines += [f"it has nothing new for {unhidden_line(review.base)}: nothing is merged"] * review.adds_nothing
    return [*lines, *(unhidden_line(note) for note in review.notes)]


def _name_text(name: str) -> str:
    """Return a path or an author; in quotes, where its blanks or signs could pass for those of the line around it."""
    from tui_tasks.core.unhidden_text import unhidden_line
    from tui_tasks.text.safe import name_text

    return name_text(unhidden_line(name))


def diff_lines(review: Review) -> Iterator[str]:
    """Yield the diffs of the files, as far as there is room, and how many files have none here."""
    from tui_tasks.work.git import reviewing

    left, hidden = _MAX_DIFF_CHARS, 0
    for change in review.files:
        if (change.insertions or 0) + (change.deletions or 0) > left:
            hidden += 1  # git is not asked for what has no room
            continue
        diff = reviewing.file_diff(review.folder, review.merge_base, review.tree, change)
        lines = quoted(diff.text.rstrip("\n"), is_prose=False)
        size = sum(map(len, lines)) + len(lines)
        if diff.is_binary or diff.is_cut or size > left:
            hidden += 1
            continue
        left -= size
        yield from lines
    if hidden:
        yield f"Not shown here: the content of {hidden} of {len(review.files)} file{'s' * (len(review.files) != 1)}."
