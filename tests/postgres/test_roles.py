"""What the roles that `tui-tasks admin roles` prints may do, tried as those roles."""

import contextlib
import json
import re
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.postgres.journal_writer import NOTHING, append, entries, write
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.read.pages.log_lines import KINDS
from tui_tasks.postgres import roles as roles_module
from tui_tasks.postgres.roles import AgentRole, script
from tui_tasks.postgres.team_server import SERVER_SCHEMA, prepare

HUMANS = {
    *("task.accepted", "task.declined", "ask.answered", "agent.paused", "agent.resumed", "message.sent", "message"),
    "message.withdrawn",
    *("terminal.used", "settings.recorded", "list.auto", "journal.compacted"),
    *("check.defined", "check.waived", "check.finished", "check.stale"),
    *("work.started", "work.commented", "work.merged", "work.conflict", "work.discarded", "work.restored"),
    *("work.failed", "work.limit"),
}
FORBIDDEN = (
    "INSERT INTO tui_tasks.journal SELECT * FROM tui_tasks.journal",
    "UPDATE tui_tasks.journal SET why = 'x'",
    "DELETE FROM tui_tasks.journal",
    "UPDATE tui_tasks.head SET seq = 9",
    "DELETE FROM tui_tasks.companion",
    "DELETE FROM tui_tasks.snapshot",
    "INSERT INTO tui_tasks.member VALUES (session_user, 'human', NULL)",
    "INSERT INTO tui_tasks.agent_kind VALUES ('itself', 'task.accepted')",
    "SELECT * FROM tui_tasks.head FOR UPDATE",
    "SELECT * FROM tui_tasks.head FOR KEY SHARE",
    "SELECT * FROM tui_tasks.about FOR SHARE",
    "LOCK TABLE tui_tasks.head IN ROW SHARE MODE",
    "LOCK TABLE tui_tasks.journal IN SHARE MODE",
    "TRUNCATE tui_tasks.journal",
    "CREATE TABLE tui_tasks.more ()",
    "CREATE OR REPLACE FUNCTION tui_tasks.clock() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "CREATE SCHEMA more",
    "CREATE TEMPORARY TABLE head ()",
)


class Roles:
    """The roles of a test, made by the printed statements, and a connection of each that is used."""

    def __init__(self, cluster, database):
        self._connect = partial(cluster.connect, database)
        self._connections = contextlib.ExitStack()
        self.names = {kind: f"{database}_{kind}" for kind in ("monitor", "agent", "human", "team")}
        self.owner = self._connect()
        prepare(self.owner)
        self.owner.execute(self.script().encode())

    def __getattr__(self, kind):
        """Connect as the role of that kind, at the first use."""
        self.__dict__[kind] = self._connections.enter_context(contextlib.closing(self._connect(self.names[kind])))
        return self.__dict__[kind]

    def script(self):
        agents = [AgentRole(self.names["agent"], "robin"), AgentRole(self.names["team"], "it's-*")]
        return script([self.names["monitor"]], agents, [self.names["human"]])

    def close(self):
        """End the connections, and drop the roles."""
        self._connections.close()
        listed = ", ".join(f'"{name}"' for name in self.names.values())
        self.owner.execute(f"DROP OWNED BY {listed}; DROP ROLE {listed}".encode())
        self.owner.close()


@pytest.fixture
def roles(cluster, database):
    made = Roles(cluster, database)
    yield made
    made.close()


def test_every_role_reads_the_journal_and_all_that_a_replica_is_made_of(roles):
    head = write(roles.owner, count=2)
    for connection in (roles.monitor, roles.agent, roles.human):
        assert connection.execute("SELECT count(*) FROM tui_tasks.journal").fetchone() == (2,)
        assert connection.execute("SELECT seq, hash FROM tui_tasks.head").fetchone() == head
        for table in ("companion", "snapshot", "about"):
            connection.execute(f"SELECT * FROM tui_tasks.{table}")
        assert prepare(connection) == prepare(roles.owner)


def is_refused(why, call, /, *given, **named):
    """Whether the server refuses a call, for a reason that has this text."""
    try:
        call(*given, **named)
    except (errors.InsufficientPrivilege, errors.InvalidTextRepresentation) as error:
        return bool(re.search(why, str(error)))
    return False


def test_no_role_writes_or_locks_a_table_itself(roles):
    for connection in (roles.monitor, roles.agent, roles.human, roles.team):
        connection.execute("SET default_transaction_read_only = off")
        for statement in FORBIDDEN:
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement)


def test_a_monitor_holds_up_nobody(roles):
    for call in ("lock_head()", "put_snapshot(0, '', 0, 0, 0, 1, '')", "cut(0)", "begin_at(1, '')"):
        with pytest.raises(errors.InsufficientPrivilege):
            roles.monitor.execute(f"SELECT tui_tasks.{call}")
    with pytest.raises(errors.InsufficientPrivilege):
        append(roles.monitor, NOTHING, [])
    # What any role may lock and hold, whatever it was granted, while others go on.
    roles.monitor.execute("BEGIN")
    roles.monitor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    for number in range(50):
        roles.monitor.execute("SELECT pg_advisory_xact_lock_shared(%s), pg_advisory_xact_lock(%s)", (number, -number))
    for table in ("about", "head", "journal", "companion", "snapshot"):
        roles.monitor.execute(f"LOCK TABLE tui_tasks.{table} IN ACCESS SHARE MODE")
    roles.owner.execute("SET lock_timeout = '100ms'")
    assert prepare(roles.owner).schema == SERVER_SCHEMA
    write(roles.human, write(roles.owner))
    roles.monitor.execute("ROLLBACK")


def test_an_agent_appends_as_itself_alone(roles):
    head = write(roles.agent, actor="robin")
    for actor in ("human", "shell", "other", "robin2", "it's-1", "Robin", "", "*"):
        with pytest.raises(errors.InsufficientPrivilege, match="is the agent robin and may not write"):
            append(roles.agent, head, entries(head, {"actor": "robin"}, {"actor": actor}))
    write(roles.agent, head, actor="robin", kind="claim.taken")


def test_an_agents_role_may_be_for_all_names_that_begin_alike(roles):
    head = write(roles.team, actor="it's-1")
    head = write(roles.team, head, actor="it's-22")
    for actor in ("its-1", "it's", "human", "robin"):
        with pytest.raises(errors.InsufficientPrivilege):
            write(roles.team, head, actor=actor)


def test_an_agent_writes_none_of_the_kinds_that_are_the_humans(roles):
    head = NOTHING
    for kind in sorted({kind for kinds in KINDS.values() for kind in kinds} | {"journal.compacted", "a.new.one"}):
        if kind in HUMANS or kind == "a.new.one" or (kind.startswith("agent.") and kind != "agent.refused"):
            with pytest.raises(errors.InsufficientPrivilege):
                write(roles.agent, head, actor="robin", kind=kind)
        else:
            head = write(roles.agent, head, actor="robin", kind=kind)
    assert head[0] > 30


def test_an_agent_writes_as_the_system_what_a_request_has_for_consequence_alone(roles):
    head = write(roles.agent, actor="system", kind="claim.lapsed")
    for kind in ("check.ended", "check.finished", "ask.answered", "job.decided", "run.started", "settings.recorded"):
        with pytest.raises(errors.InsufficientPrivilege):
            write(roles.agent, head, actor="system", kind=kind)
    write(roles.human, head, actor="system", kind="check.finished")


WAITING = '{"uid": "r", "state": "waiting", "digest": "d"}'


def only_humans_write(roles, why, givens):
    """Check for each entry that the agent may not write it, and that a human may."""
    head = NOTHING
    for given in givens:
        assert is_refused(why, write, roles.agent, head, actor="robin", **given), given
        head = write(roles.human, head, actor="robin", **given)


OF_HUMANS = (
    {"entity": "check_run", "kind": "check.queued", "new": '{"uid": "r", "state": "passed"}'},
    {"entity": "check_run", "kind": "check.queued", "old": WAITING, "new": '{"state": "passed"}'},
    {"entity": "check_run", "kind": "task.updated", "new": '{"state": "passed"}'},
    {"entity": "check_run", "kind": "check.requested", "new": '{"below": 9}'},
    {"entity": "task_check", "kind": "check.requested", "new": '{"waives": ["c"]}'},
    {"entity": "task_check", "kind": "check.requested", "new": '{"waived": true}'},
    {"entity": "check_definition", "kind": "task.updated", "new": '{"gate": false}'},
    {"entity": "settings", "kind": "list.updated", "new": '{"review_lists": []}'},
    {"entity": "work", "kind": "work.updated", "new": '{"uid": "w", "state": "working"}'},
    {
        "entity": "work",
        "kind": "work.updated",
        "old": "{}",
        "new": '{"state": "merging", "intent": {"do": "merge"}}',
    },
    {"entity": "work", "kind": "work.updated", "old": "{}", "new": '{"state": "working", "worktree": "/etc"}'},
    {"entity": "work", "kind": "task.created", "old": "{}", "new": '{"state": "ready"}'},
    {"entity": "auto", "kind": "list.updated", "new": '{"is_on": true}'},
    {"entity": "journal", "kind": "task.updated", "new": "{}"},
)


def test_an_agent_proves_defines_starts_and_merges_nothing_whichever_kind_it_names(roles):
    only_humans_write(roles, "is the agent robin and may not write", OF_HUMANS)


def test_an_agent_asks_for_checks_notices_changed_inputs_and_reports_its_work(roles):
    head = NOTHING
    for given in (
        {"entity": "check_run", "kind": "check.queued", "new": WAITING},
        {"entity": "task_check", "kind": "check.requested", "new": '{"uid": "t c", "run_uid": "r"}'},
        {"entity": "check_run", "kind": "check.stale", "old": "{}", "new": '{"state": "stale"}', "actor": "system"},
        {"entity": "work", "kind": "work.ready", "old": "{}", "new": '{"state": "ready", "summary": "did"}'},
        {"entity": "work", "kind": "work.updated", "old": "{}", "new": '{"state": "working"}'},
    ):
        head = write(roles.agent, head, **{"actor": "robin", **given})


OPEN = '{"uid": "a", "agent": "robin", "state": "open", "answer": null, "rule": null}'
CLAIM = '{"uid": "c", "agent": "robin", "state": "active"}'


OF_OTHERS = (
    {"entity": "ask", "kind": "ask.timeout", "old": "{}", "new": '{"state": "answered", "answer": "Allow"}'},
    {"entity": "ask", "kind": "ask.withdrawn", "old": "{}", "new": '{"state": "withdrawn", "rule": "allow"}'},
    {"entity": "ask", "kind": "task.updated", "old": "{}", "new": '{"answer": "Allow"}'},
    {"entity": "ask", "kind": "ask.opened", "new": OPEN.replace('"open"', '"answered"')},
    {"entity": "ask", "kind": "ask.opened", "new": OPEN.replace('"rule": null', '"rule": "allow"')},
    {"entity": "ask", "kind": "ask.opened", "new": OPEN.replace("robin", "claude-1")},
    {"entity": "human_message", "kind": "message.delivered", "new": '{"agent": "claude-1", "text": "push"}'},
    {"entity": "human_message", "kind": "message.returned", "old": "{}", "new": '{"text": "push"}'},
    {"entity": "agent", "kind": "task.updated", "old": "{}", "new": '{"paused": false}'},
    {"entity": "list", "kind": "list.updated", "old": "{}", "new": '{"review": false}'},
    {"entity": "task", "kind": "task.updated", "old": "{}", "new": '{"accepted": "digest"}'},
    {"entity": "task", "kind": "task.updated", "old": "{}", "new": '{"checks": []}'},
    {"entity": "task", "kind": "task.created", "new": '{"uid": "t", "created_by": "human"}'},
    {"entity": "job", "kind": "job.updated", "old": "{}", "new": '{"accepted": "digest"}'},
    {"entity": "job", "kind": "job.created", "new": '{"uid": "j", "created_by": "human"}'},
    {"entity": "log", "kind": "task.logged", "new": '{"agent": "human", "message": "merge it"}'},
    {"entity": "log", "kind": "task.updated", "old": "{}", "new": '{"message": "merge it"}'},
    {"entity": "session", "kind": "session.idle", "uid": "claude-1", "old": "{}", "new": '{"state": "idle"}'},
    {"entity": "claim", "kind": "claim.taken", "new": CLAIM.replace("robin", "claude-1")},
    {"entity": "claim", "kind": "claim.extended", "old": "{}", "new": '{"agent": "robin"}'},
)


def test_an_agent_answers_accepts_and_says_nothing_for_others_whichever_kind_it_names(roles):
    only_humans_write(roles, "is the agent robin and may not write .* another's", OF_OTHERS)


def test_an_agent_asks_claims_and_works_in_its_own_name(roles):
    head = NOTHING
    for given in (
        {"entity": "ask", "kind": "ask.opened", "new": OPEN},
        {"entity": "ask", "kind": "ask.withdrawn", "old": "{}", "new": '{"state": "withdrawn", "reason": "x"}'},
        {"entity": "human_message", "kind": "message.delivered", "old": "{}", "new": '{"delivered_at": 1}'},
        {"entity": "list", "kind": "list.created", "new": '{"uid": "l", "review": false}'},
        {"entity": "list", "kind": "list.updated", "old": "{}", "new": '{"name": "l"}'},
        {"entity": "task", "kind": "task.created", "new": '{"uid": "t", "created_by": "robin", "held": true}'},
        {"entity": "job", "kind": "job.updated", "old": "{}", "new": '{"held": true, "accepted": "digest"}'},
        {"entity": "log", "kind": "task.logged", "new": '{"agent": "robin", "message": "done"}'},
        {"entity": "claim", "kind": "claim.taken", "uid": "c", "new": CLAIM},
        {"entity": "claim", "kind": "claim.released", "uid": "c", "old": "{}", "new": '{"state": "released"}'},
        {
            "entity": "claim",
            "kind": "claim.released",
            "uid": "before a cut",
            "old": "{}",
            "new": '{"state": "released"}',
        },
    ):
        head = write(roles.agent, head, actor="robin", **given)
    write(roles.team, head, actor="it's-1", entity="session", kind="session.started", uid="it's-1", new="{}")


def test_an_agent_gives_no_claim_of_another_back(roles):
    head = write(roles.team, actor="it's-1", entity="claim", kind="claim.taken", uid="c", new='{"agent": "it\'s-1"}')
    for actor, state in (("robin", "released"), ("robin", "finished"), ("system", "released")):
        given = {"actor": actor, "entity": "claim", "kind": "claim.lapsed", "old": "{}"}
        with pytest.raises(errors.InsufficientPrivilege, match="another's"):
            write(roles.agent, head, uid="c", new=f'{{"state": "{state}"}}', **given)
    write(roles.team, head, actor="it's-1", entity="claim", kind="claim.released", uid="c", old="{}", new="{}")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("kept_reply", '["human","k"]', "{}"),
        ("kept_reply", '["claude-1","k"]', "{}"),
        ("session_name", '["claude","s"]', '{"agent": "claude-1"}'),
        ("session_name", '["claude","s"]', "{}"),
    ],
)
def test_an_agent_keeps_no_reply_and_names_no_session_of_another(roles, kind, key, value):
    with pytest.raises(errors.InsufficientPrivilege, match="is the agent robin and may not write"):
        append(roles.agent, NOTHING, [], [(kind, key, value)])
    append(roles.agent, NOTHING, [], [(kind, key, None)])
    own = key.replace("claude-1", "robin").replace("human", "robin")
    append(roles.agent, NOTHING, [], [(kind, own, '{"agent": "robin"}')])


def test_an_agent_counts_no_work_and_holds_no_run(roles):
    for kind in ("work_count", "beat"):
        with pytest.raises(errors.InsufficientPrivilege, match="is the agent robin and may not write"):
            append(roles.agent, NOTHING, [], [(kind, '["w"]', "{}")])
        append(roles.human, NOTHING, [], [(kind, '["w"]', "{}")])


def step(actor: str = "robin", lock: str = "1@host-1", **more: str) -> str:
    return json.dumps({"actor": actor, "lock": lock, **more})


def test_an_agent_records_and_forgets_steps_of_its_own_change(roles):
    head = write(roles.agent, actor="robin")
    for value in (step(), step(lock="1@host-2"), None, None):
        append(roles.agent, head, [], [("unfinished_change", "[1]", value)])
    head = write(roles.team, head, actor="it's-1")
    append(roles.team, head, [], [("unfinished_change", "[2]", step(actor="it's-1"))])
    append(roles.team, head, [], [("unfinished_change", "[2]", None)])


STEPS_OF_OTHERS = (
    ("[2]", step(actor="human")),
    ("[2]", step()),
    ("[3]", step()),
    ("[1]", step(actor="human")),
    ("[1]", step(lock="1@/etc")),
    ("[1]", step(lock="1")),
    ("[1]", step(lock="/../x@host-1")),
    ("[1]", step(at="1")),
    ("[1]", "{}"),
    ("[2]", None),
    ("[ 2]", None),
    ("[2.0]", None),
    ('["2"]', None),
    ("[]", None),
)


def test_an_agent_forges_and_forgets_no_steps_of_others(roles):
    head = write(roles.human, write(roles.agent, actor="robin"))
    append(roles.human, head, [], [("unfinished_change", "[2]", step(actor="human"))])
    for key, value in STEPS_OF_OTHERS:
        given = (roles.agent, head, [], [("unfinished_change", key, value)])
        assert is_refused("may not write steps of another's change", append, *given), (key, value)


def test_an_agent_does_not_write_answers_from_a_phone_or_what_humans_do_with_snapshots(roles):
    with pytest.raises(errors.InsufficientPrivilege):
        append(roles.agent, NOTHING, [], [("phone_answer", '["x"]', "{}")])
    append(roles.agent, NOTHING, [], [("kept_reply", '["robin","x"]', "{}")])
    for call in ("put_snapshot(0, '', 0, 0, 0, 1, '')", "cut(0)", "begin_at(1, '')"):
        with pytest.raises(errors.InsufficientPrivilege):
            roles.agent.execute(f"SELECT tui_tasks.{call}")


def test_an_agent_does_not_end_leases_by_telling_that_much_time_has_passed(roles):
    append(roles.human, NOTHING, [], passed=100)
    append(roles.agent, NOTHING, [], passed=1 << 60)
    (passed,) = roles.owner.execute("SELECT passed FROM tui_tasks.head").fetchone()
    assert 100 <= passed < 100 + 600_000_000


def test_nobody_lets_more_time_pass_than_has_passed_on_the_server(roles):
    append(roles.human, NOTHING, [], passed=100)
    append(roles.human, NOTHING, [], passed=1 << 60)
    (passed,) = roles.owner.execute("SELECT passed FROM tui_tasks.head").fetchone()
    assert 100 <= passed < 100 + 600_000_000


NO_OBJECTS = (
    {"new": "[]"},
    {"new": "zz{"},
    {"new": "7"},
    {"old": "[]"},
    {"old": "zz{"},
    {"image": "zz{"},
    {"image": "[]"},
    {"why": "zz{"},
    {"why": '"x"'},
)


def test_an_agents_values_are_objects(roles):
    only_humans_write(roles, "", NO_OBJECTS)


LEASES_OF_OTHERS = (
    ('["looked"]', '{"value": "1"}'),
    ('["elapsed"]', '{"value": "1"}'),
    ('["inbox"]', '{"value": "{}"}'),
    ('["inbox"]', None),
    ('["until:phone:host-1"]', '{"value": "1"}'),
    ('[ "until:phone:host-1"]', '{"value": "1"}'),
    ('["\\u0075ntil:phone:host-1"]', '{"value": "1"}'),
    ('["until:phon\\u0065:host-1"]', '{"value": "1"}'),
    ('["until:machine:host-1"]', '{"value": "{}"}'),
    ('["until:machine:host-1"]', "{}"),
    ('["until:machine:host-2"]', '{"value": "1"}'),
    ('["until:c"]', '{"value": "1"}'),
    ('["until:c"]', None),
    ('["until:a"]', '{"value": "1"}'),
    ('["until:a"]', None),
)


def test_an_agent_writes_only_when_leases_of_its_own_end(roles):
    head = write(roles.team, actor="it's-1", entity="claim", kind="claim.taken", uid="c", new='{"agent": "it\'s-1"}')
    head = write(
        roles.human, head, actor="it's-1", entity="ask", kind="ask.opened", uid="a", new='{"agent": "it\'s-1"}'
    )
    lasting = [("view", f'["until:{uid}"]', f'{{"value": "{1 << 59}"}}') for uid in ("c", "a", "machine:host-2")]
    append(roles.human, head, [], lasting)
    for key, value in LEASES_OF_OTHERS:
        given = (roles.agent, head, [], [("view", key, value)])
        assert is_refused("may not write when others' leases end", append, *given), (key, value)
    append(roles.team, head, [], [("view", '["until:c"]', '{"value": "2"}'), ("view", '["until:a"]', '{"value": "2"}')])
    ended = [("view", '["until:c"]', None), ("view", '["until:a"]', None)]
    append(roles.agent, head, [], [*ended, lasting[2]])


OTHERS = {
    "ask": {"entity": "ask", "kind": "ask.opened", "new": '{"agent": "it\'s-1", "state": "open", "expires_at": null}'},
    "message": {"entity": "human_message", "kind": "message.sent", "new": '{"agent": "it\'s-1", "text": "stop"}'},
    "state": {"entity": "state", "kind": "state.saved", "new": '{"agent": "it\'s-1", "approach": "a"}'},
}


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("ask", {"entity": "ask", "kind": "ask.withdrawn", "new": '{"state": "withdrawn"}'}),
        ("ask", {"entity": "ask", "kind": "ask.timeout", "actor": "system", "new": '{"state": "timeout"}'}),
        ("message", {"entity": "human_message", "kind": "message.delivered", "new": '{"delivered_at": 1}'}),
        ("state", {"entity": "state", "kind": "state.saved", "new": '{"approach": "b"}'}),
        ("state", {"entity": "state", "kind": "state.saved", "old": None, "new": '{"agent": "it\'s-1"}'}),
        ("state", {"entity": "stuck", "kind": "agent.stuck", "actor": "system", "uid": "it's-1", "new": "{}"}),
        ("state", {"entity": "task", "kind": "task.updated", "new": '{"updated_by": "human"}'}),
    ],
)
def test_an_agent_delivers_withdraws_and_changes_nothing_of_anothers(roles, made, given):
    head = write(roles.human, **{"actor": "human", "uid": "x", **OTHERS[made]})
    given = {"actor": "robin", "uid": "x", "old": "{}", **given}
    with pytest.raises(errors.InsufficientPrivilege, match="another's"):
        write(roles.agent, head, **given)
    if given["entity"] != "task":
        write(roles.team, head, **{**given, "actor": "system" if given["actor"] == "system" else "it's-1"})


def test_an_agent_ends_a_question_of_another_that_has_run_out(roles):
    new = '{"agent": "it\'s-1", "state": "open", "expires_at": 1}'
    head = write(roles.human, entity="ask", kind="ask.opened", uid="x", new=new)
    given = {"entity": "ask", "kind": "ask.timeout", "uid": "x", "old": "{}", "new": '{"state": "timeout"}'}
    write(roles.agent, head, actor="system", **given)


@pytest.mark.parametrize(
    ("kind", "key"),
    [("kept_reply", '["it\'s-1", "k"]'), ("asker", '["x"]'), ("session_name", '["claude", "s"]')],
)
def test_an_agent_deletes_no_reply_asker_or_name_of_another(roles, kind, key):
    head = write(roles.human, **{"actor": "human", "uid": "x", **OTHERS["ask"]})
    value = '{"agent": "it\'s-1", "at": 1000000000000000}'
    append(roles.team, head, [], [(kind, key, value)])
    for given in (None, '{"agent": "robin", "at": 1}'):
        with pytest.raises(errors.InsufficientPrivilege):
            append(roles.agent, head, [], [(kind, key, given)])
    append(roles.team, head, [], [(kind, key, None)])


def test_a_human_writes_as_anybody_and_any_kind(roles):
    head = NOTHING
    for actor, kind in (("human", "task.accepted"), ("system", "check.ended"), ("claude-1", "task.created")):
        head = write(roles.human, head, actor=actor, kind=kind)


def test_a_role_that_takes_the_name_of_another_stays_who_it_is(roles):
    with pytest.raises(errors.InsufficientPrivilege):
        roles.agent.execute(f'SET ROLE "{roles.names["human"]}"')
    roles.owner.execute(f'GRANT "{roles.names["human"]}" TO "{roles.names["agent"]}"')
    roles.agent.execute(f'SET ROLE "{roles.names["human"]}"')
    with pytest.raises(errors.InsufficientPrivilege, match="is the agent robin"):
        write(roles.agent)


def test_a_role_that_is_no_member_any_more_writes_nothing(roles):
    roles.owner.execute("DELETE FROM tui_tasks.member")
    for connection in (roles.agent, roles.human):
        with pytest.raises(errors.InsufficientPrivilege, match="it is no member"):
            connection.execute("SELECT tui_tasks.lock_head()")
        with pytest.raises(errors.InsufficientPrivilege, match="it is no member"):
            append(connection, NOTHING, [])


def test_a_monitor_or_an_agent_does_not_take_all_connections(roles):
    limits = roles.owner.execute(
        "SELECT rolname, rolconnlimit FROM pg_roles WHERE rolname = ANY(%s)", (list(roles.names.values()),)
    ).fetchall()
    by_kind = {kind: dict(limits)[name] for kind, name in roles.names.items()}
    assert by_kind["human"] == -1
    assert all(0 < by_kind[kind] < 50 for kind in ("monitor", "agent", "team"))


def test_roles_that_are_not_named_may_not_even_connect(roles, cluster, database):
    roles.owner.execute(f'CREATE ROLE "{database}_guest" LOGIN')
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        cluster.connect(database, f"{database}_guest")


def test_the_statements_may_be_run_again_and_hold_no_password(roles):
    roles.owner.execute(roles.script().encode())
    assert not re.search("PASSWORD '", roles.script(), re.IGNORECASE)
    assert roles.owner.execute("SELECT count(*) FROM tui_tasks.member").fetchone() == (3,)


@pytest.mark.parametrize("role", ['a"b', "a'b", "a$$b", "a b", "", "x" * 64, "a;b", "a\nb"])
def test_a_role_whose_name_would_need_quoting_is_refused(role):
    for given in (([role], [], []), ([], [AgentRole(role, "x")], []), ([], [], [role])):
        with pytest.raises(InvalidArgument):
            script(*given)


def test_printing_them_needs_no_psycopg():
    assert "psycopg" not in Path(roles_module.__file__).read_text()
