"""Clients that write to a database meanwhile."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from types import TracebackType

from tests.soak.ledger import Author, Tally
from tests.soak.soundness import Found
from tests.soak.speaking import serve


class Load:
    """Clients, each a `serve`, that write on a thread for as long as the context lasts, some requests on their way."""

    def __init__(
        self, database: Path, name: str = "client", *, clients: int = 3, together: int = 16, most: int | None = None
    ) -> None:
        self.authors = [Author(f"{name}-{at}", random.Random(at), repeats_at=0.0) for at in range(clients)]
        self._speakers = [serve(database, "--agent", author.name) for author in self.authors]
        self._together, self._most = together, most
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="load")

    @property
    def done(self) -> int:
        """Writes that were acknowledged so far."""
        return sum(author.done for author in self.authors)

    @property
    def seq(self) -> int:
        """The journal's newest entry that a client was told of."""
        return max(author.seq for author in self.authors)

    @property
    def pids(self) -> list[int]:
        return [speaker.pid for speaker in self._speakers]

    def is_on(self) -> bool:
        """Whether it goes on; it has ended by itself after `most` writes.

        Raises:
            RuntimeError: a client has failed.
        """
        if self._failure is not None:
            raise RuntimeError("a client failed") from self._failure
        return self._thread.is_alive()

    def wait_for(self, writes: int) -> None:
        """Wait until so many were acknowledged, or it has ended by itself."""
        while self.is_on() and self.done < writes:
            time.sleep(0.05)  # the writes are another thread's

    def check(self, there: Found) -> Tally:
        """Hold what was acknowledged against what is there, when all has ended."""
        tally = Tally()
        tally.check(self.authors, there)
        tally.close(self.authors)
        assert not [refusal for author in self.authors for refusal in author.refusals]
        return tally

    def _run(self) -> None:
        try:
            while not self._over.is_set() and (self._most is None or self.done < self._most):
                self._round()
        except BaseException as error:  # told by the thread that looks after it
            self._failure = error

    def _round(self) -> None:
        """Send some writes to each, then hear them all."""
        for author, speaker in zip(self.authors, self._speakers, strict=True):
            speaker.send_hearing(b"".join(author.next().line for _ in range(self._together)))
        for author, speaker in zip(self.authors, self._speakers, strict=True):
            while author.waiting:
                author.heard(speaker.hear())

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        for speaker in self._speakers:
            assert speaker.end() == 0
        self.is_on()
