"""What a database keeps of the human's settings file, for the rules that follow it: which lists are under review, the
standing answers, and how many questions may wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from tui_tasks.core.snapshots import TaskList

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.operations.jobs import RecordSettings
    from tui_tasks.core.rules.agents.standing_answers import AnswerRule


def looks_of(name: str) -> set[str]:
    """Return forms of a list's name. Names with a common form look alike, whatever their case."""
    from tui_tasks.core import agent_names  # where something is under review alone

    # To a skeleton, a capital i is an l.
    return {agent_names.skeleton(name).casefold(), agent_names.skeleton(name.casefold())}


EVERY_LIST: Final = "*"


class ReviewPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which lists hold what agents file, by their names, and how many held tasks an agent may have.

    jobs: whether the jobs that agents make are held, too; an agent may have as many of them.
    """

    lists: tuple[str, ...] = ()
    limit: Annotated[int, Meta(ge=1)] = 25
    jobs: bool = False

    def holds(self, home: TaskList) -> bool:
        """Return whether a list is under review: by a name that looks like its own, a plan by its title or its id."""
        if not self.lists:
            return False
        if any(name in (EVERY_LIST, home.name, home.uid) for name in self.lists):
            return True
        looks = looks_of(home.name)
        return any(not looks.isdisjoint(looks_of(name)) for name in self.lists)


class AskLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[asks]`.

    Attributes:
        limit: how many questions of one agent may wait for the human.
        total: how many of all agents may.
    """

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 50
    total: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


UID: Final = "settings"
"""The uid of the one row of the table `settings`."""


class RecordedSettings(msgspec.Struct, frozen=True):
    """The path of the settings file that is recorded with a database, and what it had when it was last read: the
    policy for review, the standing answers, and how many questions may wait.
    """

    source: str
    policy: ReviewPolicy
    rules: tuple[AnswerRule, ...] = ()
    asks: AskLimits = AskLimits()


def recorded(db: Database) -> RecordedSettings | None:
    """Return what the database has of the settings file recorded with it; None if none is."""
    row = db.sql(
        "SELECT source, review_lists, review_limit, review_jobs, rules, ask_limit, ask_total FROM settings"
    ).fetchone()
    if row is None:
        return None
    from tui_tasks.core.rules.agents.standing_answers import AnswerRule  # for databases with a settings file alone

    source, lists, limit, jobs, rules, asks, total = row
    policy = ReviewPolicy(tuple(msgspec.json.decode(lists)), limit, bool(jobs))
    answers = msgspec.json.decode(rules, type=tuple[AnswerRule, ...])
    return RecordedSettings(source, policy, answers, AskLimits(limit=asks, total=total))


def recording(source: str, policy: ReviewPolicy, rules: tuple[AnswerRule, ...], asks: AskLimits) -> RecordSettings:
    """Return the operation that records a settings file with a database."""
    from tui_tasks.core.operations.jobs import RecordSettings  # for a changed settings file alone

    fields = tuple(msgspec.to_builtins(rule) for rule in rules)
    return RecordSettings(source, policy.lists, policy.limit, policy.jobs, fields, asks.limit, asks.total)


def other_source(db: Database, source: str) -> str | None:
    """Return the settings file recorded with a database if it is another than this one; else None.

    On a server each machine has its own: the files of other machines do not count.
    """
    settings = recorded(db)
    if not db.machine or settings is None:
        return None if settings is None or settings.source == source else settings.source
    from tui_tasks.core.read import check_queries  # for databases with a settings file alone

    places = [place for each in check_queries.definitions(db) if (place := each.place(db.machine)) is not None]
    machine, _, file = settings.source.partition(":")
    own = [file] * (machine == db.machine) + [place.source for place in places]
    return next((one for one in own if one != source), None)
