"""The terminals of agents that we start: a tmux server of our own, which outlives the screen.

The server is started without the variables of its starter, by a configuration of ours, on a socket with a short path in
a folder of mode 0700. A pane stays when its program has ended, so that its last lines can be read.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Conflict
from tui_tasks.installation import data_folder

MIN_TMUX: Final = (3, 0)
DETACH: Final = "C-]"
"""The key that leaves a terminal; the server knows no other."""
DETACH_WORDS: Final = "Ctrl+]"
_SECONDS: Final = 10.0
_SHOWN_SECONDS: Final = 2.0  # within which a program shows what is typed
_KEY_SECONDS: Final = 0.1  # between two keys of a person
_MAX_SOCKET: Final = 100  # characters that the path of a socket may have
_SIZE: Final = (160, 48)  # of a terminal that is started without one
_MIN_SIZE: Final = (80, 24)
# What tmux writes at the bottom of a terminal whose program has ended, far below its last lines.
_DEAD: Final = re.compile(r"\s*^Pane is dead(?: \(.*\))?\s*\Z", re.MULTILINE)
_CONFIGURATION: Final = f"""\
set -g default-terminal screen-256color
set -g remain-on-exit on
set -g history-limit 20000
set -g prefix None
set -g prefix2 None
unbind-key -a -T prefix
unbind-key -a -T root
bind-key -n {DETACH} detach-client
set -g set-clipboard off
set -g mouse off
set -g update-environment ""
set -g status-style reverse
set -g status-left " #{{session_name}} "
set -g status-left-length 40
set -g status-right " {DETACH_WORDS} goes back "
set -g window-status-format ""
set -g window-status-current-format ""
set -s escape-time 10
set -s exit-empty on
"""


def version() -> tuple[int, int] | None:
    """Return the version of tmux; None if it is not installed."""
    if shutil.which("tmux") is None:
        return None
    try:
        printed = subprocess.run(["tmux", "-V"], capture_output=True, timeout=_SECONDS, check=True).stdout.decode()
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)\.(\d+)", printed)
    # A version from the repository says `next-3.5` or `master`.
    return (int(match[1]), int(match[2])) if match else (99, 0)


def is_there() -> bool:
    """Return whether a tmux that is new enough is installed."""
    return (version() or (0, 0)) >= MIN_TMUX


def why_not() -> str | None:
    """Return why there is no terminal, and what to do; None: there is one."""
    installed = version()
    if installed is None:
        return 'tmux is not installed: install it, or set terminal = "none" in [work]'
    if installed < MIN_TMUX:
        return f"tmux {installed[0]}.{installed[1]} is too old: install {MIN_TMUX[0]}.{MIN_TMUX[1]} or newer"
    return None


class Terminals:
    """The tmux server of a database.

    Attributes:
        folder: its private folder.
        socket: the path of its socket.
    """

    def __init__(self, database: str, environ: Mapping[str, str] = os.environ) -> None:
        """Find the folder; nothing is made."""
        digest = hashlib.sha256(os.path.realpath(database).encode(errors="surrogateescape")).hexdigest()[:12]
        runtime = environ.get("XDG_RUNTIME_DIR", "")
        name = f"tui-tasks-{digest}"
        is_usable = runtime.startswith("/") and len(runtime) + len(name) + 6 < _MAX_SOCKET and Path(runtime).is_dir()
        self.folder = Path(runtime, name) if is_usable else Path("/tmp", f"{name}-{os.getuid()}")
        self.socket = self.folder / "tmux"
        self._environment = {
            name: value for name in ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE") if (value := environ.get(name))
        } | {"TERM": "screen-256color", "SHELL": "/bin/sh"}

    def _make_folder(self) -> None:
        """Make the private folder.

        Raises:
            Conflict: somebody else has it.
        """
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            status = os.lstat(self.folder)
        except OSError as error:
            raise Conflict(f"{self.folder}: {error.strerror}") from error
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise Conflict(f"{self.folder} is not yours alone: remove it, or set XDG_RUNTIME_DIR")
        (self.folder / "tmux.conf").write_text(_CONFIGURATION)

    def start(self, name: str, argv: Sequence[str], folder: Path) -> None:
        """Start a command in a new terminal of that name, of the size of this one, so that nothing moves in it later.

        Raises:
            Conflict: tmux is not there, too old, or refuses; the message says what to do.
        """
        if (why := why_not()) is not None:
            raise Conflict(why)
        self._make_folder()
        columns, rows = map(max, shutil.get_terminal_size(_SIZE), _MIN_SIZE)
        size = ("-x", str(columns), "-y", str(rows - 1))  # its last line is tmux's own
        done = self._run("new-session", "-d", "-s", name, *size, "-c", str(folder), "--", *argv)
        if done.returncode:
            raise Conflict(f"tmux: {done.stderr.strip() or 'it has started nothing'}")

    def has(self, name: str) -> bool:
        """Return whether there is a terminal of that name."""
        return self.socket.exists() and self._run("has-session", "-t", f"={name}").returncode == 0

    def runs(self, name: str) -> bool:
        """Return whether there is a terminal of that name in which something runs."""
        if not self.socket.exists():
            return False
        done = self._run("list-panes", "-t", f"={name}", "-F", "#{pane_dead}")
        return done.returncode == 0 and "0" in done.stdout.split()

    def names(self) -> list[str]:
        """Return the names of all terminals."""
        if not self.socket.exists():
            return []
        done = self._run("list-sessions", "-F", "#{session_name}")
        return done.stdout.split() if done.returncode == 0 else []

    def lines(self, name: str, most: int) -> list[str]:
        """Return the last lines of a terminal, without colours; empty if it is gone. Nothing is resized."""
        if not self.socket.exists():
            return []
        done = self._run("capture-pane", "-p", "-J", "-t", f"={name}:", "-S", f"-{most}")
        printed = _DEAD.sub("", done.stdout).rstrip().splitlines() if done.returncode == 0 else []
        return [line.rstrip() for line in printed[-most:]]

    def type_line(self, name: str, text: str) -> bool:
        """Paste a line into a terminal, and press Enter once its program has shown it; return whether it has.

        A program that shows a dialog drops it, and an Enter would answer the dialog for the human. An Enter that comes
        at once with the text is a new line of the text to Gemini CLI.
        """
        if not self.socket.exists():
            return False
        before = self._times_shown(name, text)
        self._run("set-buffer", "-b", name, "--", text)
        self._run("paste-buffer", "-p", "-d", "-b", name, "-t", f"={name}:")
        end = time.monotonic() + _SHOWN_SECONDS
        while self._times_shown(name, text) == before:
            if time.monotonic() > end:
                return False
            time.sleep(_KEY_SECONDS)
        time.sleep(_KEY_SECONDS)
        self._run("send-keys", "-t", f"={name}:", "Enter")
        return True

    def _times_shown(self, name: str, text: str) -> int:
        return self._run("capture-pane", "-p", "-J", "-t", f"={name}:").stdout.count(text)

    def attach_argv(self, name: str) -> list[str]:
        """Return the command that attaches this terminal to one of ours, from inside another tmux as well."""
        return ["env", "-u", "TMUX", *self._argv("attach-session", "-t", f"={name}")]

    def end(self, name: str) -> None:
        """Close a terminal; what runs in it gets a hang-up."""
        if self.socket.exists():
            self._run("kill-session", "-t", f"={name}")

    def _argv(self, *words: str) -> list[str]:
        return ["tmux", "-u", "-S", str(self.socket), "-f", str(self.folder / "tmux.conf"), *words]

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                self._argv(*words),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return subprocess.CompletedProcess(words, 1, "", str(error))


def last_lines(database: str, work: Work, most: int) -> list[str]:
    """Return the last lines of an agent's terminal, or of its log if it has none."""
    if work.terminal is not None:
        return Terminals(database).lines(work.terminal, most)
    log = Path(data_folder(database)) / "work" / f"{work.uid}.log"
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            return file.read().decode(errors="replace").splitlines()[-most:]
    except OSError:
        return []
