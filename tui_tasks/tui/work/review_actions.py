"""The keys of a review, with its hints at the foot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.jobs import ProveTree, RequestChecks
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.inputs.editor import TextDialog
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.layout import is_wide
from tui_tasks.tui.state.context import Hint
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.work import attaching
from tui_tasks.tui.work.reviewed_work import works_on
from tui_tasks.tui.work.work_actions import decide, discard
from tui_tasks.work import clean_up
from tui_tasks.work.accepting import Acceptance, Outcome
from tui_tasks.work.comments import Comment, review_message
from tui_tasks.work.git import pull_requests

if TYPE_CHECKING:
    from tui_tasks.tui.work.accept_form import AcceptAnswer
    from tui_tasks.tui.work.review_screen import ReviewScreen
    from tui_tasks.tui.work.review_text import WorkFacts

T = TypeVar("T")


def review_hints(screen: ReviewScreen) -> list[Hint]:
    """Return the hints for the work that is reviewed, without keys that can do nothing to it now."""
    hint_of, review, comments = screen.hint_of, screen.reviewed.facts.review, len(screen.reviewed.comments)
    has_conflicts = review is not None and bool(review.conflicts)
    is_short = not is_wide(screen.size)  # all keys have room then
    send = "Hand back" if has_conflicts else "Send back"
    if comments:
        send = f"Send {comments:,}" if is_short else f"Send {count(comments, 'comment')}"
    base = review.base if review is not None else ""
    into = f"into {base}" if screen.reviewed.facts.is_merge else "as done"
    accept = [hint_of("work_accept", f"Accept {into}" if base and not is_short else "Accept")]
    # In the order of use: what does not merge is handed back, what has comments is sent.
    first = [hint_of("work_comment"), hint_of("work_send", send)]
    if has_conflicts:
        first = first[::-1]
    elif comments:
        first = [*first[::-1], *accept]
    else:
        first = [*accept, *first]
    there = hint_of("work_diff", "Files" if screen.is_on_diff else "Diff")
    first += [hint_of("work_discard"), *([hint_of("work_pull_request")] if screen.reviewed.facts.can_push else [])]
    others = [hint_of("work_run"), hint_of("work_find"), hint_of("work_terminal"), hint_of("work_next", "Other work")]
    if screen.small:
        hints = [there, *first, *others, hint_of("back")]
    else:
        hints = [*first, hint_of("back"), there, *others, hint_of("help")]
    return [hint for hint in hints if screen.why_not(ACTIONS[hint[2]]) is None]


_CAME_JUST_NOW = "Not accepted, it came up just now: read it first."
_NEED_REVIEW = ("work_accept", "work_comment", "work_pull_request", "work_run")


class ReviewActions(Controller):
    """Acts on the work of a review screen."""

    def __init__(self, screen: ReviewScreen) -> None:
        self._screen = screen
        self._reviewed = screen.reviewed
        self._context = screen.context

    @override
    def why_not(self, action: Action) -> str | None:
        """Nothing can be done about what could not be read."""
        facts, work = self._reviewed.facts, self._reviewed.facts.work
        # The key that accepts is kept until the work is read.
        if action.id in _NEED_REVIEW and facts.review is None and (facts.problem or action.id != "work_accept"):
            return safe_line(facts.problem, 80) or "The work is still being read: wait a moment."
        if action.id == "work_accept":
            return self._why_not_accepted(work)
        if action.id == "work_run" and not facts.checks:
            return "The task has no check to run."
        if action.id in ("work_send", "work_discard") and work.state == "merging":
            return "It is being merged: wait for the end."
        if action.id == "work_terminal":
            return attaching.why_not(self._context, work.agent)
        if action.id in ("work_next", "work_previous") and facts.places < 2:
            return "There is no other work on this task."
        return None

    def _why_not_accepted(self, work: Work) -> str | None:
        review = self._reviewed.facts.review
        if work.state not in ("ready", "conflict"):
            doing = "its merge is under way" if work.state == "merging" else "wait until its turn ends"
            return f"Not yet: {agent_text.who(work.agent, 30)} is at work on it. {doing[0].upper()}{doing[1:]}."
        if review is not None and review.conflicts:
            key = self._context.keymap.key_of("work_send")
            return f"It conflicts with {safe_line(review.base, 40)}. {key} hands it back to the agent."
        if self._reviewed.comments:
            key, many = self._context.keymap.key_of("work_send"), len(self._reviewed.comments)
            sends = f"{key} sends {'it' if many == 1 else 'them'}"
            delete = (
                f"{self._context.keymap.key_of('work_comment')} on {'it' if many == 1 else 'one'}, emptied, deletes it"
            )
            return f"Not merged: you have {count(many, 'unsent comment')}. {sends}; {delete}."
        return None

    # Accept

    async def do_work_accept(self) -> None:
        """Show what will happen, then merge what was on screen; while that is read, as soon as it is."""
        screen, context = self._screen, self._context
        if self._reviewed.facts.review is None:
            screen.when_read(self._accept_kept)
            context.say("The work is still being read: what accepting it does is shown then.")
            return
        if not screen.reading.has_stood(self._reviewed.version):
            context.say(_CAME_JUST_NOW)
            return
        await self._ask_and_accept()

    def _accept_kept(self, version: object) -> None:
        """Go on with a key that was pressed while the work was read, if that stands in the version that came then."""
        why = self.why_not(ACTIONS["work_accept"])
        if version != self._reviewed.version:
            self._context.say(_CAME_JUST_NOW)
        elif why is not None:
            self._context.say(why)
        else:
            self._context.run(self._ask_and_accept())

    async def _ask_and_accept(self) -> None:
        from tui_tasks.tui.work.accept_form import AcceptForm

        screen, context = self._screen, self._context
        # The screen may read another version while the form is open: what was on screen is accepted.
        facts = self._reviewed.facts
        has_ended = clean_up.is_gone(context.db, facts.work)
        form = AcceptForm(
            context, facts, screen.unread(was_opened=False), screen.unread(was_opened=True), has_ended=has_ended
        )
        answer = await context.ask(form)
        if answer is None:
            return
        # Until it is merged: what is refused is accepted again with the same message.
        context.drafts[form.draft] = answer.message
        outcome = await self._accept(facts, answer, unproven=False)
        if outcome.state == "unproven":
            why = task_text.ended_text(one for one in outcome.checks if one.gate and one.state != "passed")
            if not await confirm(context, f"Not merged: on the merged tree, {why}.", "merge it anyway", "leave it"):
                context.say(f"Not merged. {context.keymap.key_of('work_send')} sends it back to the agent.")
                return
            outcome = await self._accept(facts, answer, unproven=True)
        if outcome.state == "merged":
            context.drafts.pop(form.draft, None)
        self._screen.leave_what_is_over()
        context.say(self._outcome_text(outcome))

    async def _accept(self, facts: WorkFacts, answer: AcceptAnswer, *, unproven: bool) -> Outcome:
        work, review = facts.work, facts.review
        assert review is not None
        self._context.say(f"Merging into {safe_line(review.base, 40)}." if facts.is_merge else "Accepting it.")
        return await self._decide(
            lambda acceptance: acceptance.accept(
                work,
                review,
                method=answer.method,
                message=answer.message,
                commit_message=answer.message if review.is_dirty else "",
                go_on=answer.goes_on,
                unproven=unproven,
            )
        )

    def _outcome_text(self, outcome: Outcome) -> str:
        base = safe_line(outcome.work.base or "", 40)
        if outcome.state == "conflict":
            key = self._context.keymap.key_of("work_send")
            return f"Not merged: it conflicts with {base}. {key} hands it back to the agent."
        if outcome.state == "unproven":
            return "Not merged: a gating check has not passed."
        others = f", {count(len(outcome.discarded), 'other work')} discarded" if outcome.discarded else ""
        notes = " ".join(outcome.notes)
        key = self._context.keymap.key_of("undo")
        if outcome.merge is None:
            why = f"{base} has it already" if outcome.work.is_on_base else f"it had nothing new for {base}"
            return f"Accepted{others}: {why}. {key} brings it back for review. {notes}".strip()
        return f"Merged into {base}{others}. {key} takes it out of {base} again, and asks before. {notes}".strip()

    # Comments

    async def do_work_comment(self) -> None:
        """Write a comment on the line under the cursor, else on the file, else on the work as a whole; change or delete
        the one under the cursor, or the one that is there already.
        """
        screen, context = self._screen, self._context
        at = screen.side.comment if screen.is_on_diff else None
        change, line = screen.change, screen.side.line if screen.is_on_diff else None
        if at is not None:
            there = self._reviewed.comments[at]
            path, number, is_old, quote = there.path, there.line, there.is_old, there.quote
        elif change is None:
            path, number, is_old, quote = "", 0, False, ""
        elif line is None or line.kind not in "+- ":
            path, number, is_old, quote = change.name, 0, False, ""
        else:
            path, number, is_old, quote = change.name, line.number, line.kind == "-", line.text
        places = [(each.path, each.line, each.is_old) for each in self._reviewed.comments]
        if at is None and (path, number, is_old) in places:
            at = places.index((path, number, is_old))
        old = self._reviewed.comments[at] if at is not None else None
        where = f"{safe_line(path, 40)}:{number}" if number else safe_line(path, 40) or "the work as a whole"
        hint = "empty deletes it" if old is not None else ""
        draft = f"comment {self._reviewed.facts.work.uid} {path}:{number}:{is_old:d}"
        dialog = TextDialog(context, f"Comment on {where}", old.text if old is not None else "", draft=draft, hint=hint)
        text = await context.ask(dialog)
        if text is None or (old is None and not text.strip()):
            return
        comments = [comment for number, comment in enumerate(self._reviewed.comments) if number != at]
        if text.strip():
            comment = Comment(path, number, is_old, quote, text.strip())
            comments.insert(len(comments) if at is None else at, comment)
        screen.keep_comments(comments)

    async def do_work_send(self) -> None:
        """Send all comments as one message; with a conflict, hand it back; without either, ask for words."""
        screen, context, work = self._screen, self._context, self._reviewed.facts.work
        review, text = self._reviewed.facts.review, ""
        version = review.version if review is not None else None
        conflicts = review.conflicts if review is not None else ()
        if review is not None:
            text = review_message(review.base, self._reviewed.comments, conflicts, review.uncommitted)
        if not self._reviewed.comments and not conflicts:
            title = f"Send it back to {agent_text.who(work.agent, 30)}:"
            typed = await context.ask(TextDialog(context, title, text, draft=f"send {work.uid}", done="Send"))
            text = (typed or "").strip()
        if not text:
            return
        sent = len(self._reviewed.comments)
        done = await self._decide(lambda acceptance: acceptance.comment(work, text, version))
        screen.keep_comments([])
        what = count(sent, "comment") if sent else "the conflict" if conflicts else "it"
        how = "which is started again" if done.is_started_again else "who continues"
        context.say(f"Sent {what} to {agent_text.who(work.agent, 30)}, {how}.")

    async def do_work_run(self) -> None:
        """Run the checks of the task that have not passed on the tree that is shown."""
        facts = self._reviewed.facts
        review, work = facts.review, facts.work
        assert review is not None
        run: Operation = RequestChecks(work.task_uid, unproven_alone=True)
        if facts.places > 1:
            # The checks of a task run in its newest work unless a tree is named.
            run = ProveTree(work.task_uid, work.repository, work.worktree, review.tree)
        self._reviewed.await_checks()
        self._context.say(f"The checks of “{safe_line(facts.task.name, 40)}” are being run.")
        await self._context.link.commit(run)

    # Ends

    async def do_work_discard(self) -> None:
        """Discard the work, once confirmed."""
        work, unsent = self._reviewed.facts.work, len(self._reviewed.comments)
        done = await self._decided(discard(self._context, work, unsent))
        if done is not None:
            self._screen.keep_comments([])
            self._screen.leave_what_is_over()
            self._context.say(done)

    async def do_work_pull_request(self) -> None:
        """Push the branch and open a pull request, once confirmed; where there is one already, copy its address."""
        context, work, review = self._context, self._reviewed.facts.work, self._reviewed.facts.review
        assert review is not None
        if work.pull_request is not None:
            context.copy(work.pull_request)
            context.say(f"Copied {safe_line(work.pull_request, 80)}")
            return
        push = await self._decide(lambda acceptance: acceptance.planned_push(work, review))
        pull_requests.program()
        if not await confirm(context, push.text, "open it"):
            return
        context.say("Opening a pull request.")
        opened = await self._decide(lambda acceptance: acceptance.open_pull_request(work, review, push))
        context.say(f"Opened {safe_line(opened.pull_request or '', 80)}")

    # The rest

    def do_work_terminal(self) -> None:
        """Go to the agent's terminal; what changed there is read afterwards."""
        attaching.attach(self._context, self._reviewed.facts.work.agent)
        self._screen.read_again()

    def do_work_next(self) -> None:
        """Review the next work on the task, of another agent."""
        self._turn(1)

    def do_work_previous(self) -> None:
        """Review the one before."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        work = self._reviewed.facts.work
        works = works_on(self._context.db, work.task_uid)
        at = next((at for at, one in enumerate(works) if one.uid == work.uid), 0)
        self._screen.show_work(works[(at + by) % len(works)])

    async def _decide(self, act: Callable[[Acceptance], T]) -> T:
        """Do as `decide`."""
        return await self._decided(decide(self._context, act))

    async def _decided(self, decision: Awaitable[T]) -> T:
        """Wait for a decision; what is refused is shown as it is now, so that it can be looked at again."""
        try:
            return await decision
        except Refusal:
            self._screen.read_again()
            raise
