"""`asks`: what agents ask the human, and the human's answer."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

from tui_tasks import clock
from tui_tasks.cli import person
from tui_tasks.cli.actions import Action, declare_actions, words
from tui_tasks.cli.options import existing, open_store
from tui_tasks.cli.printing import print_json
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.agents.asks import unseen
from tui_tasks.core.snapshots import Ask, iso
from tui_tasks.core.store import Store
from tui_tasks.hooks.replies.answers import why_unanswerable
from tui_tasks.text.safe import TEXT_CHARS, safe_line, safe_text
from tui_tasks.text.times import ago

_SHORT: Final = 8


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    declare_actions(name, command, _ACTIONS)
    command.epilog = "Without an action, the open questions. To answer is a person's, at a terminal."


def run(name: str, options: argparse.Namespace) -> int:
    """List the open questions, or answer one. Exit status 0."""
    existing(options)
    with open_store(options) as store:
        if options.action is not None:
            _answer(options, store)
            return 0
        found = queries.open_asks(store.db)
        if options.json:
            print_json({"asks": [to_json(ask) for ask in found]}, indent=2)
            return 0
        for ask in found:
            print("\n".join(_lines(store, ask)))
    if not found:
        print("Nobody asks anything.")
    return 0


def to_json(ask: Ask) -> dict[str, Any]:
    """A question as JSON. `kind` is `permission` where a program asks whether a tool may run, else `question`."""
    return {
        "ask": ask.uid,
        "kind": "permission" if (ask.request or {}).get("kind") == "permission" else "question",
        "agent": ask.agent,
        "question": ask.question,
        "options": list(ask.options),
        "task": ask.task_uid,
        "state": ask.state,
        "answer": ask.answer,
        "opened_at": iso(ask.opened_at),
        "expires_at": iso(ask.expires_at),
    }


def _lines(store: Store, ask: Ask) -> Iterator[str]:
    task = queries.any_task(store.db, ask.task_uid) if ask.task_uid else None
    about = f", about {safe_line(task.name, 60)}" if task is not None else ""
    yield f"{ask.uid[:_SHORT]}  {safe_line(ask.agent, 30)} asks{about}  [{ago(ask.opened_at, clock.now())}]"
    yield from (f"  {line}" for line in safe_text(ask.question).splitlines())
    yield from (f"  {number}  {safe_line(option)}" for number, option in enumerate(ask.options, 1))


def _answer(options: argparse.Namespace, store: Store) -> None:
    person.require_person(options, store)
    ask = _found(store, options.ask)
    answer = _meant(ask, options.answer)
    if answer in ask.options and not _is_shown_whole(ask):
        raise Conflict(
            f"not all of question {ask.uid[:_SHORT]} can be shown: answer it in words of your own, or deny it"
        )
    if (why := why_unanswerable(store.path, ask)) is not None:
        raise Conflict(why)
    (ask,) = person.commit(options, store, AnswerAsk(ask.uid, answer))
    if options.json:
        print_json(to_json(ask))
    else:
        print(f"answered {ask.uid[:_SHORT]}  {safe_line(ask.agent, 30)}: {safe_line(answer)}")


def _found(store: Store, reference: str) -> Ask:
    """The open question that a word means: the beginning of its id.

    Raises:
        NotFound: there is none.
        Conflict: several may be meant.
    """
    found = [ask for ask in queries.open_asks(store.db) if ask.uid.startswith(reference)]
    if not found:
        raise NotFound("open question", f"{reference}; `tui-tasks asks` lists them")
    if len(found) > 1:
        raise Conflict(f"several questions begin with {reference!r}: write more of the id")
    return found[0]


def _meant(ask: Ask, answer: str) -> str:
    """The option with that number, else the words themselves."""
    is_number = answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(ask.options)
    return ask.options[int(answer) - 1] if is_number else answer


def _is_shown_whole(ask: Ask) -> bool:
    return all(len(text) <= TEXT_CHARS and unseen(text) is None for text in (ask.question, *ask.options))


_ACTIONS: Final = {
    "answer": Action(
        "answer a question",
        words(ask="its id, or the beginning of it", answer="the number of an option, or your own words"),
        lambda options: None,
    )
}
