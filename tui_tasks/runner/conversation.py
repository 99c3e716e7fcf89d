"""What a supervisor asks of whoever speaks to an agent program that it has started. A plain command has none."""

from __future__ import annotations

from typing import Protocol

from tui_tasks.runner.process.command import Command
from tui_tasks.runner.records import Ending, Prepared


class Conversation(Protocol):
    """One run's conversation with its agent program."""

    def prepare(self, wanted: Prepared) -> Prepared:
        """Return the command to start: with the words of the program's protocol, and nothing on its input."""

    def received(self, data: bytes) -> bytes:
        """Take in standard output of the program; return what of it people are to read."""

    def begin(self, command: Command) -> None:
        """Say the first words to the program, which has been started."""

    def look(self, *, changed: bool) -> None:
        """Carry on: write what was heard, say what the human wants. `changed`: something was committed meanwhile."""

    def seconds_to_wait(self) -> float:
        """Return the seconds until `look` has something to do, though nothing came."""

    def end(self) -> None:
        """Write what is left: the program and all that it has started are gone."""

    def ending(self, plain: Ending) -> Ending:
        """Return how the run ended; `plain` is what its exit status says."""
