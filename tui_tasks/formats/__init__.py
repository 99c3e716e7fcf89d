"""Tasks as files that other programs read and write: pure functions between rows and text."""

from collections.abc import Mapping, Sequence


def closing_edges(after: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the dependencies to drop so that no cycle is left, each as a task and what it depends on.

    Other programs allow cycles; here their tasks could never start. This imports nothing slow, as git starts its merge
    with it.

    `after` maps a task to what it depends on; tasks without dependencies may be missing.
    """
    edges: list[tuple[str, str]] = []
    done: set[str] = set()
    for first in after:
        if first in done:
            continue
        # Depth-first: each task of the path with its dependencies not visited yet. No recursion, as chains may be long.
        path = {first: iter(after[first])}
        while path:
            task, rest = next(reversed(path.items()))
            dependency = next(rest, None)
            if dependency is None:
                done.add(task)
                del path[task]
            elif dependency in path:
                edges.append((task, dependency))
            elif dependency not in done:
                path[dependency] = iter(after.get(dependency, ()))
    return edges
