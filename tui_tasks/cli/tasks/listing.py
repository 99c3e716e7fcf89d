"""Printing tasks in a shell: `ls` with its filter, `show` and `next`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

from tui_tasks.channel.session import Session
from tui_tasks.cli.options import left_now
from tui_tasks.cli.person_rights import task_lines
from tui_tasks.cli.streams import inset, print_json, print_result
from tui_tasks.cli.tasks.lookup import find_task, lists_in_scope, titled
from tui_tasks.core import agent_names, vocab
from tui_tasks.core.agent_snapshots import Ask, Check
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.core.read.tasks import ready_tasks, task_queries
from tui_tasks.core.schema import task_fields
from tui_tasks.core.schema.task_fields import FIELDS, local_time
from tui_tasks.core.snapshots import Task, TaskList, full_task, iso, verified
from tui_tasks.text.glyphs import PROOF_LOOKS, look, proof_words
from tui_tasks.text.safe import name_text, safe_ends, safe_line, title_text
from tui_tasks.text.times import ago


class ListFilter(NamedTuple):
    """Which tasks `ls` lists.

    Attributes:
        only: what a task must match.
        lists: case-folded names of lists, of which a task must be in one; empty: in any.
        other_lists: case-folded names of lists that a task must not be in.
        sort: the field of a task by which they are sorted, over all lists; empty: as the lists have them.
        instead: what to type for words of other programs; empty: there are none.
    """

    only: Filter = Filter()
    lists: tuple[str, ...] = ()
    other_lists: tuple[str, ...] = ()
    sort: str = ""
    instead: str = ""

    def has(self, home: TaskList) -> bool:
        """Return whether tasks of a list can match."""
        name = home.name.casefold()
        return name not in self.other_lists and (not self.lists or name in self.lists)


EVERYTHING: Final = ListFilter()


def filter_of(text: str, now: int, db: Database) -> ListFilter:
    """Parse a filter as the screen does.

    Raises:
        InvalidArgument: a word of it has no meaning.
    """
    if not text:
        return EVERYTHING
    from tui_tasks.dialects.requests import filter_syntax

    parsed = filter_syntax.parse(text)
    if parsed.problem:
        raise InvalidArgument("filter", parsed.problem)
    named, others = (
        tuple(term.value.casefold() for term in parsed.lists if term.negated is negated) for negated in (False, True)
    )
    only = Filter(parsed.of_tasks, partial(_changed, db), local_time(now), needing=partial(_needing, db, now))
    return ListFilter(only, named, others, parsed.sort, filter_syntax.other_syntax(text))


def _changed(db: Database) -> list[str]:
    from tui_tasks.core.read import unseen_changes  # few filters ask for it

    return unseen_changes.since_looked(db)


def _needing(db: Database, now: int) -> list[str]:
    """Return the uids of the tasks that need the human: what `status:needs_you` finds."""
    asked = (uid for uid, why in _why_needing(db, now, _open_asks(db)).items() if why.is_for_you)
    return [*asked, *_of_works(db), *check_queries.failing_since(db, _MAX_FAILING)]


# The checks of so many tasks are read at once.
_BATCH: Final = 500
_MAX_FAILING: Final = 100_000
# In cells: why the work of an agent has failed.
_WHY: Final = 60


def ls(
    session: Session,
    statuses: list[str],
    filter_: ListFilter = EVERYTHING,
    *,
    with_finished: bool = False,
    ascii_only: bool,
) -> None:
    """Print the tasks in order: those of the session's list, or else of all lists.

    At a terminal, without `with_finished`, finished tasks are only counted, except those that need the human.
    """
    asks, works = _open_asks(session.store.db), _of_works(session.store.db)
    hidden: Counter[str] = Counter()
    shown = _matching_tasks(session, statuses, filter_)
    if not with_finished and sys.stdout.isatty():
        needing = works.keys() | set(check_queries.failing_since(session.store.db, _MAX_FAILING))
        shown = _unfinished(shown, needing, hidden)
    why: dict[str, _Why] | None = None
    width = len(f"#{task_queries.next_id(session.store.db, 'task') - 1}")
    count = 0
    while batch := list(islice(shown, _BATCH)):
        count += len(batch)
        proofs = _proofs(session.store.db, batch, ascii_only=ascii_only)
        if why is None and (asks or any(_may_be_left(task) for _, task in batch)):
            why = _why_needing(session.store.db, session.clock(), asks)
        for home, task in batch:
            proof = proofs.get(task.uid, "")
            needs = _needs(task, why or {}, works)
            waits = ready_tasks.after_text(session.store.db, task) if task.blocked and task.status == "pending" else ""
            facts = [words for words in (waits, proof) if words]
            print(_line(task, home, width, session.clock(), facts, ascii_only=ascii_only, needs=needs))
    if hidden:
        more = ", ".join(f"{number:,} {status}" for status, number in sorted(hidden.items()))
        print(f"{more}: `tui-tasks ls --all` shows them", file=sys.stderr)
    elif not count:
        print("no tasks" if filter_ == EVERYTHING and not statuses else "no task matches", file=sys.stderr)
        if filter_.instead:
            print(f"type {filter_.instead}, in quotes", file=sys.stderr)


def _needs(task: Task, why: Mapping[str, _Why], works: Mapping[str, _Why]) -> _Why:
    """Return what is said of a task in place of its agent."""
    needs = why.get(task.uid, _NONE) if task.status in vocab.MAY_NEED else _NONE
    of_work = works.get(task.uid, needs)
    # Another agent may be at the task of an agent that failed.
    is_of_other = of_work.look == "agent_failed" and task.status == "in_progress" and needs.words
    return needs if is_of_other else of_work


def _unfinished(
    tasks: Iterator[tuple[TaskList, Task]], needing: Collection[str], hidden: Counter[str]
) -> Iterator[tuple[TaskList, Task]]:
    """Yield the tasks that are not finished, or need the human; count the others by their status."""
    for home, task in tasks:
        if task.status in vocab.CLOSED and task.uid not in needing:
            hidden[task.status] += 1
        else:
            yield home, task


def _may_be_left(task: Task) -> bool:
    """Return whether an agent may have left a task: it is in progress, or its claim has lapsed."""
    return task.status == "in_progress" or (task.status == "pending" and bool(task.fenced))


def _open_asks(db: Database) -> list[Ask]:
    if not db.scalar("SELECT EXISTS (SELECT 1 FROM ask WHERE state = 'open')"):
        return []
    from tui_tasks.core.read import ask_queries  # few databases have questions

    return ask_queries.open_asks(db)


class _Why(NamedTuple):
    """What is said of a task in place of its agent, whether it needs the human, and with which look."""

    words: str
    is_for_you: bool = True
    look: str = "needs_you"


_NONE: Final = _Why("", is_for_you=False)


def _of_works(db: Database) -> dict[str, _Why]:
    """Return what is said of the tasks whose work waits for review or has failed, by uid."""
    if not db.scalar("SELECT EXISTS (SELECT 1 FROM work WHERE state IN ('ready', 'conflict', 'failed'))"):
        return {}
    from tui_tasks.core.read import work_queries, work_text  # few databases have work

    failed = {one.task: _Why(safe_ends(one.text, _WHY), look="agent_failed") for one in work_text.failed(db)}
    races = work_queries.races(db)
    ready = {work.task_uid: f"{agent_names.display_name(work.agent, 16)} to review" for work in work_queries.ready(db)}
    texts = {uid: work_text.agents_text(races[uid]) if uid in races else text for uid, text in ready.items()}
    return failed | {uid: _Why(safe_ends(text, _WHY), look="reviewable") for uid, text in texts.items()}


def _why_needing(db: Database, now: int, asks: Sequence[Ask]) -> dict[str, _Why]:
    """Return why tasks need the human, by uid: their agent has left, or somebody asks about them."""
    from tui_tasks.core.read import ask_queries  # few listings need it
    from tui_tasks.core.read.agents import agent_states, last_words

    about = ask_queries.asked_about(db, asks, last_words.working(db))
    asked = reversed([ask for ask in asks if ask.uid in about])
    who = {about[ask.uid]: _Why(f"{agent_names.display_name(ask.agent, 16)} asks") for ask in asked}
    left = left_now(db, now)
    texts = {
        uid: _Why(
            agent_states.left_text(one, agent_names.display_name(one.agent, 16), now),
            is_for_you=not one.has_lapsed,
            look="left",
        )
        for uid, one in left.items()
        if not (one.has_lapsed and uid in who)
    }
    return who | texts


def ls_json(session: Session, statuses: list[str], filter_: ListFilter) -> None:
    """Print the tasks that match a filter as a JSON array, as `listing_json` prints all."""
    db = session.store.db
    print_json([_full(db, task, home) for home, task in _matching_tasks(session, statuses, filter_)])


def _matching_tasks(session: Session, statuses: Sequence[str], filter_: ListFilter) -> Iterator[tuple[TaskList, Task]]:
    """Return the matching tasks in order, each with its list."""
    homes = filter(filter_.has, lists_in_scope(session))
    pairs = ((home, task) for home in homes for task in _of_list(session, home, statuses, filter_))
    if not filter_.sort:
        return pairs
    from tui_tasks.core.read.pages import list_pages  # few listings are sorted

    def place(pair: tuple[TaskList, Task]) -> tuple[Any, ...]:
        line = list_pages.line(session.store.db, pair[1].uid)
        assert line is not None
        return list_pages.sorted_place(filter_.sort, line)[:-1]

    return iter(sorted(pairs, key=place))


def _of_list(session: Session, home: TaskList, statuses: Sequence[str], filter_: ListFilter) -> Iterator[Task]:
    """Yield the matching tasks of a list."""
    uids = None
    if filter_.only:
        from tui_tasks.core.read.pages import list_pages  # few listings have a filter

        uids = list_pages.matching_uids(session.store.db, home.id, filter_.only)
    for task in task_queries.each_task(session.store.db, home.id):
        if (not statuses or task.status in statuses) and (uids is None or task.uid in uids):
            yield task


def _proofs(db: Database, batch: Sequence[tuple[TaskList, Task]], *, ascii_only: bool) -> dict[str, str]:
    """Return the check result of each done task, in a word or two, by uid."""
    proofs: dict[str, str] = {}
    for _, of_list in groupby(batch, lambda pair: pair[0].id):
        pairs = list(of_list)
        done = [(task.uid, task.checks) for _, task in pairs if task.status == "done"]
        checks = check_queries.of_tasks(db, done, pairs[0][0], check_queries.definitions(db)) if done else {}
        proofs |= {uid: words for uid, each in checks.items() if (words := _proof_text(each, ascii_only=ascii_only))}
    return proofs


def _proof_text(found: Sequence[Check], *, ascii_only: bool) -> str:
    state = verified(check.state for check in found)
    failed = [check.name for check in found if check.state == "failed"]
    return proof_words(state, failed, ascii_only=ascii_only) if state is not None else ""


def _line(
    task: Task, home: TaskList, width: int, now: int, facts: Sequence[str], *, ascii_only: bool, needs: _Why
) -> str:
    waits = "held" if task.held else "blocked"
    style = look(
        needs.look if needs.is_for_you else waits if task.blocked and task.status == "pending" else task.status
    )
    name = "you" if task.who == vocab.HUMAN else agent_names.display_name(task.who, 16)
    who = needs.words or (f"@{name}" if task.agent == task.who else f"by {name}")
    when = ago(task_queries.aged_from(task), now)
    text = "".join(f", {words}" for words in field_texts(task, now, long=False)) if task.finished_at is None else ""
    text += "".join(f", {words}" for words in facts)
    head = f"{f'#{task.number}':>{width}} {style.mark(ascii_only=ascii_only)}  {title_text(task.name, 80)}"
    from tui_tasks.dialects.requests import quick_add_syntax

    if words := quick_add_syntax.fields(task.tags, task.priority, None, ()):
        head += f"  {safe_line(words, 60)}"
    return f"{head}  [{name_text(home.name, 24)}, {who}, {when}{text}]"


def field_texts(task: Task, now: int, *, long: bool) -> Iterator[str]:
    """Yield a text for each field of `task_fields.FIELDS` that the task has; late ones begin with `!`."""
    local = task_fields.local_time(now)
    for name, value in task_fields.of(task).items():
        field = FIELDS[name]
        late = task.finished_at is None and field.is_late(value, local)
        yield "! " * late + (field.long if long else field.short)(value, local)


def check_lines(found: Sequence[Check], *, ascii_only: bool) -> Iterator[str]:
    """Yield a line for each check of a task, and the output of failed ones."""
    for check in found:
        shown, run = PROOF_LOOKS[check.state], check.run
        has_failed = check.state == "failed" and run is not None
        ended = f", exit {run.exit_code}" if has_failed and run and run.exit_code is not None else ""
        gate = ", gate" if check.gate else ""
        where = f" on {check.host}" if check.host else ""
        yield f"{shown.mark(ascii_only=ascii_only)} {safe_line(check.name)}: {shown.word}{ended}{where}{gate}"
        if has_failed and run and run.output:
            yield inset(run.output.rstrip())


def _works(db: Database, task: Task) -> list[dict[str, Any]]:
    from tui_tasks.core.read import work_text  # only JSON needs it

    return work_text.json_of_task(db, task.uid)


def _merges(db: Database, task: Task) -> list[tuple[str, int]]:
    if not db.scalar("SELECT EXISTS (SELECT 1 FROM work WHERE merged_at IS NOT NULL)"):
        return []
    from tui_tasks.core.read import work_text  # few databases have work

    return work_text.merges(db, task.uid)


def _full(db: Database, task: Task, home: TaskList) -> dict[str, Any]:
    checks = check_queries.json_of_task(db, task, home)
    return full_task(task, home.handle, checks, _works(db, task))


def show(session: Session, reference: str, *, as_json: bool, ascii_only: bool = False) -> None:
    """Print a task with its log."""
    from tui_tasks.core.read.tasks import task_records

    db = session.store.db
    task = find_task(session, reference)
    home = task_queries.list_by_id(db, task.list_id)
    log = task_records.logs(db, task.uid)
    if as_json:
        entries = [{"at": iso(entry.at), "agent": entry.agent, "message": entry.message} for entry in log]
        print_json({**_full(db, task, home), "log": entries})
        return
    _print_head(session, task, home, ascii_only=ascii_only)
    if task.held:
        # All that is accepted, written out.
        print("", *task_lines(db, task, with_log=False), sep="\n")
        print(f"`tui-tasks accept {task.number} --version {task.version}` accepts exactly this")
    elif task.description:
        print(f"\n{inset(task.description)}")
    for entry in log:
        who = safe_ends(agent_names.display_name(entry.agent), 30)
        print(f"\n{ago(entry.at, session.clock())}  {who}  {inset(entry.message).lstrip()}", end="")
    print()


def _print_head(session: Session, task: Task, home: TaskList, *, ascii_only: bool) -> None:
    """Print the name, the fields, the checks and the work of a task."""
    db = session.store.db
    print(f"{titled(task.number, task.name)}\n{safe_line(task.uid)}  {task.status}  in {name_text(home.name)}")
    from tui_tasks.dialects.requests import quick_add_syntax

    words = quick_add_syntax.fields(task.tags, task.priority, task.agent and agent_names.display_name(task.agent), ())
    if words:
        print(safe_line(words))
    if task.domain:
        print(f"domain {safe_line(task.domain, 60)}")
    for text in field_texts(task, session.clock(), long=True):
        print(text)
    if numbers := [_number(db, on) for uid in task.depends_on if (on := task_queries.any_task(db, uid))]:
        print(f"after {', '.join(numbers)}")
    checks = check_queries.of_task(db, task, home, check_queries.definitions(db))
    for text in check_lines(checks, ascii_only=ascii_only):
        print(text)
    needs = _needs(task, _why_needing(db, session.clock(), _open_asks(db)), _of_works(db))
    if needs.words:
        print(f"{look(needs.look).mark(ascii_only=ascii_only)} {needs.words}" if needs.is_for_you else needs.words)
    for merged, at in _merges(db, task):
        print(f"{safe_line(merged)}, {ago(at, session.clock())}")


def _number(db: Database, task: Task) -> str:
    return f"#{task.number}{' (deleted)' if task_queries.status(db, task.uid) is None else ''}"


def next_task(session: Session, *, as_json: bool) -> None:
    """Print the task to start next."""
    db = session.store.db
    named = session.identity.list
    home = task_queries.find_list(db, named) if named is not None else None
    task = None
    if named is None or home is not None:
        project = session.identity.scope
        task = ready_tasks.next_task(db, home.id if home else None, session.identity.agent, project=project)
    if task is None:
        list_id, agent, scope = home.id if home else None, session.identity.agent, session.identity.scope
        why = ready_tasks.why_none(db, list_id, agent, project=scope, claimable=False)
        print_result(f"no task is ready to start: {safe_line(why)}", None, as_json=as_json)
        return
    home = task_queries.list_by_id(db, task.list_id)
    full = _full(db, task, home)
    print_result(titled(task.number, task.name), full, as_json=as_json)
