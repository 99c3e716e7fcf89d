"""`tui-tasks setup PROGRAM`."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tui_tasks.cli.options import REFUSED, USAGE, print_missing_extra
from tui_tasks.cli.setup import plan
from tui_tasks.cli.setup.programs import PROGRAMS, NotSetUp
from tui_tasks.cli.setup.server_entry import Options
from tui_tasks.core.errors import as_utf8
from tui_tasks.hooks import hook_settings
from tui_tasks.settings import paths


def declare(_name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.description = (
        "Connect an agent program: write an MCP server and instructions into its files in this folder. Other content "
        "of those files does not change."
    )
    command.add_argument("program", metavar="PROGRAM", choices=PROGRAMS, help=f"one of {', '.join(PROGRAMS)}")
    command.add_argument("--user", action="store_true", help="write your own files, for all folders")
    command.add_argument(
        "--hooks", action="store_true", help="also the program's hooks, which show its sessions in Agents"
    )
    command.add_argument("--hooks-only", action="store_true", help="only the hooks")
    group = command.add_mutually_exclusive_group()
    group.add_argument("--print", action="store_true", help="show the changes without writing them")
    group.add_argument("--check", action="store_true", help="check whether anything would change (exit status 1: yes)")
    group.add_argument(
        "--remove", action="store_true", help="remove what was written; with --hooks-only only the hooks"
    )


def run(_name: str, options: argparse.Namespace) -> int:
    """Set the program up; return the exit status."""
    program = PROGRAMS[options.program]
    if (options.hooks or options.hooks_only) and program.next_hooks is None:
        print(f"tui-tasks setup: {options.program} has no hooks that tui-tasks understands", file=sys.stderr)
        return USAGE
    try:
        request = _request(options)
        planned = plan.plan_removal(request) if options.remove else plan.plan_setup(request)
        if options.print:
            print("".join(_differences(planned)) or "Nothing would change.")
            return 0
        if options.check:
            return _check(planned)
        planned.carry_out()
    except NotSetUp as error:
        print(f"tui-tasks setup: {error}", file=sys.stderr)
        return REFUSED
    _print_result(planned, request, is_removing=options.remove)
    return 0


def _request(options: argparse.Namespace) -> plan.SetupRequest:
    return plan.SetupRequest(
        options.program,
        Path.cwd(),
        for_user=options.user,
        server=not options.hooks_only,
        hooks=options.hooks or options.hooks_only,
        starter=hook_settings.starter() if options.user else ("tui-tasks",),
        options=_given(options),
    )


def _given(options: argparse.Namespace) -> Options:
    """Return the given options of `mcp`."""
    given: Options = {}
    if options.agent:
        given["--agent-only"] = options.agent
    if options.db or os.environ.get("TUI_TASKS_DB"):
        named = paths.url_or_path(options.db)
        given["--db"] = named if "://" in named else str(Path(named).resolve())
    if options.project:
        given["--project"] = options.project
    if options.list:
        given["--list" if options.list_only is None else "--list-only"] = options.list
    if options.tools is not None:
        given["--tools"] = options.tools
    if options.read_only:
        given["--read-only"] = None
    if options.no_scheduler:
        given["--no-scheduler"] = None
    for word in given.values():
        if word is not None and word != as_utf8(word):
            raise NotSetUp(f"{as_utf8(word)} is not UTF-8, which such a file cannot hold")
    return given


def _differences(planned: plan.Plan) -> Iterator[str]:
    for file in planned.changed():
        before, after = (text.splitlines(keepends=True) for text in (file.before or "", file.after or ""))
        old, new = (str(file.path) if text is not None else os.devnull for text in (file.before, file.after))
        for line in difflib.unified_diff(before, after, old, new):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _check(planned: plan.Plan) -> int:
    changed = planned.changed()
    for what, file in planned.parts:
        print(f"{'would be written' if file in changed else 'up to date'}: {what} ({file.path})")
    for note in planned.notes:
        print(note)
    return REFUSED if planned.changed() else 0


def _print_result(planned: plan.Plan, request: plan.SetupRequest, *, is_removing: bool) -> None:
    program, changed = PROGRAMS[request.name], planned.changed()
    if not planned.parts and not planned.notes:
        print(f"Nothing of tui-tasks is set up for {request.name} here.")
    for what, file in planned.parts:
        done = "taken out" if is_removing else "written" if file in changed else "there already"
        gone = ", which is removed" if file.after is None else ""
        print(f"{done}: {what} ({file.path}{gone})")
    for note in planned.notes:
        print(note)
    if is_removing:
        return
    if request.server:
        print(f"Next: {program.next}")
        if "--tools" not in request.options:
            print("More tools: --tools tasklist,tasks,scheduler,ask,claim (tui-tasks mcp --tokens: what each costs)")
    if request.hooks:
        print(f"Next: {program.next_hooks}")
    if not request.for_user and shutil.which("tui-tasks") is None:
        print(
            "! tui-tasks is not on PATH, where these files look for it: pipx or `uv tool` puts it there (README); "
            "--user names this installation by its path",
            file=sys.stderr,
        )
    if request.server and find_spec("mcp") is None:
        print_missing_extra("The server", "mcp")
