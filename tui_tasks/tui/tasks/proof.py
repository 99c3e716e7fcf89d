"""What checks have proven of a task, as opposed to what was only reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.operations.checks import GiveChecks, RequestChecks
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.read import checks
from tui_tasks.core.snapshots import Check, Task, verified
from tui_tasks.text.proof import PROOF_LOOKS, proof_words
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, wrapped

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The number of last lines of a failed check's output that a detail shows.
OUTPUT_LINES: Final = 8
_KEYS: Final = "123456789"


def checks_of(context: Context, task: Any) -> list[Check]:
    """Return a task's checks; `task` is a `Task` or a `TaskLine`."""
    home = context.state.lists.get(task.list_id)
    known = checks.definitions(context.db)
    if home is None or not (known or task.checks):
        return []
    return checks.of_tasks(context.db, [(task.uid, task.checks)], home, known).get(task.uid, [])


def note(context: Context, task: Any) -> Part | None:
    """Return in a word or two what checks have proven of a task reported done; None without checks.

    For a task that is not done, return it only when its checks have been run.
    """
    found = checks_of(context, task)
    state = verified(check.state for check in found)
    if state is None or (task.status != "done" and state == "unproven"):
        return None
    failed = [check.name for check in found if check.state == "failed"]
    return proof_words(state, failed, ascii_only=context.ascii_only), PROOF_LOOKS[state].color


def lines(context: Context, task: Task, room: int, most: int = OUTPUT_LINES) -> list[Drawn]:
    """Return a task's checks for its detail: each with its state, a failed one with the last `most` lines of its
    output.
    """
    drawn: list[Drawn] = []
    for check in checks_of(context, task):
        shown, run = PROOF_LOOKS[check.state], check.run
        ink = shown.color
        verdict = (
            shown.word if check.state != "failed" or run is None or run.exit_code is None else f"exit {run.exit_code}"
        )
        commit = run.git_commit if run is not None else None
        facts = [verdict, *["gate"] * check.gate, *([commit[:7]] if commit else [])]
        head = f" {shown.mark(ascii_only=context.ascii_only)} "
        name = safe_line(check.name, max(4, room - cell_len(head) - 2))
        drawn.append([(head, ink), (name, ""), (f"  {' · '.join(facts)}"[: max(0, room - cell_len(name) - 2)], ink)])
        if check.state == "failed" and run is not None and run.output:
            ended = [line for line in wrapped(run.output.rstrip(), max(8, room - 2)) if line.strip()]
            drawn += [[(f"   {line}", "$muted")] for line in ended[-most:]]
    return drawn


def choices(context: Context, task: Task) -> Iterator[tuple[str, str, str, tuple[Operation, ...]]]:
    """Yield the actions on a task's checks: a key, its word, its style, and the operations."""
    known = sorted({each.name for each in checks.definitions(context.db)})
    found = checks_of(context, task)
    has = [*dict.fromkeys(check.name for check in found)]
    for key, name in zip(_KEYS, [*known, *(name for name in has if name not in known)], strict=False):
        is_given = name in has
        names = tuple(each for each in has if each != name) if is_given else (*has, name)
        state = verified(check.state for check in found if check.name == name) or ""
        known_as = f"  ({PROOF_LOOKS[state].word})" if is_given else ""
        word = f"{'take' if is_given else 'give'} {safe_line(name, 40)}{known_as}"
        yield key, word, "" if is_given else "$muted", (GiveChecks(task.uid, names),)
    if task.checks is not None:
        yield "l", "those of its list", "", (GiveChecks(task.uid, None),)
    if found:
        yield "r", "run them now", "", (RequestChecks(task.uid),)
