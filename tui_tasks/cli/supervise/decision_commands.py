"""What a person decides for agents: `asks` lists their questions and answers one, `rules` lists the standing answers of
the settings file, tries one on a command, and removes one; `accept`, `decline`, `join` and `release` decide about tasks
that they filed or took.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.cli import person_rights
from tui_tasks.cli.command_parser import CommandAction, declare_actions, words
from tui_tasks.cli.options import TASK_REFERENCE, open_store, require_database, session_of
from tui_tasks.cli.person_rights import quoted, task_lines
from tui_tasks.cli.streams import print_json
from tui_tasks.cli.tasks.lookup import find_task, titled
from tui_tasks.core import agent_names
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.errors import Conflict, DatabaseRefused, InvalidArgument, NotFound
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, EditTask, JoinTask
from tui_tasks.core.read import ask_queries, check_queries, work_text
from tui_tasks.core.read.ask_queries import SHORT_ID
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.agents import standing_answers
from tui_tasks.core.rules.agents.request_text import (
    ALLOW,
    DENY,
    allows,
    as_kept,
    ask_lines,
    ask_options,
    is_kept_whole,
    question_options,
)
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.core.rules.recorded_settings import recorded
from tui_tasks.core.snapshots import Task, full_task, iso
from tui_tasks.core.store import Store
from tui_tasks.core.unhidden_text import invisible_char
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.command_tools import SHELL as TOOLS
from tui_tasks.hooks.redaction import REDACTED
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.hooks.replies.reply_sender import why_unanswerable
from tui_tasks.settings import config, paths
from tui_tasks.text.safe import TEXT_CHARS, safe_line, safe_text
from tui_tasks.text.times import ago


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes."""
    if name == "asks":
        declare_actions(name, command, _ACTIONS)
        command.epilog = "Without an action: the open questions. Answering needs a person at a terminal."
    elif name == "rules":
        declare_actions(name, command, _RULE_ACTIONS)
        command.epilog = "Without an action: the rules by their numbers. They are [[rule]] tables of the settings file."
    else:
        _declare_decision(name, command)


def run(name: str, options: argparse.Namespace) -> int:
    """List the open questions or the rules, act on one, or decide about a task. Exit status 0, but for `rules test`."""
    if name == "rules":
        return _rules(options)
    require_database(options)
    if name != "asks":
        return _decide(name, options)
    if options.action is not None:
        _ACTIONS[options.action].run(options)
        return 0
    with open_store(options) as store:
        asks = ask_queries.open_asks(store.db)
        if options.json:
            print_json({"asks": [to_json(ask) for ask in asks]}, indent=2)
            return 0
        put_off = local_values.put_off(store.db, clock.now())
        for ask in sorted(asks, key=lambda ask: ask.uid in put_off):
            print("\n".join(_lines(store, ask, is_later=ask.uid in put_off)))
    if not asks:
        print("No open questions.")
    return 0


def to_json(ask: Ask) -> dict[str, Any]:
    """Return a question as JSON. `kind` is `permission` if a program asks whether a tool may run, else `question`."""
    return {
        "ask": ask.uid,
        "kind": "permission" if ask.is_permission else "question",
        "agent": ask.agent,
        "question": ask.question,
        "options": list(ask.options),
        "task": ask.task_uid,
        "state": ask.state,
        "answer": ask.answer,
        "opened_at": iso(ask.opened_at),
        "expires_at": iso(ask.expires_at),
    }


def _lines(store: Store, ask: Ask, *, is_later: bool) -> Iterator[str]:
    task = task_queries.any_task(store.db, ask.task_uid) if ask.task_uid else None
    about = f", about #{task.number} {safe_line(task.name, 60)}" if task is not None else ""
    who = agent_names.display_name(ask.agent, 30)
    yield f"{ask.uid[:SHORT_ID]}  {who} asks{about}  [{'later, ' * is_later}{ago(ask.opened_at, clock.now())}]"
    # Without a bar, a line of a question could pass for an option below it.
    yield from (f"  │ {line}" for line in safe_text("\n".join(ask_lines(ask))).splitlines())
    if (why := _why_not_here(store, ask)) is not None:
        yield f"  {safe_line(why)}"
        return
    options = ask_options(ask, ask.options)
    yield from (f"  {number}  {safe_line(option)}" for number, option in enumerate(options, 1))


def _why_not_here(store: Store, ask: Ask) -> str | None:
    """Return why a question cannot be answered by a command; None: it can."""
    if ask.agent == SHELL:
        return "a command at a terminal asks this: it is answered on the screen"
    return why_unanswerable(store.db, ask)


def _answer(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        ask = _found(store, options.ask)
        if (why := _why_not_here(store, ask)) is not None:
            raise Conflict(why)
        answer, choices = _answers(ask, options.answer)
        takes_up = answer in ask.options or allows(answer) or any(choice is not None for choice in choices)
        if takes_up and answer != DENY and not _is_shown_whole(ask):
            raise Conflict(
                f"not all of question {ask.uid[:SHORT_ID]} can be shown: answer it in words of your own, or deny it"
            )
        given = None if options.input is None else _edited(ask, answer, options.input)
        what = [f"{agent_names.display_name(ask.agent)} asks:", *(f"│ {line}" for line in ask_lines(ask))]
        what += ["The answer:", *quoted(answer, is_prose=False)]
        what += ["The tool is given instead:", *quoted(json.dumps(given), is_prose=False)] if given is not None else []
        operation = AnswerAsk(ask.uid, answer, given, choices)
        (ask,) = person_rights.commit(options, store, operation, what=what, answers=ask.uid)
        if options.json:
            print_json(to_json(ask))
        else:
            print(f"answered {ask.uid[:SHORT_ID]}  {agent_names.display_name(ask.agent, 30)}: {safe_line(answer)}")


def _found(store: Store, reference: str) -> Ask:
    """Return the open question whose id begins with a reference.

    Raises:
        InvalidArgument: the reference is too short.
        NotFound: there is none.
        Conflict: several questions match.
    """
    if len(reference) < SHORT_ID:
        # An agent could ask until another question has a short beginning.
        raise InvalidArgument(
            "ask", f"name a question by at least {SHORT_ID} letters of its id: `tui-tasks asks` lists them"
        )
    asks = [ask for ask in ask_queries.open_asks(store.db) if ask.uid.startswith(reference)]
    if not asks:
        raise NotFound("open question", f"{reference}; `tui-tasks asks` lists them")
    if len(asks) > 1:
        raise Conflict(f"several questions begin with {reference!r}: write more of the id")
    return asks[0]


def _answers(ask: Ask, given: Sequence[str]) -> tuple[str, tuple[int | None, ...]]:
    """Return the answer, of several questions in a line each, and the options that were chosen by their numbers.

    Raises:
        InvalidArgument: there is not one answer for each question, each in one line.
    """
    kept = as_kept(ask).questions if ask.request is not None else ()
    several = [question_options(question) for question in kept] if len(kept) > 1 else [ask.options]
    if len(given) != len(several) or (len(several) > 1 and any("\n" in text for text in given)):
        asked = "one question: give one answer" if len(several) == 1 else f"{len(several)} questions: answer each"
        raise InvalidArgument("answer", f"it asks {asked}, in quotes where it has spaces")
    chosen = [_chosen(options, text) for options, text in zip(several, given, strict=True)]
    choices = tuple(at for at, _ in chosen) if kept else ()
    return "\n".join(text for _, text in chosen), choices


def _chosen(options: Sequence[str], answer: str) -> tuple[int | None, str]:
    """Return the index and text of the option with that number, or None and the text itself."""
    is_number = answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(options)
    return (int(answer) - 1, options[int(answer) - 1]) if is_number else (None, answer)


def _edited(ask: Ask, answer: str, text: str) -> dict[str, Any]:
    """Return the edited input of the tool, from JSON.

    Raises:
        Conflict: the question does not ask for a tool's input, or its program takes no edited one.
        InvalidArgument: the text is no JSON object, or contains the mark of a redacted secret.
    """
    request = ask.request or {}
    if request.get("kind") != "permission" or answer != ALLOW:
        raise Conflict(f"--input goes with the answer {ALLOW!r} to a permission")
    if (why := reply_sender.why_not(request["program"], "edit_input")) is not None:
        raise Conflict(why)
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InvalidArgument("input", f"--input is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise InvalidArgument("input", "--input: a tool is given a JSON object")
    if REDACTED in text:
        raise InvalidArgument("input", f"--input: {REDACTED} stands where a key or a token was taken out")
    return given


def _declare_answer(command: argparse.ArgumentParser) -> None:
    words(ask="its id, or the beginning of it")(command)
    command.add_argument(
        "answer",
        metavar="ANSWER",
        nargs="+",
        help="an option's number, or your own words; one for each of several questions",
    )
    command.add_argument("--input", metavar="JSON", help="another input for the tool, if you allow it")


def _is_shown_whole(ask: Ask) -> bool:
    return is_kept_whole(ask) and all(
        len(text) <= TEXT_CHARS and invisible_char(text) is None for text in (ask.question, *ask.options)
    )


_ACTIONS: Final = {"answer": CommandAction("answer a question", _declare_answer, _answer)}


_DONE: Final = {"accept": "accepted", "decline": "declined", "join": "joined", "release": "released"}


def _declare_decision(name: str, command: argparse.ArgumentParser) -> None:
    command.set_defaults(speaks_as=SHELL)
    command.add_argument("task", metavar="TASK", help=TASK_REFERENCE)
    if name == "accept":
        command.add_argument(
            "--version", metavar="V", type=int, help="accept this version (`tui-tasks show` has it), without asking"
        )
    if name == "decline":
        command.add_argument("reason", metavar="REASON", nargs="*", default=[], help="why not; its agents read it")
    if name == "join":
        command.add_argument("into", metavar="OTHER", help="the other task, whose log gets its text")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.epilog = "Needs a person at a terminal."


def _decide(name: str, options: argparse.Namespace) -> int:
    """Decide about a task, and print it (for `join` the one that remains)."""
    with open_store(options) as store:
        session = session_of(options, store, TOOLS)
        task = find_task(session, options.task)
        other = find_task(session, options.into) if name == "join" else None
        if name != "release" and not task.held:
            raise Conflict(f"#{task.number} is not held: there is nothing to {name}")
        head = f"#{task.number}, version {task.version}, of {agent_names.display_name(task.created_by)}:"
        what = [head, *task_lines(store.db, task)]
        if name == "accept":
            _agree(options, store, task, what)
        (changed,) = person_rights.commit(options, store, _operation(name, task, other, options), what=what)
        home = task_queries.list_by_id(store.db, changed.list_id)
        checks = check_queries.json_of_task(store.db, changed, home)
        task_json = full_task(changed, home.handle, checks, work_text.json_of_task(store.db, changed.uid))
    if options.json:
        print_json(task_json)
    else:
        print(f"{_DONE[name] if changed != task else 'unchanged'} {titled(task.number, task.name)}")
    return 0


def _agree(options: argparse.Namespace, store: Store, task: Task, what: Sequence[str]) -> None:
    """Make sure that the person accepts the version that was read here: they name it, or see it and say so.

    Raises:
        Conflict: it is another version, or nobody can be asked.
        Forbidden: the answer is no.
    """
    if options.version is None:
        shows = f"`tui-tasks show {task.number}` shows it, then add --version {task.version}"
        person_rights.confirm_at_terminal(options, store, what, "Accept exactly this?", shows)
    elif options.version != task.version:
        raise Conflict(f"#{task.number} is at version {task.version}, not {options.version}: look at it again")


def _operation(name: str, task: Task, other: Task | None, options: argparse.Namespace) -> Operation:
    if other is not None:
        return JoinTask(task.uid, other.uid, task.version)
    if name == "accept":
        return AcceptTask(task.uid, task.version)
    if name == "decline":
        return DeclineTask(task.uid, " ".join(options.reason).strip())
    return EditTask(task.uid, {"status": "pending", "agent": None})


def _rules(options: argparse.Namespace) -> int:
    """List the rules, or carry out an action. Exit status 0; of `test`, 1 if it would be asked."""
    path = paths.configuration()
    settings, problems = config.load(path)
    for problem in problems:
        if problem.message.startswith("rule"):
            raise Conflict(f"{problem}: no rule of the file applies until it is right")
    if options.action == "test":
        return _try_rule(options, settings.rule)
    if options.action == "remove":
        return _remove_rule(options, path, settings.rule)
    if options.json:
        print_json({"rules": [{"number": at, **msgspec.to_builtins(rule)} for at, rule in _numbered(settings.rule)]})
        return 0
    for at, rule in _numbered(settings.rule):
        print(f"{at:>3}  {safe_line(str(rule))}")
    if not settings.rule:
        print(f"no rules: add [[rule]] tables to {safe_line(str(path))} (tui-tasks help configuration)")
    elif (hint := _not_in_force(options, settings.rule)) is not None:
        print(hint)
    return 0


def _numbered(rules: tuple[AnswerRule, ...]) -> list[tuple[int, AnswerRule]]:
    return list(enumerate(rules, 1))


def _not_in_force(options: argparse.Namespace, rules: tuple[AnswerRule, ...]) -> str | None:
    """Return why the rules of the file are not those of the database; None if they are."""
    try:
        with open_store(options) as store:
            settings = recorded(store.db)
    except DatabaseRefused:
        return None
    if settings is not None and settings.rules == rules:
        return None
    return "These rules take effect when a screen opens the database (tui-tasks), or by tui-tasks config --use."


def _declare_try(command: argparse.ArgumentParser) -> None:
    command.add_argument("command_line", metavar="COMMAND", help="the command that an agent wants to run, in quotes")
    command.add_argument("--tool", default="Bash", help="the tool that runs it (default: Bash)")
    command.add_argument("--program", default="claude", help="the agent program (default: claude)")
    command.add_argument("--in-project", metavar="NAME", help="the project of the session")


def _try_rule(options: argparse.Namespace, rules: tuple[AnswerRule, ...]) -> int:
    """Print which rule would answer a command, and what."""
    given = {"command": options.command_line}
    rule = standing_answers.find(
        rules, options.tool, given, program=options.program, project=options.in_project, now=clock.now(), is_whole=True
    )
    plain = standing_answers.command_words(given) is not None
    if options.json:
        answer = "ask" if rule is None else rule.answer
        print_json({"answer": answer, "rule": None if rule is None else str(rule), "plain": plain})
    elif rule is not None:
        print(f"{rule.answer}: {safe_line(str(rule))}")
    elif plain:
        print("ask: no rule answers it")
    else:
        print("ask: it is more than plain words and quotes, so no pattern matches it")
    return 0 if rule is not None else 1


def _declare_removal(command: argparse.ArgumentParser) -> None:
    command.add_argument("number", metavar="N", type=int, help="the rule's number, as `rules` lists it")


def _remove_rule(options: argparse.Namespace, path: Path, rules: tuple[AnswerRule, ...]) -> int:
    removed = config.remove(path, options.number, rules)
    if options.json:
        print_json({"removed": msgspec.to_builtins(removed)})
    else:
        print(f"removed rule {options.number}: {safe_line(str(removed))}")
    return 0


_RULE_ACTIONS: Final = {
    "test": CommandAction("show which rule would answer a command", _declare_try, lambda options: None),
    "remove": CommandAction("remove a rule from the settings file", _declare_removal, lambda options: None),
}
