"""The servers without a screen: `serve` is the control channel (docs: protocol, section 1), `scheduler` the scheduler,
`mcp` the tools over MCP, on standard input and output or HTTP; `token` says who may speak over HTTP.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    following_hooks,
    hosts_scheduler,
    identity_of,
    open_store,
    print_missing_extra,
    print_permission_findings,
    session_of,
    table_of,
)
from tui_tasks.core import agent_names

if TYPE_CHECKING:
    from tui_tasks.channel.session import Session
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.tool_table import Table
    from tui_tasks.runner.checks.check_keeper import Authority
    from tui_tasks.settings.http_tokens import Token


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes."""
    if name in _DECLARE:
        _DECLARE[name](command)


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    return _RUN[name](options)


def _serve(options: argparse.Namespace) -> int:
    """Serve until the input ends; return the exit status."""
    from tui_tasks.channel.loop import ControlChannel
    from tui_tasks.terminal import claim_without_screen

    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    if sys.__stdin__ is None or sys.__stdout__ is None:
        print("tui-tasks serve: standard input and output must be open", file=sys.stderr)
        return USAGE
    with open_store(options) as store, contextlib.ExitStack() as running:
        print_permission_findings(options)
        claimed = claim_without_screen()
        assert claimed.input_fd is not None
        assert claimed.output_fd is not None
        channel = ControlChannel(session_of(options, store, stays=True), claimed.input_fd, claimed.output_fd)
        channel.stop_on(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        running.enter_context(following_hooks(options, store))
        if hosts_scheduler(options):
            from tui_tasks.state import hosting

            running.enter_context(hosting.hosted(store.path, wanted=True))
        channel.run()
    return REFUSED if channel.has_failed else 0


def _schedule(options: argparse.Namespace) -> int:
    """Start due jobs until a signal ends it; return the exit status."""
    from tui_tasks import clock
    from tui_tasks.state import hosting

    if not hosts_scheduler(options):
        print("tui-tasks scheduler: it does nothing with --read-only or --no-scheduler", file=sys.stderr)
        return USAGE
    logging.basicConfig(level=logging.INFO, format="tui-tasks: %(message)s")
    with open_store(options) as store:
        print_permission_findings(options)
        path, authority = store.path, _authority(store)
    # The system delivers a signal to any thread, but Python's handlers run in this one: the pipe wakes it.
    wakeup, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, lambda *_: None)
    with (
        hosting.hosted(path, wanted=True, authority=authority),
        following_hooks(options, store),
        hosting.watching(path, clock.now, wanted=True),
    ):
        select.select([wakeup], [], [])
    return 0


def _authority(store: Store) -> Authority:
    """Return what a scheduler may write of its settings: a person's records them, also one that a service manager
    starts updates them.
    """
    from tui_tasks.runner.checks.check_keeper import Authority
    from tui_tasks.state import callers

    if callers.other_caller(store.db, None) is not None:
        return Authority.ADDS
    return Authority.RECORDS if callers.has_terminal() else Authority.UPDATES


_PORT = 8765


def _declare_mcp(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tokens", action="store_true", help="print the cost of the tools for an agent, and exit")
    command.add_argument("--structured", action="store_true", help="return data with output schemas instead of text")
    group = command.add_argument_group("over HTTP, for agents elsewhere (each needs a token: `tui-tasks token`)")
    group.add_argument("--http", action="store_true", help="serve over HTTP, at /mcp")
    group.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: only this machine)")
    group.add_argument("--port", type=int, default=_PORT, help=f"the port (default: {_PORT}; 0: any)")
    group.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="another host name to accept, such as a proxy's",
    )
    group.add_argument("--tls-cert", metavar="FILE", type=Path, help="its certificate, for HTTPS")
    group.add_argument("--tls-key", metavar="FILE", type=Path, help="the certificate's key")


def _serve_mcp(options: argparse.Namespace) -> int:
    # Before the import of MCP, which takes half a second.
    if not (options.tokens or options.http) and (sys.__stdin__ is None or sys.__stdout__ is None):
        print("tui-tasks mcp: standard input and output must be open", file=sys.stderr)
        return USAGE
    try:
        from tui_tasks.mcp_server import stdio, tool_listing
        from tui_tasks.mcp_server.tool_listing import NOT_OVER_MCP
    except ImportError:
        print_missing_extra("tui-tasks mcp", "mcp")
        return REFUSED
    from tui_tasks.dialects.requests import confinement

    if options.tokens:
        print(tool_listing.text(options.tools))
        return 0
    table = confinement.without(table_of(options), NOT_OVER_MCP)
    with open_store(options) as store:
        print_permission_findings(options)
        if options.http:
            return _over_http(options, store, table)
        # Over MCP the agent is always the one named by the human (docs: protocol, section 2).
        options.agent_only = identity_of(options).agent
        session = session_of(options, store, table, stays=True)
        try:
            return 0 if stdio.run(session, structured=options.structured) else REFUSED
        finally:
            session.leave()


def _over_http(options: argparse.Namespace, store: Store, table: Table) -> int:
    from tui_tasks.mcp_server import http
    from tui_tasks.settings.http_tokens import Tokens

    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    if (options.tls_cert is None) is not (options.tls_key is None):
        print("tui-tasks mcp: --tls-cert and --tls-key go together", file=sys.stderr)
        return USAGE
    http_options = http.HttpOptions(
        options.host,
        options.port,
        tuple(options.allow_host),
        options.tls_cert,
        options.tls_key,
        structured=options.structured,
    )
    http.check_host(http_options)
    if not Tokens(store.path).all():
        print("tui-tasks: no agent has a token yet: `tui-tasks token add NAME` makes one", file=sys.stderr)
    if http_options.is_open:
        print("tui-tasks: tokens can be read on the way: use --tls-cert, or a proxy that speaks TLS", file=sys.stderr)

    def session_for(token: Token) -> Session:
        of_agent = argparse.Namespace(**vars(options))
        of_agent.agent = of_agent.agent_only = token.agent
        of_agent.read_only = options.read_only or token.read_only
        return session_of(of_agent, store, table)

    store.db.follow()
    app = http.application(store, identity_of(options), table, session_for, http_options)
    http.run(app, http_options, lambda url: print(url, flush=True))
    return 0


def _declare_token(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Let agents on other machines use this database, over `tui-tasks mcp --http`. A token is for one agent, whose "
        "name it fixes; with --read-only it writes nothing. It is printed once, and kept as a hash."
    )
    command.add_argument("action", metavar="ACTION", choices=("add", "list", "revoke"), help="add, list or revoke")
    command.add_argument("name", metavar="NAME", nargs="?", help="the agent's name, for add and revoke")


def _change_tokens(options: argparse.Namespace) -> int:
    import time
    from datetime import datetime

    from tui_tasks.dialects import requests
    from tui_tasks.settings import paths
    from tui_tasks.settings.http_tokens import Tokens
    from tui_tasks.text.safe import safe_line

    tokens = Tokens(paths.database(options.db))
    if options.action == "list":
        for token in tokens.all():
            made = datetime.fromtimestamp(token.created_at)
            rights = "read-only" if token.read_only else "agent"
            print(f"{agent_names.display_name(token.agent):24} {rights:10} {made:%Y-%m-%d}")
        return 0
    if options.name is None:
        print(f"tui-tasks token {options.action}: name the agent", file=sys.stderr)
        return USAGE
    if options.action == "revoke":
        tokens.revoke(options.name)
        _record(options, "")
        print(f"{safe_line(options.name)} can no longer speak over HTTP.")
        return 0
    agent = requests.checked_agent_name(requests.checked_name("NAME", options.name))
    assert agent is not None
    what = "to read" if options.read_only else "to write"
    _record(options, f"Let {agent_names.display_name(agent)} use this database over HTTP, {what}")
    print(tokens.add(agent, read_only=options.read_only, now=int(time.time())))
    return 0


def _record(options: argparse.Namespace, what: str) -> None:
    """Ask the open screen, if the action does, and record from where tokens are changed; nothing without a database."""
    from tui_tasks.cli import person_rights
    from tui_tasks.settings import paths

    if not Path(paths.database(options.db)).exists():
        return
    # `--read-only` is about the token here.
    writing = argparse.Namespace(**{**vars(options), "read_only": False})
    with open_store(writing) as store:
        person_rights.confirm(options, store, [what])
        person_rights.record(options, store)


_DECLARE: Final[dict[str, Callable[[argparse.ArgumentParser], None]]] = {"mcp": _declare_mcp, "token": _declare_token}
_RUN: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "serve": _serve,
    "scheduler": _schedule,
    "mcp": _serve_mcp,
    "token": _change_tokens,
}
