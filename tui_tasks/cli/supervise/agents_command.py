"""`agents`: who works (docs: protocol, section 10), and what a person says to an agent."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from tui_tasks import clock
from tui_tasks.cli import person
from tui_tasks.cli.options import open_store, require_database
from tui_tasks.cli.printing import print_json
from tui_tasks.cli.supervise.actions import CommandAction, declare_actions, words
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound
from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.operations.changes import TakeBack
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.read.log import standing_changes
from tui_tasks.dialects.json_shapes import agent_shapes
from tui_tasks.text import instants
from tui_tasks.text.safe import safe_line

_WORDS: Final = 60
_EPILOG: Final = "Without an action, who works. All actions are a person's, at a terminal."


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--all", action="store_true", help="those that ended over a day ago as well")
    declare_actions(name, command, _ACTIONS)
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """Print a line, or a JSON object, for each agent; return the exit status."""
    require_database(options)
    if options.action is not None:
        _ACTIONS[options.action].run(options)
        return 0
    with open_store(options) as store:
        if not options.read_only:
            from tui_tasks.hooks import intake
            from tui_tasks.hooks.presence import departures
            from tui_tasks.hooks.records.watching import RecordWatch

            departures.end_departed(store, clock.now())
            records = RecordWatch(store, lambda: intake.process_payloads(store, clock.now()), intake.human_settings)
            records.look(clock.now(), at_once=True)
        found = agent_shapes.agents(store.db, clock.now(), everyone=options.all)
    if options.json:
        print_json(found, indent=2)
        return 0
    for agent in found:
        print(_line(agent))
    if not found:
        print("No agents.")
    return 0


def _line(agent: dict[str, Any]) -> str:
    state = f"waiting ({agent['waiting_for']})" if agent["waiting_for"] else agent["state"]
    at = agent["tool"] or agent["last_message"] or agent["last_prompt"] or ""
    words = [agent["agent"], state, agent["project"] or agent["cwd"] or "", at]
    return "  ".join(safe_line(word, _WORDS) for word in words if word)


def _commit_action(
    word: str, operation: Callable[[argparse.Namespace], Operation]
) -> Callable[[argparse.Namespace], None]:
    def run(options: argparse.Namespace) -> None:
        with open_store(options) as store:
            if all(
                agent["agent"] != options.name for agent in agent_shapes.agents(store.db, clock.now(), everyone=True)
            ):
                raise NotFound("agent", f"{options.name}; `tui-tasks agents --all` lists them")
            person.commit(options, store, operation(options))
        if options.json:
            print_json({"agent": options.name, "action": options.action})
        else:
            print(f"{word}: {safe_line(options.name)}")

    return run


def _declare_undo(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the agent")
    command.add_argument(
        "--since", metavar="WHEN", required=True, help="2h, 18:00, `yesterday 18:00` or a date: what it did since then"
    )


def _undo(options: argparse.Namespace) -> None:
    try:
        since = instants.past(options.since, clock.now())
    except ValueError as refused:
        raise InvalidArgument("since", f"--since: {refused}") from None
    with open_store(options) as store:
        person.require_person(options, store)
        made = standing_changes.of_agent(store.db, options.name, since)
        if not made:
            raise Conflict(f"{options.name} has changed nothing since then")
        found = standing_changes.summary(store.db, made)
        ((taken, left),) = person.commit(options, store, TakeBack(tuple(made)))
    if options.json:
        kept = [{"change": change, "why": why} for change, why in left]
        print_json({"agent": options.name, "taken_back": taken, "left": kept})
        return
    print(f"taken back: {found.text}" if taken else "nothing was taken back")
    for change, why in left:
        print(f"left: change {change}: {safe_line(why)}")


_ACTIONS: Final = {
    "message": CommandAction(
        "write to an agent, which reads it with its next reply",
        words(name="the agent", text="what it is to read"),
        _commit_action("sent", lambda options: SendMessage(options.name, options.text)),
    ),
    "stop": CommandAction(
        "end an agent's turn with a message, where its program can",
        words(name="the agent", text="what it is to read"),
        _commit_action("is to stop", lambda options: SendMessage(options.name, options.text, ends_turn=True)),
    ),
    "pause": CommandAction(
        "refuse all that an agent calls, until it is resumed",
        words(name="the agent", text="?what it reads instead"),
        _commit_action("paused", lambda options: PauseAgent(options.name, options.text or "the human has paused you")),
    ),
    "resume": CommandAction(
        "let a paused agent go on",
        words(name="the agent"),
        _commit_action("goes on", lambda options: ResumeAgent(options.name)),
    ),
    "undo": CommandAction("take back what an agent did since a moment", _declare_undo, _undo),
}
