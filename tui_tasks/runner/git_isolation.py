"""The work tree of a repository for one operation: git is asked once for its folders, its HEAD and its settings, and
works on files by a copy of the settings in which nothing names a program.

A repository's settings can change at any time: its file may include a FIFO, or an agent may write it. So git reads none
of them while it works on files. It gets a folder in place of the repository's common one, with links to everything
there but the settings, hooks and attributes, and a settings file with the few that say how files are stored. No list of
names that could grow afterwards is behind it: what is not among those few is not copied. Whole work trees are read and
written: a sparse checkout would hide files.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks import regular_files
from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git
from tui_tasks.runner.git import Finished, GitFailed, Setting
from tui_tasks.runner.processes import temporary_folder

# How a repository stores its objects and files, and where its large files are.
_KEPT: Final = re.compile(
    r"(?s)core\.(repositoryformatversion|filemode|symlinks|protecthfs|protectntfs"
    r"|autocrlf|eol|safecrlf|checkroundtripencoding|bigfilethreshold|sharedrepository|logallrefupdates|trustctime"
    r"|checkstat|excludesfile)|extensions\.(?!worktreeconfig)[^.]*|index\.version|i18n\.commitencoding"
    r"|merge\.(conflictstyle|renames|renamelimit)|diff\.(renames|renamelimit)"
    r"|remote\..*\.(promisor|url)|lfs\.url"
)
# With it, files of the base land in a folder of the work's choice: the human alone decides that.
_OWN_ALONE: Final = "merge.directoryrenames"
_NAMES_PROGRAM: Final = re.compile(
    r"(?s)filter\..*\.(clean|smudge|process)|merge\..*\.driver|diff\..*\.(command|textconv)|diff\.external"
    r"|core\.(fsmonitor|hookspath|sshcommand|pager|editor|askpass|gitproxy)|alias\..*|gpg\.(.*\.)?program"
    r"|remote\..*\.(uploadpack|receivepack|vcs)|credential\.(.*\.)?helper"
)
_NOT_LINKED: Final = frozenset({"config", "config.lock", "config.worktree", "hooks", "commondir", "info"})
# Files that git may make, so that it makes them in the repository.
_MADE_BY_GIT: Final = ("packed-refs", "shallow")
_MAX_PATH: Final = 64 * 1024
_PLACES: Final = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
_HEAD: Final = ("HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD")


class NoWorkTree(GitFailed):
    """A folder is in no work tree."""


class LedElsewhere(Conflict, GitFailed):
    """A folder is not the top of its own work tree, or git has the HEAD and the index of another one for it."""


class WorkTree(NamedTuple):
    """A work tree and its HEAD as an operation began, and the way in which the operation runs git there.

    Attributes:
        folder: the folder that was opened.
        top: the top of the work tree, as git has it.
        directory: the folder of its HEAD and its index.
        common: the folder that all worktrees of the repository share.
        head: the commit of HEAD; None: there is none yet. The same holds for `head_tree`.
        head_tree: the tree of that commit.
        branch: the branch of HEAD; None: it is detached.
        settings: those of the repository, and the human's own.
        variables: lead git to the copy of the settings.
    """

    folder: Path
    top: Path
    directory: Path
    common: Path
    head: str | None
    head_tree: str | None
    branch: str | None
    settings: tuple[Setting, ...]
    variables: Mapping[str, str]

    def run(
        self,
        *words: str,
        given: bytes = b"",
        variables: Mapping[str, str] | None = None,
        statuses: Collection[int] = (0,),
        timeout: float = git.RUN_SECONDS,
    ) -> Finished:
        """Run a git command there, as `git.run` does. No hook and no merge driver runs, and no filter but those
        allowed.

        `update-ref` and `worktree` write into the common folder itself, and are run by `git.run`.

        Raises:
            GitFailed: git failed, with its own words, or timed out.
        """
        both = {**self.variables, **(variables or {})}
        return git.run(self.folder, *words, given=given, variables=both, statuses=statuses, timeout=timeout)

    def read(self, *words: str, timeout: float, max_bytes: int) -> bytes:
        """Return what git prints about files there; `timeout` is in seconds.

        Raises:
            GitFailed: git failed, timed out, or printed `max_bytes`.
        """
        return git.read_files(self.folder, words, self.variables, timeout=timeout, max_bytes=max_bytes)

    def programs_named(self) -> tuple[str, ...]:
        """Return the settings of the repository that name programs, which are not run here."""
        names = dict.fromkeys(one.name for one in self.settings if not one.is_own)
        return tuple(name for name in names if _NAMES_PROGRAM.fullmatch(name))


@contextlib.contextmanager
def opened(folder: Path, filters: Collection[str] = (), *, is_top: bool = True) -> Iterator[WorkTree]:
    """Yield the work tree of a folder, for one operation: what git says of it is not asked again.

    Args:
        folder: the folder.
        filters: names of filters that may run, as the human's own settings have them.
        is_top: whether the folder must be the top of its own work tree; else it may be a folder within one.

    Raises:
        GitFailed: git failed, or timed out.
        LedElsewhere: the folder is not the top of its own work tree.
        NoWorkTree: the folder is in none.
    """
    words = ("rev-parse", *_PLACES, *_HEAD)
    done = git.run(folder, *words, statuses=(0, 128), timeout=git.TIMEOUT_SECONDS)
    lines = done.text.split("\n")
    has_commit = done.status == 0
    if not has_commit and lines[3:] != [_HEAD[0]]:
        raise NoWorkTree(git.failure(folder, words, done.error))
    if len(lines) != (6 if has_commit else 4):
        raise GitFailed(f"git in {folder}: a newline is in the path of the repository")
    directory, common, top = map(Path, lines[:3])
    if is_top:
        _check_own(folder, directory, common, top)
    head, head_tree, ref = lines[3:] if has_commit else (None, None, "HEAD")
    settings = tuple(git.settings(folder))
    with contextlib.ExitStack() as stack:
        try:
            copy = stack.enter_context(temporary_folder("git"))
            _fill(copy, common, settings, filters)
        except OSError as error:
            raise GitFailed(f"git in {folder}: {error}") from error
        variables = {"GIT_DIR": str(directory), git.COPIED: str(copy), "GIT_WORK_TREE": str(top)}
        branch = ref.removeprefix("refs/heads/") if ref not in (None, "HEAD") else None
        yield WorkTree(folder, top, directory, common, head, head_tree, branch, settings, variables)


def _check_own(folder: Path, directory: Path, common: Path, top: Path) -> None:
    """Refuse a folder for which git uses the files, or the HEAD and index, of another work tree.

    Raises:
        LedElsewhere: it does.
    """
    own = os.path.realpath(folder)
    if os.path.realpath(top) != own:
        raise LedElsewhere(f"{folder} is not a worktree of its own: git uses {top} for it; check its core.worktree")
    if os.path.realpath(directory) == os.path.realpath(common):
        return
    try:
        back = os.fsdecode(regular_files.read_regular(directory / "gitdir", _MAX_PATH)).rstrip("\n")
    except OSError:
        back = ""
    is_listed = os.path.realpath(directory.parent) == os.path.realpath(common / "worktrees")
    if not is_listed or os.path.realpath(directory / os.path.dirname(back)) != own:  # noqa: PTH120 - an empty text stays one
        raise LedElsewhere(f"{folder}/.git leads to {directory}, which is another worktree's: `git worktree repair`")


def _fill(copy: Path, common: Path, settings: Collection[Setting], filters: Collection[str]) -> None:
    """Make a common folder in which nothing names a program or hides a file."""
    for name in {*(entry.name for entry in common.iterdir()), *_MADE_BY_GIT} - _NOT_LINKED:
        (copy / name).symlink_to(common / name)
    # Of the files there, attributes can hide what is in a file, and how it merges.
    (copy / "info").mkdir()
    (copy / "info" / "exclude").symlink_to(common / "info" / "exclude")
    kept = {one.name: one.value for one in settings if not one.is_own and _KEPT.fullmatch(one.name)}
    own = (one for one in settings if one.is_own)
    kept |= {one.name: one.value for one in own if one.name == _OWN_ALONE or _is_of_filter(one.name, filters)}
    kept["core.ignorecase"] = str(_ignores_case(common)).lower()
    kept["core.precomposeunicode"] = str(sys.platform == "darwin").lower()
    (copy / "config").write_bytes("".join(_lines(kept)).encode(errors="surrogateescape"))


def _ignores_case(common: Path) -> bool:
    """Return whether the file system takes a name in another case for the same: git knows it by a setting alone."""
    try:
        one, other = (common / "objects").lstat(), (common / "OBJECTS").lstat()
    except OSError:
        return False
    return stat.S_ISDIR(one.st_mode) and os.path.samestat(one, other)


def _is_of_filter(name: str, filters: Collection[str]) -> bool:
    section, _, key = name.rpartition(".")
    return (
        section.startswith("filter.")
        and section.removeprefix("filter.") in filters
        and key in ("clean", "smudge", "process", "required")
    )


def _lines(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a settings file."""
    for name, value in settings.items():
        section, _, rest = name.partition(".")
        subsection, _, key = rest.rpartition(".")
        header = f'{section} "{_escaped(subsection)}"' if subsection else section
        yield f'[{header}]\n\t{key} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
