"""The links of a task in its detail, one in each line, with what git reports on them once that has been read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.widget import Widget

from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.schema.work_links import COMMIT, OF_GIT, Link
from tui_tasks.core.snapshots import Task
from tui_tasks.runner.process.git import GitFailed, read
from tui_tasks.settings import project
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.painting.text_lines import Drawn

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


# Seconds before git is run: nothing is read for tasks that the cursor only passes.
_PAUSE: Final = 0.15
# At most so many links of a task are looked up.
_MAX_ASKED: Final = 10


class LinkLines:
    """Runs git in a thread, for one task at a time. `widget` runs the workers; `again` draws what was read."""

    def __init__(self, context: Context, widget: Widget, again: Callable[[], None]) -> None:
        self._context = context
        self._widget = widget
        self._again = again
        self._task: tuple[str, int] | None = None
        self._facts: dict[str, str] = {}

    def read(self, task: Task | None) -> None:
        """Look the links of a task up, unless that was done for this version of the task."""
        at = (task.uid, task.version) if task is not None else None
        if at == self._task:
            return
        if self._task is None or at is None or at[0] != self._task[0]:
            self._facts = {}
        self._task = at
        links = [link for link in task.links if link["kind"] in OF_GIT][:_MAX_ASKED] if task else []
        if not links or task is None:
            return

        folder = folder_of(self._context, task)
        if folder is not None:
            self._widget.run_worker(self._ask(folder, links, at), exclusive=True, group="links", exit_on_error=False)

    async def _ask(self, folder: Path, links: list[Link], at: tuple[str, int] | None) -> None:
        await asyncio.sleep(_PAUSE)
        for link in links:
            fact = await asyncio.to_thread(_asked, folder, link)
            if at != self._task:
                return
            self._facts[_key(link)] = fact
            self._again()

    def lines(self, task: Task, room: int) -> list[Drawn]:
        """Return the lines of a task's links, below a title with the key that opens them."""
        if not task.links:
            return []
        key = self._context.keymap.key_of("open_links")
        drawn: list[Drawn] = [(), [(" Links", "$muted"), (f"  {key} opens", "$muted")]]
        for link in task.links:
            kind = link["kind"].replace("_", " ")
            target = safe_line(link["target"], max(8, room - cell_len(kind) - 1))
            fact = safe_line(self._facts.get(_key(link), ""), max(0, room - cell_len(kind) - cell_len(target) - 3))
            drawn.append([(f" {kind} ", "$muted"), (target, ""), (f"  {fact}" if fact else "", "$muted")])
        return drawn


def _key(link: Link) -> str:
    return f"{link['kind']}:{link['target']}"


def _asked(folder: Path, link: Link) -> str:
    from tui_tasks.runner.process.git import GitFailed

    try:
        return facts(folder, link)
    except GitFailed:
        return f"not in {folder.name}"


# What git reports on a task's links, read in the folder in which the work on the task is done.


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
    found = session_queries.find(context.db, task.agent) if task.agent else None
    known = [found] if found is not None else []
    known += [one for one in session_queries.live(context.db) if name is not None and one.project == name]
    for session in known:
        if session.cwd and Path(session.cwd).is_absolute() and Path(session.cwd).is_dir():
            return Path(session.cwd)
    try:
        here = Path.cwd()
        return here if project.of_folder(here) == name else None
    except (OSError, project.ProjectRefused):
        return None


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


def text(folder: Path, link: Link) -> str:
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
        if found := _hash(folder, name):
            return found
    raise GitFailed(f"no {link['kind']} {target} in {folder}")


def _hash(folder: Path, name: str) -> str:
    try:
        return read(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except GitFailed:
        return ""


def _base(folder: Path) -> tuple[str, str]:
    """Return the commit that branches are compared with, and its name; both are empty when there is none."""
    for name in _BASES:
        if found := _hash(folder, name):
            return found, "origin" if name.endswith("HEAD") else name.rpartition("/")[2]
    return "", ""


def _size(printed: str) -> str:
    """Return the line of `git --shortstat` as `+120 -3 in 4 files`."""
    found = _SIZE.search(printed)
    return f"+{found[2] or 0} -{found[3] or 0} in {count(int(found[1]), 'file')}" if found else ""
