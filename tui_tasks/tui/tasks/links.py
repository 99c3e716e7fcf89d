"""The links of a task: their lines in its detail, with what git reports on them once that has been read, where
the work on the task is done; and opening one: an address or a file, the log of a branch, the diff of a commit.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import work_queries, work_text
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.task_links import BRANCH, COMMIT, FILE, OF_GIT, PULL_REQUEST, Link
from tui_tasks.core.snapshots import Task
from tui_tasks.runner.git import GitFailed, read
from tui_tasks.settings import project
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.painting.text_lines import Drawn, ScrollLines, TextDrawing, wrapped
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Overlay, plain
from tui_tasks.tui.work import diff_lines

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.task_pane import TaskPane

# Seconds before git is run: nothing is read for tasks that the cursor only passes.
_PAUSE: Final = 0.15
# At most so many links of a task are looked up.
_MAX_ASKED: Final = 10
_SIZE: Final = re.compile(r"(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?")
_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_BASES: Final = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
_MAX_COMMITS: Final = "100"
_NEXT_FILE: Final = "diff --git "


class LinkLines:
    """Runs git in a thread, for one task at a time. `widget` runs the workers; `redraw` draws what was read."""

    def __init__(self, context: Context, widget: Widget, redraw: Callable[[], None]) -> None:
        self._context = context
        self._widget = widget
        self._redraw = redraw
        self._task: tuple[str, object] | None = None
        self._facts: dict[str, str] = {}

    def read(self, task: Task | None) -> None:
        """Look the links of a task up, unless that was done for this version of the task and these counts of work."""
        at = (task.uid, self._version(task)) if task is not None else None
        if at == self._task:
            return
        if self._task is None or at is None or at[0] != self._task[0]:
            self._facts = {}
        self._task = at
        links = [link for link in task.links if link["kind"] in OF_GIT][:_MAX_ASKED] if task else []
        if not links or task is None:
            return
        folder = repository_of(self._context, task)
        if folder is not None:
            # No coroutine before it runs: until then it may be cancelled.
            ask: Any = partial(self._ask, folder, links, at)
            self._widget.run_worker(ask, exclusive=True, group="links", exit_on_error=False)

    def _version(self, task: Task) -> object:
        db = self._context.db
        works = work_queries.of_task(db, task.uid) if self._context.state.works.has_any else []
        # Without an intent the worktree and branch of a merge are cleaned up.
        known = [(work.state, work.intent is None, work_text.counts(db, work.uid)) for work in works]
        return task.version, known

    async def _ask(self, folder: Path, links: list[Link], at: tuple[str, object] | None) -> None:
        await asyncio.sleep(_PAUSE)
        for link in links:
            fact = await asyncio.to_thread(_asked, folder, link)
            if at is None or at != self._task:
                return
            merged = merged_into(self._context.db, at[0], link)
            known = f"{merged}{'' if fact else ' and removed'}" if merged else fact
            self._facts[_key(link)] = known or f"not in {folder.name}"
            self._redraw()

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
    try:
        return facts(folder, link)
    except GitFailed:
        return ""


def merged_into(db: Database, task_uid: str, link: Link) -> str:
    """Return where a branch was merged, as its work was and is over; empty for any other link."""
    works = work_queries.of_task(db, task_uid) if link["kind"] == BRANCH else []
    merged = [one for one in works if one.branch == link["target"] and one.state == "merged"]
    return f"merged into {merged[-1].base}" if merged else ""


class LinkActions(Controller):
    """Opens the links of the task under the cursor of a pane."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    @override
    def why_not(self, action: Action) -> str | None:
        """The task must have a link."""
        task = self._task()
        return "This task has no links." if task is not None and not task.links else None

    def _task(self) -> Task | None:
        uid = self._pane.target()
        return task_queries.any_task(self._context.db, uid) if uid is not None else None

    async def do_open_links(self) -> None:
        """Open the task's link; ask which one if there are several."""
        task, context = self._task(), self._context
        if task is None:
            return
        if len(task.links) == 1:
            await self._open(task, task.links[0])
            return
        from tui_tasks.tui.screens.picker import PaletteEntry, Picker

        def opens(link: Link) -> Callable[[], None]:
            return lambda: context.run(self._open(task, link))

        entries = [PaletteEntry(safe_line(link["target"], 200), _kind(link), run=opens(link)) for link in task.links]
        context.push(Picker(context, "⧉" if not context.ascii_only else "=", entries, enter="Open", is_chooser=True))

    async def _open(self, task: Task, link: Link) -> None:
        if link["kind"] == PULL_REQUEST:
            await self._browse(link["target"])
            return
        find = folder_of if link["kind"] == FILE else repository_of
        folder = find(self._context, task)
        if folder is None:
            self._context.say("Its folder is not known: open this screen there.")
        elif link["kind"] == FILE:
            await self._edit(folder, link["target"])
        else:
            await self._show(task, folder, link)

    async def _show(self, task: Task, folder: Path, link: Link) -> None:
        try:
            text = await asyncio.to_thread(link_text, folder, link)
        except GitFailed as failed:
            merged, name = merged_into(self._context.db, task.uid, link), safe_line(link["target"], 60)
            self._context.say(f"The branch {name} was {safe_line(merged, 80)} and removed." if merged else str(failed))
            return
        target = link["target"]
        copied = f"git switch {shlex.quote(target)}" if link["kind"] == BRANCH else f"git show {target}"
        self._context.push(LinkText(self._context, f"{_kind(link)} {target}   {folder}", text, copied))

    async def _browse(self, address: str) -> None:
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        context = self._context
        choices = [Choice("o", "open in the browser"), Choice("y", "copy the address")]
        key = await context.ask(Menu(context, safe_line(address, 400), choices))
        if key == "y" or (key == "o" and not await asyncio.to_thread(_opened, address)):
            context.copy(address)
            context.say("Copied the address." if key == "y" else "There is no browser with a window; copied instead.")

    async def _edit(self, folder: Path, name: str) -> None:
        from tui_tasks.tui.inputs import editor
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        context = self._context
        file = (folder / name).resolve()
        why_not = "" if file.is_file() else "There is no such file."
        if not file.is_relative_to(folder.resolve()):
            why_not = f"It is not in {folder}."
        choices = [Choice("e", "open in $EDITOR", why_not=why_not), Choice("y", "copy the path")]
        key = await context.ask(Menu(context, safe_line(str(file), 400), choices))
        if key == "y":
            context.copy(str(file))
            context.say("Copied the path.")
        elif key == "e":
            editor.open_file(context, file)


def _kind(link: Link) -> str:
    return link["kind"].replace("_", " ")


def _opened(address: str) -> bool:
    """Open an https address in a graphical browser; return False when there is none."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # A browser that runs in the terminal would paint over this screen.
    is_in_terminal = isinstance(browser, webbrowser.GenericBrowser) and not isinstance(
        browser, webbrowser.BackgroundBrowser
    )
    return address.startswith("https://") and not is_in_terminal and browser.open(address)


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


class LinkLog(TextDrawing):
    """Draws the output of git: text, and behind it the diffs of files."""

    def __init__(self, context: Context, text: str) -> None:
        super().__init__(context)
        self._text, *diffs = re.split(rf"^(?={_NEXT_FILE})", text, flags=re.MULTILINE)
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
