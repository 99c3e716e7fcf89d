"""A private PostgreSQL cluster for tests: one for all processes of a test session, on a Unix socket alone.

Whoever uses it holds a lock on a file of its folder, which the system releases when the process ends, however it ends.
A guardian process (`python -m tests.postgres.cluster FOLDER`) waits for that lock; then nobody is left, and it ends the
cluster and removes the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from tests.started import DEADLINE

ROOT: Final = Path(__file__).parents[2]
OLDEST: Final = 14
SUPERUSER: Final = "owner"
# Roles of this group need a password, all others none.
WITH_PASSWORD: Final = "with_password"
# One who is no superuser, for when root runs the tests.
_USERS: Final = ("postgres", "nobody")
_MEMORY: Final = "/dev/shm"
_MEMORY_NEEDED: Final = 1 << 30
_SETTINGS: Final = {
    "listen_addresses": "''",
    "unix_socket_permissions": "0777",
    "max_connections": "200",
    "shared_buffers": "'32MB'",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "logging_collector": "off",
    "log_line_prefix": "'%u %a '",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
}
_HBA: Final = f"local all +{WITH_PASSWORD} scram-sha-256\nlocal all all trust\n"


class Unavailable(Exception):
    """No PostgreSQL server can be started here; its text is the reason."""


def programs() -> Path:
    """Return the folder of the newest server programs of this machine, those on PATH first.

    Raises:
        Unavailable: there are none, or only too old ones.
    """
    on_path = shutil.which("initdb")
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: _number(each.parent.name), reverse=True
    )
    folders = [*([Path(on_path).resolve().parent] if on_path else []), *installed]
    found = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    for folder in found:
        told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
        if _number(told) >= OLDEST:
            return folder
    if found:
        raise Unavailable(f"the PostgreSQL server of {found[0]} is older than {OLDEST}")
    raise Unavailable("no PostgreSQL server is installed (initdb is neither on PATH nor in /usr/lib/postgresql)")


def _number(text: str) -> int:
    found = re.search(r"\d+", text)
    return int(found.group()) if found else 0


def _user() -> str | None:
    """Return as which user the server runs: it refuses root. None: as the user of this process.

    Raises:
        Unavailable: root runs the tests, and the machine has no other user for it.
    """
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise Unavailable("root runs the tests, as whom PostgreSQL does not run, and there is no user postgres or nobody")


# Of the databases of this process, which may hold one cluster twice.
_numbers = itertools.count(1)


class Cluster:
    """A cluster in a folder, which may be another process's.

    Attributes:
        folder: its folder, which holds the socket; short, since the path of a socket is limited.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._held: int | None = None
        self._kept: psycopg.Connection | None = None

    @classmethod
    def make(cls, **settings: str) -> Cluster:
        """Make and start a cluster, held by this process.

        Raises:
            Unavailable: this cannot be done here.
        """
        bin_, user = programs(), _user()
        folder = Path(tempfile.mkdtemp(prefix="tt-pg-", dir=_place()))
        made = cls(folder)
        try:
            if user is not None:
                shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
            (folder / "held").touch()
            made.hold()
            (folder / "bin").symlink_to(bin_)
            command = [
                "initdb",
                "-D",
                "data",
                "-U",
                SUPERUSER,
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
                "-N",
            ]
            done = made.run(*command)
            if done.returncode:
                raise Unavailable(f"initdb failed: {done.stdout[-500:]}")
            lines = [f"{name} = {value}" for name, value in {**_SETTINGS, **settings}.items()]
            with (folder / "data" / "postgresql.conf").open("a") as file:
                file.write("\n".join([*lines, f"unix_socket_directories = '{folder}'", ""]))
            (folder / "data" / "pg_hba.conf").write_text(_HBA)
            # A session of its own: Ctrl-C is not for it. It holds nothing of the test's streams open.
            guardian = subprocess.Popen(
                [sys.executable, "-m", "tests.postgres.cluster", str(folder)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=(folder / "guardian.log").open("wb"),
                start_new_session=True,
            )
            guardian.returncode = 0  # it outlives this process, which never waits for it
            made.start()
            with made.connect() as connection:
                connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(WITH_PASSWORD)))
        except BaseException:
            made.release()
            made.stop()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return made

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of PostgreSQL in the folder, as the server's user."""
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **_as_user(),
        )

    def start(self) -> None:
        """Start the server and wait for it.

        Raises:
            Unavailable: it does not start.
        """
        # pg_ctl passes its standard output on to the server: the log file takes it.
        with self.log.open("a") as log:
            done = subprocess.run(
                [self.folder / "bin" / "pg_ctl", "-D", "data", "-w", "-t", str(int(DEADLINE)), "start"],
                cwd=self.folder,
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                **_as_user(),
            )
        if done.returncode:
            raise Unavailable(f"the server does not start: {self.log.read_text()[-500:]}")

    def stop(self, mode: str = "immediate") -> None:
        """End the server, as `pg_ctl` does in that mode: smart, fast or immediate."""
        self.run("pg_ctl", "-D", "data", "-m", mode, "-w", "-t", str(int(DEADLINE)), "stop")

    def restart(self, mode: str = "immediate") -> None:
        """End the server and start it again. For a cluster of one's own: others' tests would fail."""
        self.stop(mode)
        self.start()

    def hold(self) -> bool:
        """Keep the cluster alive until `release` or the end of this process; False: it is being ended."""
        try:
            held = os.open(self.folder / "held", os.O_RDONLY)
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        self._held = held
        return True

    def release(self) -> None:
        """Let the cluster end when no other process holds it."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def conninfo(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """Return how to reach a database, as a URL."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres", user: str = SUPERUSER) -> psycopg.Connection:
        """Open a connection without transactions."""
        return psycopg.connect(self.conninfo(database, user), autocommit=True)

    def sql(self, database: str, text: str) -> list[tuple[Any, ...]]:
        """Run statements in a database as its owner; return the rows of the last."""
        with self.connect(database) as connection:
            done = connection.execute(text.encode())
            while done.nextset():
                pass
            return done.fetchall() if done.description else []

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """Yield the name of a copy of a database. No other block gets it, and after this one it leads nowhere."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        # Copying files in memory takes half as long as writing a log of them; servers before 15 do it anyway.
        how = "STRATEGY FILE_COPY" if self._administration().info.server_version >= 150_000 else ""
        self._administration().execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" {how}'.encode())
        try:
            yield name
        finally:
            with contextlib.suppress(psycopg.OperationalError):
                self._administration().execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())

    def _administration(self) -> psycopg.Connection:
        """Return a connection that is kept; a new one where the server has been restarted."""
        if self._kept is not None:
            with contextlib.suppress(psycopg.OperationalError):
                self._kept.execute("SELECT 1")
                return self._kept
        self._kept = self.connect()
        return self._kept


def _place() -> str:
    """Return a folder with a short name, in memory where there is room: a cluster writes 40 MB, a database 8 MB."""
    with contextlib.suppress(OSError):
        if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _MEMORY_NEEDED:
            return _MEMORY
    return "/tmp"


def _as_user() -> dict[str, Any]:
    user = _user()
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def shared(folder: Path) -> Cluster:
    """Return the cluster of a test session, whose processes name the same folder; the first of them makes it.

    Raises:
        Unavailable: none can be had; all processes of the session get the same reason.
    """
    with (folder / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = folder / "postgres.txt"
        if place.exists():
            told = place.read_text()
            if told.startswith("!"):
                raise Unavailable(told[1:])
            found = Cluster(Path(told))
            if found.hold():
                return found
        try:
            made = Cluster.make()
        except Unavailable as error:
            place.write_text(f"!{error}")
            raise
        place.write_text(str(made.folder))
        return made


def guard(folder: Path) -> None:
    """Wait until nobody holds the cluster, then end it and remove its folder."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    held = os.open(folder / "held", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    cluster = Cluster(folder)
    for _ in range(10):
        cluster.stop()
        if not (folder / "data" / "postmaster.pid").exists():
            break
        time.sleep(0.2)
    shutil.rmtree(folder, ignore_errors=True)


def tell() -> None:
    """Print whether the tests with a server are run on this machine, and if not, why."""
    try:
        with_server = Cluster.make()
    except Unavailable as error:
        print(f"NOT RUN: tests/postgres: {error}")
        return
    with with_server.connect() as connection:
        print(f"run: tests/postgres, on PostgreSQL {connection.info.parameter_status('server_version')}")
    with_server.release()


if __name__ == "__main__":
    guard(Path(sys.argv[1])) if sys.argv[1:] else tell()
