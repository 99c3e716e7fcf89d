"""Machines that share a server: each is a network namespace with a home of its own, whose cable can be cut.

Without the rights for namespaces a machine is a home alone, which reaches the server by its Unix socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.contract.client import ROOT, environment, program
from tests.fork_server import Forked
from tests.started import Started
from tests.terminals import Terminal

_NET: Final = 77


class Host:
    """A machine.

    Attributes:
        url: how it reaches the database.
    """

    def __init__(self, folder: Path, url: str, namespace: str = "") -> None:
        self.home, self.url, self._namespace = folder, url, namespace
        folder.mkdir(exist_ok=True)
        self._env = environment(folder, XDG_STATE_HOME=str(folder / "state"))

    @property
    def has_cable(self) -> bool:
        return bool(self._namespace)

    def started(self, *words: str, **how: Any) -> Started:
        """Start the program on this machine with the shared database."""
        return Forked(self._command(*words), within=self._within, cwd=ROOT, env=self._env, **how)

    def terminal(self, *words: str) -> Terminal:
        """Start the program on this machine on a terminal."""
        how = {"lines": 30, "columns": 100, "piped": False, "within": self._within}
        return Terminal(self._command(*words), environment=self._env, **how)

    @property
    def _within(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self._namespace) if self._namespace else ()

    def _command(self, *words: str) -> list[str]:
        return [*program(*words), "--db", self.url]

    def cut(self) -> None:
        """Lose all packets from now on, without a word to either side."""
        _ip("link", "set", self._namespace, "down")

    def mend(self) -> None:
        """Put the cable back."""
        _ip("link", "set", self._namespace, "up")

    def replica(self) -> str:
        """The path of its replica."""
        (found,) = (self.home / "state" / "tui-tasks" / "replicas").glob("*.replica")
        return str(found)


def _ip(*words: str) -> bool:
    return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def networks(count: int) -> Iterator[list[tuple[str, str]]]:
    """Make namespaces; yield the name and the address of the server for each. None where that is not allowed here."""
    made: list[tuple[str, str]] = []
    try:
        for number in range(count if os.geteuid() == 0 and shutil.which("ip") else 0):
            name, net = f"tts{os.getpid() % 100_000}{number}", f"10.{_NET}.{os.getpid() % 200 + number}"
            made.append((name, f"{net}.1"))
            steps: Sequence[str] = (
                f"netns add {name}",
                f"link add {name} type veth peer name cable netns {name}",
                f"addr add {net}.1/30 dev {name}",
                f"link set {name} up",
                f"-n {name} addr add {net}.2/30 dev cable",
                f"-n {name} link set cable up",
                f"-n {name} link set lo up",
            )
            if not all(_ip(*step.split()) for step in steps):
                yield []
                return
        yield made
    finally:
        for name, _ in made:
            _ip("netns", "del", name)


class Serving:
    """A `serve` process of one agent, which is started again whenever it has ended."""

    def __init__(self, host: Host, agent: str) -> None:
        self._host, self.agent = host, agent
        self.errors = host.home / f"{agent}.log"
        self.process: Started | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None: the process has ended without one."""
        if self.process is None or self.process.poll() is not None:
            self.begin()
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return None
        return self.line()

    def begin(self) -> None:
        self.end()
        pipe = subprocess.PIPE
        with self.errors.open("ab") as errors:
            self.process = self._host.started("serve", "--agent", self.agent, stdin=pipe, stdout=pipe, stderr=errors)

    def line(self) -> dict[str, Any] | None:
        """Return the next line; None after the last whole one."""
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return found

    def end(self) -> None:
        if self.process is not None:
            self.process.end()
            for stream in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(BrokenPipeError, AttributeError):
                    stream.close()
