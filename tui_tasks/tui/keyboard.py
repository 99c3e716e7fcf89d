"""Keys as a terminal sends them: Esc and the key behind it are two keys, however soon the one follows the other.

Most terminals send Alt with a key as Esc and that key. Nothing here has a use for Alt, so what Textual would make one
key of (Esc and `1` is `¡` to it, Esc and `?` is `?` alone) is two, typed quickly or read late.
"""

from __future__ import annotations

import codecs
import os
import selectors
import threading
import time
from collections.abc import Iterable
from typing import Any, Final

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver

_ESC: Final = "\x1b"
# What follows Esc at the beginning of a longer sequence.
_INTRODUCERS: Final = "[O"
_LOOK_EVERY: Final = 0.05
# So long after the last byte it may turn out that no more of a sequence comes.
_UNSETTLED: Final = ESCAPE_DELAY + 2 * _LOOK_EVERY


class KeyParser(XTermParser):
    """Takes Esc for itself where no sequence begins with it. Those for words (Esc `b`, `f`, backspace) stay."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        pair = len(sequence) == 2 and sequence[0] == _ESC and sequence[1] not in _INTRODUCERS
        if alt or (pair and not isinstance(ANSI_SEQUENCES_KEYS.get(sequence), tuple)):
            yield events.Key("escape", _ESC)
            sequence = sequence[-1]
        yield from super()._sequence_to_key_events(sequence)


class Leaving(threading.Event):
    """An event that can be waited for together with a terminal: `fd` can be read while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.fd, self._in = os.pipe()

    def set(self) -> None:
        """Set it, which it is not."""
        super().set()
        os.write(self._in, b".")

    def clear(self) -> None:
        """Take it back, which has been set."""
        super().clear()
        os.read(self.fd, 1)

    def close(self) -> None:
        """Give the descriptors back."""
        # Forgotten before they are closed: a late `set` must not write into whatever has its number by then.
        ends, self.fd, self._in = (self.fd, self._in), -1, -1
        for end in ends:
            os.close(end)


class Keyboard(LinuxDriver):
    """Reads keys with `KeyParser`, asleep until there are any; bytes that are no text do not end the screen."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.exit_event: Leaving = Leaving()

    def run_input_thread(self) -> None:
        """Read until the screen is left, or the terminal has gone: a signal tells of that."""
        parser = KeyParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        settled_at = 0.0
        with selectors.SelectSelector() as waiting:
            waiting.register(self.fileno, selectors.EVENT_READ)
            waiting.register(self.exit_event.fd, selectors.EVENT_READ)
            while True:
                ready = waiting.select(_LOOK_EVERY if time.monotonic() < settled_at else None)
                if self.exit_event.is_set():
                    break
                text = ""
                if ready:
                    data = self._read()
                    if not data:
                        break
                    text = decode(data)
                    settled_at = time.monotonic() + _UNSETTLED
                # An empty text would end the parser.
                for message in (*(parser.feed(text) if text else ()), *parser.tick()):
                    self.process_message(message)

    def _read(self) -> bytes:
        """What has been typed; nothing where the terminal has gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    def close(self) -> None:
        """Clean up, once it is stopped."""
        super().close()
        self.exit_event.close()
