"""The command line: the one place where the front ends meet. Each command imports what it needs, and no more."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui_tasks import __version__

if TYPE_CHECKING:
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.identity import Identity
    from tui_tasks.session import Session

REFUSED, USAGE, INTERRUPTED = 1, 2, 130
_SOON_OVER = frozenset({"call", "add", "ls", "show", "next", "log", "done", "prime"})
PANES = ("list", "board", "log", "schedule")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status: 0 done, 1 refused, 2 wrong usage."""
    if arguments is not None:
        return _run(arguments)
    if sys.argv[1:2] and sys.argv[1] in _SOON_OVER:
        # Looking for cycles is a sixth of what such a process does, and its end frees all of it.
        gc.disable()
    status = _run(sys.argv[1:])
    gc.freeze()
    return status


def _run(arguments: Sequence[str]) -> int:
    from tui_tasks import usage
    from tui_tasks.core.errors import DatabaseRefused, InvalidRequest, Refusal

    options = _screen_alone(arguments) or usage.parse(parser(*arguments[:1]), arguments)
    try:
        _check_speaker(options)
    except InvalidRequest as refused:
        print(f"tui-tasks: {refused}", file=sys.stderr)
        return USAGE
    try:
        status: int = options.run(options)
    except (DatabaseRefused, Refusal) as refused:
        from tui_tasks.tui.format import safe_line

        print(f"tui-tasks: {safe_line(str(refused))}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # Whoever read the output has stopped; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def parser(first: str | None = None) -> argparse.ArgumentParser:
    """What the program takes.

    Where the first argument is a command, the others are left out: making them all takes longer than most commands.
    """
    made = argparse.ArgumentParser(
        prog="tui-tasks",
        description="A human and AI agents work on the same live tasks, in a terminal.",
        epilog="With JSON lines on standard input, they are the control channel and the screen is the terminal.",
    )
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    _shared(made, None)
    made.set_defaults(run=_tui, pane=PANES[0])
    commands = made.add_subparsers(title="commands", metavar="COMMAND", prog=made.prog)
    for name, help_, declare, run in [one for one in _COMMANDS if one[0] == first] or _COMMANDS:
        # `call` tells of the tools in its help, which argparse cannot know.
        command = commands.add_parser(name, help=help_, description=help_, add_help=name != "call")
        _shared(command, argparse.SUPPRESS)
        if declare is not None:
            declare(command)
        command.set_defaults(run=run)
    return made


def _screen_alone(arguments: Sequence[str]) -> argparse.Namespace | None:
    """What was asked for, where it is the screen and nothing else; None where the whole parser must tell.

    To make that one takes longer than all else that is done before the screen is.
    """
    made = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    _shared(made, None)
    made.set_defaults(run=_tui, pane=PANES[0])
    try:
        options, others = made.parse_known_args(arguments)
    except argparse.ArgumentError:
        return None
    return None if others or not all(word.isascii() for word in arguments) else options


def _shared(command: argparse.ArgumentParser, default: str | None) -> None:
    """The options of every command (contract, section 1); a later one wins over an earlier one."""
    off = False if default is None else default
    group = command.add_argument_group("the state and who speaks")
    group.add_argument("--db", metavar="PATH", default=default, help="the database (else TUI_TASKS_DB)")
    group.add_argument("--agent", metavar="NAME", default=default, help='who speaks (default "agent")')
    group.add_argument("--list", metavar="NAME", default=default, help="bind every tool family to this one list")
    group.add_argument("--read-only", action="store_true", default=off, help="write nothing")
    group.add_argument("--no-scheduler", action="store_true", default=off, help="start no jobs from here")
    group.add_argument("--ascii", action="store_true", default=off, help="letters in place of glyphs on the screen")


def _open(options: argparse.Namespace) -> Store:
    from tui_tasks import paths
    from tui_tasks.core.store import Store

    return Store(paths.database(options.db), read_only=options.read_only)


def _tell_who_else(options: argparse.Namespace) -> None:
    """Say, where nobody looks at a screen, who else can reach the database."""
    from pathlib import Path

    from tui_tasks import paths, privacy

    for finding in privacy.of_database(Path(paths.database(options.db))):
        from tui_tasks.tui.format import safe_line

        print(f"tui-tasks: {safe_line(finding)}", file=sys.stderr)


def _identity(options: argparse.Namespace) -> Identity:
    from tui_tasks.dialects.identity import Identity

    return Identity(options.agent or Identity().agent, options.list, options.read_only)


def _check_speaker(options: argparse.Namespace) -> None:
    if options.agent is None and options.list is None:
        return
    from tui_tasks import paths, speaker

    tool = getattr(options, "tool", None) or ""
    speaker.check(options.agent, options.list, tool, lambda: paths.database(options.db), read_only=options.read_only)


def _hosts_scheduler(options: argparse.Namespace) -> bool:
    return not (options.no_scheduler or options.read_only)


def _session(options: argparse.Namespace, store: Store) -> Session:
    import msgspec

    from tui_tasks import clock
    from tui_tasks.dialects.table import TABLE
    from tui_tasks.runner.inside import inside_run
    from tui_tasks.session import Session

    identity = msgspec.structs.replace(_identity(options), inside_run=inside_run(os.environ, store.db))
    return Session(store, TABLE, identity, clock.now)


def _serve(options: argparse.Namespace) -> int:
    import logging
    import signal

    from tui_tasks.channel import Channel
    from tui_tasks.terminal import claim_without_screen

    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    with _open(options) as store, contextlib.ExitStack() as running:
        store.db.keep_little()
        _tell_who_else(options)
        claimed = claim_without_screen()
        if claimed.input_fd is None or claimed.output_fd is None:
            print("tui-tasks serve: standard input and output must be open", file=sys.stderr)
            return USAGE
        channel = Channel(_session(options, store), claimed.input_fd, claimed.output_fd)
        for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(ending, lambda *_: channel.stop())
        if _hosts_scheduler(options):
            from tui_tasks import hosting

            running.enter_context(hosting.hosted(store.path, wanted=True))
        channel.run()
    return 0


def _scheduler(options: argparse.Namespace) -> int:
    import logging
    import signal
    import threading

    from tui_tasks import hosting

    if not _hosts_scheduler(options):
        print("tui-tasks scheduler: it does nothing with --read-only or --no-scheduler", file=sys.stderr)
        return USAGE
    logging.basicConfig(level=logging.INFO, format="tui-tasks: %(message)s")
    with _open(options) as store:
        _tell_who_else(options)
        path = store.path
    ended = threading.Event()
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, lambda *_: ended.set())
    with hosting.hosted(path, wanted=True):
        ended.wait()
    return 0


def _tui(options: argparse.Namespace) -> int:
    from tui_tasks import screen

    hosts = _hosts_scheduler(options)
    return screen.run(options.db, options.pane, _identity(options), scheduler=hosts, ascii_only=options.ascii)


def _watch(options: argparse.Namespace) -> int:
    options.read_only = True
    return _watch_plain(options) if options.plain else _tui(options)


def _watch_plain(options: argparse.Namespace) -> int:
    from tui_tasks import plain
    from tui_tasks.core import journal

    with _open(options) as store:
        _tell_who_else(options)
        newest = journal.newest(store.db)
        print(f"Listening to {store.path} from entry {newest:,} on.", flush=True)
        for said in plain.follow(store, newest):
            print(said, flush=True)
    return 0


def _declare_watch(command: argparse.ArgumentParser) -> None:
    command.add_argument("--pane", choices=PANES, default="list", help="the pane to begin with")
    command.add_argument("--plain", action="store_true", help="no screen: one plain sentence an event")


def _demo(options: argparse.Namespace) -> int:
    from tui_tasks import demo, screen

    identity = _identity(options)
    return demo.run(lambda db: screen.run(db, options.pane, identity, scheduler=True, ascii_only=options.ascii))


def _declare_call(command: argparse.ArgumentParser) -> None:
    command.add_argument("tool", metavar="TOOL", nargs="?", help="its name; without one the tools are listed")
    command.add_argument("arguments", metavar="ARGUMENTS", nargs="*", help="one JSON object, or name=value words")
    command.add_argument("-h", "--help", action="store_true", help="show what the tool does and takes")
    command.set_defaults(usage=command.format_help)


def _call(options: argparse.Namespace) -> int:
    from tui_tasks import call

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
    with _open(options) as store:
        status = call.call(_session(options, store), options.tool, arguments)
        if options.tool == "scheduler:run_task" and status == 0 and _hosts_scheduler(options):
            from tui_tasks import hosting

            hosting.start_waiting(store)
    return status


def _declare_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _declare_task(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", metavar="TASK", help="its uid, or the beginning of it")
    _declare_json(command)


def _declare_add(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="TITLE")
    command.add_argument("description", metavar="DESCRIPTION", nargs="?", default="")
    _declare_json(command)


def _declare_ls(command: argparse.ArgumentParser) -> None:
    from tui_tasks.core.vocab import STATUSES

    command.add_argument("--status", action="append", choices=STATUSES, default=[], help="only these; may be repeated")
    _declare_json(command)


def _declare_log(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", metavar="TASK", help="its uid, or the beginning of it")
    command.add_argument("message", metavar="MESSAGE")
    _declare_json(command)


def _verb(does: Callable[[argparse.Namespace, Session], None]) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        with _open(options) as store:
            does(options, _session(options, store))
        return 0

    return run


def _add(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import verbs

    verbs.add(session, options.name, options.description, as_json=options.json)


def _ls(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import verbs

    verbs.ls(session, options.status, as_json=options.json)


def _show(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import verbs

    verbs.show(session, options.task, as_json=options.json)


def _next(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import verbs

    verbs.next_task(session, as_json=options.json)


def _log(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import verbs

    verbs.log(session, options.task, options.message, as_json=options.json)


def _done(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import verbs

    verbs.done(session, options.task, as_json=options.json)


def _prime(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks import prime

    print(prime.text(session))


def _config(options: argparse.Namespace) -> int:
    from tui_tasks import config, paths

    path = paths.configuration()
    settings, problems = config.load(path)
    print(config.describe(path, settings))
    found: list[object] = [*problems]
    if settings.keys or (path.parent / "themes").is_dir():
        # The screen knows its actions and themes.
        from tui_tasks.tui import keymap, themes

        found += [*keymap.problems(path, settings.keys), *themes.load(path.parent / "themes")[1]]
    for problem in found:
        print(f"tui-tasks: {problem}", file=sys.stderr)
    return REFUSED if found else 0


def _doctor(options: argparse.Namespace) -> int:
    from pathlib import Path

    from tui_tasks import clock, doctor, paths
    from tui_tasks.tui.format import safe_line

    options.read_only = True
    with _open(options) as store:
        print(doctor.summary(store))
        named = Path(paths.database(options.db))
        found = list(doctor.findings(store, paths.configuration(), clock.now(), named))
    for finding in found:
        print(f"! {safe_line(finding)}")
    print(f"{len(found)} things to look at" if found else "all is well")
    return REFUSED if found else 0


def _declare_backup(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the copy, which must not exist yet")


def _backup(options: argparse.Namespace) -> int:
    from pathlib import Path

    from tui_tasks.core.backup import backup

    def told(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{100 * done // max(total, 1):3} %", end="" if done < total else "\n", file=sys.stderr)

    options.read_only = True
    with _open(options) as store:
        newest = backup(store.db, Path(options.file), told)
    print(f"{options.file}: whole up to entry {newest:,}")
    return 0


def _declare_compact(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Drop the journal's oldest entries, so that the file grows no further. Tasks stay as they are; the dropped "
        "history, and undo of what it tells of, are gone. For a person: make a backup first. Others wait meanwhile."
    )
    command.add_argument("--before", metavar="WHEN", required=True, help="an age (90d, 12w), or a date (2026-01-31)")
    command.add_argument("--yes", action="store_true", help="do not ask")


def _compact(options: argparse.Namespace) -> int:
    from tui_tasks import clock, compact
    from tui_tasks.core.compaction import instant
    from tui_tasks.core.errors import Forbidden
    from tui_tasks.runner.inside import inside_run

    if options.read_only:
        raise Forbidden("nothing is dropped with --read-only")
    now = clock.now()
    before = instant(options.before, now)
    with _open(options) as store:
        if inside_run(os.environ, store.db):
            raise Forbidden("only the human drops entries of the journal, never a run of a job")
        return compact.run(store, before, now, asked=options.yes)


def _mcp(options: argparse.Namespace) -> int:
    try:
        from tui_tasks import mcp_server
    except ImportError:
        print("tui-tasks mcp needs the extra: pip install 'tui-tasks[mcp]'", file=sys.stderr)
        return REFUSED
    with _open(options) as store:
        _tell_who_else(options)
        mcp_server.run(_session(options, store))
    return 0


def _declare_setup(command: argparse.ArgumentParser) -> None:
    from tui_tasks.setup import CLIENTS

    command.add_argument("client", metavar="AGENT", choices=CLIENTS, help=f"one of {', '.join(CLIENTS)}")


def _setup(options: argparse.Namespace) -> int:
    from importlib.util import find_spec
    from pathlib import Path

    from tui_tasks import paths, setup

    server = [
        sys.executable,
        "-m",
        "tui_tasks",
        "mcp",
        "--agent",
        _identity(options).agent if options.agent else options.client,
    ]
    if options.db or os.environ.get("TUI_TASKS_DB"):
        server += ["--db", str(Path(paths.database(options.db)).resolve())]
    if options.list:
        server += ["--list", options.list]
    try:
        print(setup.set_up(options.client, server, Path.cwd()))
    except setup.NotSetUp as error:
        print(f"tui-tasks setup: {error}", file=sys.stderr)
        return REFUSED
    if find_spec("mcp") is None:
        print("The server needs the extra: pip install 'tui-tasks[mcp]'", file=sys.stderr)
    return 0


_COMMANDS: tuple[
    tuple[str, str, Callable[[argparse.ArgumentParser], None] | None, Callable[[argparse.Namespace], int]], ...
] = (
    ("serve", "the control channel alone, with no screen", None, _serve),
    ("watch", "the screen, read only", _declare_watch, _watch),
    ("demo", "look around: a throw-away database, and a scripted agent at work", None, _demo),
    ("scheduler", "the scheduler alone, as a service", None, _scheduler),
    ("call", "one tool call from a shell", _declare_call, _call),
    ("mcp", "the same tools over MCP on standard input and output", None, _mcp),
    ("add", "add a task", _declare_add, _verb(_add)),
    ("ls", "list tasks", _declare_ls, _verb(_ls)),
    ("show", "show a task and its log", _declare_task, _verb(_show)),
    ("next", "show the task to take up next", _declare_json, _verb(_next)),
    ("log", "add to a task's log", _declare_log, _verb(_log)),
    ("done", "set a task done", _declare_task, _verb(_done)),
    ("setup", "let an agent program use this database, over MCP, in the folder where you are", _declare_setup, _setup),
    ("prime", "print what an agent needs to know to start", None, _verb(_prime)),
    ("doctor", "check the database, its file, the clock and the settings", None, _doctor),
    ("backup", "copy the database while it is in use", _declare_backup, _backup),
    ("compact", "drop the journal's oldest entries", _declare_compact, _compact),
    ("config", "print where the settings are, each with its default and meaning", None, _config),
)
