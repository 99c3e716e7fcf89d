"""The form of an accept of work: what will be merged into what, how, and which checks stand in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.settings import live_settings
from tui_tasks.text.glyphs import PROOF_LOOKS
from tui_tasks.text.safe import one_to_one, safe_ends, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.form_screen import ChoiceLine, FootForm, Option
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.work.review_text import WorkFacts
from tui_tasks.work.accepting import commit_message

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context, Hint
    from tui_tasks.work.git.merging import Method

# In cells: what stands beside the lines of a form at the foot.
_MARGINS: Final = 2
_METHODS: Final[dict[Method, str]] = {
    "squash": "one new commit on {base}",
    "merge": "a merge commit on {base}",
    "rebase": "its commits, rebased onto {base}",
    "ff": "{base} moves forward to it",
}
_ENDS, _GOES_ON = (
    Option("ends", "its worktree and branch are removed"),
    Option("on", "the agent continues in its worktree"),
)


@dataclass(frozen=True, slots=True)
class AcceptAnswer:
    """What the human has chosen. `goes_on`: the agent keeps worktree and branch."""

    method: Method
    message: str
    goes_on: bool


# How many of the files that were not opened are named.
_NAMED: Final = 2


class AcceptForm(FootForm[AcceptAnswer]):
    """The form, at the foot. Result: the choice, or None.

    It begins on a value, so that a key that is meant for the review writes nothing into the message.
    """

    AUTO_FOCUS = "#after"
    DRAFT = "The message is your draft from before: e edits it."

    def __init__(
        self, context: Context, facts: WorkFacts, unopened: Sequence[str], changed: Sequence[str], *, has_ended: bool
    ) -> None:
        """`unopened`: the paths of the files that the human has not opened; `changed`: that have changed since then.
        `has_ended`: the agent has.
        """
        message = commit_message(facts.task, facts.work).partition("\n")[0]
        hint = "message of the commit"
        assert facts.review is not None
        self._facts = facts
        self._review = facts.review
        self._is_merge = facts.is_merge
        done = "Merge" if self._is_merge else "Accept"
        super().__init__(context, draft=f"accept {facts.work.uid}", words=message, hint=hint, done=done)
        self._unopened = unopened
        self._changed = changed
        self._has_ended = has_ended
        self._has_asked = False
        self._settings = live_settings.work()
        self.keys["e"] = self._edit_message

    def compose(self) -> ComposeResult:
        """Compose the choices, what will happen, and the line for the message."""
        task, base = self._facts.task, safe_line(self._review.base, 40)
        methods = [Option(name, note=how.format(base=base)) for name, how in _METHODS.items()]
        # On a small screen the title stays in sight only if neither it nor a fact takes two lines.
        cells = self.app.size.width - _MARGINS if is_compact(self.app.size) else None
        named = f"Accept the work on #{task.number}"
        title = f"Merge #{task.number} into {base}" if cells else f"{named}: merge it into {base}"
        if not self._is_merge:
            title = f"Accept #{task.number}, on {base} already" if cells else f"{named}: it is on {base} already"
            if not self._facts.is_on_base:
                title = f"Accept #{task.number}, nothing new" if cells else f"{named}: it has nothing new for {base}"
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(safe_line(title, cells), "bold"))
            if self._is_merge:
                yield self.line("Method", ChoiceLine(methods, self._settings.merge, id="method", keys=self.keys))
            yield self.line("After", ChoiceLine(self._after(), _ENDS.value, id="after", keys=self.keys))
            for text, style in self._facts_lines():
                yield Static(plain(safe_line("   " + text, cells), style))
            yield self.line("Message", self.words)
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the message only where a commit has it."""
        super().on_mount()
        self.on_choice_line_changed()

    def on_choice_line_changed(self) -> None:
        """Show the message only where a commit has it."""
        line = self.words.parent
        assert isinstance(line, Widget)
        line.display = self._needs_message
        self.show_keys()
        if not self._needs_message and self.focused in (None, self.words):
            self.query_one("#after", ChoiceLine).focus()

    def _edit_message(self) -> None:
        """Go to the message, if there is one."""
        if self._needs_message:
            self.words.focus()
        else:
            self.context.say("No commit is made, so there is no message.")

    @override
    def first_keys(self) -> Sequence[Hint]:
        enter = "Enter twice" if self._doubts() and not self._has_asked else "Enter"
        edits = self._needs_message and self.focused is not self.words
        return ((enter, self._done, ""), *((("e", "Message", ""),) if edits else ()))

    @property
    def _method(self) -> Method:
        if not self._is_merge:
            return self._settings.merge
        method: Any = self.query_one("#method", ChoiceLine).value
        chosen: Method = method
        return chosen

    @property
    def _needs_message(self) -> bool:
        """Whether a new commit is made: of the merge, or of what is not committed."""
        return self._review.is_dirty or (self._is_merge and self._method not in ("rebase", "ff"))

    def _after(self) -> list[Option]:
        """Return what can become of the agent: it continues only while it has not ended, in a worktree of its own."""
        has_ended = f"{agent_text.who(self._facts.work.agent, 30)} has ended"
        if self._facts.work.is_on_base:
            return [
                Option(_ENDS.value, f"nothing is removed; {has_ended if self._has_ended else 'the agent is ended'}")
            ]
        return [_ENDS._replace(note=has_ended)] if self._has_ended else [_ENDS, _GOES_ON]

    def _facts_lines(self) -> Sequence[tuple[str, str]]:
        """Return what else happens, and what may stand in the way."""
        review = self._review
        lines: list[tuple[str, str]] = []
        named = (("not opened", self._unopened), ("changed since", self._changed))
        if unread := [f"{len(paths):,} {word}: {_names(paths)}" for word, paths in named if paths]:
            first = unread[0].replace(" ", f" of {count(len(review.files), 'file')} ", 1)
            lines.append((f"Unread    {'; '.join((first, *unread[1:]))}", "$state-overdue"))
        for at, (text, style) in enumerate(self._check_texts()):
            lines.append((f"{'' if at else 'Checks':<10}{text}", style))
        if review.is_dirty:
            first, more = safe_ends(one_to_one(review.uncommitted[0]), 40), len(review.uncommitted) - 1
            files = f"{first} and {more:,} more are" if more else f"{first} is"
            lines.append((f"Commit    {files} committed with this message first", "$state-overdue"))
        if self._facts.places > 1:
            lines.append(
                (f"Race      discards {count(self._facts.places - 1, 'other work')} on this task", "$state-overdue")
            )
        return lines

    def _check_texts(self) -> Iterator[tuple[str, str]]:
        """Yield which checks run before the merge, and what is not proven of the reviewed files."""
        review, checks = self._review, self._facts.checks
        is_other = review.behind and self._settings.prove == "merged"
        gates = [check for check in checks if check.gate and (is_other or check.state != "passed")]
        if named := ", ".join(safe_line(check.name, 20) for check in checks if check.gate and check not in gates):
            yield f"{named} passed on this tree", ""
        if named := ", ".join(safe_line(check.name, 20) for check in gates if not self._facts.is_on_base):
            where = "this tree first"
            if review.behind and self._settings.prove == "merged":
                more = f"{safe_line(review.base, 24)} has {count(review.behind, 'commit')} more"
                where = f"the merged tree first: {more}"
            elif review.behind:
                where = "the branch alone first, as [work] prove says"
            yield f"{named} must pass on {where}", ""
        failed = [safe_line(check.name, 20) for check in checks if check.state == "failed"]
        others = [
            f"{safe_line(check.name, 20)} {PROOF_LOOKS[check.state].word}"
            for check in checks
            if check.state not in ("passed", "failed")
        ]
        if failed:
            yield f"failed on this tree: {', '.join(failed)}", "$state-failed"
        if others:
            yield f"on this tree: {', '.join(others)}", "$state-overdue"

    @override
    def submit(self) -> None:
        """End with what was chosen; a new commit needs a message, and files that were not opened, or a check that
        failed and does not gate, a second Enter.
        """
        message = self.words.value.strip()
        if not message and self._needs_message:
            self.words.focus()
            self.context.say("The commit needs a message.")
        elif (doubts := self._doubts()) and not self._has_asked:
            self._has_asked = True
            self.show_keys()
            again = f"{'merges' if self._is_merge else 'accepts'} {count(len(self._review.files), 'file')}"
            self.context.say(f"{' '.join(doubts)} Enter again {again}.")
        else:
            goes_on = self.query_one("#after", ChoiceLine).value == _GOES_ON.value
            self.end(AcceptAnswer(self._method, message, goes_on), "work_accept")

    def _doubts(self) -> list[str]:
        """Return what speaks against it and stops nothing, in sentences."""
        doubts = [f"You have not opened {_names(self._unopened)}."] if self._unopened else []
        if self._changed:
            doubts.append(f"Changed since you read it: {_names(self._changed)}.")
        failed = [
            check
            for check in self._facts.checks
            if check.state == "failed" and (not check.gate or self._facts.is_on_base)
        ]
        if failed:
            doubts.append(f"{', '.join(safe_line(check.name, 20) for check in failed)} failed on this tree.")
        return doubts


def _names(paths: Sequence[str]) -> str:
    """Return the first of the paths, and how many more there are."""
    more = len(paths) - _NAMED
    listed = ", ".join(safe_ends(path, 40) for path in paths[:_NAMED])
    return f"{listed} and {more:,} more" if more > 0 else listed
