"""Tasks that wait for each other: other programs let them, here no such task could ever be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def closing(after: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the dependencies that close a circle, each as a task and what it waits for, so that none is left without.

    `after` has what each task waits for; what waits for nothing may be left out of it.
    """
    found: list[tuple[str, str]] = []
    done: set[str] = set()
    for first in after:
        if first in done:
            continue
        # The way down from the first task, with what is still to be looked at of each; deep chains end no recursion.
        way = {first: iter(after[first])}
        while way:
            task, rest = next(reversed(way.items()))
            on = next(rest, None)
            if on is None:
                done.add(task)
                del way[task]
            elif on in way:
                found.append((task, on))
            elif on not in done:
                way[on] = iter(after.get(on, ()))
    return found
