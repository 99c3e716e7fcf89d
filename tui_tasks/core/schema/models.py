"""The tables, as Peewee models. Instants are integers: microseconds since the epoch, UTC.

The models are bound to no database: `statements` compiles queries from them once, and `database` runs the SQL. `apply`
maintains what is derived (counts, `waiting_on`, `solo`, the edges).
"""

from __future__ import annotations

from typing import Any

from tui_tasks.core.engine.orm import (
    SQL,
    BigIntegerField,
    BlobField,
    CompositeKey,
    Field,
    FloatField,
    IntegerField,
    Model,
    TextField,
)


class JsonField(TextField):
    """A JSON value stored as text; `apply` encodes and `snapshots` decodes it."""


class Flag(IntegerField):
    """A boolean, stored as 1 or 0."""


class Id(BigIntegerField):
    """The row's number, ascending in order of creation; SQLite's rowid."""


class ListRow(Model):
    """A list of tasks: a dialect's own, a named list, or a plan (docs: protocol, section 5)."""

    id = Id(primary_key=True)
    uid = TextField()
    kind = TextField()  # list | plan
    name = TextField()
    description = TextField(default="")
    agent = TextField(null=True)
    origin = TextField()  # the dialect that made it
    one_in_progress = Flag(default=0)
    created_at = BigIntegerField()
    deleted = Flag(default=0)
    pending = IntegerField(default=0)
    in_progress = IntegerField(default=0)
    done = IntegerField(default=0)
    failed = IntegerField(default=0)
    skipped = IntegerField(default=0)
    cancelled = IntegerField(default=0)
    archived = Flag(default=0)  # shown only where archived lists are asked for
    review = Flag(default=0)  # tasks that agents file in it are held until the human accepts them
    project = TextField(null=True)  # the project that it belongs to (docs: protocol, section 5)

    class Meta:
        table_name = "list"


class TaskRow(Model):
    """A task (docs: protocol, section 4). A deleted task's row stays, marked, so that it can be restored."""

    id = Id(primary_key=True)
    uid = TextField()
    list_id = IntegerField()
    rank = TextField()
    key = TextField(null=True)  # an id that the caller chose
    name = TextField()
    description = TextField(default="")
    status = TextField()
    priority = IntegerField()
    tags = JsonField(default="[]")
    domain = TextField(null=True)
    result = JsonField(null=True)
    metadata = JsonField(null=True)
    agent = TextField(null=True)
    intent = TextField(null=True)
    depends_on = JsonField(default="[]")
    node_ids = JsonField(default="[]")
    version = IntegerField()
    created_at = BigIntegerField()
    created_by = TextField()
    updated_at = BigIntegerField()
    updated_by = TextField()
    started_at = BigIntegerField(null=True)
    finished_at = BigIntegerField(null=True)
    deleted = Flag(default=0)
    solo = Flag(default=0)  # its list holds at most one in progress
    waiting_on = IntegerField(default=0)  # unfinished dependencies, plus one if it is held for the human
    claimed_by = TextField(null=True)
    fenced = JsonField(default="[]")  # agents whose claim on it lapsed or was ended
    due = TextField(null=True)
    estimate = IntegerField(null=True)
    held = Flag(default=0)  # an agent filed it, and the human has not accepted it yet
    decline_reason = TextField(null=True)  # the human's reason if a held task was declined
    checks = JsonField(null=True)  # names of checks that the human gave it; None: its list's checks
    links = JsonField(default="[]")  # links to its work: `work_links`

    class Meta:
        table_name = "task"


# Whether a task waits for others. Queries must write it exactly so, as the index `task_urgency` does.
WAITS: Any = TaskRow.waiting_on > SQL("0")


class EdgeRow(Model):
    """One dependency of a task, to find which tasks wait for another; derived from `TaskRow.depends_on`."""

    task_uid = TextField()
    on_uid = TextField()

    class Meta:
        table_name = "edge"
        primary_key = CompositeKey("task_uid", "on_uid")


class LogRow(Model):
    """A log entry of a task; a note is one too."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    at = BigIntegerField()
    agent = TextField()
    message = TextField()
    deleted = Flag(default=0)

    class Meta:
        table_name = "log"


class StateRow(Model):
    """The state that an agent saved to resume a task (seed 004)."""

    uid = TextField(primary_key=True)  # the task's
    agent = TextField()
    approach = TextField(null=True)
    files_modified = JsonField(default="[]")
    completed_steps = JsonField(default="[]")
    remaining_steps = JsonField(default="[]")
    blockers = JsonField(default="[]")
    decisions = JsonField(default="[]")
    context_snapshot = TextField(null=True)
    saved_at = BigIntegerField()
    deleted = Flag(default=0)

    class Meta:
        table_name = "state"


class MemoryRow(Model):
    """The result of a completed task, kept for later (seed 001). It outlives the task."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    title = TextField()
    domain = TextField(null=True)
    content = JsonField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    deleted = Flag(default=0)

    class Meta:
        table_name = "memory"


class ClaimRow(Model):
    """An agent's hold on a task for the length of a lease (docs: protocol, section 7)."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    agent = TextField()
    was_agent = TextField(null=True)  # the task's agent before the claim
    lease = BigIntegerField()  # microseconds
    expires_at = BigIntegerField()
    state = TextField()  # active | released | finished | lapsed

    class Meta:
        table_name = "claim"


class AskRow(Model):
    """A question to the human (docs: protocol, section 7)."""

    id = Id(primary_key=True)
    uid = TextField()
    agent = TextField()
    question = TextField()
    options = JsonField(default="[]")
    task_uid = TextField(null=True)
    opened_at = BigIntegerField()
    expires_at = BigIntegerField(null=True)
    state = TextField()  # open | answered | withdrawn | timeout
    answer = TextField(null=True)
    answered_at = BigIntegerField(null=True)
    request = JsonField(null=True)  # of a hook: the tool and its input, or the questions, as the program sent them
    reason = TextField(null=True)  # why it ended without an answer
    project = TextField(null=True)  # that of the channel on which it was asked

    class Meta:
        table_name = "ask"


class AgentRow(Model):
    """Whether the human has paused an agent, and why."""

    uid = TextField(primary_key=True)  # the agent's name
    paused = Flag(default=0)
    message = TextField(default="")

    class Meta:
        table_name = "agent"


class StuckRow(Model):
    """Whether an agent is stuck, and why."""

    uid = TextField(primary_key=True)  # the agent's name
    cause = TextField(null=True)  # null: it is not stuck
    text = TextField(default="")
    since = BigIntegerField(null=True)

    class Meta:
        table_name = "stuck"


class HumanMessageRow(Model):
    """A message of the human's to an agent, and whether it was delivered (docs: protocol, section 7)."""

    id = Id(primary_key=True)
    uid = TextField()
    agent = TextField()  # who it is for
    text = TextField()
    sent_at = BigIntegerField()
    seq = BigIntegerField()  # of the journal entry that records it
    delivered_at = BigIntegerField(null=True)
    delivered_seq = BigIntegerField(null=True)  # of the journal entry that records its delivery
    ends_turn = Flag(default=0)  # the agent is to end its turn with it

    class Meta:
        table_name = "human_message"


class SessionRow(Model):
    """A session of an agent program, as reported by its hooks (docs: protocol, section 10)."""

    id = Id(primary_key=True)
    uid = TextField()  # the agent's name: the program's and a number
    program = TextField()
    number = IntegerField()
    session = TextField()  # the program's own id
    boot = TextField()  # with the next three, its process: `runner.processes.ProcessIdentity`
    namespace = TextField()
    pid = IntegerField()  # 0: unknown
    born = TextField()
    cwd = TextField(null=True)
    project = TextField(null=True)
    model = TextField(null=True)
    mode = TextField(null=True)
    state = TextField()  # working | waiting | idle | interrupted | failed | gone
    waiting_for = TextField(null=True)  # for what it asked last; it waits while a question of its agent is open
    last_prompt = TextField(null=True)
    last_message = TextField(null=True)
    task = TextField(null=True)  # the uid of the task made for its last prompt
    tokens = IntegerField(null=True)
    cost_usd = FloatField(null=True)
    started_at = BigIntegerField()
    ended_at = BigIntegerField(null=True)
    ended_by = TextField(null=True)  # told | process | replaced

    class Meta:
        table_name = "session"


class JobRow(Model):
    """A job of the scheduler (seed 003)."""

    id = Id(primary_key=True)
    uid = TextField()
    name = TextField()
    name_key = TextField()  # the name with case folded
    type = TextField()
    system_prompt = TextField()
    prompt = TextField()
    schedule = JsonField(null=True)
    plan = JsonField(null=True)
    timezone = TextField()
    dedicated_context = Flag(default=0)
    enabled = Flag(default=1)
    settings = JsonField(default="{}")
    created_by = TextField()
    created_at = BigIntegerField()
    next_run = BigIntegerField(null=True)
    last_run = BigIntegerField(null=True)
    last_outcome = TextField(null=True)
    last_result = TextField(null=True)
    failures = IntegerField(default=0)  # in a row
    decided_until = BigIntegerField()  # nominal times up to here have a run row
    active = IntegerField(default=0)  # runs that wait to be started or run
    deleted = Flag(default=0)
    held = Flag(default=0)  # disabled until the human accepts it

    class Meta:
        table_name = "job"


class RunRow(Model):
    """One nominal time or manual start of a job, and its outcome (docs: protocol, section 6)."""

    id = Id(primary_key=True)
    uid = TextField()
    job_uid = TextField()
    trigger = TextField()  # schedule | plan | manual
    scheduled_for = BigIntegerField(null=True)
    attempt = IntegerField(default=1)
    retry_of = TextField(null=True)  # the attempt before
    decision = TextField()
    outcome = TextField(null=True)
    state = TextField()  # queued (behind a time or a run) | waiting (for its start) | running | final
    dedicated = Flag(default=0)
    context = TextField(default="")
    requested_by = TextField()
    started_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    exit_code = IntegerField(null=True)
    result = TextField(null=True)
    reason = TextField(null=True)
    token_hash = TextField(null=True)
    deadline = BigIntegerField(null=True)
    not_before = BigIntegerField(null=True)
    stop_reason = TextField(null=True)  # set: its supervisor must end it
    agent = TextField(null=True)  # the session's name, if it ran an agent program
    session = TextField(null=True)  # that program's own id of the session
    turns = IntegerField(null=True)  # how many answers its model gave
    tokens = IntegerField(null=True)
    cost_usd = FloatField(null=True)

    class Meta:
        table_name = "run"


class CheckDefinitionRow(Model):
    """A check that a configuration file defines (docs: protocol, section 11). Only that file has its command."""

    uid = TextField(primary_key=True)
    source = TextField()  # the configuration file
    name = TextField()
    digest = TextField()  # of its command, folder and inputs
    lists = JsonField(default="[]")  # names of the lists all of whose tasks have it
    gate = Flag(default=0)
    deleted = Flag(default=0)

    class Meta:
        table_name = "check_definition"


class CheckRunRow(Model):
    """One run of a check's command, for every task that asked for it before it began."""

    id = Id(primary_key=True)
    uid = TextField()
    check_uid = TextField()
    digest = TextField()  # of the definition that was run
    state = TextField()  # waiting | running | passed | failed | stale (passed, then an input changed) | interrupted
    requested_by = TextField()
    requested_at = BigIntegerField()
    started_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    exit_code = IntegerField(null=True)
    output = TextField(null=True)  # the end of it
    inputs = TextField(null=True)  # hash of the inputs as they were when it began
    git_commit = TextField(null=True)
    git_diff = TextField(null=True)  # hash of the changes since that commit

    class Meta:
        table_name = "check_run"


class TaskCheckRow(Model):
    """The run that counts for one check of a task; `apply` deletes it when the task is no longer done."""

    uid = TextField(primary_key=True)  # the task's and the check's
    task_uid = TextField()
    check_uid = TextField()
    run_uid = TextField()
    waived = Flag(default=0)  # the human accepts the task as done although it failed

    class Meta:
        table_name = "task_check"


class JournalRow(Model):
    """One change: who, when, the values before and after, why. Rows are only ever added."""

    seq = Id(primary_key=True)
    at = BigIntegerField()
    actor = TextField()
    kind = TextField()
    entity = TextField()  # the table
    uid = TextField()  # the row there
    task = TextField(null=True)  # the task it is about
    change = BigIntegerField()  # seq of the first entry of the same request or batch
    undoes = BigIntegerField(null=True)  # the change that it undoes
    old = JsonField(null=True)
    new = JsonField(null=True)
    image = JsonField(null=True)  # the task after it, without long unchanged texts
    why = JsonField(null=True)
    hash = BlobField()

    class Meta:
        table_name = "journal"


class KeptReplyRow(Model):
    """The reply to a request that carried an idempotency key (docs: protocol, section 2)."""

    agent = TextField()
    key = TextField()
    fingerprint = TextField()
    reply = TextField()
    at = BigIntegerField()

    class Meta:
        table_name = "kept_reply"
        primary_key = CompositeKey("agent", "key")


class HeartbeatRow(Model):
    """The process that holds a run, and when it last reported. Deleted when the run ends: no part of the state."""

    run_uid = TextField(primary_key=True)
    supervised = Flag()  # 0: a scheduler has claimed the run and is about to start its supervisor
    boot = TextField()
    namespace = TextField()
    pid = IntegerField()
    born = TextField()
    at = BigIntegerField()

    class Meta:
        table_name = "beat"


class RunLogRow(Model):
    """A piece of a run's output, by its offset in the whole. Bounded, and overwritten: no part of the state."""

    run_uid = TextField()
    start = BigIntegerField()
    data = BlobField()

    class Meta:
        table_name = "run_log"
        primary_key = CompositeKey("run_uid", "start")


class ActivityRow(Model):
    """What a session is doing, between two entries about it. No part of the state.

    `news` are columns of the session's row that the next entry writes.
    """

    uid = TextField(primary_key=True)  # the agent's name
    last_seen = BigIntegerField()
    busy = Flag(default=0)  # it works although nobody has prompted it since its turn ended
    tool = TextField(null=True)
    tool_since = BigIntegerField(null=True)
    call = TextField(null=True)  # the program's own id of the tool's call
    turn = TextField(null=True)  # the program's own id of the turn that its last prompt began
    background = JsonField(default="[]")  # the ids of running subagents
    request = TextField(null=True)  # the key of its last request to a person, until something else is heard
    news = JsonField(default="{}")
    tool_times = JsonField(default="{}")  # how long each tool took the last times
    pulse = JsonField(default="[]")  # how often it was heard, per minute up to that of `last_seen`, oldest first
    worked_at = BigIntegerField(null=True)  # when it was last heard that its turn goes on
    failure = TextField(null=True)  # the last error of its model's service in its turn
    record = JsonField(default="{}")  # how far its program's transcript was read (`hooks.records`)

    class Meta:
        table_name = "activity"


class SessionNameRow(Model):
    """To which agent a program's session id belongs. No part of the state."""

    program = TextField()
    session = TextField()
    agent = TextField()
    part = TextField()  # own | former (it has another id now) | subagent

    class Meta:
        table_name = "session_name"
        primary_key = CompositeKey("program", "session")


class TakenInRow(Model):
    """The name of a payload that was processed, until it can no longer arrive again. No part of the state."""

    name = TextField(primary_key=True)
    at = BigIntegerField()

    class Meta:
        table_name = "taken_in"


class ConnectionRow(Model):
    """A process through which an agent speaks on the channel. Like the process itself, no part of the state."""

    agent = TextField()
    boot = TextField()
    namespace = TextField()
    pid = IntegerField()
    born = TextField()
    opened_at = BigIntegerField()
    closed_at = BigIntegerField(null=True)
    project = TextField(null=True)

    class Meta:
        table_name = "connection"
        primary_key = CompositeKey("agent", "boot", "namespace", "pid", "born")


class AskerRow(Model):
    """The process that waits for the answer to a question. It comes and goes with it: no part of the state."""

    ask = TextField(primary_key=True)
    boot = TextField()
    namespace = TextField()
    pid = IntegerField()
    born = TextField()

    class Meta:
        table_name = "asker"


class PhoneMessageRow(Model):
    """A question that was sent to the human's phone. No part of the state."""

    ask = TextField(primary_key=True)
    sent_at = BigIntegerField(null=True)  # null: it is being sent

    class Meta:
        table_name = "phone_message"


class PhoneAnswerRow(Model):
    """An answer that may arrive from the phone, once. No part of the state."""

    nonce = TextField(primary_key=True)  # its SHA-256
    ask = TextField()
    answer = TextField()
    expires_at = BigIntegerField()
    used_at = BigIntegerField(null=True)

    class Meta:
        table_name = "phone_answer"


class ViewRow(Model):
    """What a screen remembers for the human: last looked, saved filters. No part of the state."""

    key = TextField(primary_key=True)
    value = JsonField()

    class Meta:
        table_name = "view"


class UnfinishedChangeRow(Model):
    """A change some of whose steps are committed (`core.commit.unfinished`). No part of the state."""

    change = BigIntegerField(primary_key=True)
    actor = TextField()
    lock = TextField()

    class Meta:
        table_name = "unfinished_change"


# The tables that replaying the journal must reproduce, by the name that journal entries use.
STATE: dict[str, type[Model]] = {
    model._meta.table_name: model
    for model in (
        ListRow,
        TaskRow,
        EdgeRow,
        LogRow,
        StateRow,
        MemoryRow,
        ClaimRow,
        AskRow,
        AgentRow,
        HumanMessageRow,
        SessionRow,
        StuckRow,
        JobRow,
        RunRow,
        CheckDefinitionRow,
        CheckRunRow,
        TaskCheckRow,
    )
}
ALL: tuple[type[Model], ...] = (
    *STATE.values(),
    JournalRow,
    KeptReplyRow,
    HeartbeatRow,
    RunLogRow,
    ActivityRow,
    SessionNameRow,
    TakenInRow,
    ConnectionRow,
    AskerRow,
    PhoneMessageRow,
    PhoneAnswerRow,
    ViewRow,
    UnfinishedChangeRow,
)


def columns(model: type[Model]) -> dict[str, Field]:
    """Return the model's fields by name, in the order of the table."""
    fields: dict[str, Any] = {field.name: field for field in model._meta.sorted_fields}
    return fields
