"""What git reports on the links of a task, read in the folder in which the work on the task is done; and the screen of
one link: the log of a branch, or the message and diff of a commit.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.schema.task_links import COMMIT, Link
from tui_tasks.core.snapshots import Task
from tui_tasks.runner.git import GitFailed, read
from tui_tasks.settings import project
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.painting.text_lines import Drawn, ScrollLines, TextDrawing, wrapped
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Overlay, plain
from tui_tasks.tui.work import diff_lines

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_SIZE: Final = re.compile(r"(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?")
_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_BASES: Final = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
_MAX_COMMITS: Final = "100"


def folder_of(context: Context, task: Task) -> Path | None:
    """Return the folder of the work on a task: its agent's, else that of an agent of its project, else the current
    folder if that is of its project; None when no folder is known.
    """
    home = context.state.lists.get(task.list_id)
    name = home.project if home is not None else None
    agent_session = session_queries.find(context.db, task.agent) if task.agent else None
    known = [agent_session] if agent_session is not None else []
    known += [one for one in session_queries.live(context.db) if name is not None and one.project == name]
    for session in known:
        if session.cwd and Path(session.cwd).is_absolute() and Path(session.cwd).is_dir():
            return Path(session.cwd)
    try:
        here = Path.cwd()
        return here if project.of_folder(here) == name else None
    except (OSError, project.ProjectRefused):
        return None


def repository_of(context: Context, task: Task) -> Path | None:
    """Return a folder whose git knows the branches of a task: the repository of its newest work here, as worktrees come
    and go, else the same folder.
    """
    works = [one for one in work_queries.of_task(context.db, task.uid) if one.machine == context.db.machine]
    folder = Path(works[-1].repository) if works else None
    return folder if folder is not None and folder.is_dir() else folder_of(context, task)


def facts(folder: Path, link: Link) -> str:
    """Return one line on a branch or a commit: its subject, its size, how far it is ahead.

    Raises:
        GitFailed: there is no such branch or commit.
    """
    commit = _commit(folder, link)
    if link["kind"] == COMMIT:
        printed = read(folder, "log", "-1", "--format=%s", "--shortstat", *_DIFF, "--end-of-options", commit)
        subject, _, rest = printed.partition("\n")
        return "  ".join(part for part in (_size(rest), subject.strip()) if part)
    base, name = _base(folder)
    if not base or base == commit:
        return f"at {commit[:7]}"
    since = int(read(folder, "rev-list", "--count", "--end-of-options", f"{base}..{commit}"))
    if not since:
        return f"in {name}, at {commit[:7]}"
    size = _size(read(folder, "diff", "--shortstat", *_DIFF, "--end-of-options", f"{base}...{commit}"))
    return ", ".join(part for part in (f"{count(since, 'commit')} since {name}", size) if part)


def link_text(folder: Path, link: Link) -> str:
    """Return the log of a branch, or the message and diff of a commit.

    Raises:
        GitFailed: there is no such branch or commit.
    """
    commit = _commit(folder, link)
    if link["kind"] == COMMIT:
        return read(folder, "show", "--format=medium", "--stat", "--patch", *_DIFF, "--end-of-options", commit)
    base, _ = _base(folder)
    log = (
        "log",
        "--date=iso",
        f"--max-count={_MAX_COMMITS}",
        "--format=%h  %ad  %an%n         %s",
        "--end-of-options",
    )
    own = read(folder, *log, f"{base}..{commit}") if base else ""
    return own or read(folder, *log, commit)


def _commit(folder: Path, link: Link) -> str:
    target = link["target"]
    names = [target] if link["kind"] == COMMIT else [f"refs/heads/{target}", f"refs/remotes/origin/{target}"]
    for name in names:
        if commit := _hash(folder, name):
            return commit
    raise GitFailed(f"no {link['kind']} {target} in {folder}")


def _hash(folder: Path, name: str) -> str:
    try:
        return read(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except GitFailed:
        return ""


def _base(folder: Path) -> tuple[str, str]:
    """Return the commit that branches are compared with, and its name; both are empty when there is none."""
    for name in _BASES:
        if commit := _hash(folder, name):
            return commit, "origin" if name.endswith("HEAD") else name.rpartition("/")[2]
    return "", ""


def _size(printed: str) -> str:
    """Return the line of `git --shortstat` as `+120 -3 in 4 files`."""
    match = _SIZE.search(printed)
    return f"+{match[2] or 0} -{match[3] or 0} in {count(int(match[1]), 'file')}" if match else ""


_FILE: Final = "diff --git "


class LinkLog(TextDrawing):
    """Draws the output of git: text, and behind it the diffs of files."""

    def __init__(self, context: Context, text: str) -> None:
        super().__init__(context)
        self._text, *diffs = re.split(rf"^(?={_FILE})", text, flags=re.MULTILINE)
        self._diffs = [(diff.partition("\n")[0], diff_lines.parse(diff)) for diff in diffs]

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return its lines, those of diffs coloured."""
        room = max(8, width - 2)
        drawn: list[Drawn] = [
            [(f" {part}", "")] for line in self._text.expandtabs(8).splitlines() for part in wrapped(line, room)
        ]
        for title, lines in self._diffs:
            drawn += [[(f" {part}", "$muted")] for part in wrapped(title, room)]
            digits = diff_lines.digits_of(lines, width)
            drawn += [parts for line in lines for parts in diff_lines.drawn(line, (), width, digits)]
        return drawn


class LinkText(Overlay):
    """The screen. `copied` is the command that its key copies."""

    NAME = "link"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context, title: str, text: str, copied: str) -> None:
        super().__init__(context)
        self._title = title
        self._text = ScrollLines(context, LinkLog(context, text), id="link-log")
        self._copied = copied

    def compose(self) -> ComposeResult:
        """Compose head and text."""
        yield Static(plain(f" {safe_line(self._title, 200)}", "bold"), id="link-head")
        yield rule(self.context)
        yield self._text
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Focus the text, and show the keys."""
        self.set_focus(self._text)
        copy = self.hint_of("link_copy", f"Copy {self._copied}")
        self.hint(("j/k", "Scroll", ""), copy, *map(self.hint_of, ("back", "help")))

    def do_link_copy(self) -> None:
        """Copy the git command."""
        self.context.copy(self._copied)
        self.context.say(f"Copied {self._copied}")
