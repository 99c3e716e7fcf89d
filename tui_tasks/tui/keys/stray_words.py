"""Words that are typed where no input is open, as where one could not open or has just closed: they press no keys.

One letter alone may be a command. It is held until a pause shows that it begins no word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen

from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.keys.actions import PRESS_AGAIN

PAUSE = 1.0
"""Seconds between two keys after which the second belongs to no word."""
_TYPING = 0.2
"""The same after a key has closed an input, and after a letter that is held: people type faster than this, and press
commands one by one more slowly.
"""
_DELETES: dict[str, Callable[[str], str]] = {
    "backspace": lambda text: text[:-1],
    "ctrl+w": lambda text: text.rstrip().rpartition(" ")[0],
    "ctrl+u": lambda text: "",
}
_STEPS = {"down", "up"}
_OF_WORDS = {"enter", *_DELETES}


class RestOfWord:
    """The rest of a word of which a menu has taken the first letter: `one` after `s` and `d`, where `d` chose `done`.

    These letters must not run as keys. A key that moves or shows something (`is_safe`) runs at once, as it may well be
    meant; one that writes or opens an input runs after a pause, if it is the only one.
    """

    def __init__(self, clock: Callable[[], float], is_safe: Callable[[str], bool]) -> None:
        self._clock = clock
        self._is_safe = is_safe
        self._rest = ""
        self._word = ""
        self._dropped = ""
        self._at = 0.0

    def expect(self, word: str) -> None:
        """Expect the other letters of a word that was chosen by its first one."""
        self._word, self._rest, self._dropped, self._at = word, word[1:], "", self._clock()

    def dropped(self, key: str, character: str | None) -> str:
        """Return what to say about a key that is dropped as a part of the word; empty: the key is to run."""
        is_late = self._clock() - self._at > PAUSE
        is_first = len(self._rest) == len(self._word) - 1
        # A space may be left out.
        rest = self._rest if character == " " else self._rest.lstrip()
        is_end = key == "enter" and bool(self._dropped)
        if not self._word or is_late or not (is_end or (character and rest.startswith(character))):
            self._word = self._rest = ""
            return ""
        if not is_end:
            self._rest, self._at = rest[1:], self._clock()
            if is_first and self._is_safe(key):
                return ""
            self._dropped += character or ""
        return f"{self._word[0]} alone chooses “{self._word}”. What you typed after it was dropped: {self._dropped}"

    @property
    def may_be_a_key(self) -> bool:
        """Whether what was dropped is one letter of several, which may be a command."""
        return len(self._dropped) == 1 and bool(self._rest)


class StrayWords:
    """Tells which keys are to be performed, and keeps or drops the others."""

    def __init__(
        self,
        app: App[Any],
        say: Callable[[str], None],
        release: Callable[[events.Key], Any],
        clock: Callable[[], float],
        *,
        read_only: bool,
    ) -> None:
        """`app` is used for its focus and bindings; `say` shows a message; `release` is called with a key that was held
        when a pause has followed it.
        """
        self._app = app
        self._say = say
        self._release = release
        self._clock = clock
        self._read_only = read_only
        # The screen on which an action was to open an input, until that or something else has happened.
        self._expects_words_on: Screen[Any] | None = None
        self._typed_at = 0.0
        self._refused = ""
        self._has_dropped = False
        self._tried = ""
        self._lets_one_act = self._keeps = False
        self.drafts: dict[str, str] = {}
        """What was typed and is kept, by what it is about."""
        self._opens_again = ""
        # The screen on which Esc takes away only the refusal of an input.
        self._esc_stays_on: Screen[Any] | None = None
        self._go_on: Callable[[str], None] | None = None
        # A key that waits until a pause shows that it begins no word.
        self._held: events.Key | None = None
        self._rest = RestOfWord(clock, self._is_harmless)
        self.expect_rest = self._rest.expect

    def expect_words(self, refused: str, action: str = "", *, keeps: bool = False) -> None:
        """Note that an action opens an input, or why it is `refused`. If none opens, words that are typed until a pause
        or Esc are dropped. One key alone is no word after a refusal. The key of the `action` again acts at once, and so
        do Enter and one that moves the cursor where nobody can write; others act after a pause. Where no input opens
        though nothing was said, or the key is to be pressed again, only those that move the cursor do.

        With `keeps`, what is dropped is kept for the next time of the `action`: see `Context.typed_for`.
        """
        self._lets_one_act, self._keeps = bool(refused) and not refused.endswith(PRESS_AGAIN), keeps
        self._refused, self._has_dropped, self._tried = refused, False, action
        self._opens_again = ""
        self._expects_words_on, self._typed_at = self._app.screen, self._clock()

    def esc_stays(self) -> None:
        """Note that an input was refused: Esc, which the human may press to leave it, then only removes the message."""
        self._esc_stays_on = self._app.screen

    def expect_more(self, action: str, refused: str, go_on: Callable[[str], None] | None = None) -> None:
        """Note that a key has closed an input, or was refused. Words that are typed on at once, without a pause as
        between commands, are dropped, or put into the input again by `go_on`. A key that acts ends that, as does Esc.

        Keys that show or move something act, as does that of the `action` that opens the input again. With `go_on`
        a letter waits for a short pause before it acts, as two letters begin words, unless both move the cursor by
        one.
        """
        self.expect_words(refused)
        self._opens_again, self._go_on = action, go_on

    def take_esc(self, event: events.Key) -> bool:
        """Take the Esc that only removes a message, and return whether the key is it; another key ends that."""
        stays_on, self._esc_stays_on = self._esc_stays_on, None
        return event.key == "escape" and self._app.screen is stays_on and not self.is_writing

    def ends_word(self, event: events.Key) -> bool:
        """Return whether a key, or the pause before it, shows that the one which is held begins no word."""
        is_later = self._clock() - self._typed_at > _TYPING
        return self._held is not None and (is_later or not _is_of_words(event))

    def take_held(self, event: events.Key) -> events.Key | None:
        """Return the key that is held before another one, which is held no more; Esc drops it."""
        held, self._held = self._held, None
        if held is None or event.key == "escape":
            return None
        self._expects_words_on = None
        self._rest.expect("")
        return held

    def keep_back(self, event: events.Key) -> bool:
        """Drop or hold a key that is part of words, or the rest of one; return whether it is not to be performed."""
        return self._keep_back_stray(event) or self._keep_back_rest(event)

    def end_hold(self, held: events.Key) -> bool:
        """Stop holding a key after a pause, and return whether it was held until then."""
        if self._held is not held:
            return False
        self._held = self._expects_words_on = None
        self._rest.expect("")
        return True

    def _keep_back_stray(self, event: events.Key) -> bool:
        """Drop or hold a key that is part of words for an input that could not open; return whether it is."""
        screen, now = self._expects_words_on, self._clock()
        if screen is None:
            return False
        has_opened = self.is_writing or (self._app.screen is not screen and not self._opens_again)
        is_word = _is_of_words(event)
        pause = _TYPING if self._opens_again else PAUSE
        if has_opened or not is_word or now - self._typed_at > pause:
            self._expects_words_on = None
            return False
        moves, is_again = self._moves(event.key), bool(self._tried) and self._action(event.key) == self._tried
        is_first = not self._has_dropped and self._held is None
        if is_first and ((self._read_only and moves) or is_again):
            return False
        self._typed_at, before = now, self._held
        if self._opens_again:
            if (is_kept_back := self._keep_back_after_input(event)) is not None:
                return is_kept_back
        elif event.key == "enter":
            self._expects_words_on = None
            if is_first and self._read_only:
                return False
        elif not self._has_dropped and (moves or self._lets_one_act or self._held is not None) and self._hold(event):
            self._say(self._refused)
            return True
        self._keep(before, event)
        is_enter_again = bool(self._opens_again) and is_first and event.key == "enter"
        self._has_dropped = True
        fate = "comes back then" if self._keeps else "was dropped"
        typed = "" if is_enter_again else f" What you typed {fate}."
        self._say(f"{self._refused.removesuffix('.') or 'No input is open here'}.{typed}")
        return True

    def _keep(self, *keys: events.Key | None) -> None:
        """Add keys to the text that is kept for the action, where it is; the first ones begin it anew."""
        if not self._keeps:
            return
        about = f"typed {self._tried}"
        text = self.drafts.pop(about, "") if self._has_dropped else ""
        for key in keys:
            if key is not None and key.key in _DELETES:
                text = _DELETES[key.key](text)
            elif key is not None and key.is_printable:
                text += key.character or ""
        if text.strip():
            self.drafts[about] = text

    def _keep_back_after_input(self, event: events.Key) -> bool | None:
        """Hold or put into the input again what is typed where one has just closed; return whether the key is not to be
        performed; None: it is dropped, with what is held.
        """
        first, letter = self._held, event.character or ""
        if self._has_dropped:
            return None
        if first is None:
            shows = self._is_harmless(event.key) and event.key != "enter"
            may_begin_words = self._go_on is not None and (letter.isalnum() or not shows)
            if self._action(event.key) == self._opens_again or (shows and not may_begin_words):
                self._expects_words_on = None
                return False
            if may_begin_words and self._hold(event):
                return True
        elif self._moves(first.key) and (event.key == "enter" or self._steps(first.key, event.key)):
            self._expects_words_on = None
            return False
        self._held = None
        if self._go_on is None or not event.is_printable:
            return None
        self._expects_words_on = None
        self._go_on(f"{first.character if first is not None else ''}{letter}")
        return True

    def _hold(self, event: events.Key) -> bool:
        """Hold a key back that may be a command, unless another one is held: together they begin a word."""
        if self._held is not None or event.key == "enter" or not self._action(event.key):
            self._held = None
            return False
        self._held = event
        self._app.set_timer(_TYPING, lambda: self._app.call_later(self._release, event))
        return True

    def _keep_back_rest(self, event: events.Key) -> bool:
        """Drop or hold a further letter of a word that a menu has chosen by its first one; return whether it is one."""
        if self._app.screen.is_modal or self.is_writing:
            return False
        dropped = self._rest.dropped(event.key, event.character)
        if not dropped:
            return False
        if self._rest.may_be_a_key and self._hold(event):
            self._typed_at = self._clock()
            return True
        self._held = None
        self._say(dropped)
        return True

    @property
    def is_writing(self) -> bool:
        """Whether an input is open that takes letters."""
        line = self._app.focused
        return line is not None and line.check_consume_key("a", "a")

    def _action(self, key: str) -> str:
        """Return the id of the action that a key has here; empty: none."""
        bound = self._app.screen.active_bindings.get(key)
        return bound.binding.action[len("act('") : -len("')")] if bound is not None else ""

    def _is_harmless(self, key: str) -> bool:
        """Return whether a key has an action here that neither writes nor opens an input."""
        action = ACTIONS.get(self._action(key))
        return action is not None and not action.writes and not action.takes_words

    def _steps(self, *keys: str) -> bool:
        """Return whether each key moves the cursor by one row."""
        return all(self._action(key) in _STEPS for key in keys)

    def _moves(self, key: str) -> bool:
        """Return whether a key moves the cursor, or scrolls."""
        action = ACTIONS.get(self._action(key))
        return action is not None and action.moves


def _is_of_words(event: events.Key) -> bool:
    return event.is_printable or event.key in _OF_WORDS
