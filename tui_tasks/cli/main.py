"""The command line: the one place where the front ends meet. Each command imports what it needs, and no more."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from tui_tasks import __version__
from tui_tasks.cli import streams
from tui_tasks.cli.options import (
    INTERRUPTED,
    REFUSED,
    USAGE,
    check_speaker,
    declare_bounds,
    declare_shared,
    declare_tools,
    existing,
    following_hooks,
    help_format,
    hosts_scheduler,
    identity_of,
    open_store,
    parse,
    session_of,
    table_of,
    tell_who_else,
)
from tui_tasks.tui.keys import pane_names

_Declare = Callable[[argparse.ArgumentParser], None]
_Run = Callable[[argparse.Namespace], int]

_VERBS = ("add", "ls", "show", "next", "start", "log", "done", "fail", "skip", "edit", "mv", "rm", "undo")
_SOON_OVER = frozenset({"call", "prime", *_VERBS})
# Agents speak through these, and they take what keeps an agent within bounds.
_BOUNDED = frozenset({"serve", "mcp", "call", "setup"})
# These serve tools for as long as an agent works, or set up what does.
_SERVING = frozenset({"serve", "mcp", "setup"})
PANES = tuple(pane_names.PANES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status: 0 done, 1 refused, 2 wrong usage."""
    if arguments is not None:
        return _run(arguments)
    if sys.argv[1:2] and sys.argv[1] in _SOON_OVER:
        # Looking for cycles is a sixth of what such a process does, and its end frees all of it.
        gc.disable()
    status = _written(sys.argv[1:])
    gc.freeze()
    return status


def _written(arguments: Sequence[str]) -> int:
    """Run the program, and see to it that what it printed was written."""
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:
                streams.flush()
    except streams.OutputFailed as failed:
        print(f"tui-tasks: standard output cannot be written: {failed}; what was changed is kept", file=sys.stderr)
    except BrokenPipeError:
        pass  # whoever read the output has stopped
    streams.give_up()
    return REFUSED


def _run(arguments: Sequence[str]) -> int:
    from tui_tasks.core.errors import DatabaseRefused, Refusal

    try:
        # The modules of a command are imported to declare it: where no SQLite can be loaded, that is refused, too.
        return _carry_out(_screen_alone(arguments) or parse(parser(*arguments[:1]), arguments))
    except (DatabaseRefused, Refusal) as refused:
        _tell_refused(refused)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _carry_out(options: argparse.Namespace) -> int:
    from tui_tasks.core.errors import InvalidRequest
    from tui_tasks.settings import project

    if options.run not in (_tui, _watch, _demo):
        streams.prepare()
    try:
        check_speaker(options)
        if options.project:
            project.checked(options.project)
        if getattr(options, "tools", None) is not None:
            table_of(options)
    except InvalidRequest as refused:
        print(f"tui-tasks: {refused}", file=sys.stderr)
        return USAGE
    status: int = options.run(options)
    return status


def _tell_refused(refused: Exception) -> None:
    from tui_tasks.text.safe import safe_line

    print(f"tui-tasks: {safe_line(str(refused))}", file=sys.stderr)


def parser(first: str | None = None) -> argparse.ArgumentParser:
    """What the program takes.

    Where the first argument is a command, the others are left out: making them all takes longer than most commands.
    """
    made = argparse.ArgumentParser(
        prog="tui-tasks",
        formatter_class=help_format,
        description="A human and AI agents work on the same live tasks, in a terminal.",
        epilog="With JSON lines on standard input, they are the control channel and the screen is the terminal.",
    )
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    declare_shared(made, None)
    declare_bounds(made, None)
    made.set_defaults(run=_tui, pane=PANES[0], takes_bounds=True)
    commands = made.add_subparsers(title="commands", metavar="COMMAND", prog=made.prog)
    for name, help_, declare, run in [one for one in _COMMANDS if one[0] == first] or _COMMANDS:
        # `call` tells of the tools in its help, which argparse cannot know.
        command = commands.add_parser(
            name, help=help_, description=help_, formatter_class=help_format, add_help=name != "call"
        )
        declare_shared(command, argparse.SUPPRESS)
        if name in _BOUNDED:
            declare_bounds(command, argparse.SUPPRESS)
        if name in _SERVING:
            declare_tools(command)
        if declare is not None:
            declare(command)
        command.set_defaults(run=run, takes_bounds=name in _BOUNDED)
    return made


def _screen_alone(arguments: Sequence[str]) -> argparse.Namespace | None:
    """What was asked for, where it is the screen and nothing else; None where the whole parser must tell.

    To make that one takes longer than all else that is done before the screen is.
    """
    if arguments[:1] and not arguments[0].startswith("-"):
        return None
    made = argparse.ArgumentParser(formatter_class=help_format, add_help=False, allow_abbrev=False, exit_on_error=False)
    declare_shared(made, None)
    declare_bounds(made, None)
    made.set_defaults(run=_tui, pane=PANES[0], takes_bounds=True)
    try:
        options, others = made.parse_known_args(arguments)
    except argparse.ArgumentError:
        return None
    is_bounded = options.agent_only is not None or options.list_only is not None
    return None if others or is_bounded or not all(word.isascii() for word in arguments) else options


def _serve(options: argparse.Namespace) -> int:
    import logging
    import signal

    from tui_tasks.channel.loop import ControlChannel
    from tui_tasks.terminal import claim_without_screen

    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    if not _has_pipes("serve"):
        return USAGE
    with open_store(options) as store, contextlib.ExitStack() as running:
        tell_who_else(options)
        claimed = claim_without_screen()
        assert claimed.input_fd is not None
        assert claimed.output_fd is not None
        channel = ControlChannel(session_of(options, store, stays=True), claimed.input_fd, claimed.output_fd)
        channel.stop_on(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        running.enter_context(following_hooks(options, store))
        if hosts_scheduler(options):
            from tui_tasks.channel import hosting

            running.enter_context(hosting.hosted(store.path, wanted=True))
        channel.run()
    return REFUSED if channel.has_failed else 0


def _has_pipes(command: str) -> bool:
    """Whether both ends of the channel were open at the start; says so where not."""
    if sys.__stdin__ is None or sys.__stdout__ is None:
        print(f"tui-tasks {command}: standard input and output must be open", file=sys.stderr)
        return False
    return True


def _scheduler(options: argparse.Namespace) -> int:
    import logging
    import select
    import signal

    from tui_tasks.channel import hosting

    if not hosts_scheduler(options):
        print("tui-tasks scheduler: it does nothing with --read-only or --no-scheduler", file=sys.stderr)
        return USAGE
    logging.basicConfig(level=logging.INFO, format="tui-tasks: %(message)s")
    with open_store(options) as store:
        tell_who_else(options)
        path = store.path
    # The system gives a signal to any thread, and Python's handlers wait for this one: the pipe wakes it.
    told, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, lambda *_: None)
    with hosting.hosted(path, wanted=True), following_hooks(options, store):
        select.select([told], [], [])
    return 0


def _tui(options: argparse.Namespace) -> int:
    from tui_tasks.cli.screen import screen

    hosts = hosts_scheduler(options)
    return screen.run(options.db, options.pane, identity_of(options), scheduler=hosts, ascii_only=options.ascii)


def _watch(options: argparse.Namespace) -> int:
    options.read_only = True
    return _watch_plain(options) if options.plain else _tui(options)


def _watch_plain(options: argparse.Namespace) -> int:
    from tui_tasks.cli.screen import monitor
    from tui_tasks.core.journal import journal

    with open_store(options) as store:
        tell_who_else(options)
        newest = journal.newest(store.db)
        print(f"Listening to {store.path} from entry {newest:,} on.", flush=True)
        for said in monitor.follow(store, newest, _tell_refused):
            print(said, flush=True)
    return 0


def _declare_watch(command: argparse.ArgumentParser) -> None:
    command.add_argument("--pane", choices=PANES, default="list", help="the pane to begin with")
    command.add_argument("--plain", action="store_true", help="no screen: one plain sentence an event")


def _demo(options: argparse.Namespace) -> int:
    from tui_tasks.cli.screen import demo, screen

    identity = identity_of(options)
    return demo.run(lambda db: screen.run(db, options.pane, identity, scheduler=True, ascii_only=options.ascii))


def _declare_call(command: argparse.ArgumentParser) -> None:
    command.add_argument("tool", metavar="TOOL", nargs="?", help="its name; without one the tools are listed")
    command.add_argument("arguments", metavar="ARGUMENTS", nargs="*", help="one JSON object, or name=value words")
    command.add_argument("-h", "--help", action="store_true", help="show what the tool does and takes")
    command.set_defaults(usage=command.format_help)


def _call(options: argparse.Namespace) -> int:
    from tui_tasks.cli.agents import call

    if options.tool is None:
        print(options.usage() if options.help else call.listing())
        return 0
    if options.help:
        return call.describe(options.tool)
    try:
        arguments = call.words(options.arguments)
    except ValueError as error:
        print(f"tui-tasks call: {error}", file=sys.stderr)
        return USAGE
    with open_store(options) as store:
        if options.tool == "control:agents" and not options.read_only:
            from tui_tasks import clock
            from tui_tasks.hooks.presence import departures

            departures.end_departed(store, clock.now())
        status = call.call(session_of(options, store), options.tool, arguments)
        if options.tool == "scheduler:run_task" and status == 0 and hosts_scheduler(options):
            from tui_tasks.channel import hosting

            hosting.start_waiting(store)
    return status


def _prime(options: argparse.Namespace) -> int:
    from tui_tasks.channel import prime
    from tui_tasks.core.errors import DatabaseRefused

    try:
        existing(options)
    except DatabaseRefused as missing:
        # An agent that is told how to begin may be the first to write.
        print(f"{prime.RULES}\nNo tasks yet: {missing}")
        return 0
    with open_store(options) as store:
        print(prime.text(session_of(options, store)))
    return 0


def _of(module: str, name: str) -> tuple[_Declare, _Run]:
    """Of one of the commands in another module, which is imported only for them: what it takes, and what it does."""

    def declare(command: argparse.ArgumentParser) -> None:
        import_module(f"tui_tasks.cli.{module}").declare(name, command)

    def run(options: argparse.Namespace) -> int:
        status: int = import_module(f"tui_tasks.cli.{module}").run(name, options)
        return status

    return declare, run


def _admin(name: str) -> tuple[_Declare, _Run]:
    return _of("admin.admin", name)


def _verb(name: str) -> tuple[_Declare, _Run]:
    return _of("tasks.task_commands", name)


_COMMANDS: tuple[tuple[str, str, _Declare | None, _Run], ...] = (
    ("serve", "the control channel alone, with no screen", None, _serve),
    ("watch", "the screen, read only", _declare_watch, _watch),
    ("digest", "what happened while you were away", *_of("screen.digest_command", "digest")),
    ("demo", "look around: a throw-away database, and a scripted agent at work", None, _demo),
    ("scheduler", "the scheduler alone, as a service", None, _scheduler),
    ("call", "one tool call from a shell", _declare_call, _call),
    ("mcp", "the same tools over MCP, on standard input and output or over HTTP", *_of("agents.mcp_command", "mcp")),
    ("token", "let an agent on another machine in, over HTTP", *_of("agents.token_command", "token")),
    ("agents", "list who works: agent programs with hooks, and agents on the channel", *_of("agents.agents", "agents")),
    ("add", "add a task", *_verb("add")),
    ("ls", "list tasks", *_verb("ls")),
    ("show", "show a task and its log", *_verb("show")),
    ("next", "show the task to take up next", *_verb("next")),
    ("start", "set a task in progress", *_verb("start")),
    ("log", "add to a task's log", *_verb("log")),
    ("done", "set a task done", *_verb("done")),
    ("fail", "set a task failed", *_verb("fail")),
    ("skip", "set a task skipped", *_verb("skip")),
    ("edit", "change a task's title, tags, priority, agent, dependencies or description", *_verb("edit")),
    ("mv", "move a task within its list, or to another", *_verb("mv")),
    ("rm", "delete a task", *_verb("rm")),
    ("undo", "take back the newest change that was made from a shell", *_verb("undo")),
    ("export", "write tasks as another program reads them", *_of("formats.formats", "export")),
    ("import", "take in the tasks of another program; again: what has changed", *_of("formats.formats", "import")),
    ("sync-file", "keep a file of JSON Lines up to date, for a team to commit", *_of("formats.formats", "sync-file")),
    ("hook", "take in what a hook of an agent program tells on standard input", *_of("agents.hook", "hook")),
    ("init", "make this folder a project's, with lists of its own", *_of("admin.init", "init")),
    ("setup", "let an agent program use the tools, and tell of itself by hooks", *_of("setup.command", "setup")),
    ("prime", "print what an agent needs to know to start", None, _prime),
    ("schema", "print the JSON Schemas of the channel", *_of("agents.schema_command", "schema")),
    ("doctor", "check the database, its file, the clock and the settings", *_admin("doctor")),
    ("backup", "copy the database while it is in use", *_admin("backup")),
    ("restore", "put a backup in the place of the database, also while it is in use", *_admin("restore")),
    ("compact", "drop the journal's oldest entries", *_admin("compact")),
    ("config", "print where the settings are, each with its default and meaning", *_admin("config")),
    (
        "help",
        "print a page: the channel, its tools, jobs, settings, security and the like",
        *_of("help", "help"),
    ),
)
