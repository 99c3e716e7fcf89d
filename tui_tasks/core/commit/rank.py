"""Positions in an ordered list, as text keys that sort alphabetically.

A key is a path of signed numbers, in hexadecimal so that keys sort as the paths do. Putting a task between two others
makes one new key and changes no other: it costs the same in a list of a million as in a list of ten. Repeated inserts
at one place, upwards or downwards, count at one level, so that keys stay short. The numbers have gaps; inserts on both
sides of a place halve the gap before they need another level.

git's merge of a team's file makes keys, too, and starts without a database: no module of one is imported here.
`rebalancing` replaces keys that have grown too long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
