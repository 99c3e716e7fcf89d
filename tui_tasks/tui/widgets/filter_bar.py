"""The filter bar: ` / jwt status:open            2 of 9`. It posts the filter to its pane at each letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.message import Message

from tui_tasks.dialects.requests.filter_syntax import (
    OF_TASKS,
    Language,
    Parsed,
    candidates,
    complete,
    names,
    other_syntax,
    parse,
)
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import nothing_matches
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.widgets.textual_overrides import NoRelayout, ResilientMessages

if TYPE_CHECKING:
    from textual.widgets import Input

    from tui_tasks.tui.inputs.line_inputs import FilterWords
    from tui_tasks.tui.state.context import Context

_KEYS = (("Enter", "Keep", ""), ("Esc", "Clear", ""), ("Tab", "Complete", ""))
_SAVE = ("^s", "Save as view", "")
# The words that a filter of tasks begins with most often; Tab lists all.
_WORDS = ("status", "agent", "tag", "due", "priority", "list", "sort")


class FilterBar(ResilientMessages, Horizontal, NoRelayout):
    """The bar, shown while there is a filter. Posts `Opened`, `Changed`, `Submitted`, `Cleared` and `Save`."""

    class Opened(Message):
        """Typing begins; the pane says how many match, also before the filter has a word."""

    class Changed(Message):
        """The filter has changed."""

        def __init__(self, parsed: Parsed) -> None:
            super().__init__()
            self.parsed = parsed

    class Submitted(Message):
        """The human has ended typing; the filter stays."""

    class Cleared(Message):
        """The filter was removed; `typing`: while it was being typed."""

        def __init__(self, typing: bool) -> None:
            super().__init__()
            self.typing = typing

    class Save(Message):
        """The filter is to be saved under a name."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    DEFAULT_CSS = """
    FilterBar { height: 1; display: none; }
    FilterBar.-open { display: block; }
    FilterBar > InputSign { width: 3; }
    FilterBar > FilterWords { width: 2fr; }
    FilterBar > FrameLine { width: 1fr; }
    """

    def __init__(
        self,
        context: Context,
        known: Callable[[], Mapping[str, Sequence[str]]],
        language: Language = OF_TASKS,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.context = context
        self._known = known
        self._language = language
        self._words: FilterWords | None = None
        self._parsed: Parsed = Parsed()
        self._count = ""
        self._count_line = FrameLine(context, right=self._count_or_mistake)

    def _count_or_mistake(self, width: int) -> Sequence[Part]:
        """Return the number of matches, or what is wrong; the foot says it in full."""
        mistake = re.split(r"; |(?<='): ", self._parsed.problem, maxsplit=1)[0]
        return [(f" {safe_line(mistake or self._count, width - 2)} ", "$muted")]

    @property
    def text(self) -> str:
        """The typed text."""
        return self._words.value if self._words is not None else ""

    def no_match(self, *, is_searching: bool = False) -> str:
        """Return that nothing matches, and how to leave the filter; empty without one. `is_searching`: not yet."""
        if not self.is_open or not self.text.strip():
            return ""
        if is_searching:
            return "Looking further..."
        # A problem says by itself what to type instead.
        instead = "" if self._parsed.problem else other_syntax(self.text, self._language)
        return nothing_matches(self.context, self.text.strip(), instead)

    @property
    def names_list(self) -> bool:
        """Whether the filter goes to a list."""
        return any(not term.negated for term in self._parsed.lists)

    @property
    def sort(self) -> str:
        """What the typed filter sorts by; empty: nothing."""
        return self._parsed.sort

    @property
    def is_open(self) -> bool:
        """Whether there is a filter or one is being typed."""
        return self.has_class("-open")

    def open(self, text: str | None = None, *, kept: bool = False) -> None:
        """Start or resume typing, or set the given words. The first call takes longer, as it makes the input."""
        if self._words is not None:
            self._begin(text, kept=kept)
        else:
            self.context.open_in_turn(self._make(text, kept=kept))

    async def _make(self, text: str | None, *, kept: bool) -> None:
        await self._make_words()
        self._begin(text, kept=kept)

    async def _make_words(self) -> FilterWords:
        from tui_tasks.tui.inputs.line_inputs import FilterWords, InputSign

        if self._words is None:
            keys = {"tab": self.complete, "escape": self.clear, "ctrl+s": self.save}
            words = FilterWords(keys=keys | dict.fromkeys(("down", "enter"), self.keep))
            await self.mount(InputSign(plain(" /", "$key bold")), words, self._count_line)
            self._words = words
        return self._words

    async def take(self, text: str) -> Parsed:
        """Show a filter that was typed elsewhere, without the focus; return what it says. Empty: there is none."""
        words = await self._make_words()
        self._parsed = parse(text, typing=False, language=self._language)
        words.value = text
        self.set_class(bool(text), "-open")
        return self._parsed

    def _begin(self, text: str | None, *, kept: bool) -> None:
        assert self._words is not None
        self.add_class("-open")
        if text is not None:
            self._words.value = text
        self._words.focus()
        self._words.action_end()
        self.post_message(self.Opened())
        self._post()
        if kept:
            self.keep()

    def show_count(self, text: str) -> None:
        """Show the number of matches at the right."""
        self._count = text
        self._count_line.redraw()

    def complete(self) -> None:
        """Complete the last word as far as it is unambiguous; show the candidates if there are several."""
        completions = candidates(self.text, self._known(), self._language)
        if self._words is not None:
            self._words.value = complete(self.text, completions)
            self._words.action_end()
        if len(completions) > 1:
            self.context.say("  ".join(completions[:20]))

    def clear(self) -> None:
        """Remove the filter."""
        # A hidden widget loses the focus soon.
        typing = self.has_focus_within
        self.remove_class("-open")
        if self._words is not None:
            self._words.value = ""
        self._parsed = Parsed()
        self.show_count("")
        self.post_message(self.Cleared(typing))

    def keep(self) -> None:
        """End typing; an empty filter is removed."""
        if not self.text.strip():
            self.clear()
            return
        self._post(typing=False)
        self.post_message(self.Submitted())

    def save(self) -> None:
        """End typing, and post that the filter is to be saved under a name."""
        if self.text.strip():
            self.keep()
            self.post_message(self.Save(self.text.strip()))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post the changed filter."""
        event.stop()
        if self.is_open and self.has_focus_within:
            self._post()
            self._show_keys()

    def on_descendant_focus(self) -> None:
        """Show the keys of this bar in the footer."""
        self._show_keys()

    def _show_keys(self) -> None:
        """Show the keys, and the words that a filter can begin with: `who` in place of `agent` where that is typed."""
        # Only filters of tasks can be saved.
        is_of_tasks = self._language is OF_TASKS
        words = _WORDS if is_of_tasks else tuple(names(self._language))
        words = tuple("who" if word == "agent" and "who:" in self.text else word for word in words)
        keys = (*_KEYS, _SAVE) if is_of_tasks else _KEYS
        self.context.hint(*keys, *(("", f"{word}:", "") for word in words))

    def on_descendant_blur(self) -> None:
        """Show the pane's keys in the footer again."""
        self.context.hint()

    def _post(self, *, typing: bool = True) -> None:
        """Post the filter if it has changed; show its mistake in full in the footer, after each key."""
        parsed = parse(self.text, typing=typing, language=self._language)
        if parsed.problem:
            self.context.say(parsed.problem)
        if parsed != self._parsed:
            self._parsed = parsed
            self.post_message(self.Changed(parsed))
