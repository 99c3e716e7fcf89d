"""The channel beside the screen, in a thread with a database connection of its own: neither waits for the other."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui_tasks.dialects.requests.identity import Identity

if TYPE_CHECKING:
    from tui_tasks.channel.loop import ControlChannel

_log = logging.getLogger(__name__)
# Seconds for which the channel may write ready replies after the screen has closed.
STOP_SECONDS = 2.0


@contextlib.contextmanager
def served(path: str, identity: Identity, input_fd: int, output_fd: int | None) -> Iterator[None]:
    """Serve a pipe while the block runs.

    `output_fd`: None where standard output is the screen: the agent is heard, but hears nothing.
    """
    output = os.open(os.devnull, os.O_WRONLY) if output_fd is None else output_fd
    thread = _ChannelThread(path, identity, input_fd, output)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


class _ChannelThread(threading.Thread):
    def __init__(self, path: str, identity: Identity, input_fd: int, output_fd: int) -> None:
        super().__init__(name="channel", daemon=True)
        self._path = path
        self._identity = identity
        self._fds = input_fd, output_fd
        self._channel: ControlChannel | None = None
        self._ready = threading.Event()

    def run(self) -> None:
        """Serve until the input ends or `stop` is called."""
        # Imported in this thread, since the screen is painted meanwhile.
        from tui_tasks.channel.loop import ControlChannel
        from tui_tasks.dialects.table import TABLE
        from tui_tasks.state.opening import opened_store, session_for

        try:
            with opened_store(self._path, read_only=self._identity.read_only) as store:
                session = session_for(self._identity, store, TABLE, stays=True)
                self._channel = ControlChannel(session, *self._fds)
                self._ready.set()
                self._channel.run()
        except Exception:  # the screen continues without it
            _log.exception("the channel has ended")
        finally:
            self._ready.set()

    def stop(self) -> None:
        """End the channel after writing ready replies."""
        self._ready.wait(STOP_SECONDS)
        if self._channel is not None:
            self._channel.stop()
        self.join(STOP_SECONDS)
