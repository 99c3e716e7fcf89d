"""Positions in an ordered list, as text keys that sort alphabetically.

A key is a path of signed numbers, in hexadecimal so that keys sort as the paths do. Putting a task between two others
makes one new key and changes no other: it costs the same in a list of a million as in a list of ten. Repeated inserts
at one place, upwards or downwards, count at one level, so that keys stay short. The numbers have gaps; inserts on both
sides of a place halve the gap before they need another level.

When a key has grown too long all the same, the tasks around it get new keys in the same order. An entry
`list.reranked` has the old and new ones of neighbours in a list: a change of the system that undo ignores. Older
entries, and deleted tasks, have keys from before it: `Reranks` translates them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.schema.tables import ListRow, TaskRow
from tui_tasks.core.snapshots import Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


MAX_CHARS = 64
"""A key that is longer is replaced, with those around it."""

_MAX_FILE_CHARS = 200
_BIAS = 0x80
_SMALL = range(-0x40, 0x40)
_STEP = 0x20
# The gap between the keys that `spread` makes; its logarithm is the number of halvings before the next level.
_SPREAD = 1 << 16
# Sorts before any number that `spread` or `between` appends to a key.
_LOWEST = -(1 << 40)


def _encode(number: int) -> str:
    """Return one number as text, such that text order is number order and no number is the beginning of another."""
    if number in _SMALL:
        return f"{number + _BIAS:02x}"
    if number > 0:
        size = (number.bit_length() + 7) // 8
        return (bytes((0xC0 + size,)) + number.to_bytes(size)).hex()
    size = ((-number).bit_length() + 7) // 8
    return f"{0x40 - size:02x}{(1 << 8 * size) + number:0{2 * size}x}"


def _number(key: str, at: int) -> tuple[int, int]:
    """Return the number that is written at a place of a key, and the place of the next."""
    head = int(key[at : at + 2], 16)
    at += 2
    if head >= 0xC0:
        end = at + 2 * (head - 0xC0)
        return int(key[at:end], 16), end
    if head < 0x40:
        end = at + 2 * (0x40 - head)
        return int(key[at:end], 16) - (1 << 4 * (end - at)), end
    return head - _BIAS, at


def _decode(key: str) -> list[int]:
    path: list[int] = []
    at = 0
    while at < len(key):
        number, at = _number(key, at)
        path.append(number)
    return path


def is_rank(key: str) -> bool:
    """Return whether a text, such as one from a file, is a key as `between` writes them."""
    try:
        return key != "" and "".join(map(_encode, _decode(key))) == key
    except (ValueError, OverflowError):
        return False


def is_file_rank(key: str) -> bool:
    """Return whether a text of a file can be the rank of a task: a key that is not too long."""
    return len(key) <= _MAX_FILE_CHARS and is_rank(key)


def between(low: str | None, high: str | None) -> str:
    """Return a key after `low` and before `high`; None is the list's end.

    `low` must sort before `high`.
    """
    if low is None and high is None:
        return _encode(0)
    if low is None:
        assert high is not None
        return _encode(_number(high, 0)[0] - 1)
    if high is None:
        return _encode(_number(low, 0)[0] + 1)
    return "".join(map(_encode, _path_between(_decode(low), _decode(high))))


def _path_between(low: list[int], high: list[int]) -> list[int]:
    at = 0
    while at < len(low) and low[at] == high[at]:
        at += 1
    shared = low[:at]
    if at == len(low):
        return [*shared, high[at] - _STEP]
    if high[at] - low[at] > 1:
        return [*shared, (low[at] + high[at]) // 2]
    if at + 1 < len(low):
        return [*low[: at + 1], low[at + 1] + _STEP]
    return [*low, 0]


def spread(low: str | None, high: str | None, count: int) -> list[str]:
    """Return `count` keys in order, after `low` and before `high`, with gaps between them; None is the list's end."""
    if low is None and high is None:
        return [_encode(_SPREAD * at) for at in range(count)]
    below = _decode(low) if low is not None else []
    above = _decode(high) if high is not None else []
    at = 0
    while at < min(len(below), len(above)) and below[at] == above[at]:
        at += 1
    start = below[:at]
    if at == len(below):
        numbers = [above[at] - _SPREAD * (count - each) for each in range(count)]
    elif at == len(above):
        numbers = [below[at] + _SPREAD * (each + 1) for each in range(count)]
    elif above[at] - below[at] > 2 * count:
        gap = above[at] - below[at]
        numbers = [below[at] + gap * (each + 1) // (count + 1) for each in range(count)]
    else:
        start = below[: at + 1]
        after = below[at + 1] if at + 1 < len(below) else 0
        numbers = [after + _SPREAD * (each + 1) for each in range(count)]
    return ["".join(map(_encode, (*start, number))) for number in numbers]


def within(key: str, rest: str) -> str:
    """Return a key right after `key`; such keys of one `key` sort as their `rest` does."""
    return key + _encode(_LOWEST) + rest


def without_collisions(wanted: Mapping[str, str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return keys by uid, all different and in the order of the wanted ones; none of them is among `taken`.

    Of equal keys the first uid keeps it, so that everybody who has the same tasks gets the same keys.
    """
    by_key: dict[str, list[str]] = {key: [] for key in taken}
    for uid in sorted(wanted):
        by_key.setdefault(wanted[uid], []).append(uid)
    ranks: dict[str, str] = {}
    keys = sorted(by_key)
    for at, key in enumerate(keys):
        uids = by_key[key]
        if uids and key not in taken:
            ranks[uids[0]] = key
            uids = uids[1:]
        if uids:
            following = keys[at + 1] if at + 1 < len(keys) else None
            ranks |= zip(uids, spread(key, following, len(uids)), strict=True)
    return ranks


RERANK: Final = "list.reranked"
"""The kind of an entry that replaces keys."""
# The longest rank that rebalancing makes; it begins when a rank is longer than `rank.MAX_CHARS`.
_SHORT: Final = 32
# How many tasks on either side are included at first.
_REACH: Final = 16
# The longest translation of a rank in an old entry.
_LONGEST: Final = 1_000

_RANKS_UP = Statement(
    lambda: (
        TaskRow.select(TaskRow.uid, TaskRow.rank)
        .where(task_queries.LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.rank > slot("rank")))
        .order_by(TaskRow.rank)
        .limit(slot("limit"))
    )
)
_RANKS_DOWN = Statement(
    lambda: (
        TaskRow.select(TaskRow.uid, TaskRow.rank)
        .where(task_queries.LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.rank <= slot("rank")))
        .order_by(TaskRow.rank.desc())
        .limit(slot("limit"))
    )
)
_RERANKED = Statement(
    lambda: (
        J.select(J.seq, ListRow.id, J.old, J.new)
        .join(ListRow, on=(ListRow.uid == J.uid))
        .where((J.actor == vocab.SYSTEM) & (J.seq > slot("after")) & (J.kind == RERANK))
        .order_by(J.seq)
    )
)


class _Ranks(msgspec.Struct):
    ranks: dict[str, str]


_ranks = msgspec.json.Decoder(_Ranks).decode


def rebalanced(tx: Transaction, task: Task) -> Task:
    """Give short ranks to a task with a long one and its neighbours; return the task."""
    reach = _REACH
    while True:
        below = ranks_down_from(tx.db, task.list_id, task.rank, reach)
        above = ranks_up_from(tx.db, task.list_id, task.rank, reach)
        old = {**dict(reversed(below)), **dict(above)}
        # The outermost tasks keep their ranks, except at an end of the list.
        uids = list(old)
        low = uids.pop(0) if len(below) == reach else None
        high = uids.pop() if len(above) == reach else None
        made = spread(old[low] if low else None, old[high] if high else None, len(uids))
        if max(map(len, made)) <= _SHORT or low is high is None:
            break
        reach *= 2
    new = old | dict(zip(uids, made, strict=True))
    home = tx.state_cache.list_by_id(task.list_id)
    tx.emit_by_system(RERANK, "list", home.uid, old={"ranks": old}, new={"ranks": new})
    return msgspec.structs.replace(task, rank=new[task.uid])


class Reranks:
    """Translates the ranks of journal entries after `since` to the current ones."""

    def __init__(self, db: Database, since: int) -> None:
        self._db = db
        self._read = since
        # By list id: the seq of each rebalancing, oldest first, with its old and new ranks in order.
        self._entries: dict[int, list[tuple[int, list[str], list[str]]]] = {}

    def now(self, list_id: int, place: str, seq: int) -> str:
        """Return the current rank for one that was valid after the entry `seq`."""
        for at, list_of, was, new in self._db.all(_RERANKED, after=self._read):
            old, now = _ranks(was).ranks, _ranks(new).ranks
            self._entries.setdefault(list_of, []).append((at, sorted(old.values()), sorted(now.values())))
            self._read = at
        for at, olds, news in self._entries.get(list_id, ()):
            if at > seq:
                place = _follow(place, olds, news)
        return place


def _follow(place: str, olds: list[str], news: list[str]) -> str:
    """Return the new rank for an old one: that of the same task, or one right after the task before it."""
    at = bisect_right(olds, place) - 1
    if at >= 0 and olds[at] == place:
        return news[at]
    begins_list, ends_list = olds[0] != news[0], olds[-1] != news[-1]
    if (at < 0 and not begins_list) or (at == len(olds) - 1 and not ends_list):
        return place
    before = news[at] if at >= 0 else between(None, news[0])
    moved = within(before, place)
    if len(moved) <= _LONGEST:
        return moved
    return between(before, news[at + 1] if at + 1 < len(news) else None)


def ranks_up_from(db: Database, list_id: int, rank: str, limit: int) -> list[tuple[str, str]]:
    """Return the uids and ranks of the next tasks after a rank, in order."""
    return db.all(_RANKS_UP, list=list_id, rank=rank, limit=limit)


def ranks_down_from(db: Database, list_id: int, rank: str, limit: int) -> list[tuple[str, str]]:
    """Return the uids and ranks of the task at a rank and of those before it, last first."""
    return db.all(_RANKS_DOWN, list=list_id, rank=rank, limit=limit)
