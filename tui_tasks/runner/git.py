"""The one place that runs git, in a repository that anybody may have prepared: nothing that it names is started.

A repository can name programs in its settings, its attributes and its remotes: hooks, filters, drivers, monitors,
signature checkers, transports. git is started with all of them off, and without settings or variables of the user.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.runner import git_isolation

_OFF: Final = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.pager=cat"),
    *(
        "core.sshCommand=false",
        "core.gitProxy=false",
        "core.askPass=",
        "core.editor=false",
        "core.alternateRefsCommand=",
    ),
    *("credential.helper=", "diff.external=", "diff.submodule=short", "submodule.recurse=false"),
    *("log.showSignature=false", "format.pretty=medium", "protocol.allow=never"),
    *("gpg.program=false", "gpg.openpgp.program=false", "gpg.x509.program=false", "gpg.ssh.program=false"),
    "gpg.ssh.defaultKeyCommand=",
    *("commit.gpgSign=false", "merge.verifySignatures=false", "merge.autoStash=false", "rerere.enabled=false"),
    # Nothing is tidied up behind the human's back, and no file beside the objects says what is in them.
    *("gc.auto=0", "maintenance.auto=false", "core.commitGraph=false"),
)
_OPTIONS: Final = ("--no-pager", *(word for setting in _OFF for word in ("-c", setting)))
_ENVIRONMENT: Final = {
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A missing object is not fetched. Releases before 2.44 ignore the first, so that no transport is allowed either.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    # Objects are what they are, and a path is no pattern.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_LITERAL_PATHSPECS": "1",
}
TIMEOUT_SECONDS: Final = 5.0
MAX_BYTES: Final = 512 * 1024
# Commands that read no file of the work tree, write no index, and merge nothing: they run no filter and no driver.
# Writing an index reads the files that have changed in the same second.
_NO_FILES: Final = frozenset(
    {
        *("cat-file", "commit-tree", "config", "diff-tree", "log", "ls-files", "ls-tree", "merge-base", "rev-list"),
        *("rev-parse", "symbolic-ref", "update-ref", "worktree"),
    }
)
# Submodules have settings of their own: git does not look into them. A worktree gets its files by another command, and
# is removed without a look at them.
_FLAGS: Final = {
    ("diff",): ("--ignore-submodules=dirty",),
    ("status",): ("--ignore-submodules=dirty",),
    ("worktree", "add"): ("--no-checkout",),
    ("worktree", "remove"): ("--force",),
}


# In characters: of a command that failed, in its message.
_MAX_COMMAND: Final = 200
_COPIED: Final = "GIT_COMMON_DIR"
"""The variable that leads git to a copy of the settings."""


class GitFailed(Exception):
    """git is not installed, took too long, or refused."""


def read(folder: Path, *words: str) -> str:
    """Return what git prints about committed objects, up to `MAX_BYTES`; `words` are a command and its arguments.

    Raises:
        GitFailed: git failed, or timed out.
    """
    return _output(folder, words, {}, TIMEOUT_SECONDS, MAX_BYTES).decode(errors="replace")


def read_work_tree(folder: Path, *words: str, timeout: float, max_bytes: int) -> bytes:
    """Return what git prints about files of the work tree, which it reads without the filters that attributes name.

    `timeout` is in seconds.

    Raises:
        GitFailed: git failed, timed out, or printed `max_bytes`.
    """
    with _prepared(folder, words, (), {}) as variables:
        printed = _output(folder, _with_flags(words), variables, timeout, max_bytes)
    if len(printed) >= max_bytes:
        raise GitFailed(f"git {words[0]} printed over {max_bytes:,} bytes")
    return printed


def push(objects: Path, url: str, commit: str, branch: str, *, helper: str, protocols: str = "https") -> None:
    """Push a commit to a branch of another repository, from one made for it: no setting of the human's checkout holds.

    Args:
        objects: the folder of the objects that the commit needs.
        url: the address of the other repository.
        commit: the commit.
        branch: the branch there.
        helper: the command that gives git the password.
        protocols: those that may be used, separated by colons.

    Raises:
        GitFailed: git failed, with its own last words, or timed out.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_ALLOW_PROTOCOL": protocols, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    settings = ("-c", "core.hooksPath=/dev/null", "-c", "credential.helper=", "-c", f"credential.helper={helper}")
    with git_isolation.temporary_folder("push") as made:
        _output(made, ("init", "--quiet", "--bare", "--template="), {}, TIMEOUT_SECONDS, MAX_BYTES)
        info = made / "objects" / "info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "alternates").write_bytes(os.fsencode(objects) + b"\n")
        words = (
            "push",
            "--quiet",
            "--no-verify",
            "--recurse-submodules=no",
            "--",
            url,
            f"{commit}:refs/heads/{branch}",
        )
        done = _ended(["git", *settings, *words], "push", made, environment, RUN_SECONDS)
    if done.returncode:
        wrong = _complaint(done.stderr, "fatal:", "error:", " !")
        raise GitFailed(wrong.strip() or f"git push ended with status {done.returncode}")


def _ended(
    command: Sequence[str], name: str, folder: Path, environ: Mapping[str, str], timeout: float, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run git to its end; `name` is that of its command, for messages.

    Raises:
        GitFailed: it cannot be started, or timed out.
    """
    try:
        return subprocess.run(
            command, cwd=folder, env=environ, input=given, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {name} took over {timeout:g} seconds") from error
    except (OSError, ValueError) as error:
        raise GitFailed(str(error)) from error


def _complaint(errors: bytes, *beginnings: str) -> str:
    """Return the line of git's errors that says what is wrong, else the first."""
    lines = errors.decode(errors="replace").strip().splitlines()
    return next((line for line in lines if line.startswith(beginnings)), lines[0] if lines else "")


def version() -> tuple[int, int]:
    """Return the version of git, as in (2, 39).

    Raises:
        GitFailed: git is not installed.
    """
    try:
        printed = subprocess.run(
            ["git", "--version"], env=_variables({}), capture_output=True, timeout=TIMEOUT_SECONDS, check=True
        ).stdout
    except FileNotFoundError:
        raise GitFailed("git is not installed") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFailed(str(error)) from error
    match = re.search(rb"(\d+)\.(\d+)", printed)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def merge_lines(ours: Path, base: Path, theirs: Path, marker_size: str) -> int:
    """Merge three versions of a file by line into the first; return how many conflicts are marked in it, or over 127.

    Raises:
        GitFailed: git is not installed, or took too long.
    """
    labels = ("-L", "ours", "-L", "base", "-L", "theirs")
    words = ("merge-file", f"--marker-size={marker_size}", *labels, "--", ours, base, theirs)
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, *words],
            env=_variables({}),
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(str(error)) from error
    return done.returncode


def _variables(more: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **more}


def _with_flags(words: tuple[str, ...]) -> tuple[str, ...]:
    return next(
        (start + more + words[len(start) :] for start, more in _FLAGS.items() if words[: len(start)] == start), words
    )


@contextlib.contextmanager
def without_programs(folder: Path, filters: Collection[str] = ()) -> Iterator[dict[str, str]]:
    """Yield variables by which git runs no filter and no merge driver but the allowed filters.

    `run` gets them for each command by itself; where several follow one another, they can share these.

    Raises:
        GitFailed: git failed, or timed out.
    """

    def printed(asked: tuple[str, ...]) -> bytes:
        return _output(folder, asked, {}, TIMEOUT_SECONDS, git_isolation.MAX_BYTES)

    try:
        with git_isolation.without_programs(printed, filters) as variables:
            yield variables
    except (OSError, ValueError) as error:
        raise GitFailed(f"git in {folder}: {error}") from error


@contextlib.contextmanager
def _prepared(
    folder: Path, words: Sequence[str], filters: Collection[str], variables: Mapping[str, str]
) -> Iterator[Mapping[str, str]]:
    """Yield the variables of a command, with those of `without_programs` if it needs them."""
    if words[0] in _NO_FILES or _COPIED in variables:
        yield variables
        return
    with without_programs(folder, filters) as settings:
        yield settings | dict(variables)


def _output(
    folder: Path, words: tuple[str, ...], variables: Mapping[str, str], timeout: float, max_bytes: int
) -> bytes:
    """Return up to `max_bytes` of what a command prints.

    Raises:
        GitFailed: git failed, or timed out.
    """
    try:
        process = subprocess.Popen(
            ["git", *_OPTIONS, *words],
            cwd=folder,
            env=_variables(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise GitFailed(str(error)) from error
    assert process.stdout is not None
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        with process.stdout:
            printed = process.stdout.read(max_bytes)
        if len(printed) == max_bytes:
            process.kill()
        status = process.wait()
    finally:
        timer.cancel()
        timer.join()
    if status and len(printed) < max_bytes:
        raise GitFailed(_failure(folder, words, f"status {status}"))
    return printed


def _failure(folder: Path, words: Sequence[str], wrong: str) -> str:
    """Return what went wrong in which command, as it can be tried again, and where."""
    command = shlex.join(["git", *words])
    shown = command if len(command) <= _MAX_COMMAND else f"{command[: _MAX_COMMAND - 1]}…"
    return f"{wrong} (`{shown}` in {folder})"


class Finished(NamedTuple):
    """A git command that has ended.

    Attributes:
        status: its exit status.
        printed: its standard output.
        error: the first line of its standard error that tells what is wrong.
    """

    status: int
    printed: bytes
    error: str

    @property
    def text(self) -> str:
        """The standard output without the last newline."""
        return self.printed.decode(errors="surrogateescape").rstrip("\n")


RUN_SECONDS: Final = 120.0


def run(
    folder: Path,
    *words: str,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
    allowed_filters: Collection[str] = (),
    statuses: Collection[int] = (0,),
    timeout: float = RUN_SECONDS,
) -> Finished:
    """Run a git command on files or refs. No hook and no merge driver runs, and no filter but the allowed ones.

    Args:
        folder: where to run it.
        words: the command and its arguments.
        given: its standard input.
        variables: environment variables in addition, such as another index.
        allowed_filters: names of filters that may run.
        statuses: exit statuses that are no failure.
        timeout: seconds.

    Raises:
        GitFailed: git failed, with its own words, or timed out.
    """
    try:
        with _prepared(folder, words, allowed_filters, variables or {}) as all_variables:
            command = ["git", *_OPTIONS, *_with_flags(words)]
            done = _ended(command, words[0], folder, _variables(all_variables), timeout, given)
    except (OSError, ValueError) as error:
        raise GitFailed(str(error)) from error
    wrong = _complaint(done.stderr, "fatal:", "error:")
    if done.returncode not in statuses:
        raise GitFailed(_failure(folder, words, wrong or f"status {done.returncode}"))
    return Finished(done.returncode, done.stdout, wrong)


def programs_named(folder: Path) -> tuple[str, ...]:
    """Return the settings of a repository that name programs, which are not run here.

    Raises:
        GitFailed: git failed, or timed out.
    """
    words = ("config", "--show-scope", "--list", "--name-only", "-z")
    fields = _output(folder, words, {}, TIMEOUT_SECONDS, git_isolation.MAX_BYTES).decode(errors="replace").split("\0")
    named = zip(fields[::2], fields[1::2], strict=False)
    names = dict.fromkeys(name for scope, name in named if scope != "command")
    return tuple(name for name in names if _NAMES_PROGRAM.fullmatch(name))


_NAMES_PROGRAM: Final = re.compile(
    r"(?s)filter\..*\.(clean|smudge|process)|merge\..*\.driver|diff\..*\.(command|textconv)|diff\.external"
    r"|core\.(fsmonitor|hookspath|sshcommand|pager|editor|askpass|gitproxy)|alias\..*|gpg\.(.*\.)?program"
    r"|remote\..*\.(uploadpack|receivepack|vcs)|credential\.(.*\.)?helper"
)

_TIMEOUT_SECONDS: Final = 30.0
_MAX_DIFF: Final = 256 * 1024 * 1024
_DIFF_OPTIONS: Final = ("--no-ext-diff", "--no-textconv", "--binary", "--submodule=short")


class GitState(NamedTuple):
    """The git state of a folder; both None without a work tree or a commit.

    Attributes:
        commit: the commit.
        diff: the SHA-256 of the uncommitted changes, in hexadecimal.
    """

    commit: str | None = None
    diff: str | None = None


def look(folder: Path) -> GitState:
    """Return the git state of a folder."""
    try:
        commit = read(folder, "rev-parse", "--verify", "HEAD").strip()
        diff = read_work_tree(folder, "diff", *_DIFF_OPTIONS, "HEAD", timeout=_TIMEOUT_SECONDS, max_bytes=_MAX_DIFF)
    except GitFailed:
        return GitState()
    return GitState(commit, hashlib.sha256(diff).hexdigest())
