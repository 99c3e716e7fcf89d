"""Input of a terminal: keys, pastes, and the signals that stop the program and continue it.

Most terminals send Alt with a key as Esc followed by the key. No action here uses Alt, so Esc and a key are always read
as two keys, where Textual would make one of them (Esc and `1` is `¡`, Esc and `?` is `?` alone). Only Alt with Enter is
one key: it begins a line of text.

A paste is text, whatever it contains: pasted text of others must not press keys.
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
# Enter with Alt, as most terminals send it, and with Alt or Shift, as xterm can.
_ENTER_WITH: Final = {
    "\x1b\r": "alt+enter",
    "\x1b\n": "alt+enter",
    "\x1b[27;3;13~": "alt+enter",
    "\x1b[27;2;13~": "shift+enter",
}
# Characters after Esc that begin a longer sequence.
_INTRODUCERS: Final = "[O"
_LOOK_EVERY: Final = 0.05
# Seconds after the last byte by which the parser has decided that a sequence is incomplete.
_UNSETTLED: Final = ESCAPE_DELAY + 2 * _LOOK_EVERY
# Seconds without input after the end of a paste, or seconds in all since that end, after which the paste is complete.
_QUIET: Final = 0.04
_HELD: Final = 0.3


class KeyParser(XTermParser):
    """Reads Esc as a key where it begins no sequence. Sequences for words (Esc `b`, `f`, backspace) keep their meaning.

    Everything in a paste is text. Not every terminal removes the sequence that ends pastes from pasted text; such a
    paste has a second end close behind the first. So what follows an end is held back until no second one comes.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._recent = ""
        self._pasted: list[str] | None = None
        self._behind: str | None = None
        self._ended_at = self._fed_at = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """Yield the messages of a terminal's text."""
        self._fed_at = time.monotonic()
        if self._behind is not None:
            self._take_behind(self._behind + data)
        elif self._pasted is not None:
            self._take_pasted(data)
        else:
            yield from self._feed_keys(data)

    def tick(self) -> Iterable[Message]:
        """Yield the messages that are decided because no more input has come."""
        yield from super().tick()
        now = time.monotonic()
        if self._behind is not None and (now - self._fed_at >= _QUIET or now - self._ended_at >= _HELD):
            text, behind = "".join(self._pasted or ()), self._behind
            self._pasted = self._behind = None
            # The base class has read the beginning of the paste, and makes an empty paste at this end.
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
        # The end sequence may arrive in two parts.
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
        if sequence in _ENTER_WITH:
            yield events.Key(_ENTER_WITH[sequence], None)
            return
        pair = len(sequence) == 2 and sequence[0] == _ESC and sequence[1] not in _INTRODUCERS
        if alt or (pair and not isinstance(ANSI_SEQUENCES_KEYS.get(sequence), tuple)):
            yield events.Key("escape", _ESC)
            sequence = sequence[-1]
        yield from super()._sequence_to_key_events(sequence)


class Leaving(threading.Event):
    """An event that can be polled together with a terminal: `fd` is readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.fd, self._in = os.pipe()

    def set(self) -> None:
        """Set the event. It must not be set already."""
        super().set()
        os.write(self._in, b".")

    def clear(self) -> None:
        """Clear the event. It must be set."""
        super().clear()
        os.read(self.fd, 1)

    def close(self) -> None:
        """Close the file descriptors."""
        # Dropped before they are closed: a late `set` must not write to a file that has got the same number.
        ends, self.fd, self._in = (self.fd, self._in), -1, -1
        for end in ends:
            os.close(end)


class Keyboard(LinuxDriver):
    """Reads keys with `KeyParser`, blocking until there are any; invalid UTF-8 does not end the screen.

    The screen can give the terminal back and take it again: for a program that runs on it, and when the shell stops
    this program (SIGTSTP) and continues it (SIGCONT). The event loop does what the signals ask for: a handler that
    writes to the terminal could wait for the write that it has interrupted.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.exit_event: Leaving = Leaving()
        self._is_on = False
        self._is_aside = False
        self._was_continued = False

    def start_application_mode(self) -> None:
        """Take the terminal; a program in the background is stopped again instead."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_on = self._writer_thread is not None and self._writer_thread.is_alive()
        self._is_aside = not self._is_on

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        super().stop_application_mode()
        self._is_on = False

    def suspend_application_mode(self) -> None:
        """Give the terminal back for some time."""
        self.stop_application_mode()
        # `close` would end it for good.
        super().close()
        self._is_aside = True

    def close(self) -> None:
        """Release what the driver holds, after it has stopped."""
        super().close()
        self.exit_event.close()
        for number in (signal.SIGTSTP, signal.SIGCONT):
            signal.signal(number, signal.SIG_DFL)

    def stop_job(self) -> bool:
        """Stop the process group, as a terminal does for ^Z; return False if no shell could continue it.

        The kernel does not stop a group without such a shell.
        """
        self.suspend_application_mode()
        self._was_continued = False
        ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, ours)
        if not self._was_continued:
            self._come_back()
        return self._was_continued

    def _sigtstp_application(self, *_: object) -> None:
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._stop_process)
        else:
            # Another program has the terminal, and is stopped together with this one.
            os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        self._was_continued = True
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._come_back)

    def _stop_process(self) -> None:
        if self._is_on:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _come_back(self) -> None:
        """Take the terminal again after a stop by SIGTSTP, or by SIGSTOP, before which it was not restored."""
        if self._is_on:
            self.suspend_application_mode()
        if self._is_aside:
            self.resume_application_mode()
            self._app.refresh(layout=True)

    def run_input_thread(self) -> None:
        """Read until the screen closes, or the terminal is gone, which a signal announces."""
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
                # An empty text would end the parser for good.
                messages = list(parser.feed(text)) if text else []
                # Input that waits may be the rest of a paste, however late it is read.
                if not (ready and waiting.select(0)):
                    messages += parser.tick()
                for message in messages:
                    self.process_message(message)

    def _read(self) -> bytes:
        """Return what was typed; empty when the terminal is gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""
