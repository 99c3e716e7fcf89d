"""The same answer, given again and again: it is offered as a standing answer (docs: configuration)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import ask_queries
from tui_tasks.core.rules.agents import answer_rules
from tui_tasks.core.rules.agents.answer_rules import AnswerRule
from tui_tasks.core.rules.agents.request_text import allows, is_kept_whole
from tui_tasks.core.rules.tasks.held_rules import recorded
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.safe import safe_line

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.tui.state.context import Context

TIMES: Final = 3


def proposal(db: Database, newest: Ask | None = None) -> AnswerRule | None:
    """Return a rule for the answer that the human gave last, if it was given `TIMES` times to the same request.

    `newest`: only if that one was answered last. A rule that the database has already is none.
    """
    answered = ask_queries.answered_permissions(db)
    if not answered or (newest is not None and answered[0].uid != newest.uid):
        return None
    last = answered[0]
    if not is_kept_whole(last) or sum(_same(one) == _same(last) for one in answered) < TIMES:
        return None
    request = last.request or {}
    answer: Literal["allow", "deny"] = "allow" if allows(last.answer or "") else "deny"
    rule = answer_rules.proposed(answer, request.get("tool") or "", request.get("input"), program=request["program"])
    settings = recorded(db)
    return None if settings is not None and rule in settings.rules else rule


def _same(ask: Ask) -> object:
    request = ask.request or {}
    return request.get("program"), request.get("tool"), request.get("input"), allows(ask.answer or "")


async def make_rule(context: Context) -> None:
    """Offer the rule, and add it to the settings file if the human agrees."""
    from tui_tasks.settings import config, paths
    from tui_tasks.tui.inputs.dialogs import confirm

    rule = proposal(context.db)
    if rule is None:
        context.say(f"No command has had the same answer {TIMES} times; `tui-tasks help configuration` has rules.")
        return
    path = paths.configuration()
    if not await confirm(context, f"Add the rule: {safe_line(str(rule), 200)}?", "yes"):
        return
    try:
        config.add(path, rule)
    except (Conflict, OSError) as error:
        context.say(safe_line(str(error), 200))
        return
    context.say(f"The rule is in {safe_line(str(path), 80)}; `tui-tasks rules` lists and removes it.")
