"""The words that a line of the log shows beside the texts of its entry, and which entries a typed word finds by them.

The screen writes these words (`tui/log/log_text`) and its filter searches them, so that it finds what a line shows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.orm import SQL, Value, fn
from tui_tasks.core.read.pages.log_lines import FAILURES, KINDS, WORD_OF_KIND, is_undo_of_undo
from tui_tasks.core.read.pages.task_filter import contains
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.schema.agent_tables import AskRow
from tui_tasks.core.schema.job_tables import JobRow, RunRow
from tui_tasks.core.schema.record_tables import ClaimRow, WorkRow
from tui_tasks.core.schema.tables import JournalRow, ListRow, TaskRow, columns
from tui_tasks.text.glyphs import look

J = JournalRow

YOU: Final = "you"
"""The human's name on screen."""
SCHEDULER: Final = "scheduler"
"""The name of the actor that starts jobs."""
UNDO: Final = "undo:"
REDO: Final = "redo:"
OK: Final = "ok"
"""What a run says that has succeeded."""

PHRASES: Final[dict[str, str]] = {
    **{kind: kind.replace(".", " ").replace("_", " ") for word in ("session", "work", "claim") for kind in KINDS[word]},
    **{kind: kind.partition(".")[2] for kind in (*KINDS["review"], "run.started", "run.requested")},
    "claim.taken": "claimed for {lease}",
    "message": "to {to}",
    "message.sent": "to {agent}",
    "message.delivered": "has been given your message",
    "message.withdrawn": "took a message back",
    "message.returned": "has not got your message, which waits again",
    "state.saved": "its state to resume from",
    "memory.saved": "its result, as a memory",
    "work.updated:state": "work now {state}",
    "work.updated:summary": "work has a summary",
    "work.updated:limits": "work stops at a limit",
    "work.updated:pull_request": "work has a pull request",
    "work.updated:terminal": "work has a terminal",
    "work.updated:machine": "work on a renamed machine",
    "ask.timeout": "no answer in time",
    "ask.withdrawn": "withdrawn",
    "check.finished": "check",
    "check.requested": "asks for its checks",
    "check.stale": "an input of a passed check has changed",
    "check.waived": "set done though {names} had not passed",
    "check.defined": "the configuration sets {name}",
    "check.defined:deleted": "the configuration names {name} no more",
    "tool.failed": "{tool} failed",
    "session.failed": "its turn failed",
    "session.prompted": "has been prompted",
    "session.prompted:last_prompt": "asked for",
    "session.idle:last_message": "says",
    "agent.unstuck": "is not stuck now",
    "settings.recorded": "which lists and jobs need acceptance",
    "settings.recorded:source": "the settings in {source} apply",
    "list.auto": "whether agents start on a list by themselves, and how",
    "list.auto:is_on": "agents start on a list by themselves",
    "list.auto:message": "no agents start on a list by themselves: {message}",
    "task.moved": "moved in the list",
    "task.moved:list_id": "moved to this list",
    "job.decided": "due times",
    "journal.compacted": "earlier entries, up to {last:,}, were compacted away",
}
"""What a line says of its entry, by the kind of the entry; by kind and value, where the entry has that value."""
OF_HOLDER: Final = "{what} of {holder} {end}"
"""What a line says of a claim, session or work that another than its holder has changed: `session of bob ended`."""

RESTORED: Final = {
    "merged": "merge of the work of {holder} undone",
    "discarded": "discard of the work of {holder} undone",
}
"""What it says of work that was brought back, by how that had ended."""

FIELD_WORDS: Final = {
    "depends_on": "what it waits for",
    "node_ids": "graph nodes",
    "dedicated_context": "where it runs",
    "system_prompt": "system prompt",
}
"""What a line says of a changed field, if not its name."""
EDITED: Final = {"name": "was called", "held": "waits for you again"}
"""What it says of a changed field of a task or a list."""
SWITCHES: Final = {
    "one_in_progress": ("any number of tasks at a time", "one task at a time for each agent"),
    "review": ("new tasks of agents need no acceptance", "new tasks of agents wait for you"),
    "archived": ("brought back from the archive", "archived"),
    "deleted": ("a log entry restored", "a log entry undone"),
    "enabled": ("switched off", "switched on"),
}
"""What a line says of a field that is switched off or on."""

# The values of an entry that a line shows, and long texts that stand behind it.
_TEXTS: Final = (
    *("message", "question", "answer", "text", "name", "title", "description", "reason", "result", "status"),
    *("tool", "error", "last_message", "last_prompt", "to", "agent", "command", "terminal", "parents", "source"),
    *("decline_reason", "state", "decision", "outcome", "names", "domain"),
)
_OLD_TEXTS: Final = ("name", "agent", "domain")
_FIELDS: Final = {
    name for table in (TaskRow, ListRow, JobRow) for name in columns(table) if name not in vocab.HIDDEN
} - {"status", "uid", "id", "list_id", "rank", "name_key", *SWITCHES}
_HOLDER: Final = fn.COALESCE(
    fn.IIF(J.entity == "claim", ClaimRow.select(ClaimRow.agent).where(ClaimRow.uid == J.uid), None),
    fn.IIF(J.entity == "work", WorkRow.select(WorkRow.agent).where(WorkRow.uid == J.uid), None),
    fn.IIF(J.entity == "session", J.uid, None),
)
_NUMBER_OF_JOB: Final = re.compile(r"s(\d{1,6})")
# How many entries of an agent before its question are searched for the task that it is about, and of a task for why it
# failed.
_LOOKED_AT: Final = 60


def phrase(kind: str, new: Mapping[str, Any], **values: object) -> str:
    """Return what a line says of an entry, with its own values or those that are given."""
    variants = (PHRASES[f"{kind}:{name}"] for name, value in new.items() if value and f"{kind}:{name}" in PHRASES)
    template = next(variants, PHRASES.get(kind) or kind.replace(".", " ").replace("_", " "))
    return template.format_map(defaultdict(str, {**new, **values}))


def shows(phrase: str, word: str) -> bool:
    """Return whether a typed word begins a word of a phrase."""
    return f" {word.casefold()}" in f" {phrase.casefold()}"


def contains_word(word: str) -> Any:
    """Return the condition that the line of an entry shows a word, or that the entry's texts contain it."""
    conditions = [
        _in_values(J.new, _TEXTS, word),
        _in_values(J.old, _OLD_TEXTS, word),
        contains(fn.COALESCE(TaskRow.name, ""), word),
        _in_values(J.image, ("name",), word),
        contains(J.actor, word),
        _of_reason(word),
        _of_another_row(word),
        *_of_phrases(word),
        *_of_fields(word),
        *_of_numbered_job(word),
    ]
    return reduce(or_, conditions)


def _of_numbered_job(word: str) -> Iterator[Any]:
    """Yield the condition that an entry is about the job whose number, `S2`, a word may be."""
    if _NUMBER_OF_JOB.fullmatch(word.casefold()):
        yield _of_job(JobRow.id == int(word[1:]))


def of_number(number: int) -> Any:
    """Return the condition that a line has the number of a task, `#32`, or names it in its text."""
    pattern = Value(f"*#{number}[^0-9]*", converter=False)
    in_text = _in_some(J.new, _TEXTS, f"#{number}", lambda text: fn.GLOB(pattern, text.concat(" ")) == 1)
    return (fn.COALESCE(TaskRow.id, 0) == number) | _of_asked_task(lambda task: task.id == number) | in_text


def of_kind(word: str) -> Any:
    """Return the condition that an entry is of a kind of `KINDS`."""
    kinds = J.kind.in_(KINDS.get(word, ()))
    status = _value(J.new, "status")
    if word == "status":
        return kinds & (J.entity == "task") & (status != "")
    if word == "fail":
        failed = (status == "failed") | (_value(J.new, "outcome") == vocab.FAILED_OUTCOME) | J.kind.in_(FAILURES)
        return kinds & (failed | ((J.kind == "check.finished") & (_value(J.new, "state") == "failed")))
    if word == "edit":
        return kinds & (status == "")
    return kinds


def _value(column: Any, name: str) -> Any:
    return fn.COALESCE(journal.value_of(column, name), "")


def _has(column: Any, name: str) -> Any:
    """Return the condition that an entry has a value, be it null."""
    return fn.IIF(fn.json_valid(column), fn.json_type(column, f"$.{name}"), None).is_null(False)


def _in_values(column: Any, names: tuple[str, ...], word: str) -> Any:
    return _in_some(column, names, word, lambda text: contains(text, word))


def _in_some(column: Any, names: tuple[str, ...], part: str, matches: Callable[[Any], Any]) -> Any:
    """Return the condition that one of the values of an entry contains a part of a text, and matches."""
    within = msgspec.json.encode(part).decode()[1:-1]
    member: Any = fn.json_each(fn.IIF(fn.json_valid(column), column, "{}")).alias("member")
    found = J.select(SQL("1")).from_(member).where(member.c.key.in_(names) & matches(member.c.value))
    # Most entries do not contain it anywhere, which is fast to find out.
    return fn.IIF(contains(fn.COALESCE(column, ""), within), fn.EXISTS(found), 0) == 1


def _of_phrases(word: str) -> list[Any]:
    """Return the conditions by which a word finds what a line says of the kind, of the actor and of a new status."""
    found: list[Any] = []
    # The kind of its own column; `fail`, `status` and `edit` follow from an entry's values.
    by_values = ("fail", "status", "edit")
    kinds = [kind for kind, shown in WORD_OF_KIND.items() if shown not in by_values and shows(shown, word)]
    found += [of_kind(shown) for shown in by_values if shows(shown, word)]
    for key, phrase in PHRASES.items():
        kind, _, value = key.partition(":")
        if not shows(re.sub(r"{[^}]*}", "", phrase).replace("  ", " "), word):
            continue
        if value:
            found.append((J.kind == kind) & (_value(J.new, value) != "") & (_value(J.new, value) != 0))
        else:
            kinds.append(kind)
    if kinds:
        found.append(J.kind.in_(kinds))
    if ends := [end for end, phrase in RESTORED.items() if shows(phrase, word)]:
        # Of a merge after which the agent went on, the entry has no other state.
        found.append((J.kind == "work.restored") & fn.COALESCE(_value(J.old, "state"), "merged").in_(ends))
    made = J.kind.in_([kind for word in ("new", "delete", "back", "edit") for kind in KINDS[word]])
    found += [made & (J.entity == entity) for entity in ("list", "job") if shows(entity, word)]
    if shows("of", word):
        found.append(fn.COALESCE(_HOLDER, J.actor) != J.actor)
    if shows(OK, word):
        found.append((J.kind == "run.finished") & (_value(J.new, "outcome") == "success"))
    if shows(YOU, word):
        found.append(J.actor == vocab.HUMAN)
    if shows(SCHEDULER, word):
        found.append((J.actor == vocab.SYSTEM) & J.entity.in_(["run", "job"]))
    if shows(UNDO, word):
        found.append(J.undoes.is_null(False))
    if shows(REDO, word):
        found.append(is_undo_of_undo())
    if statuses := [status for status in vocab.STATUSES if shows(look(status).word, word)]:
        values = (_value(column, "status") for column in (J.new, J.old))
        found.append((J.kind == "task.updated") & reduce(or_, [value.in_(statuses) for value in values]))
    return found


def _of_fields(word: str) -> list[Any]:
    """Return the conditions by which a word finds the fields that an edit has changed, and a priority."""
    names = [name for name in sorted(_FIELDS) if shows(f"{FIELD_WORDS.get(name, name)} {EDITED.get(name, '')}", word)]
    changed = [_has(J.new, name) for name in names]
    for name, phrases in SWITCHES.items():
        numbers = [number for number, phrase in enumerate(phrases) if shows(phrase, word)]
        changed += [_has(J.new, name) & (_value(J.new, name) == number) for number in numbers]
    if shown := [number for number, name in vocab.PRIORITY_NAMES.items() if shows(name, word)]:
        changed += [_value(column, "priority").in_(shown) for column in (J.new, J.old)]
    return [J.kind.in_(("task.updated", "list.updated", "job.updated")) & reduce(or_, changed)] if changed else []


def _of_reason(word: str) -> Any:
    """Return the condition that a line shows a word in why a task failed or was skipped (`task_records.reason_of`)."""
    reasons = (fn.NULLIF(fn.NULLIF(journal.value_of(J.why, name), ""), "[]") for name in task_records.REASONS)
    note = fn.NULLIF(task_records.given_note(), "")
    result = fn.COALESCE(*(fn.NULLIF(journal.value_of(values, "result"), "") for values in (J.new, J.image)))
    worker = fn.COALESCE(journal.value_of(J.image, "agent"), J.actor)
    said = (_message_of(agent, is_before=is_before) for agent in (J.actor, worker) for is_before in (True, False))
    ended = (J.kind == "task.updated") & _value(J.new, "status").in_(["failed", "skipped"])
    return contains(fn.IIF(ended, fn.COALESCE(*reasons, note, result, *said, ""), ""), word)


def _message_of(agent: Any, *, is_before: bool) -> Any:
    """Return the query for the last message of an agent in the task's log before an entry, or the first after it while
    the status that it sets stands.
    """
    other = J.alias()
    of_agent = (other.task == J.task) & (other.actor == agent) & (other.kind == "task.logged")
    query = other.select(_value(other.new, "message")).limit(1)
    if is_before:
        return query.where(of_agent & (other.seq < J.seq)).order_by(other.seq.desc())
    stands = other.seq < fn.COALESCE(task_records.next_change("seq"), 2**62)
    return query.where(of_agent & (other.seq > J.seq) & stands).order_by(other.seq)


def _of_another_row(word: str) -> Any:
    """Return the condition that a line shows a word of a row other than its task's: a job, a list, a question, the
    holder of a claim, the agent that it is about.
    """
    asked = AskRow.select(AskRow.question).where(AskRow.uid == J.uid)
    home = ListRow.select(ListRow.name).where(ListRow.uid == J.uid)
    named = fn.COALESCE(_HOLDER, fn.IIF(J.kind.in_(KINDS["close"]), asked, None))
    named = fn.IIF(J.entity == "list", home, fn.IIF(J.entity.in_(["agent", "stuck"]), J.uid, named))
    return (
        contains(fn.COALESCE(named, ""), word)
        | _of_job(contains(JobRow.name, word))
        | _of_asked_task(lambda task: contains(task.name, word))
    )


def _of_job(which: Any) -> Any:
    """Return the condition that an entry is about a job, or about a run of one, for which `which` holds."""
    of_run = RunRow.select(RunRow.job_uid).where(RunRow.uid == J.uid)
    job = fn.COALESCE(of_run, journal.value_of(J.new, "job_uid"), J.uid)
    found = JobRow.select(SQL("1")).where((JobRow.uid == job) & which)
    return fn.IIF(J.entity.in_(["run", "job"]), fn.EXISTS(found), 0) == 1


def _of_asked_task(which: Callable[[Any], Any]) -> Any:
    """Return the condition that an entry is about a question that names no task, while its agent was at work on one for
    which `which` holds.
    """
    agent = AskRow.select(AskRow.agent).where(AskRow.uid == J.uid)
    before = J.alias()
    late = (
        before.select(before.task, before.seq)
        .where((before.actor == agent) & (before.seq < J.seq))
        .order_by(before.seq.desc())
        .limit(_LOOKED_AT)
    )
    late = late.alias("late")
    of_task = late.select_from(late.c.task).where(late.c.task.is_null(False)).order_by(late.c.seq.desc()).limit(1)
    task = TaskRow.alias()
    found = task.select(SQL("1")).where((task.uid == of_task) & which(task))
    return fn.IIF((J.entity == "ask") & J.task.is_null(), fn.EXISTS(found), 0) == 1
