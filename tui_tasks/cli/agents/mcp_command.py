"""`mcp`: the tools for programs that speak MCP, over standard input and output or HTTP."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    identity_of,
    open_store,
    print_missing_extra,
    print_permission_findings,
    session_of,
    table_of,
)

if TYPE_CHECKING:
    from tui_tasks.channel.session import Session
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.base import Table
    from tui_tasks.settings.tokens import Token

_PORT = 8765


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--tokens", action="store_true", help="print what the tools cost an agent, and serve nothing")
    command.add_argument(
        "--structured", action="store_true", help="give results as data with output schemas, and not as text"
    )
    group = command.add_argument_group("over HTTP, for agents elsewhere (each needs a token: `tui-tasks token`)")
    group.add_argument("--http", action="store_true", help="serve over HTTP, at /mcp")
    group.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: this machine alone)")
    group.add_argument("--port", type=int, default=_PORT, help=f"the port (default: {_PORT}; 0: any)")
    group.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="another name of it, such as a proxy's"
    )
    group.add_argument("--tls-cert", metavar="FILE", type=Path, help="its certificate: then it speaks HTTPS")
    group.add_argument("--tls-key", metavar="FILE", type=Path, help="the certificate's key")


def run(name: str, options: argparse.Namespace) -> int:
    """Serve; return the exit status."""
    try:
        from tui_tasks.mcp_server import bill, stdio
        from tui_tasks.mcp_server.tools import NOT_OVER_MCP
    except ImportError:
        print_missing_extra("tui-tasks mcp", "mcp")
        return REFUSED
    from tui_tasks.dialects.requests import selection

    if options.tokens:
        print(bill.text(options.tools))
        return 0
    if not options.http and (sys.__stdin__ is None or sys.__stdout__ is None):
        print("tui-tasks mcp: standard input and output must be open", file=sys.stderr)
        return USAGE
    table = selection.without(table_of(options), NOT_OVER_MCP)
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
    from tui_tasks.settings.tokens import Tokens

    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    if (options.tls_cert is None) is not (options.tls_key is None):
        print("tui-tasks mcp: --tls-cert and --tls-key go together", file=sys.stderr)
        return USAGE
    where = http.Where(
        options.host,
        options.port,
        tuple(options.allow_host),
        options.tls_cert,
        options.tls_key,
        structured=options.structured,
    )
    http.check(where)
    if not Tokens(store.path).all():
        print("tui-tasks: no agent has a token yet: `tui-tasks token add NAME` makes one", file=sys.stderr)
    if where.is_open:
        print("tui-tasks: tokens can be read on the way: use --tls-cert, or a proxy that speaks TLS", file=sys.stderr)

    def session_for(token: Token) -> Session:
        of_agent = argparse.Namespace(**vars(options))
        of_agent.agent = of_agent.agent_only = token.agent
        of_agent.read_only = options.read_only or token.read_only
        return session_of(of_agent, store, table)

    app = http.application(store, identity_of(options), table, session_for, where)
    http.run(app, where, lambda url: print(url, flush=True))
    return 0
