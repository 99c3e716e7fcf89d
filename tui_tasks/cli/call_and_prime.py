"""The commands of agents: `call`, one request from a shell, with any tool (docs: protocol, section 1); `prime`, what an
agent needs to know to start, in under 1,000 tokens; and `hook`: its help, and arguments that the short way
(`hooks.hook_command`) does not take.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.cli.options import USAGE, hosts_scheduler, is_without_project, open_store, require_database, session_of
from tui_tasks.core.errors import DatabaseRefused, ParseError
from tui_tasks.text import safe
from tui_tasks.text.safe import safe_line

if TYPE_CHECKING:
    import argparse

    from tui_tasks.channel.session import Session
    from tui_tasks.core.store import Store

MAX_TASKS = 12

RULES = """\
You share a live task list with a human and other agents through tui-tasks.
Send one JSON object a line to `tui-tasks serve` (or run `tui-tasks call TOOL name=value ...`):
  {"id": 1, "tool": "tasklist:add_task", "args": {"name": "...", "description": "..."}}
Each is answered by one line with "ok" and "result" or "error". `control:hello` lists every tool and its arguments.
Rules:
- Plan in steps; set a task in_progress when you start it (one at a time in a tasklist), then done, failed or skipped.
- Log what you do (`tasklist:log_task_progress`); log the reason when you fail or skip.
- Several agents at work? Take tasks with `control:claim`, and send `control:heartbeat` before the lease ends.
- Decisions that are not yours: `ask` the human. `control:subscribe` tells you what the human and others do.
- A refusal changes nothing; its message says what is in the way. The error `paused` means: stop until resumed.
"""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes beside the shared options."""
    if name == "call":
        _declare_call(command)
    elif name == "hook":
        _declare_hook(command)


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    return _RUN[name](options)


def _declare_call(command: argparse.ArgumentParser) -> None:
    command.add_argument("tool", metavar="TOOL", nargs="?", help="its name; without: the list of tools")
    command.add_argument("arguments", metavar="ARGUMENTS", nargs="*", help="one JSON object, or name=value words")
    command.add_argument("-h", "--help", action="store_true", help="show what the tool does and its arguments")
    command.set_defaults(usage=command.format_help)


def _call(options: argparse.Namespace) -> int:
    """Make the request, or print the tools; return the exit status."""
    if options.tool is None:
        print(options.usage() if options.help else tool_list())
        return 0
    if options.help:
        return print_tool(options.tool)
    try:
        arguments = call_arguments(options.tool, options.arguments)
    except ValueError as error:
        print(f"tui-tasks call: {error}", file=sys.stderr)
        return USAGE
    with open_store(options) as store:
        if options.tool == "control:agents" and not options.read_only:
            from tui_tasks import clock
            from tui_tasks.hooks import session_processes

            session_processes.end_departed(store, clock.now())
        status = call(_session(options, store), options.tool, arguments)
        if options.tool == "scheduler:run_task" and status == 0 and hosts_scheduler(options):
            from tui_tasks.state import hosting

            hosting.start_waiting_runs(store)
    return status


def call_arguments(tool: str, given: list[str]) -> dict[str, Any]:
    """Return the arguments of `call`: one JSON object, or `name=value` words (docs: protocol, section 1).

    A task's number is written as it stands: `uid=3`.

    Raises:
        ValueError: they are neither.
    """
    from tui_tasks.dialects.requests import strict_json
    from tui_tasks.dialects.requests.arguments import task_arguments
    from tui_tasks.dialects.tool_table import TABLE

    if len(given) == 1 and given[0].lstrip().startswith("{"):
        try:
            held = strict_json.loads(given[0])
        except ParseError as error:
            raise ValueError(f"the arguments are not one JSON object: {error.message}") from None
        return dict(held)
    named = TABLE.find(tool)
    tasks = task_arguments(named.arguments) if named is not None else ()
    arguments: dict[str, Any] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{safe_line(word, 60)} is not name=value")
        if name in arguments:
            raise ValueError(f"{safe_line(name, 60)} is given twice")
        try:
            arguments[name] = strict_json.loads(value)
        except ParseError:
            arguments[name] = value
        if isinstance(arguments[name], int) and name in tasks:
            arguments[name] = value
    return arguments


def call(session: Session, tool: str, arguments: dict[str, Any]) -> int:
    """Make one request; print its result as JSON, or its error on standard error. Return exit status 0 or 1."""
    import msgspec

    from tui_tasks.channel.waits import ask_encoded

    encoded = ask_encoded(session, {"tool": tool, "arguments": arguments})
    # The result may be long.
    reply = msgspec.json.decode(encoded, type=dict[str, msgspec.Raw])
    envelope = {name: msgspec.json.decode(value) for name, value in reply.items() if name != "result"}
    for message in envelope.get("messages", ()):
        print(f"message from the human: {safe_line(message['text'])}", file=sys.stderr)
    if not envelope["ok"]:
        print(safe.dumps(_in_shell(envelope["error"])), file=sys.stderr)
        return 1
    if note := envelope.get("note"):
        print(safe_line(note), file=sys.stderr)
    for piece in safe.indented(bytes(reply["result"])):
        print(piece, end="")
    print()
    return 0


def _in_shell(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error that says how a shell gives a missing argument."""
    from tui_tasks.dialects.requests.argument_errors import where_text

    problems = (error.get("data") or {}).get("problems", ())
    for problem in problems:
        where, typed = where_text(problem["argument"]), f"type {problem['argument']}=VALUE"
        problem["message"] = problem["message"].replace(where, typed)
        error["message"] = error["message"].replace(where, typed)
    return error


def tool_list() -> str:
    """Return every tool in a line, and how to learn more."""
    from tui_tasks.dialects.tool_table import TABLE

    lines = [
        f"{tool.name:34} {tool.description.splitlines()[0].partition('. ')[0].rstrip('.')}"
        for tool in TABLE.tools.values()
        if not tool.human
    ]
    return "\n".join([*lines, "", "tui-tasks call TOOL --help shows the arguments and result of one."])


def print_tool(name: str) -> int:
    """Print what a tool does and its arguments. Return exit status 0; 1 when there is no such tool."""
    from tui_tasks.dialects.requests.arguments import schema
    from tui_tasks.dialects.tool_table import TABLE

    tool = TABLE.find(name)
    if tool is None or tool.human:
        print(f"tui-tasks call: no tool {safe_line(name, 60)}; `tui-tasks call` lists them", file=sys.stderr)
        return 1
    made = schema(tool.arguments)
    print(f"{tool.name}\n\n{tool.description}\n")
    for argument, takes in made["properties"].items():
        needed = "required" if argument in made.get("required", ()) else "optional"
        print(f"  {argument:24} {needed}, {_kind(takes)}{_description(takes)}")
    print("\nAs JSON Schema:\n" + safe.dumps(made))
    return 0


def _kind(takes: dict[str, Any]) -> str:
    """Return a type in a word or two; a choice by its values."""
    if "anyOf" in takes:
        return " or ".join(_kind(one) for one in takes["anyOf"] if one.get("type") != "null")
    if "enum" in takes:
        return "one of " + ", ".join(map(str, takes["enum"]))
    if takes.get("type") == "array":
        return f"list of {_kind(takes.get('items', {}))}"
    return str(takes.get("type", "any value"))


def _description(takes: dict[str, Any]) -> str:
    description = takes.get("description") or next(
        (one["description"] for one in takes.get("anyOf", ()) if "description" in one), ""
    )
    return f": {description}" if description else ""


def _declare_hook(command: argparse.ArgumentParser) -> None:
    from tui_tasks.hooks import PROGRAM_NAMES

    command.add_argument("program", metavar="PROGRAM", choices=PROGRAM_NAMES, help=f"one of {', '.join(PROGRAM_NAMES)}")


def _prime(options: argparse.Namespace) -> int:
    """Print the rules and the existing tasks. Return exit status 0.

    Raises:
        NotFound: the project that `--project` names is not there.
    """
    from tui_tasks.cli.tasks import lookup

    try:
        require_database(options)
    except DatabaseRefused as missing:
        # An agent that reads this may be the first to write.
        print(f"{RULES}\nNo tasks yet: {missing}")
        return 0
    with open_store(options) as store:
        lookup.check_project(options, store.db)
        print(prime_text(_session(options, store)))
    if is_without_project(options):
        print("\nThis folder has no project: tasks of other folders may be among these.")
    return 0


def _session(options: argparse.Namespace, store: Store) -> Session:
    """Return a session of the speaker: without `--agent`, the started agent whose program runs the command."""
    if options.agent is None and store.db.scalar("SELECT 1 FROM work LIMIT 1"):
        from tui_tasks.state import callers  # few databases have work

        options.agent = callers.started_agent(store.db)
    return session_of(options, store)


def prime_text(session: Session) -> str:
    """Return the rules, the open tasks and the next task."""
    from contextlib import closing
    from itertools import islice

    from tui_tasks.core.read.tasks import ready_tasks, task_queries

    db, project = session.store.db, session.identity.scope
    total = sum(home.pending + home.in_progress for home in task_queries.lists(db, project) if not home.archived)
    with closing(ready_tasks.open_tasks(db, None, None, project=project)) as open_tasks:
        tasks = list(islice(open_tasks, MAX_TASKS))
    lines = [RULES, f"Open tasks: {total}"]
    lines += [f"- {safe_line(task.uid)} [{task.status}] {safe_line(task.name, 80)}" for task in tasks]
    if total > len(tasks):
        lines.append(f"- and {total - len(tasks)} more: `tui-tasks ls`")
    task = ready_tasks.next_task(db, None, session.identity.agent, project=project)
    if task is not None:
        lines += ["", f"Next: {safe_line(task.uid)} {safe_line(task.name, 80)}"]
        if task.description:
            lines.append(safe_line(task.description, 300))
    return "\n".join(lines)


def _hook(options: argparse.Namespace) -> int:
    from tui_tasks.hooks import hook_command

    hook_command.run(options.program, options.db or "", options.project or "")
    return 0


_RUN: Final = {"call": _call, "prime": _prime, "hook": _hook}
