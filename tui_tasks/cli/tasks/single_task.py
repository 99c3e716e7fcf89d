"""The commands that print one task in a shell: `show` and `next`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_tasks.channel.session import Session
from tui_tasks.cli.printing import print_json, print_result
from tui_tasks.cli.tasks.listing import field_texts
from tui_tasks.cli.tasks.task_lookup import SHORT, find_task
from tui_tasks.core.read import checks
from tui_tasks.core.read.tasks import queries, ready, records
from tui_tasks.core.snapshots import Check, full_task, iso
from tui_tasks.dialects.requests import quick_add_syntax
from tui_tasks.text.proof import PROOF_LOOKS
from tui_tasks.text.safe import safe_line, safe_text
from tui_tasks.text.times import ago


def check_lines(found: Sequence[Check], *, ascii_only: bool) -> Iterator[str]:
    """Yield a line for each check of a task, and the output of failed ones."""
    for check in found:
        shown, run = PROOF_LOOKS[check.state], check.run
        has_failed = check.state == "failed" and run is not None
        ended = f", exit {run.exit_code}" if has_failed and run and run.exit_code is not None else ""
        gate = ", gate" if check.gate else ""
        yield f"{shown.mark(ascii_only=ascii_only)} {safe_line(check.name)}: {shown.word}{ended}{gate}"
        if has_failed and run and run.output:
            yield safe_text(run.output.rstrip())


def show(session: Session, reference: str, *, as_json: bool, ascii_only: bool = False) -> None:
    """Print a task with its log."""
    db = session.store.db
    task = find_task(session, reference)
    home = queries.list_by_id(db, task.list_id)
    log = records.logs(db, task.uid)
    found = checks.of_task(db, task, home, checks.definitions(db))
    value = full_task(task, home.handle, [check.to_json() for check in found])
    value["log"] = [{"at": iso(entry.at), "agent": entry.agent, "message": entry.message} for entry in log]
    if as_json:
        print_json(value)
        return
    print(f"{safe_line(task.name)}\n{task.uid}  {task.status}  in {safe_line(home.name)}")
    words = quick_add_syntax.fields(task.tags, task.priority, task.agent, ())
    if words:
        print(safe_line(words))
    for text in field_texts(task, session.clock(), long=True):
        print(text)
    for uid in task.depends_on:
        print(f"after {uid[:SHORT]}")
    for text in check_lines(found, ascii_only=ascii_only):
        print(text)
    if task.description:
        print(f"\n{safe_text(task.description)}")
    for entry in log:
        print(f"\n{ago(entry.at, session.clock())}  {safe_line(entry.agent, 16)}  {safe_text(entry.message)}", end="")
    print()


def next_task(session: Session, *, as_json: bool) -> None:
    """Print the task to start next."""
    db = session.store.db
    named = session.identity.list
    home = queries.find_list(db, named) if named is not None else None
    task = None
    if named is None or home is not None:
        project = session.identity.project
        task = ready.next_task(db, home.id if home else None, session.identity.agent, project=project)
    if task is None:
        print_result("nothing is ready to be taken up", None, as_json=as_json)
        return
    home = queries.list_by_id(db, task.list_id)
    full = full_task(task, home.handle, checks.json_of_task(db, task, home))
    print_result(f"{task.uid[:SHORT]}  {safe_line(task.name)}", full, as_json=as_json)
