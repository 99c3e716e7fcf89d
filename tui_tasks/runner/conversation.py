"""The interface between a supervisor and the protocol of an agent program. Plain commands have no conversation."""

from __future__ import annotations

from typing import Protocol

from tui_tasks.runner.process.command import RunProcess
from tui_tasks.runner.records import CommandSpec, RunEnding


class Conversation(Protocol):
    """One run's conversation with its agent program."""

    def prepare(self, spec: CommandSpec) -> CommandSpec:
        """Return the command to start: with the arguments of the program's protocol, and without input."""

    def read_output(self, data: bytes) -> bytes:
        """Handle standard output of the program; return the part for people, as UTF-8."""

    def begin(self, command: RunProcess) -> None:
        """Send the first messages to the started program."""

    def update(self, *, changed: bool) -> None:
        """Write pending reports, and send what the human decided. `changed`: whether something was committed since."""

    def seconds_to_wait(self) -> float:
        """Return the seconds until `update` has something to do even if nothing is committed."""

    def end(self) -> None:
        """Write what is left, after the program and its descendants have ended."""

    def ending_of(self, plain: RunEnding) -> RunEnding:
        """Return how the run ended; `plain` is what the exit status says."""
