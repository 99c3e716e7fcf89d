"""Runs of progress: entries that follow one another, of one agent about one task, which the log shows as one line."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.schema.tables.journal import JournalRow

J = JournalRow

# How many progress entries one line counts at most.
MAX_WORDS: Final = 100
# Heartbeats of claims come between progress entries, and are ignored.
_IGNORED: Final = "claim.extended"


def is_followed_by_progress(until: Any) -> Any:
    """Return the condition that an entry is progress, and the next entry of its agent and task is progress too."""
    of_task, of_agent, following = J.alias(), J.alias(), J.alias()
    next_of_task = of_task.select(of_task.seq).where(
        (of_task.task == J.task) & (of_task.seq > J.seq) & (of_task.kind != _IGNORED)
    )
    next_of_agent = of_agent.select(of_agent.seq).where(
        (of_agent.actor == J.actor) & (of_agent.seq > J.seq) & (of_agent.kind != _IGNORED)
    )
    one_more = following.select(SQL("1")).where(
        (following.seq == next_of_task.order_by(of_task.seq).limit(1))
        & (following.seq == next_of_agent.order_by(of_agent.seq).limit(1))
        & (following.seq <= until)
        & (following.kind == "task.logged")
        & following.undoes.is_null()
    )
    return (J.kind == "task.logged") & J.undoes.is_null() & fn.EXISTS(one_more)


def _newest(whose: Any, limit: int) -> Statement:
    """Return the statement for the newest entries of an agent, or about a task, up to a seq."""
    entries = J.select(J.seq, J.kind, J.actor, J.task, J.undoes, J.at, J.new)
    return Statement(
        entries.where(whose & (J.seq <= slot("seq")) & (J.kind != _IGNORED)).order_by(J.seq.desc()).limit(limit)
    )


# Most runs are short, so few entries are read first, and more only if all of those belong to the run.
_NEWEST: Final = {
    limit: (_newest(J.actor == slot("actor"), limit), _newest(J.task == slot("task"), limit))
    for limit in (2, 10, MAX_WORDS)
}


def newest_of_run(db: Database, actor: str, task: str | None, seq: int) -> list[Any]:
    """Return a run of progress from its last entry back, up to `MAX_WORDS`: rows that end with instant and values."""
    run: list[Any] = []
    for limit, (of_actor, of_task) in _NEWEST.items():
        run = []
        pairs = zip(db.all(of_actor, actor=actor, seq=seq), db.all(of_task, task=task, seq=seq), strict=False)
        for row, same in pairs:
            number, kind, _, about, undoes, *_ = row
            if number != same[0] or kind != "task.logged" or about != task or undoes is not None:
                break
            run.append(row)
        if len(run) < limit:
            break
    return run
