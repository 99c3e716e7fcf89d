"""What comes in from a terminal: keys, pastes, and the signals that stop the program and let it go on.

Most terminals send Alt with a key as Esc and that key. Nothing here has a use for Alt, so what Textual would make one
key of (Esc and `1` is `¡` to it, Esc and `?` is `?` alone) is two, typed quickly or read late.

A paste is text, whatever stands in it: text of others that is pasted must not press keys.
"""

from __future__ import annotations

import codecs
import os
import selectors
import signal
import threading
import time
from collections.abc import Iterable
from typing import Any, Final

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

_ESC: Final = "\x1b"
_PASTE_BEGINS: Final = "\x1b[200~"
_PASTE_ENDS: Final = "\x1b[201~"
# What follows Esc at the beginning of a longer sequence.
_INTRODUCERS: Final = "[O"
_LOOK_EVERY: Final = 0.05
# So long after the last byte it may turn out that no more of a sequence comes.
_UNSETTLED: Final = ESCAPE_DELAY + 2 * _LOOK_EVERY
# A paste has ended once nothing has followed its end for so long, or when so long has gone by since.
_QUIET: Final = 0.04
_HELD: Final = 0.3


class KeyParser(XTermParser):
    """Takes Esc for itself where no sequence begins with it. Those for words (Esc `b`, `f`, backspace) stay.

    Everything in a paste is text. One whose text holds the sequence that ends pastes, which not every terminal takes
    out, is known by a second end that comes right behind: what follows an end is held until it is clear that none does.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._recent = ""
        self._pasted: list[str] | None = None
        self._behind: str | None = None
        self._ended_at = self._fed_at = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """Yield what the text of a terminal means."""
        self._fed_at = time.monotonic()
        if self._behind is not None:
            self._take_behind(self._behind + data)
        elif self._pasted is not None:
            self._take_pasted(data)
        else:
            yield from self._feed_keys(data)

    def tick(self) -> Iterable[Message]:
        """Yield what has become clear because nothing more has come."""
        yield from super().tick()
        now = time.monotonic()
        if self._behind is not None and (now - self._fed_at >= _QUIET or now - self._ended_at >= _HELD):
            text, behind = "".join(self._pasted or ()), self._behind
            self._pasted = self._behind = None
            # The base class has seen the beginning. It makes an empty paste of the end.
            for _ in super().feed(_PASTE_ENDS):
                pass
            yield events.Paste(text.replace("\0", ""))
            yield from self._feed_keys(behind)

    def _feed_keys(self, data: str) -> Iterable[Message]:
        before = len(self._recent)
        begins = (self._recent + data).find(_PASTE_BEGINS)
        if begins < 0:
            self._recent = (self._recent + data)[1 - len(_PASTE_BEGINS) :]
            yield from super().feed(data) if data else ()
        else:
            self._recent, self._pasted = "", []
            text_at = begins + len(_PASTE_BEGINS) - before
            yield from super().feed(data[:text_at])
            self._take_pasted(data[text_at:])

    def _take_pasted(self, data: str) -> None:
        pasted = self._pasted = self._pasted or []
        # The end may have come in two parts.
        last = pasted.pop() if pasted else ""
        text, end, behind = (last + data).partition(_PASTE_ENDS)
        if end:
            pasted.append(text)
            self._ended_at = self._fed_at
            self._take_behind(behind)
        else:
            split = max(0, len(text) - len(_PASTE_ENDS))
            pasted += text[:split], text[split:]

    def _take_behind(self, behind: str) -> None:
        text, end, self._behind = behind.rpartition(_PASTE_ENDS)
        if end and self._pasted is not None:
            self._pasted += _PASTE_ENDS, text

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
    """Reads keys with `KeyParser`, asleep until there are any; bytes that are no text do not end the screen.

    The screen can step aside and come back: for a program that is run on the terminal, and where the shell stops this
    one (SIGTSTP) and lets it go on (SIGCONT). What the signals ask for is done by the loop: a handler that writes to
    the terminal could wait for the very write that it has interrupted.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.exit_event: Leaving = Leaving()
        self._is_on = False
        self._is_aside = False

    def start_application_mode(self) -> None:
        """Take the terminal; where the program is in the background, it is stopped once more instead."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_on = self._writer_thread is not None and self._writer_thread.is_alive()
        self._is_aside = not self._is_on

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        super().stop_application_mode()
        self._is_on = False

    def suspend_application_mode(self) -> None:
        """Give the terminal back for a while."""
        self.stop_application_mode()
        # Not `close`, which is for the end.
        super().close()
        self._is_aside = True

    def close(self) -> None:
        """Clean up, once it is stopped for good."""
        super().close()
        self.exit_event.close()
        for number in (signal.SIGTSTP, signal.SIGCONT):
            signal.signal(number, signal.SIG_DFL)

    def _sigtstp_application(self, *_: object) -> None:
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._stop_process)
        else:
            # Another program has the terminal, and is stopped beside this one.
            os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._come_back)

    def _stop_process(self) -> None:
        if self._is_on:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _come_back(self) -> None:
        """Take the terminal again after a stop: by SIGTSTP, or by SIGSTOP, of which the terminal was not told."""
        if self._is_on:
            self.suspend_application_mode()
        if self._is_aside:
            self.resume_application_mode()
            self._app.refresh(layout=True)

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
