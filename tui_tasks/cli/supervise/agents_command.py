"""`agents`: who works (docs: protocol, section 10), and what a person says to an agent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, Final

from tui_tasks import clock
from tui_tasks.cli import person_rights
from tui_tasks.cli.command_parser import CommandAction, declare_actions, words
from tui_tasks.cli.options import left_now, open_store, quiet_after_microseconds, require_database
from tui_tasks.cli.streams import print_json
from tui_tasks.core import agent_names
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound
from tui_tasks.core.operations import Operation, Revert
from tui_tasks.core.operations.asks import PAUSED, PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.read.agents import agent_views
from tui_tasks.core.read.agents.session_queries import own_words
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects import control_agents
from tui_tasks.text import times
from tui_tasks.text.safe import name_text, safe_ends, safe_line

_WORDS: Final = 60
_EPILOG: Final = "Without an action: the agents at work. All actions need a person at a terminal."


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--all", action="store_true", help="also agents that ended over a day ago")
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
            from tui_tasks.hooks import intake, session_processes
            from tui_tasks.hooks.follower import RecordWatch

            session_processes.end_departed(store, clock.now())
            session_processes.note_stopped(store, clock.now())
            records = RecordWatch(store, lambda: intake.process_payloads(store, clock.now()), intake.human_settings)
            records.look(clock.now(), at_once=True)
        agents = control_agents.agents_page(store.db, clock.now(), everyone=options.all)
        states = _states(store) if not options.json else {}
    if options.json:
        print_json(agents, indent=2)
        return 0
    for one in agents:
        print(_line(one, *states.get(one["agent"], (one["state"], ""))))
    if not agents:
        print("No agents: `tui-tasks setup claude` connects one.")
    return 0


def _states(store: Store) -> dict[str, tuple[str, str]]:
    """Return the state of each agent, in the word that the screen has, and what else there is to say about it."""
    from tui_tasks.core.read.agents import agent_states
    from tui_tasks.core.unjournaled import local_values
    from tui_tasks.text.glyphs import AGENT_LOOKS

    now, quiet_after, left = clock.now(), quiet_after_microseconds(), dict[str, list[str]]()
    members = list(agent_views.everyone(store.db, 0, seen_at=local_values.seen_at(store.db), now=now))
    lapsed_at = {claim.task.uid: claim.at for member in members for claim in member.lapsed}
    for uid, task in left_now(store.db, now).items():
        number = task_queries.task(store.db, uid).number
        what = f"its claim on #{number} lapsed" if task.has_lapsed else f"left #{number} in progress"
        at = lapsed_at.get(uid, task.at) if task.has_lapsed else task.at
        left.setdefault(task.agent, []).append(f"{what} {times.ago(at, now)}")
    states = {}
    for member in members:
        state = agent_states.state_of(member, now, quiet_after)
        more = [member.message] * (member.message != PAUSED) if member.paused else left.get(member.name, [])
        if state == "stuck" and not more and (lapsed := agent_states.lapsed_text(member, now)):
            more = [lapsed]
        more += [member.between] if member.between else []
        more += [f"asks: {member.ask.question}"] if member.ask is not None else []
        more += [safe_ends(member.failed_work.text, _WORDS - 8)] if member.failed_work is not None else []
        states[member.name] = AGENT_LOOKS[state].word, "; ".join(more)
    return states


def _line(agent: dict[str, Any], word: str, more: str) -> str:
    is_waiting = word == "waiting" and agent["waiting_for"]
    state = f"waiting ({agent['waiting_for']})" if is_waiting else ": ".join(filter(None, (word, more)))
    at = agent["tool"] or agent["last_message"] or own_words(agent["last_prompt"])
    folder = name_text(agent["project"] or agent["cwd"] or "", _WORDS)
    words = [
        agent_names.display_name(agent["agent"], _WORDS),
        safe_line(state, _WORDS),
        folder,
        safe_line(at or "", _WORDS),
    ]
    return "  ".join(filter(None, words))


def _commit_action(
    word: str, operation: Callable[[argparse.Namespace], Operation]
) -> Callable[[argparse.Namespace], None]:
    def run(options: argparse.Namespace) -> None:
        with open_store(options) as store:
            state = _state_of(store, options.name)
            until = _commit_and_pass_on(options, store, operation(options), state)
        is_message = options.action in _MESSAGES
        if options.json:
            delivery = {"state": "sent" if until is None else "queued", "until": until} if is_message else {}
            print_json({"agent": options.name, "action": options.action, **delivery})
        elif is_message and until is not None:
            print(f"queued: {agent_names.display_name(options.name)} reads it when {until}")
        else:
            print(f"{word}: {agent_names.display_name(options.name)}")

    return run


def _state_of(store: Store, name: str) -> dict[str, Any]:
    """Return an agent as `agents --json` has it.

    Raises:
        NotFound: there is none.
    """
    from tui_tasks.hooks import session_processes

    if not store.read_only:
        session_processes.end_departed(store, clock.now())
        session_processes.note_stopped(store, clock.now())
    for agent in control_agents.agents_page(store.db, clock.now(), everyone=True):
        if agent["agent"] == name:
            return agent
    raise NotFound("agent", f"{name}; `tui-tasks agents --all` lists them")


def _commit_and_pass_on(
    options: argparse.Namespace, store: Store, operation: Operation, agent: dict[str, Any]
) -> str | None:
    """Commit what a person says to an agent, and leave it for the agent's hooks, as no other process may do so.

    Return when the agent reads it; None: at once.
    """
    from tui_tasks.core.read import work_queries
    from tui_tasks.hooks import screen_presence
    from tui_tasks.hooks.replies.reply_sender import ReplySender, reads_when

    person_rights.commit(
        options, store, operation, what=[f"{options.action.capitalize()} {agent_names.display_name(options.name)}"]
    )
    ReplySender(store).look(clock.now())
    has_screen = screen_presence.is_open(store.path)
    is_prompted = work_queries.is_prompted(store.db, agent["agent"])
    is_at_work = work_queries.is_at_work(store.db, agent["agent"])
    return reads_when(
        agent["agent"],
        agent["program"],
        agent["state"],
        has_screen=has_screen,
        is_prompted=is_prompted,
        is_at_work=is_at_work,
    )


def _declare_undo(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the agent")
    command.add_argument(
        "--since", metavar="WHEN", required=True, help="2h, 18:00, `yesterday 18:00` or a date: its changes since then"
    )


def _undo(options: argparse.Namespace) -> None:
    try:
        since = times.past(options.since, clock.now())
    except ValueError as refused:
        raise InvalidArgument("since", f"--since: {refused}") from None
    with open_store(options) as store:
        made = change_summaries.of_agent(store.db, options.name, since)
        if not made:
            raise Conflict(f"{options.name} has changed nothing since then")
        summary = change_summaries.summary(store.db, made)
        ((taken, left),) = person_rights.commit(options, store, Revert(tuple(made)))
    if options.json:
        kept = [{"change": change, "why": why} for change, why in left]
        print_json({"agent": options.name, "taken_back": taken, "left": kept})
        return
    print(f"undone: {summary.text}" if taken else "nothing was undone")
    if taken:
        made_by = agent_names.display_name(options.name)
        print(f"made by {made_by}; u on the screen takes this undo back", file=sys.stderr)
    for change, why in left:
        print(f"left: change {change}: {safe_line(why)}")


_MESSAGES: Final = frozenset({"message", "stop"})
_ACTIONS: Final = {
    "message": CommandAction(
        "write to an agent, which reads it with its next reply",
        words(name="the agent", text="the message"),
        _commit_action("sent", lambda options: SendMessage(options.name, options.text)),
    ),
    "stop": CommandAction(
        "end an agent's turn, with a message",
        words(name="the agent", text="the message"),
        _commit_action("is to stop", lambda options: SendMessage(options.name, options.text, ends_turn=True)),
    ),
    "pause": CommandAction(
        "pause an agent: its requests fail until you resume it",
        words(name="the agent", text="?the message with which its requests fail"),
        _commit_action("paused", lambda options: PauseAgent(options.name, options.text or PAUSED)),
    ),
    "resume": CommandAction(
        "resume a paused agent",
        words(name="the agent"),
        _commit_action("is resumed", lambda options: ResumeAgent(options.name)),
    ),
    "undo": CommandAction("undo the changes of an agent since a time; messages stay", _declare_undo, _undo),
}
