"""The screen, `watch`, `demo` and `web`, the screen in a browser on this machine, among the commands."""

from __future__ import annotations

import gc
import logging
import sys
from typing import TYPE_CHECKING, Final

from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    hosts_scheduler,
    identity_of,
    is_without_project,
    open_store,
    print_missing_extra,
    print_permission_findings,
    print_refusal,
    require_database,
)
from tui_tasks.settings import paths
from tui_tasks.tui import layout

if TYPE_CHECKING:
    import argparse

_PANES: Final = tuple(layout.PANES)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    if name == "web":
        _declare_web(command)
    if name == "watch":
        command.add_argument("--pane", choices=_PANES, default=_PANES[0], help="the pane to begin with")
        command.add_argument("--plain", action="store_true", help="print one sentence an event, without a screen")
        command.add_argument(
            "--at",
            metavar="WHEN",
            help="an earlier state: 8h, 18:00, `yesterday 18:00`, a date, or the number of a journal entry; "
            "< > step by a change, { } by an hour",
        )


def run(name: str, options: argparse.Namespace) -> int:
    """Show the screen until the human leaves; return the exit status."""
    if name == "demo":
        return _demo(options)
    if name == "web":
        return _web(options)
    if name == "watch":
        options.read_only = True
        if options.plain and options.at is not None:
            print("tui-tasks watch: --at goes with the screen, and --plain has none", file=sys.stderr)
            return USAGE
        if options.plain:
            return _watch_plain(options)
    return _screen(options)


def _screen(options: argparse.Namespace) -> int:
    from tui_tasks.cli.supervise import screen_program
    from tui_tasks.core.errors import InvalidArgument
    from tui_tasks.tui.state.projects import ProjectChoice

    pane, at = getattr(options, "pane", _PANES[0]), getattr(options, "at", None)
    hosts, identity = hosts_scheduler(options), identity_of(options)
    try:
        return screen_program.run(
            options.db,
            pane,
            identity,
            scheduler=hosts,
            ascii_only=options.ascii,
            project=ProjectChoice(identity.scope, bool(options.project), is_without_project(options)),
            at=at,
        )
    except InvalidArgument as refused:
        if at is None:
            raise
        print_refusal(refused, "tui-tasks watch: --at")
        return USAGE


def _watch_plain(options: argparse.Namespace) -> int:
    from tui_tasks.cli.supervise import history_text
    from tui_tasks.core.commit import journal

    gc.enable()
    with open_store(options) as store:
        print_permission_findings(options)
        newest = journal.newest(store.db)
        print(f"Listening to {store.path} from entry {newest:,} on.", flush=True)
        for said in history_text.follow(store, newest, print_refusal):
            print(said, flush=True)
    return 0


def _demo(options: argparse.Namespace) -> int:
    from tui_tasks.cli.supervise import demo, screen_program
    from tui_tasks.tui.state.projects import ALL_PROJECTS

    shown = {"project": ALL_PROJECTS, "ascii_only": options.ascii}
    identity = identity_of(options)
    return demo.run(lambda db: screen_program.run(db, _PANES[0], identity, scheduler=True, **shown))


_WEB_PORT = 8766


def _declare_web(command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--port", type=int, default=_WEB_PORT, help=f"the port (default: {_WEB_PORT}; 0: any)")
    command.add_argument("--write", action="store_true", help="allow changes; without it the screen is read only")


def _web(options: argparse.Namespace) -> int:
    """Serve until a signal ends it; return the exit status."""
    try:
        from tui_tasks.web import page_server
    except ImportError:
        print_missing_extra("tui-tasks web", "web")
        return REFUSED
    options.read_only = options.read_only or not options.write
    if options.read_only:
        require_database(options)
    # A database that cannot be used is refused here, not in each tab.
    with open_store(options):
        print_permission_findings(options)
    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    page_server.run(screen_of(options), options.port, lambda url: print(url, flush=True))
    return 0


def screen_of(options: argparse.Namespace) -> list[str]:
    """Return the command that draws the screen of a tab."""
    command = [sys.executable, "-m", "tui_tasks", *(["watch"] if options.read_only or not options.write else [])]
    command += ["--db", paths.url_or_path(options.db)]
    for option, value in (("--list", options.list), ("--project", options.project)):
        command += [option, value] if value is not None else []
    for option, is_given in (("--no-scheduler", options.no_scheduler), ("--ascii", options.ascii)):
        command += [option] if is_given else []
    return command
