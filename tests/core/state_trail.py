"""What was done, step by step, in the model of the state: which changes others stand in the way of."""

from dataclasses import dataclass

from tests.core.state_model import Item, State
from tui_tasks.core.vocab import SYSTEM

OF_A_ROW = Item.__dataclass_fields__.keys() - {"age", "log", "saved"}


@dataclass(eq=False)
class Change:
    """One change as history has it: the state on either side, and whether it still stands."""

    actor: str
    before: State
    after: State
    stands: bool = True


# At the end of a trail that has been lost: what stands on what is not known exactly any more.
LOST = Change("", State(), State())


def touched(change: Change) -> set[str]:
    before, after = change.before.items, change.after.items
    moved = {
        uid
        for homes in (change.before.homes, change.after.homes)
        for home in homes.values()
        for uid in home.order
        if uid in before and uid in after and place(change.before, uid) != place(change.after, uid)
    }
    return {uid for uid in before.keys() | after.keys() if before.get(uid) != after.get(uid)} | moved


def place(state: State, uid: str) -> tuple[str, int]:
    return next((home_uid, home.order.index(uid)) for home_uid, home in state.homes.items() if uid in home.order)


def clashes(change: Change, others: list[Change]) -> bool:
    """Whether somebody else has since changed a field of a task that the change had changed."""
    mine = fields_changed(change)
    return any(mine & fields_changed(other) for other in others if other.actor != SYSTEM)


def fields_changed(change: Change) -> set[tuple[str, str]]:
    before, after = change.before.items, change.after.items
    names = OF_A_ROW - {"started_at", "status_by", "finished_at"}
    return {
        (uid, name)
        for uid in before.keys() & after.keys()
        for name in names
        if getattr(before[uid], name) != getattr(after[uid], name)
    }
