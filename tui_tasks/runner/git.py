"""The one place that runs git, in a repository that anybody may have prepared: nothing that it names is started.

A repository can name programs in its settings, its attributes and its remotes: hooks, filters, drivers, monitors,
signature checkers, transports. git is started with all of them off, and without settings or variables of the user.

Filters and drivers have names of the repository's choice, so that they cannot be switched off by name: a command that
could start one reads a copy of the settings without them (`git_isolation`).
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.runner.processes import temporary_folder

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
    # HEAD is HEAD, whatever branches are called.
    "core.warnAmbiguousRefs=false",
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
    # Whoever commits is named where it is done. A name in the repository's settings would get into its logs of refs,
    # and these may lead to any file.
    **{f"GIT_{who}_NAME": "tui-tasks" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "tui-tasks@localhost" for who in ("AUTHOR", "COMMITTER")},
}
TIMEOUT_SECONDS: Final = 5.0
MAX_BYTES: Final = 512 * 1024
_MAX_SETTINGS: Final = 1024 * 1024
# Commands that read no file of the work tree, write no index, and merge nothing: they run no filter and no driver.
# Writing an index reads the files that have changed in the same second.
_NO_FILES: Final = frozenset(
    {
        *("cat-file", "commit-tree", "config", "diff-tree", "init", "log", "ls-tree", "rev-list", "rev-parse"),
        *("update-ref", "worktree"),
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
COPIED: Final = "GIT_COMMON_DIR"
"""The variable that leads git to a copy of the settings."""


class Setting(NamedTuple):
    """A setting of git.

    Attributes:
        is_own: whether the human's own files have it, not the repository's.
        name: its name.
        value: its value.
    """

    is_own: bool
    name: str
    value: str


class GitFailed(Exception):
    """git is not installed, took too long, or refused."""


def read(folder: Path, *words: str) -> str:
    """Return what git prints about committed objects, up to `MAX_BYTES`; `words` are a command and its arguments.

    Raises:
        GitFailed: git failed, or timed out.
    """
    return _output(folder, words, _variables({}), TIMEOUT_SECONDS, MAX_BYTES).decode(errors="replace")


def read_files(
    folder: Path, words: tuple[str, ...], variables: Mapping[str, str], *, timeout: float, max_bytes: int
) -> bytes:
    """Return what git prints about files of a work tree; `variables` lead it to a copy of the settings.

    `timeout` is in seconds.

    Raises:
        GitFailed: git failed, timed out, or printed `max_bytes`.
    """
    _check_copied(words, variables)
    printed = _output(folder, words, _variables(variables), timeout, max_bytes)
    if len(printed) >= max_bytes:
        raise GitFailed(f"git {words[0]} printed over {max_bytes:,} bytes")
    return printed


def _check_copied(words: Sequence[str], variables: Mapping[str, str]) -> None:
    """Refuse a command that could start a program of the repository, as it would read no copy of the settings.

    Raises:
        ValueError: it could.
    """
    if words[0] not in _NO_FILES and COPIED not in variables:
        raise ValueError(f"git {words[0]} needs a copy of the settings")


def settings(folder: Path) -> list[Setting]:
    """Return the settings of a repository, and the human's own. Of those that are there twice, the last one holds.

    Raises:
        GitFailed: git failed, timed out, or there are too many.
    """
    variables = _variables({name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ})
    del variables["GIT_CONFIG_GLOBAL"], variables["GIT_CONFIG_NOSYSTEM"]
    words = ("config", "--list", "--show-scope", "-z")
    printed = _output(folder, words, variables, TIMEOUT_SECONDS, _MAX_SETTINGS)
    if len(printed) >= _MAX_SETTINGS:
        raise GitFailed(f"over {_MAX_SETTINGS:,} bytes of git settings in {folder}")
    fields = printed.decode(errors="surrogateescape").split("\0")
    found = []
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        name, is_set, value = setting.partition("\n")
        if scope != "command":
            # A name without a value means true.
            found.append(Setting(scope in ("system", "global"), name, value if is_set else "true"))
    return found


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
    with temporary_folder("push") as made:
        run(made, "init", "--quiet", "--bare", "--template=")
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
    program = shutil.which("git")
    if program is None:
        raise GitFailed("git is not installed")
    try:
        return _version(program, Path(program).stat().st_mtime_ns)
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFailed(str(error)) from error


@functools.cache
def _version(program: str, changed: int) -> tuple[int, int]:
    """Return the version of a program that was changed last at some time."""
    command = [program, "--version"]
    done = subprocess.run(command, env=_variables({}), capture_output=True, timeout=TIMEOUT_SECONDS, check=True)
    match = re.search(rb"(\d+)\.(\d+)", done.stdout)
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


def _output(
    folder: Path, words: tuple[str, ...], variables: Mapping[str, str], timeout: float, max_bytes: int
) -> bytes:
    """Return up to `max_bytes` of what a command prints, which gets these variables; `timeout` is in seconds.

    Raises:
        GitFailed: git failed, or timed out.
    """
    try:
        process = subprocess.Popen(
            ["git", *_OPTIONS, *_with_flags(words)],
            cwd=folder,
            env=variables,
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
        raise GitFailed(failure(folder, words, f"status {status}"))
    return printed


def failure(folder: Path, words: Sequence[str], wrong: str) -> str:
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
    statuses: Collection[int] = (0,),
    timeout: float = RUN_SECONDS,
) -> Finished:
    """Run a git command on objects or refs; `git_isolation` runs those on files.

    Args:
        folder: where to run it.
        words: the command and its arguments.
        given: its standard input.
        variables: environment variables in addition, such as another index.
        statuses: exit statuses that are no failure.
        timeout: seconds.

    Raises:
        GitFailed: git failed, with its own words, or timed out.
    """
    variables = variables or {}
    _check_copied(words, variables)
    command = ["git", *_OPTIONS, *_with_flags(words)]
    done = _ended(command, words[0], folder, _variables(variables), timeout, given)
    wrong = _complaint(done.stderr, "fatal:", "error:")
    if done.returncode not in statuses:
        raise GitFailed(failure(folder, words, wrong or f"status {done.returncode}"))
    return Finished(done.returncode, done.stdout, wrong)
