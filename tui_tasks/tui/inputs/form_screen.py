"""The bases of forms: their keys and the draft that Esc keeps; forms of lines at the foot;
and a field with a few values: arrows, Space and clicks change the value, Tab goes to the next field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui_tasks.text.glyphs import sign
from tui_tasks.tui.inputs.dialogs import DRAFT, KEPT, keep_draft
from tui_tasks.tui.inputs.editor import LINE_KEYS, LongText, TextInput
from tui_tasks.tui.inputs.line_inputs import WordLine
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Dialog, plain
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context, Hint


FORM_DRAFT: Final = "This is your draft from before: ^r drops it."


R = TypeVar("R")


class FormScreen(Dialog[R | None], Generic[R]):
    """A form. Result: what was saved; None: left. Subclasses define `action_save` and `action_outside`, give
    `line_keys` to their fields of one line, and call `bring_back` once their fields are there.

    Esc keeps what was typed, and the next form with the same `draft` has it again.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", show=False, priority=True),
        Binding("ctrl+e", "outside", "In $EDITOR", show=False, priority=True),
        Binding("escape", "leave", "Back", show=False, priority=True),
    ]

    def __init__(self, context: Context, *, draft: str, fields: Sequence[str]) -> None:
        """`draft` names the form, and by id what it is about; `fields` are the ids of its fields."""
        super().__init__(context)
        self.draft = draft
        self._fields = fields
        self._given: dict[str, str] = {}
        # Whether a draft is shown, which ^r drops.
        self._has_draft = False
        self.began: dict[str, str] = {}
        """The fields of a draft: the text that each had before it was typed in."""
        self.began_on = ""
        """What `base_text` returned when the draft was begun."""
        onwards, back = (
            dict.fromkeys(("tab", "down"), self.focus_next),
            dict.fromkeys(("shift+tab", "up"), self.focus_previous),
        )
        self.line_keys: Mapping[str, Callable[[], object]] = {"enter": self.action_save, **onwards, **back}
        """What keys do in a field of one line, beside writing."""

    def _texts(self) -> dict[str, str]:
        return {field: self._field_of(field).value for field in self._fields}

    def _put(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            if (field := self._field_of(name)).value != text:
                field.value = text
                if isinstance(field, WordLine):
                    field.cursor_position = len(text)

    def _field_of(self, name: str) -> Any:
        return self.query_one(f"#{name}")

    def bring_back(self) -> None:
        """Show the fields of a draft that differ from what was given then; all others are as they are now."""
        self._given = self._texts()
        given, typed, began_on = json.loads(self.context.drafts.get(self.draft, '[{}, {}, ""]'))
        changed = {name: text for name, text in typed.items() if name in self._given and text != given.get(name)}
        if changed.items() - self._given.items():
            self.began, self.began_on = {name: given.get(name, "") for name in changed}, began_on
            self._put(changed)
            self._has_draft = True
            if not self.problem:
                self.call_after_refresh(self.context.say, FORM_DRAFT)

    def take_key(self, event: events.Key) -> bool:
        """Show by ^r what the fields hold without the draft."""
        if event.key != "ctrl+r" or not self._has_draft:
            return False
        self._put(self._given)
        self._has_draft, self.began = False, {}
        self.context.say("The draft is dropped: the fields are as they were.")
        self.show_keys()
        return True

    def on_descendant_focus(self) -> None:
        """Show the keys of the field with the focus."""
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of the field with the focus in the foot line."""
        draft = (("^r", "Drop draft", ""),) if self._has_draft else ()
        saves: Sequence[Hint] = (("Enter", "Save", ""),)
        if isinstance(self.focused, LongText):
            saves = (("^s", "Save", ""), *((("Enter", "New line", ""),) if not self.focused.read_only else ()))
        elif isinstance(self.focused, ChoiceLine) and self.focused.has_choice:
            saves = (*saves, ("←→", "Change", ""))
        keys: Sequence[Hint] = (("Tab", "Next field", ""), ("Esc", "Back", ""), ("^e", "In $EDITOR", ""))
        self.query_one(FootLine).hint(*saves, *draft, *keys)

    def action_save(self) -> None:
        """Save what was typed; where that is refused, stay at the field that is wrong and say why."""
        raise NotImplementedError

    def refuse(self, field: str, why: str) -> None:
        """Go to the field that is wrong, and say why nothing was saved."""
        if field:
            self.set_focus(self._field_of(field))
        self.context.say(why)

    def keep(self) -> bool:
        """Keep what was typed as a draft; return False where nothing was."""
        self.context.drafts.pop(self.draft, None)
        if (typed := self._texts()) == self._given:
            return False
        self.context.drafts[self.draft] = json.dumps([self._given | self.began, typed, self.base_text()])
        return True

    def base_text(self) -> str:
        """Return what a draft is kept with, to find out later what others have changed since it was begun."""
        return ""

    def action_leave(self) -> None:
        """Leave the form, and keep what was typed."""
        has_kept = self.keep()
        self.dismiss(None)
        if has_kept:
            self.context.say(KEPT)


class Option(NamedTuple):
    """A value of a field, its text for people (empty: the value), and what is said of it beside."""

    value: str
    text: str = ""
    note: str = ""


_STEPS = {"right": 1, "space": 1, "left": -1}


class ChoiceLine(ResilientMessages, Static, can_focus=True):
    """The field. A letter goes to the next value that begins with it; `keys` maps other keys to functions, and a
    question mark to the one that names them, which a letter without a value calls too.
    """

    class Changed(Message):
        """Another value was chosen."""

    def __init__(
        self,
        options: Sequence[Option],
        value: str,
        *,
        id: str,
        keys: Mapping[str, Callable[[], object]],
    ) -> None:
        super().__init__("", id=id)
        self._options = list(options)
        self._at = next((at for at, option in enumerate(self._options) if option.value == value), 0)
        self._keys = keys

    @property
    def value(self) -> str:
        """The value."""
        return self._options[self._at].value

    @value.setter
    def value(self, value: str) -> None:
        self._at = next((at for at, option in enumerate(self._options) if option.value == value), self._at)
        self._show()

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one value."""
        return len(self._options) > 1

    def on_mount(self) -> None:
        """Show the value."""
        self._show()

    def _show(self) -> None:
        option = self._options[self._at]
        note = plain(f"  {option.note}", "$muted") if option.note else ""
        self.update(plain(option.text or option.value, "bold") + note)

    def on_key(self, event: events.Key) -> None:
        """Change the value, or do what `keys` says."""
        does = self._keys.get(event.key)
        if does is not None:
            does()
        elif event.key in _STEPS:
            self._move(_STEPS[event.key])
        elif event.character is not None and event.is_printable:
            later = [*range(self._at + 1, len(self._options)), *range(self._at)]
            begins = (at for at in later if self._options[at].value.startswith(event.character))
            if (found := next(begins, None)) is not None:
                self._move(found - self._at)
            elif "question_mark" in self._keys:
                self._keys["question_mark"]()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_click(self) -> None:
        """Change the value."""
        self.focus()
        self._move(1)

    def _move(self, by: int) -> None:
        at = (self._at + by) % len(self._options)
        if at != self._at:
            self._at = at
            self._show()
            self.post_message(self.Changed())


class FootForm(Dialog[R | None], Generic[R]):
    """A form of lines at the foot: the last takes words, the others have a few values. Tab goes to the next line.

    Esc leaves without a result, and keeps the words for the next form with the same `draft`.
    """

    AUTO_FOCUS = "TextInput"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]
    LABEL_CELLS = 10
    DRAFT = DRAFT

    def __init__(self, context: Context, *, draft: str, words: str, hint: str, done: str) -> None:
        """`draft` names the form, and by id what it is about; `words` stand in it at first; `done` is Enter's word."""
        super().__init__(context)
        self.draft = draft
        self._given, self._done = words, done
        keys: dict[str, Callable[[], object]] = {"enter": self.submit, "escape": self.action_leave}
        keys |= {"tab": self.focus_next, "shift+tab": self.focus_previous}
        self.keys = {**keys, "down": self.focus_next, "up": self.focus_previous, "q": self.action_leave}
        self.keys["question_mark"] = self._say_keys
        """The keys of the lines of values, where a letter is no text."""
        keys |= {"down": self._down, "up": self._up}
        self.words = TextInput(context, context.drafts.get(draft, words), id="answer", placeholder=hint, keys=keys)

    def on_mount(self) -> None:
        """Say of words that an earlier form has kept that they are a draft, unless they could not be used just now."""
        if self.context.drafts.get(self.draft, self._given) != self._given and not self.problem:
            self.query_one(FootLine).say(self.DRAFT)

    def _say_keys(self) -> None:
        """Say what the keys do on a line of values."""
        self.context.say(f"←→ or a first letter changes the value, Tab goes on; Enter: {self._done}; Esc goes back.")

    def _up(self) -> None:
        """Go to the line of text above, from the first one to the field above."""
        if self.words.cursor_at_first_line:
            self.focus_previous()
        else:
            self.words.action_cursor_up()

    def _down(self) -> None:
        """Go to the line of text below, from the last one to the field below."""
        if self.words.cursor_at_last_line:
            self.focus_next()
        else:
            self.words.action_cursor_down()

    def line(self, label: str, field: Widget) -> Widget:
        """Return a field behind its label."""
        return Horizontal(Static(self._label(label), classes="label", name=label), field, classes="line")

    def _label(self, label: str, *, is_here: bool = False) -> Content:
        return plain(
            f" {sign('cursor') if is_here else ' '} {label:<{self.LABEL_CELLS}}", "$key" if is_here else "$muted"
        )

    def on_descendant_focus(self) -> None:
        """Mark the line with the focus."""
        for line in self.query(".line").results(Horizontal):
            label = line.query_one(".label", Static)
            label.update(self._label(label.name or "", is_here=self.focused in line.children))
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of the line with the focus."""
        hints = LINE_KEYS if self.focused is self.words else ()
        if isinstance(self.focused, ChoiceLine) and self.focused.has_choice:
            hints = (("←→", "Change", ""),)
        self.query_one(FootLine).hint(*self.first_keys(), ("Tab", "Next field", ""), *hints, ("Esc", "Back", ""))

    def first_keys(self) -> Sequence[Hint]:
        """Return the keys that the foot names first: that of the end."""
        return (("Enter", self._done, ""),)

    def submit(self) -> None:
        """End with what was chosen."""
        raise NotImplementedError

    def end(self, result: R, action: str) -> None:
        """End with a result; what is typed on at once is for this form, which the key of `action` opens."""
        self.dismiss(result)
        key = self.context.keymap.key_of(action)
        self.context.words.expect_more(action, f"The form is closed: {key} opens it again")

    def action_leave(self) -> None:
        """Leave without a result."""
        text = self.words.value
        self.dismiss(None)
        keep_draft(self.context, self.draft, text, self._given)
