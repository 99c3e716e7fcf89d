"""The commands of `tasks` on the command line: the arguments of each, and what runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.cli import streams
from tui_tasks.cli.options import (
    REFUSED,
    TASK_REFERENCE,
    declare_new,
    is_without_project,
    lacks_default_database,
    open_store,
    print_no_tasks_yet,
    project_of,
    require_database,
    session_of,
)
from tui_tasks.core.schema.task_fields import SYNTAX
from tui_tasks.core.vocab import SHELL, STATUSES
from tui_tasks.settings import paths

if TYPE_CHECKING:
    import argparse

    from tui_tasks.channel.session import Session
    from tui_tasks.core.engine.database import Database

_QUICK_ADD: Final = (
    f"with #tag, !priority, @agent, after #N, {SYNTAX} among its words; a backslash before one makes it plain text"
)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command. Without `--agent` the actor is the shell."""
    command.set_defaults(speaks_as=SHELL)
    _VERBS[name][0](command)
    command.add_argument("--json", action="store_true", help="print JSON")


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    if name in ("ls", "next") and lacks_default_database(options):
        print_no_tasks_yet()
        if name == "next":
            return REFUSED
        if options.json:
            print("[]")
        return 0
    if name != "add":
        require_database(options)
    if name == "ls" and options.json and not options.filter and not options.project:
        # The listing needs neither Peewee nor the tools: importing them takes longer than listing 10,000 tasks.
        _print_json(options)
        return 0
    from tui_tasks.dialects.command_tools import SHELL as VERBS

    with open_store(options) as store:
        _resolve_names(name, options, store.db)
        session = session_of(options, store, VERBS)
        session.look_at_checks()
        if name in ("ls", "show", "next"):
            session.settle_claims()
        _VERBS[name][1](options, session)
    if name in ("ls", "next") and not options.json and sys.stderr.isatty() and is_without_project(options):
        print("Folders without a project share these lists; `tui-tasks init` makes one.", file=sys.stderr)
    return 0


def _print_json(options: argparse.Namespace) -> None:
    from tui_tasks.cli.tasks import listing_json
    from tui_tasks.core.errors import NotFound

    def print_list(handle: str | None) -> None:
        database, project = paths.database(options.db), project_of(options) or ""
        listing_json.print_tasks(database, handle, options.status, project, read_only=options.read_only)

    try:
        print_list(options.list)
    except NotFound:
        # Only this is slow: the name may be a plan's title.
        with open_store(options) as store:
            _resolve_names("ls", options, store.db)
        print_list(options.list)


def _resolve_names(name: str, options: argparse.Namespace, db: Database) -> None:
    """Set named lists to their handles; refuse a list or a project that is not there."""
    if not options.project and not options.list and not getattr(options, "target", None):
        return
    from tui_tasks.cli.tasks import lookup

    resolvers = {"add": lookup.resolve_new_list, "mv": lookup.resolve_target}
    resolvers.get(name, lookup.resolve_list)(options, db)


# Their arguments


def _declare_nothing(command: argparse.ArgumentParser) -> None:
    pass


def _declare_task(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", metavar="TASK", help=TASK_REFERENCE)


def _declare_tasks(command: argparse.ArgumentParser) -> None:
    command.add_argument("tasks", metavar="TASK", nargs="+", help=f"one or more, each by {TASK_REFERENCE}")


def _declare_done(command: argparse.ArgumentParser) -> None:
    _declare_tasks(command)
    command.epilog = "`tui-tasks status TASK done REASON` logs a reason, too."


def _declare_task_and_reason(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    _declare_reason(command)


def _declare_reason(command: argparse.ArgumentParser) -> None:
    command.add_argument("reason", metavar="REASON", nargs="*", default=[], help="why; it is logged")


def _declare_add(command: argparse.ArgumentParser) -> None:
    command.add_argument("words", metavar="TITLE", nargs="+", help=_QUICK_ADD)
    described = "its description; may stand behind a title in quotes"
    command.add_argument("--description", metavar="TEXT", default="", help=described)
    declare_new(command)


_FILTER: Final = "a filter, as on the screen: words, #tag, !high, @agent, status:open, due:<3d, -#tag, sort:due"
_CLEARABLE: Final = ("description", "tags", "agent", "after")


def _declare_edit(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    command.add_argument(
        "words", metavar="TITLE", nargs="*", default=[], help=f"a new title, {_QUICK_ADD}; -#tag removes a tag"
    )
    command.add_argument("--description", metavar="TEXT", help="a new description")
    command.add_argument("--untag", metavar="TAG", action="append", default=[], help="remove a tag; may be repeated")
    command.add_argument(
        "--not-after",
        metavar="TASK",
        action="append",
        default=[],
        help="remove the dependency on that task; may be repeated",
    )
    command.add_argument(
        "--clear", choices=_CLEARABLE, action="append", default=[], help="empty this field; may be repeated"
    )


def _declare_ls(command: argparse.ArgumentParser) -> None:
    command.add_argument("filter", metavar="WORD", nargs="*", default=[], help=_FILTER)
    command.add_argument("--status", action="append", choices=STATUSES, default=[], help="only these; may be repeated")
    finished = "also finished tasks at a terminal; a filter, --status, --json and a pipe list them anyway"
    command.add_argument("--all", action="store_true", help=finished)


def _declare_status(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    command.add_argument("status", metavar="STATUS", choices=STATUSES, help=f"one of {', '.join(STATUSES)}")
    _declare_reason(command)


def _declare_log(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    command.add_argument("message", metavar="MESSAGE", nargs="+", help="the text of the entry")


def _declare_mv(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("--before", metavar="TASK", help="right before that task, in its list")
    where.add_argument("--after", metavar="TASK", help="right after that task, in its list")
    where.add_argument("--first", action="store_true", help="to the beginning of its list")
    where.add_argument("--last", action="store_true", help="to the end of its list")
    where.add_argument("--to", metavar="LIST", dest="target", help="to the end of that list")
    command.add_argument("--new", action="store_true", help="make the list of --to if there is none")


def _declare_link(command: argparse.ArgumentParser) -> None:
    _declare_task(command)
    command.add_argument(
        "links", metavar="LINK", nargs="+", help="branch:NAME, commit:HASH, pull_request:https://... or file:PATH"
    )
    command.add_argument("--remove", action="store_true", help="remove these links")


def _declare_undo(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--pass-over",
        metavar="CHANGE",
        type=int,
        action="append",
        default=[],
        help="skip this change, which cannot be undone, and undo the one before; may be repeated",
    )
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.epilog = (
        "u on the screen undoes what you changed there. `tui-tasks redo` takes an undo back. Messages and answers stay."
    )


# Their actions


def _add(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    title, description = " ".join(options.words), options.description
    if len(options.words) == 2 and not description and any(" " in words for words in options.words):
        title, description = options.words
    task_changes.add(session, title, description, as_json=options.json)


def _ls(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import listing

    only = listing.filter_of(" ".join(options.filter), session.clock(), session.store.db)
    if options.json:
        listing.ls_json(session, options.status, only)
    else:
        ascii_only = options.ascii or not streams.can_write("○□◐✓✗–⊘~")
        with_finished = bool(options.all or options.filter or options.status)
        listing.ls(session, options.status, only, with_finished=with_finished, ascii_only=ascii_only)


def _show(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import listing

    listing.show(session, options.task, as_json=options.json, ascii_only=not streams.can_write("○□◐✓✗~"))


def _next(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import listing

    listing.next_task(session, as_json=options.json)


def _log(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    task_changes.log(session, options.task, " ".join(options.message), as_json=options.json)


def _set_status(status: str | None = None) -> Callable[[argparse.Namespace, Session], None]:
    """Return what sets a status, or the one that is named."""

    def run(options: argparse.Namespace, session: Session) -> None:
        from tui_tasks.cli.tasks import task_changes

        references = options.tasks if hasattr(options, "tasks") else [options.task]
        reason = " ".join(getattr(options, "reason", ()))
        task_changes.set_status(session, references, status or options.status, reason, as_json=options.json)

    return run


def _edit(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    more = task_changes.Edit(options.description, *map(tuple, (options.untag, options.not_after, options.clear)))
    task_changes.edit(session, options.task, " ".join(options.words), more, as_json=options.json)


def _mv(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    given = {"before": options.before, "after": options.after, "list": options.target}
    given |= {"first": options.first or None, "last": options.last or None}
    where = {name: value for name, value in given.items() if value is not None}
    task_changes.move(session, options.task, where, as_json=options.json)


def _link(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    task_changes.link(session, options.task, options.links, remove=options.remove, as_json=options.json)


def _rm(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    task_changes.delete(session, options.tasks, as_json=options.json)


def _undo(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    task_changes.undo(session, options.pass_over, as_json=options.json, asks=not options.yes)


def _redo(options: argparse.Namespace, session: Session) -> None:
    from tui_tasks.cli.tasks import task_changes

    task_changes.redo(session, as_json=options.json)


_VERBS: Final[
    dict[str, tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace, Session], None]]]
] = {
    "add": (_declare_add, _add),
    "ls": (_declare_ls, _ls),
    "show": (_declare_task, _show),
    "next": (_declare_nothing, _next),
    "start": (_declare_tasks, _set_status("in_progress")),
    "log": (_declare_log, _log),
    "status": (_declare_status, _set_status()),
    "done": (_declare_done, _set_status("done")),
    "fail": (_declare_task_and_reason, _set_status("failed")),
    "skip": (_declare_task_and_reason, _set_status("skipped")),
    "edit": (_declare_edit, _edit),
    "mv": (_declare_mv, _mv),
    "link": (_declare_link, _link),
    "rm": (_declare_tasks, _rm),
    "undo": (_declare_undo, _undo),
    "redo": (_declare_nothing, _redo),
}
"""What declares the arguments of each command, and what runs it."""
