"""The C part of the soaks (`filesystem.c`), made when it is needed."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

SOURCE: Final = Path(__file__).with_name("filesystem.c")
OPS: Final = (
    "write",
    "truncate",
    "sync",
    "sync_folder",
    "create",
    "unlink",
    "rename",
    "mkdir",
    "pipe",
    "read",
    "open",
    "link",
)
ACTIONS: Final = ("fail", "stop", "kill")
FOR_EVER: Final = 1 << 30
_FAULTS = struct.Struct("=6i104s")


class NotHere(Exception):
    """This cannot be done on this machine, and why."""


@contextlib.contextmanager
def server(**settings: str) -> Iterator[Any]:
    """Have a PostgreSQL server with these settings while the block runs.

    Raises:
        NotHere: PostgreSQL or its driver is not installed.
    """
    try:
        from tests.postgres.cluster import Cluster, Unavailable
    except ImportError as error:
        raise NotHere(f"{error.name} is not installed") from None
    try:
        cluster = Cluster.make(**settings)
    except Unavailable as error:
        raise NotHere(str(error)) from None
    try:
        yield cluster
    finally:
        cluster.release()


def library(folder: Path) -> Path:
    """Compile the library to preload.

    Raises:
        NotHere: there is no compiler, or this is no Linux.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        raise NotHere("it needs Linux and a C compiler")
    made = folder / "filesystem.so"
    if not made.exists():
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl", "-lpthread"]
        subprocess.run(command, check=True)
    return made


def preloaded(folder: Path, root: Path, **files: Path) -> dict[str, str]:
    """The environment of a process that is watched below `root`; `log` and `faults` name files."""
    named = {f"SOAK_{name.upper()}": str(file) for name, file in files.items()}
    return {**os.environ, "LD_PRELOAD": str(library(folder)), "SOAK_ROOT": str(root), **named}


class Faults:
    """What is to fail, in all processes that were given this file, from the moment it is said."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_bytes(bytes(_FAULTS.size))
        with file.open("r+b") as held:
            self._held = mmap.mmap(held.fileno(), _FAULTS.size)

    def begin(
        self, *ops: str, error: int = 0, skip: int = 0, times: int = FOR_EVER, match: str = "", action: str = "fail"
    ) -> None:
        """Let calls on files whose path has `match` fail with `error`: after `skip` of them, so many `times`."""
        calls = sum(1 << (OPS.index(op) + 1) for op in ops)
        self.end()
        fields = [0, ACTIONS.index(action), error, skip, times, 0, match.encode()]
        _FAULTS.pack_into(self._held, 0, *fields)
        struct.pack_into("=i", self._held, 0, calls)

    def end(self) -> None:
        """Let all be well."""
        struct.pack_into("=i", self._held, 0, 0)

    @property
    def hits(self) -> int:
        """How many calls have failed since `begin`."""
        return int(_FAULTS.unpack_from(self._held, 0)[5])

    def __enter__(self) -> Faults:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()
