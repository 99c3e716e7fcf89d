"""Keys as a terminal sends them: Esc and the key behind it are two keys, however soon the one follows the other.

Most terminals send Alt with a key as Esc and that key. Nothing here has a use for Alt, so what Textual would make one
key of (Esc and `1` is `¡` to it, Esc and `?` is `?` alone) is two, typed quickly or read late.
"""

from __future__ import annotations

import codecs
import os
import selectors
from collections.abc import Iterable

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_ESC = "\x1b"
# What follows Esc at the beginning of a longer sequence.
_INTRODUCERS = "[O"
_LOOK_EVERY = 0.05


class KeyParser(XTermParser):
    """Takes Esc for itself where no sequence begins with it. Those for words (Esc `b`, `f`, backspace) stay."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        pair = len(sequence) == 2 and sequence[0] == _ESC and sequence[1] not in _INTRODUCERS
        if alt or (pair and not isinstance(ANSI_SEQUENCES_KEYS.get(sequence), tuple)):
            yield events.Key("escape", _ESC)
            sequence = sequence[-1]
        yield from super()._sequence_to_key_events(sequence)


class Keyboard(LinuxDriver):
    """Reads keys with `KeyParser`; bytes that are no text do not end the screen."""

    def run_input_thread(self) -> None:
        """Read until the screen is left, or the terminal has gone: a signal tells of that."""
        parser = KeyParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as waiting:
            waiting.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                text = ""
                if waiting.select(_LOOK_EVERY):
                    data = self._read()
                    if not data:
                        break
                    text = decode(data)
                # An empty text would end the parser.
                for message in (*(parser.feed(text) if text else ()), *parser.tick()):
                    self.process_message(message)

    def _read(self) -> bytes:
        """What has been typed; nothing where the terminal has gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""
