"""What happened since an instant, for a person who was away: what has come to need them, what failed, was done, was
filed and was spent. All of it lies between that instant and now, and a task is named once, where it matters most.

It includes every failure of that time, also one that was resolved since. Instants are microseconds, UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import CheckDefinition, Work
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import ask_queries, check_queries, digest_lines, work_queries, work_text
from tui_tasks.core.read.agents import last_words
from tui_tasks.core.read.agents.agent_states import LeftTask
from tui_tasks.core.read.digest_failures import failed
from tui_tasks.core.read.digest_lines import GROUPS, LATER, PARTS, DigestLine, EventEntry, merged
from tui_tasks.core.read.digest_proof import reported, without_checks
from tui_tasks.core.read.tasks import held_queries, task_queries
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.unjournaled.local_values import Dismissed
from tui_tasks.text.output_lines import check_failure
from tui_tasks.text.safe import name_text

# How many tasks with a failed check are read at most.
_MAX_FAILING: Final = 100_000
# How many entries are searched for the one that a question or an agent's state comes from.
_NEAR: Final = 10_000


def needs_you(db: Database, left: Mapping[str, LeftTask]) -> Iterator[DigestLine]:
    """Yield a line for each question, held task, held job, failed check, task left, work to review, stuck agent.

    `left`: as `agent_views.left_now` returns it. A task that was left has no second line where it has one for a failed
    check, or for a question of the agent that left it; nor has an agent that is gone one for being stuck.
    """
    asks = ask_queries.open_asks(db)
    about = ask_queries.asked_about(db, asks, last_words.working(db))
    for ask in asks:
        entries = _entry_of(db, "ask.opened", ask.uid, ask.opened_at)
        yield _line("ask", ask.uid, ask.question, ask.agent, "asks you", ask.opened_at, entries, about.get(ask.uid))
    for task in held_queries.everything(db):
        entries = _entries_of_task(db, task.uid, "task.created")
        text = f"waits for you in {name_text(task.list_name)}"
        yield _line("held", task.uid, task.name, task.maker, text, task.at, entries, task.uid)
    for job in held_queries.jobs(db):
        entries = _entry_of(db, "job.created", job.uid, job.at)
        yield _line("job", job.uid, job.name, job.maker, "a job that waits for you", job.at, entries)
    failing = check_queries.failing(db, _MAX_FAILING)
    known = check_queries.definitions(db)
    for uid in failing:
        yield _failed_check(db, uid, known)
    asked = {(about.get(ask.uid), ask.agent) for ask in asks}
    in_progress = {uid for uid, one in left.items() if not one.has_lapsed and (uid, one.agent) not in asked}
    ready = work_queries.ready(db, with_deleted=True)
    for uid in in_progress - set(failing) - {work.task_uid for work in ready}:
        abandoned = task_queries.task_or_deleted(db, uid)
        entries = _entries_of_task(db, uid, "task.updated")[-1:]
        yield _line("left", uid, abandoned.name, left[uid].agent, "is gone", left[uid].at, entries, uid)
    yield from _work_to_review(db, ready)
    gone = {one.agent for one in left.values() if one.agent_is == "gone"}
    for stuck in last_words.stuck_now(db):
        if stuck.uid in gone:
            continue
        entries = _newest_stuck(db, stuck.uid)
        yield _line("stuck", stuck.uid, stuck.uid, stuck.uid, stuck.text or "is stuck", stuck.since or 0, entries)


def _work_to_review(db: Database, ready: Iterable[Work]) -> Iterator[DigestLine]:
    """Yield a line for each work that waits for review; one for all agents of a race."""
    races = work_queries.races(db)
    told: set[str] = set()
    for work in ready:
        named = task_queries.any_task(db, work.task_uid)
        if named is None or work.task_uid in told:
            continue
        if (race := races.get(work.task_uid)) is not None:
            told.add(work.task_uid)
            text = work_text.agents_text(race)
        else:
            what = "conflicts with its base branch" if work.state == "conflict" else "waits for your review"
            what = work_text.obstacle(db, work) or what if work.state == "ready" else what
            text = ": ".join(filter(None, (what, work_text.counts_text(db, work.uid))))
        text += ", its task is deleted" * named.deleted
        at = work_queries.ready_since(db, work)
        entries = _entries_of_task(db, named.uid, f"work.{work.state}")[-1:]
        yield _line("work", work.uid, named.name, work.agent, text, at, entries, named.uid)


def _line(
    kind: str, uid: str, name: str, who: str, text: str, at: int, entries: tuple[int, ...], task: str | None = None
) -> DigestLine:
    return DigestLine("needs_you", kind, uid, name, who, text, at, entries, task)


def _failed_check(db: Database, uid: str, known: Sequence[CheckDefinition]) -> DigestLine:
    """Return the line of a task of which a check has failed."""
    row = check_queries.failed_task(db, uid, known)
    entries = _entries_of_task(db, uid, "check.finished")[-1:]
    at = journal.entry(db, entries[0]).at if entries else row.task.updated_at
    does = "reported done, but" if row.task.status == "done" else "cannot be done:"
    named = ", ".join(f'"{check.name}"' for check in row.checks)
    run = row.checks[0].run if row.checks else None
    why = check_failure(run.output or "") if run is not None else ""
    text = f"{does} check{'s' * (len(row.checks) > 1)} {named} failed{': ' if why else ''}{why}"
    return _line("check", uid, row.task.name, row.who, text, at, entries, uid)


def _entry_of(db: Database, kind: str, uid: str, at: int) -> tuple[int, ...]:
    """Return the seq of the entry of that kind about a row, written at an instant; empty if it was compacted away."""
    seq = journal.seq_of(db, kind, uid, at)
    return () if seq is None else (seq,)


def _entries_of_task(db: Database, uid: str, kind: str) -> tuple[int, ...]:
    """Return the seqs of the entries of a kind about a task, oldest first."""
    rows = db.sql("SELECT seq FROM journal WHERE task = ? AND kind = ? ORDER BY seq", (uid, kind)).fetchall()
    return tuple(seq for (seq,) in rows)


def _newest_stuck(db: Database, agent: str) -> tuple[int, ...]:
    """Return the seq of the newest entry that says that an agent is stuck; empty if it is not among the newest."""
    rows = db.sql(
        "SELECT seq FROM journal WHERE kind = 'agent.stuck' AND uid = ? AND seq > ?",
        (agent, max(journal.newest(db) - _NEAR, 0)),
    ).fetchall()
    return tuple(seq for (seq,) in rows[-1:])


_FILED: Final = """
SELECT task.uid, task.name, task.deleted, list.uid, list.name
FROM json_each(?) AS filed CROSS JOIN task ON task.uid = filed.value JOIN list ON list.id = task.list_id
"""


def filed(
    db: Database, created: Mapping[str, Any], events: list[EventEntry], named: Collection[str]
) -> list[DigestLine]:
    """Return a line for each list and agent that has filed tasks there since, and for each job of an agent's; without
    those that other lines name.
    """
    others = {entry.task: entry for entry in digest_lines.filed_entries(created, named)}
    groups: dict[tuple[str, str], list[Any]] = {}
    for task, name, deleted, uid, home in map(journal.as_text, db.sql(_FILED, (_array(others),))):
        seq, at, actor, _ = others[task]
        groups.setdefault((actor, uid), []).append((seq, at, task, name, deleted, home))
    elsewhere = Counter(str(row[2]) for task, row in created.items() if task not in others)
    # The first line of an agent says how many of its tasks have lines of their own.
    lines = [_filed_in(uid, actor, rows, elsewhere.pop(actor, 0)) for (actor, uid), rows in groups.items()]
    for event in events:
        if event.kind == "job.created" and event.actor not in vocab.RESERVED_AGENTS and event.uid not in named:
            name = str(event.values.get("name") or event.uid)
            text = "made this job"
            lines.append(DigestLine("filed", "job", event.uid, name, event.actor, text, event.at, (event.seq,)))
    return lines


def _filed_in(uid: str, actor: str, rows: Sequence[Any], others: int) -> DigestLine:
    seqs, instants, tasks, names, deleted, homes = zip(*rows, strict=True)
    text = f"filed in {name_text(homes[0])}{f', {sum(deleted):,} deleted since' if any(deleted) else ''}"
    text += f"; {others:,} more that it filed {'are' if others > 1 else 'is'} above" if others else ""
    is_one = len(rows) == 1
    what, task = (names[0], tasks[0]) if is_one else (f"{len(rows):,} tasks", None)
    return DigestLine("filed", "filed", uid, what, actor, text, max(instants), seqs, task, len(rows))


def _array(values: Iterable[str]) -> str:
    return msgspec.json.encode(list(values)).decode()


class _Cost(msgspec.Struct, gc=False):
    tokens: int = 0
    cost_usd: float = 0.0
    at: int = 0
    entries: list[int] = []


def spent(events: list[EventEntry]) -> Iterator[DigestLine]:
    """Yield a line for each session that has spent tokens or money (US dollars)."""
    costs: dict[str, _Cost] = {}
    for event in events:
        new = event.values if event.entity == "session" else {}
        if new.get("tokens") is None and new.get("cost_usd") is None:
            continue
        old = journal.values_of(event.old)
        cost = costs.setdefault(event.uid, _Cost())
        for name in ("tokens", "cost_usd"):
            if isinstance(used := new.get(name), int | float):
                before = old.get(name)
                setattr(cost, name, getattr(cost, name) + used - (before if isinstance(before, int | float) else 0))
        cost.at = event.at
        cost.entries.append(event.seq)
    for agent, cost in costs.items():
        words = [f"{cost.tokens:,} tokens"] * bool(cost.tokens) + [f"${cost.cost_usd:,.2f}"] * bool(cost.cost_usd)
        text = ", ".join(words) or "nothing"
        yield DigestLine("spent", "spent", agent, agent, agent, text, cost.at, tuple(cost.entries))


# The most commands that a line names.
_MAX_COMMANDS: Final = 3


def in_your_name(events: list[EventEntry]) -> Iterator[DigestLine]:
    """Yield a line for each terminal from which commands used the human's name."""
    of_terminals: dict[str, list[EventEntry]] = {}
    for event in events:
        if event.kind == "terminal.used":
            of_terminals.setdefault(event.uid, []).append(event)
    for terminal, used in of_terminals.items():
        commands = list(dict.fromkeys(str(event.values.get("command")) for event in used))
        more = f" and {len(commands) - _MAX_COMMANDS:,} more" if len(commands) > _MAX_COMMANDS else ""
        text = f"from a shell: {', '.join(commands[:_MAX_COMMANDS])}{more}"
        entries, at = tuple(event.seq for event in used), used[-1].at
        yield DigestLine(
            "in_your_name", "terminal", terminal, terminal, vocab.HUMAN, text, at, entries, count=len(used)
        )


def by_rules(events: list[EventEntry]) -> Iterator[DigestLine]:
    """Yield a line for each standing answer that has answered permissions."""
    of_rules: dict[str, list[EventEntry]] = {}
    for event in events:
        if event.kind == "ask.answered":
            of_rules.setdefault(str(event.values.get("rule")), []).append(event)
    for rule, used in of_rules.items():
        text = f"answered {len(used):,} permission{'s' * (len(used) != 1)} by your rule"
        entries, at = tuple(event.seq for event in used), used[-1].at
        yield DigestLine("in_your_name", "rule", rule, rule, vocab.HUMAN, text, at, entries, count=len(used))


class Digest(msgspec.Struct, frozen=True):
    """What happened from `since` to `until`: the entries after seq `after` up to `newest`.

    `is_cut`: entries of that time were compacted away. `needed_before`: how much has needed the human since before
    that, which has no line, but for questions that are put off.
    """

    since: int
    until: int
    after: int
    newest: int
    is_cut: bool
    needed_before: int
    lines: tuple[DigestLine, ...]

    @property
    def parts(self) -> dict[str, list[DigestLine]]:
        """Return the lines of each part, in the order of `PARTS`."""
        return {part: [line for line in self.lines if line.part == part] for part in PARTS}

    @property
    def groups(self) -> dict[str, list[DigestLine]]:
        """Return the lines of each group that has any, in the order of `GROUPS`."""
        found = {group: [line for line in self.lines if line.group == group] for group in GROUPS}
        return {group: lines for group, lines in found.items() if lines}


def digest(db: Database, since: int, now: int, left: Mapping[str, LeftTask]) -> Digest:
    """Return what happened since an instant; `left`: see `needs_you`."""
    with db.transaction(write=False):
        after = max(journal.seq_before(db, since), journal.oldest(db) - 1)
        newest = journal.newest(db)
        away = local_values.dismissed(db, now)
        later = local_values.put_off(db, now)
        needing = [
            replace(line, is_later=line.uid in later) for line in needs_you(db, left) if not _is_dismissed(line, away)
        ]
        new = [line for line in needing if line.at >= since]
        lines = [_with_its_end(line, left) for line in _happened(db, after, since, now, new)]
        named = task_queries.numbers_and_names(db, {line.task for line in lines if line.task is not None})
        is_cut = since < _compacted_before(db)
    # The clock of another machine may be ahead.
    lines = [
        replace(line, at=min(line.at, now), number=named[line.task][0] if line.task in named else None)
        for line in lines
    ]
    order = {part: number for number, part in enumerate(PARTS)}
    lines.sort(
        key=lambda line: (
            order[line.part],
            (*vocab.NEEDS, LATER).index(line.counted_as) if line.part == "needs_you" else 0,
            line.kind == "unchecked",
            line.is_over,
            line.at,
            line.entries[:1],
            line.key,
        )
    )
    before = sum(not line.is_later for line in needing) - sum(not line.is_later for line in new)
    return Digest(since, now, after, newest, is_cut, before, tuple(lines))


def _is_dismissed(line: DigestLine, away: Dismissed) -> bool:
    """Return whether the human has dismissed the trouble of an agent."""
    keys = {"left": local_values.key_of_left, "stuck": local_values.key_of_agent}
    return line.kind in keys and line.at <= away.by_key.get(keys[line.kind](line.uid), -1)


def _with_its_end(line: DigestLine, left: Mapping[str, LeftTask]) -> DigestLine:
    """Return the line of a lapsed claim with whether its agent is gone or quiet, and since when; others as they are."""
    one = left.get(line.task) if line.kind == "claim" and line.task is not None else None
    if one is None or one.agent != line.who or one.agent_is == "heard":
        return line
    return replace(line, text=f"is {one.agent_is}, {line.text}", is_gone=one.agent_is == "gone", at=one.at)


def _happened(db: Database, after: int, since: int, now: int, needing: Sequence[DigestLine]) -> list[DigestLine]:
    """Return all lines; a task or job that one names has no other below it, but for questions about it."""
    statuses = digest_lines.statuses(db, after, since)
    events, created = digest_lines.events(db, after, since)
    urgent = merged([*needing, *failed(db, statuses, events, now)])
    named = {line.subject for line in urgent}
    done = reported(db, statuses, events, named)
    named |= {line.subject for line in done}
    return [
        *urgent,
        *in_your_name(events),
        *by_rules(events),
        *without_checks(done),
        *filed(db, created, events, named),
        *spent(events),
    ]


def _compacted_before(db: Database) -> int:
    """Return the instant before which entries were compacted away; 0 if none were."""
    base = compaction.base(db)
    new = db.scalar("SELECT new FROM journal WHERE seq = ?", (base.seq,)) if base is not None else None
    return int(msgspec.json.decode(new).get("before", 0)) if new is not None else 0
