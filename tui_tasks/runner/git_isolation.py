"""What git works with on files of a repository: settings of its own, in which nothing names a program, and temporary
folders.

A repository's settings can change between two looks at them: its file may include a FIFO, or an agent may write it. So
git reads none of them while it works on files. It gets a folder in place of the repository's common one, with links
to everything there but the settings and hooks, and a settings file with the few that say how files are stored.

A temporary folder names its process: what a killed process has left, the next one removes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity

_LIST: Final = ("config", "--list", "-z")
MAX_BYTES: Final = 1024 * 1024
# How a repository stores its objects and files, who commits, and where its large files are.
_KEPT: Final = re.compile(
    r"(?s)core\.(repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs"
    r"|autocrlf|eol|safecrlf|checkroundtripencoding|bigfilethreshold|sharedrepository|logallrefupdates|trustctime"
    r"|checkstat|sparsecheckout|sparsecheckoutcone|excludesfile)"
    r"|extensions\.(?!worktreeconfig)[^.]*|index\.(version|sparse)|i18n\.commitencoding|user\.(name|email)"
    r"|merge\.(conflictstyle|renames|renamelimit|directoryrenames)|diff\.(renames|renamelimit)"
    r"|remote\..*\.(promisor|url)|lfs\.url"
)
_NOT_LINKED: Final = frozenset({"config", "config.lock", "config.worktree", "hooks", "commondir"})
# Files that git may make, so that it makes them in the repository.
_MADE_BY_GIT: Final = ("packed-refs", "shallow")

Print = Callable[[tuple[str, ...]], bytes]


@contextlib.contextmanager
def without_programs(printed_by_git: Print, filters: Collection[str]) -> Iterator[dict[str, str]]:
    """Yield variables by which git reads a copy of the settings of a repository, without programs.

    Args:
        printed_by_git: returns what a git command prints in the folder; it raises where git fails.
        filters: names of filters that may run, as the human's own settings have them.

    Raises:
        OSError: the copy cannot be made.
        ValueError: the repository has no work tree, or too many settings.
    """
    places = ("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
    directories = os.fsdecode(printed_by_git(places)).removesuffix("\n").split("\n")
    if len(directories) != 3:
        raise ValueError("a newline is in the path of the repository")
    directory, common, top = directories
    listed = printed_by_git(_LIST)
    if len(listed) >= MAX_BYTES:
        raise ValueError(f"over {MAX_BYTES:,} bytes of git settings")
    kept = {name: value for name, value in _pairs(listed).items() if _KEPT.fullmatch(name)}
    kept |= _own_filters(printed_by_git, filters)
    with temporary_folder("git") as made:
        for name in {*(entry.name for entry in Path(common).iterdir()), *_MADE_BY_GIT} - _NOT_LINKED:
            (made / name).symlink_to(Path(common, name))
        (made / "config").write_bytes("".join(_lines(kept)).encode(errors="surrogateescape"))
        yield {"GIT_DIR": directory, "GIT_COMMON_DIR": str(made), "GIT_WORK_TREE": top}


def own_files(home: Path | None = None) -> list[Path]:
    """Return the files of the human's own git settings, the one that wins last."""
    home = home if home is not None else Path.home()
    xdg = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [file for file in (Path("/etc/gitconfig"), xdg / "git" / "config", home / ".gitconfig") if file.is_file()]


def _own_filters(printed_by_git: Print, filters: Collection[str]) -> dict[str, str]:
    """Return the settings of the allowed filters in the human's own files, and none that the repository has."""
    own: dict[str, str] = {}
    for file in own_files() if filters else ():
        for name, value in _pairs(printed_by_git(("config", "--includes", "--file", str(file), *_LIST[1:]))).items():
            section, _, key = name.rpartition(".")
            if section.removeprefix("filter.") in filters and key in ("clean", "smudge", "process", "required"):
                own[name] = value
    return own


def _pairs(listed: bytes) -> dict[str, str]:
    """Return the settings that `config --list -z` prints; of a name that is there twice, the last."""
    lines = listed.decode(errors="surrogateescape").split("\0")
    # A name without a value means true.
    return {
        name: value if is_set else "true" for name, is_set, value in (line.partition("\n") for line in lines if line)
    }


def _lines(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a settings file."""
    for name, value in settings.items():
        section, _, rest = name.partition(".")
        subsection, _, key = rest.rpartition(".")
        header = f'{section} "{_escaped(subsection)}"' if subsection else section
        yield f'[{header}]\n\t{key} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


UNKNOWN_SECONDS: Final = 24 * 60 * 60
"""After so long a folder is removed whose process is not known: one of a former boot, of a container, or unnamed."""
_FOLDER_NAME: Final = re.compile(
    r"tui-tasks-(?:git|index|push|gh)-(?:(?P<system>[0-9a-f]{8})-(?P<pid>\d+)-(?P<born>[\d.]*)-)?\w{8}"
)


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Yield a private folder that is removed afterwards; `purpose` is one of those in `_FOLDER_NAME`."""
    _remove_left_once(os.getpid(), Path(tempfile.gettempdir()))
    one = processes.identity()
    with tempfile.TemporaryDirectory(prefix=f"tui-tasks-{purpose}-{_system(one)}-{one.pid}-{one.born}-") as made:
        yield Path(made)


@functools.cache
def _remove_left_once(pid: int, folder: Path) -> None:
    remove_left(folder, time.time())


def remove_left(folder: Path, now: float) -> None:
    """Remove the folders of this user whose process has ended; `now` is in seconds since the epoch."""
    here = processes.identity()
    for entry in os.scandir(folder):
        match = _FOLDER_NAME.fullmatch(entry.name)
        with contextlib.suppress(OSError):
            if match is None or entry.is_symlink() or entry.stat().st_uid != os.getuid():
                continue
            is_alive = None
            if match["system"] == _system(here):
                owner = ProcessIdentity(here.boot, here.namespace, int(match["pid"]), match["born"])
                is_alive = processes.is_alive(owner)
            is_old = now - entry.stat().st_mtime > UNKNOWN_SECONDS
            if is_alive is False or (is_alive is None and is_old):
                shutil.rmtree(entry.path, ignore_errors=True)


def _system(one: ProcessIdentity) -> str:
    """Return an id of the boot and the pid namespace of a process."""
    return hashlib.sha256(f"{one.boot} {one.namespace}".encode()).hexdigest()[:8]
