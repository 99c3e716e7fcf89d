"""`tui-tasks setup PROGRAM` connects an agent program; `tui-tasks init` makes a folder part of a project."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tui_tasks import installation, regular_files
from tui_tasks.cli.admin import setup_plan
from tui_tasks.cli.admin.program_entries import Options
from tui_tasks.cli.admin.program_files import PROGRAMS, NotSetUp
from tui_tasks.cli.options import REFUSED, USAGE, print_missing_extra
from tui_tasks.core.errors import as_utf8
from tui_tasks.settings import paths, project
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count

_MAX_CONFIG_BYTES: Final = 1024 * 1024
_REMOTE: Final = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what a command takes."""
    if name == "init":
        _declare_init(command)
    else:
        _declare_setup(command)


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    return _init(options) if name == "init" else _setup(options)


def _declare_setup(command: argparse.ArgumentParser) -> None:
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


def _setup(options: argparse.Namespace) -> int:
    """Set the program up; return the exit status."""
    program = PROGRAMS[options.program]
    if (options.hooks or options.hooks_only) and program.next_hooks is None:
        print(f"tui-tasks setup: {options.program} has no hooks that tui-tasks understands", file=sys.stderr)
        return USAGE
    try:
        request = _request(options)
        planned = setup_plan.plan_removal(request) if options.remove else setup_plan.plan_setup(request)
        if options.print:
            print("".join(_differences(planned)) or "Nothing would change.")
            return 0
        if options.check:
            return _check(planned, request)
        planned.carry_out()
    except NotSetUp as error:
        print(f"tui-tasks setup: {error}", file=sys.stderr)
        return REFUSED
    _print_result(planned, request, is_removing=options.remove)
    return 0


def _request(options: argparse.Namespace) -> setup_plan.SetupRequest:
    return setup_plan.SetupRequest(
        options.program,
        Path.cwd(),
        for_user=options.user,
        server=not options.hooks_only,
        hooks=options.hooks or options.hooks_only,
        starter=installation.starter() if options.user else ("tui-tasks",),
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


def _differences(planned: setup_plan.Plan) -> Iterator[str]:
    for file in planned.changed():
        before, after = (text.splitlines(keepends=True) for text in (file.before or "", file.after or ""))
        old, new = (str(file.path) if text is not None else os.devnull for text in (file.before, file.after))
        for line in difflib.unified_diff(before, after, old, new):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _check(planned: setup_plan.Plan, request: setup_plan.SetupRequest) -> int:
    changed = planned.changed()
    for what, file in planned.parts:
        print(f"{'would be written' if file in changed else 'up to date'}: {what} ({file.path})")
    if not request.hooks and (hooks := setup_plan.hooks_file(request)) is not None:
        print(f"not checked without --hooks: the hooks ({hooks})")
    for note in planned.notes:
        print(note)
    return REFUSED if planned.changed() else 0


def _print_result(planned: setup_plan.Plan, request: setup_plan.SetupRequest, *, is_removing: bool) -> None:
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
            "! tui-tasks is not on PATH, where these files look for it. Install it by pipx or `uv tool` (README), or "
            "use --user: it names this installation by its path",
            file=sys.stderr,
        )
    if request.server and find_spec("mcp") is None:
        print_missing_extra("The server", "mcp")


def _declare_init(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name", metavar="NAME", nargs="?", help="the project (else the git remote's, else the folder's)"
    )


def _init(options: argparse.Namespace) -> int:
    """Write `.tui-tasks.toml`; return the exit status."""
    folder = Path.cwd()
    name = options.name or options.project or proposed(folder)
    try:
        file = write_project_file(folder, name)
    except OSError as error:
        print(f"tui-tasks init: {folder / project.FILE} cannot be written: {error.strerror}", file=sys.stderr)
        return REFUSED
    print(f"{safe_line(str(file))}: this folder belongs to the project {name} now. Commit the file.")
    if (known := _tasks_of_project(name)) is not None:
        print(
            f"tui-tasks init: the database has a project {name} already, with {count(known, 'task')}: "
            f"this folder shares it. If it is another project, write another name into {project.FILE}.",
            file=sys.stderr,
        )
    return 0


def _tasks_of_project(name: str) -> int | None:
    """Return how many tasks a project has in the database of this process; None where it is not known there."""
    database = paths.database(None)
    if not Path(database).exists():
        return None
    from tui_tasks.core.read.tasks import task_queries
    from tui_tasks.core.store import Store

    with Store(database, read_only=True) as store:
        lists = task_queries.lists(store.db, name)
        return sum(home.total for home in lists) if lists else None


def proposed(folder: Path) -> str:
    """Return a project name for a folder: the last part of its git remote, else the name of its work tree, else its
    own.

    Git's files are read without running git, as the folder may be anybody's.
    """
    tree = project.work_tree(folder)
    names = [*_remotes(Path(tree)), Path(tree).name] if tree is not None else [folder.name]
    cleaned = (re.sub(r"[^\w.-]+", "-", name).strip("-._")[:64] for name in names)
    return next((name for name in cleaned if name), "project")


def _remotes(tree: Path) -> Iterator[str]:
    try:
        text = regular_files.read_regular(tree / ".git" / "config", _MAX_CONFIG_BYTES).decode(errors="replace")
    except OSError:  # a linked work tree, whose `.git` is a file
        return
    for url in _REMOTE.findall(text):
        yield re.split(r"[/:]", url.rstrip("/").removesuffix(".git"))[-1]


def write_project_file(folder: Path, name: str) -> Path:
    """Write the file that makes a folder part of a project; return its path.

    Raises:
        ProjectRefused: the name is invalid, or the file exists.
        OSError: it cannot be written.
    """
    file = folder / project.FILE
    text = (
        "# Tasks of agents and people in this folder belong to this project (tui-tasks help protocol, Lists).\n"
        f'project = "{project.checked(name)}"\n'
    )
    try:
        handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError as error:
        raise project.ProjectRefused(f"{file} is there already") from error
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(text)
    return file
