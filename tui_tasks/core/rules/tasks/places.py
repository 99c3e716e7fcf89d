"""Where tasks stand: moving, swapping and ordering them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_tasks.core.errors import Conflict, InvalidArgument
from tui_tasks.core.operations.tasks import MoveTask, OrderTasks, SwapTasks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks import held
from tui_tasks.core.rules.tasks.tasks import change_task, new_place, refuse_second_in_progress, writable
from tui_tasks.core.snapshots import Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(MoveTask)
def move_task(tx: Transaction, op: MoveTask) -> Task:
    """Put a task at another place."""
    task = writable(tx, op.uid)
    if op.uid in (op.before, op.after):
        return task
    home, rank = new_place(tx, op.list_uid or "", op.before, op.after)
    if home.id != task.list_id:
        if held.holds_new(tx, home):
            raise Conflict(f"what agents put into {home.name} waits for the human: add it there", held=True, id=op.uid)
        if task.status == "in_progress":
            refuse_second_in_progress(tx, home)
    return change_task(tx, task, "task.moved", {"list_id": home.id, "rank": rank})


@rule(SwapTasks)
def swap_tasks(tx: Transaction, op: SwapTasks) -> tuple[Task, Task]:
    """Swap two tasks of one list; those of different lists are refused (docs: protocol, section 6, `tasklist`)."""
    one, two = writable(tx, op.uid1), writable(tx, op.uid2)
    if one.list_id != two.list_id:
        raise InvalidArgument("uid2", "the two tasks are in different lists", id=op.uid2)
    if one.uid != two.uid:
        ranks = one.rank, two.rank
        one = change_task(tx, one, "task.moved", {"rank": ranks[1]})
        two = change_task(tx, two, "task.moved", {"rank": ranks[0]})
    return (one, two) if one.rank <= two.rank else (two, one)


@rule(OrderTasks)
def order_tasks(tx: Transaction, op: OrderTasks) -> None:
    """Put tasks in an order. The longest run that is in order already stays; each other task goes right behind the one
    before it.
    """
    stay = _longest_run([queries.task(tx.db, uid).rank for uid in op.uids])
    for at, uid in enumerate(op.uids):
        if at in stay:
            continue
        move = MoveTask(uid, after=op.uids[at - 1]) if at else MoveTask(uid, before=op.uids[min(stay)])
        move_task(tx, move)


def _longest_run(ranks: Sequence[str]) -> set[int]:
    """Return the indexes of the longest run of rising ranks, which need not be next to each other."""
    # ends[n] is where the run of n + 1 ends whose last rank is the least; before[at] is what it goes on from.
    ends: list[int] = []
    before: list[int | None] = []
    for at, rank in enumerate(ranks):
        length = bisect_left(ends, rank, key=ranks.__getitem__)
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [at]
    run: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        run.add(last)
        last = before[last]
    return run
