"""Access over HTTP: this machine's own names, and tokens for agents elsewhere, each with a name and rights.

Only the hashes of tokens are stored, in a file beside the database that only its owner can read; only the agent has the
token.
"""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks import regular_files
from tui_tasks.core.engine import file_writes
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.errors import Conflict, DatabaseRefused, NotFound
from tui_tasks.runner.run_marks import hashed

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
"""The names by which this machine calls itself, which are accepted for what it serves."""
# A prefix by which scanners of sources and logs recognize a token.
_PREFIX: Final = "tui-tasks_"
_BYTES: Final = 32
_MAX_BYTES: Final = 16 * 1024 * 1024


class Token(msgspec.Struct, frozen=True):
    """The rights of a token.

    Attributes:
        agent: the agent's name.
        hash: the SHA-256 of the token.
        created_at: in seconds since the epoch.
        read_only: whether requests that write are refused.
    """

    agent: str
    hash: str
    created_at: int
    read_only: bool = False


class Tokens:
    """The tokens of a database. The file is read again when it has changed, so that a revoked token ends at once."""

    def __init__(self, database: str) -> None:
        self.path = Path(f"{database}.tokens")
        self._stamp: tuple[int, int] | None = None
        self._held: list[Token] = []

    def all(self) -> list[Token]:
        """Return all tokens, oldest first.

        Raises:
            DatabaseRefused: the file cannot be read, or is not a file of tokens.
        """
        try:
            stat_result = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._held = None, []
            return []
        except OSError as error:
            raise self._refused(str(error.strerror)) from error
        stamp = (stat_result.st_mtime_ns, stat_result.st_ino)
        if stamp != self._stamp:
            try:
                self._held = msgspec.json.decode(regular_files.read_regular(self.path, _MAX_BYTES), type=list[Token])
            except OSError as error:
                raise self._refused(str(error.strerror)) from error
            except msgspec.MsgspecError as error:
                raise self._refused(str(error)) from error
            self._stamp = stamp
        return self._held

    def _refused(self, why: str) -> DatabaseRefused:
        return DatabaseRefused(f"cannot read the tokens in {self.path}: {why}")

    def find(self, given: str) -> Token | None:
        """Return the record of a given token; None if there is none.

        Raises:
            DatabaseRefused: as `all`.
        """
        wanted = hashed(given)
        return next((token for token in self.all() if hmac.compare_digest(token.hash, wanted)), None)

    def add(self, agent: str, *, read_only: bool, now: int) -> str:
        """Create a token for an agent; return it. It cannot be read again.

        Raises:
            Conflict: the agent has one.
            DatabaseRefused: the file cannot be written.
        """
        if any(token.agent == agent for token in self.all()):
            raise Conflict(f"{agent} has a token: revoke it first")
        made = _PREFIX + secrets.token_urlsafe(_BYTES)
        self._write([*self.all(), Token(agent, hashed(made), now, read_only)])
        return made

    def revoke(self, agent: str) -> None:
        """Remove an agent's token.

        Raises:
            NotFound: it has none.
            DatabaseRefused: the file cannot be written.
        """
        left = [token for token in self.all() if token.agent != agent]
        if len(left) == len(self.all()):
            raise NotFound("token of", agent)
        self._write(left)

    def _write(self, tokens: list[Token]) -> None:
        try:
            make_folder(str(self.path.parent.absolute()))
            if self.path.exists():
                self.path.chmod(0o600)
            file_writes.replace(self.path, msgspec.json.format(msgspec.json.encode(tokens)) + b"\n")
        except OSError as error:
            raise DatabaseRefused(f"cannot write the tokens in {self.path}: {error.strerror}") from error
