"""Marking all as seen, dismissing failures, and bringing back what was; imported after the first paint."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.needs.agent_entries import AgentEntries
from tui_tasks.tui.needs.needs_entries import NeedsEntries
from tui_tasks.tui.needs.open_needs import CAN_BE_DISMISSED, Kind, Needs

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_OFFER_LASTS: Final = 30 * SECOND
"""For so long the key that was said to dismiss failures does that; later it is said again first."""


async def mark(context: Context) -> None:
    """Mark all as seen; where nothing is new, dismiss failures that were named just now with this key."""
    seen, now, shown, has_new = context.state.seen, context.clock.now(), _past_failures(context), context.state.has_news
    undo, again = context.keymap.key_of("undo"), context.keymap.key_of("seen")
    if has_new or not shown or shown != seen.offered or now - seen.offered_at > _OFFER_LASTS:
        is_first = has_new or not shown
        if is_first:
            seen.all_seen(now)
            _draw(context)
        seen.offered, seen.offered_at = _past_failures(context), now
        back = f"{undo} brings the marks back." if is_first else ""
        if seen.offered:
            # What the key does next comes first: a small screen cuts the rest.
            said = f"{'All seen; ' * is_first}{again} again dismisses {', '.join(seen.offered)}. {back}"
        else:
            said = f"All marked as seen. {back} {_what_stays(context)}" if is_first else _what_stays(context)
        context.say(said.strip())
        if is_first:
            await _remember(context)
        return
    seen.dismiss_failures(now)
    _draw(context)
    left = _past_failures(context)
    away = [one for one in shown if one not in left]
    it = "it" if len(away) == 1 and not away[0][0].isdigit() else "them"
    said = f"Dismissed: {', '.join(away)}. {undo} brings {it} back."
    context.say(" ".join(filter(None, (said, _what_stays(context)))))
    seen.offered = ()
    await _remember(context)


async def bring_back(context: Context) -> bool:
    """Take back that all was marked as seen, that something was dismissed, or that a question was put off or
    taken up. Return False if nothing was, or the human has changed something since.
    """
    before, put_off = {need.key for need in Needs(context).all()}, context.state.seen.put_off
    was_dismissed = context.state.seen.unsee()
    if was_dismissed is None:
        return False
    _draw(context)
    if put_off != context.state.seen.put_off:
        back = _put_off_back(context, put_off)
    else:
        back = _what_came_back(context, before) if was_dismissed else "The marks are back"
    context.say(f"{back}. {context.keymap.key_of('undo')} again undoes what you did before.")
    await _remember(context)
    return True


def _what_stays(context: Context) -> str:
    """Return that what is late or an agent in trouble is not over by being seen; empty if there is none."""
    stay = [need for need in Needs(context).all() if need.kind in CAN_BE_DISMISSED]
    number, words = sum(need.count for need in stay), " or ".join(dict.fromkeys(need.word for need in stay))
    if not stay:
        return ""
    stays, it = ("stays", "it") if number == 1 else ("stay", "one")
    return f"{count(number, f'{words} row')} {stays}; {context.keymap.key_of('dismiss')} in the inbox dismisses {it}."


def _what_came_back(context: Context, before: Collection[str]) -> str:
    """Return what needs the human again beside what did `before`, by key, in words."""
    found = [need for need in Needs(context).all() if need.key not in before]
    if len(found) == 1 and not found[0].is_rest:
        entry = NeedsEntries(context, lambda span: None).entry(found[0])
        return f"{' '.join(filter(None, (entry.number, safe_line(entry.text, 40))))} is back"
    number = sum(need.count for need in found)
    if not number:
        return "What was dismissed is back"
    return f"{count(number, 'row')} of the inbox {'is' if number == 1 else 'are'} back"


def _put_off_back(context: Context, before: Mapping[str, int]) -> str:
    """Return whose question is not put off any more, unlike `before`, or is again."""
    changed = before.keys() ^ context.state.seen.put_off.keys()
    ask = next((ask for ask in context.state.asks if ask.uid in changed), None)
    what = f"{agent_text.who(ask.agent, 20)}'s {'request' if ask.is_permission else 'question'}" if ask else "It"
    return f"{what} {'waits again' if changed & before.keys() else 'is put off again'}"


def _past_failures(context: Context) -> tuple[str, ...]:
    """Return the failures that can be dismissed, in words."""
    now, seen_at, found = context.clock.now(), context.state.seen.dismissed_at, []
    words, every = NeedsEntries(context, lambda span: None), Needs(context).all()
    for kind, noun in ((Kind.FAILED, "failed task"), (Kind.JOBS, "failed job")):
        failures = [need for need in every if need.kind == kind]
        number = sum(need.count for need in failures)
        if number:
            found.append(f"{noun} {words.entry(failures[0]).number}" if number == 1 else count(number, noun))
    away, agents = AgentEntries(context, lambda span: None).dismissed(), []
    for member in context.state.present:
        if member.name in away:
            continue
        has_ended = member.session is not None and member.session.ended_at is not None
        is_failed = has_ended and member.state == "failed" and not agent_states.is_over(member, now, seen_at)
        if is_failed or (member.lapsed_task is not None and member.task is None):
            agents.append(f"agent {agent_text.who(member.name, 16)}")
    return (*found, *(agents if len(agents) < 2 else [count(len(agents), "agent")]))


def _draw(context: Context) -> None:
    """Draw what is new since the human looked."""
    context.state.read_agents(context.clock.now())
    context.navigation.all_seen()
    context.redraw_frame()


async def _remember(context: Context) -> None:
    """Keep when the human looked, and what they have dismissed."""
    seen = context.state.seen
    # Taken before the first is written: meanwhile the screen follows what other screens have written.
    values = {
        local_values.SEEN: seen.dismissed_at,
        local_values.DISMISSED: seen.dismissed,
        local_values.PUT_OFF: seen.put_off,
        local_values.UNSEEN: seen.unseen,
        local_values.LOOKED: {"seq": seen.looked.seq, "at": seen.looked.at},
    }
    for key, value in values.items():
        await context.link.remember(key, value)
