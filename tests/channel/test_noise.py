"""Whatever arguments an agent sends to whatever tool, it is answered once, never as a defect.

See docs: protocol, section 3.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock, Talk
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE

CODES = {
    *("parse_error", "too_large", "invalid_request", "unknown_tool", "invalid_argument", "not_found", "conflict"),
    *("forbidden", "paused", "stale_claim", "timeout", "cursor_expired", "busy", "storage_error"),
}
PER_TOOL = 40 if settings.get_current_profile_name() == "ordinary" else 2_000

# Stand for what exists: the uid of a task, a plan, a job, a claim.
UIDS = ("@task", "@other", "@plan", "@job", "@claim")
TEXTS = st.one_of(
    st.sampled_from(["", " ", "x", "pending", "done", "completed", "open", "urgent", "list", "create", "update", "1"]),
    st.sampled_from(["[]", "{}", "['a']", "[1e999]", "{'a': {1}}", "[" * 200, "\0", "\x1b[31m", "2026-01-02T03:04:05"]),
    st.sampled_from(["Europe/Berlin", "* * * * *", "a" * 10_001, "*/5", "9999-12-31T23:59:59Z", "0001-01-01"]),
    st.sampled_from(UIDS),
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=8),
)
NUMBERS = st.sampled_from(
    [0, 1, -1, 5, 99, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 0.5, -0.0, 1e308, 1e-308]
)
PLAIN = st.none() | st.booleans() | NUMBERS | TEXTS
KEYS = st.sampled_from(["id", "content", "status", "title", "priority", "depends_on", "minute", "hour", "day", "x", ""])
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4) | inner.map(json.dumps),
    max_leaves=8,
)


def offered(name: str) -> dict:
    return schema(TABLE.tools[name].arguments)


def plausible(part: dict) -> st.SearchStrategy:
    """Values that may well be right: so that noise gets past the first check."""
    for choice in (*part.get("anyOf", ()), part):
        if "enum" in choice:
            return st.sampled_from(choice["enum"])
        if choice.get("type") == "boolean":
            return st.booleans()
        if choice.get("type") in ("integer", "number"):
            return st.integers(1, 5)
        if choice.get("type") == "array":
            return st.lists(plausible(choice.get("items", {})), max_size=3)
        if choice.get("type") == "object" and "properties" in choice:
            return st.fixed_dictionaries({name: plausible(inner) for name, inner in choice["properties"].items()})
    return st.sampled_from(UIDS) | TEXTS


def arguments_of(name: str) -> st.SearchStrategy:
    found = offered(name)
    required = set(found.get("required", ()))
    fields = {key: plausible(part) | VALUES for key, part in found["properties"].items()}
    return st.fixed_dictionaries(
        {key: value for key, value in fields.items() if key in required},
        optional={key: value for key, value in fields.items() if key not in required},
    ) | st.dictionaries(st.sampled_from([*fields, "other"]), VALUES, max_size=4)


def filled(store: Store) -> tuple[Talk, dict[str, str]]:
    """A state with something of everything in it."""
    talk = Talk(store, Clock())
    one, two = (talk.ok("tasklist:add_task", name=name)["uid"] for name in ("one", "two"))
    plan = talk.ok("tasks", action="create_plan", title="p", tasks=[{"title": "t"}, {"title": "u"}])["plan_id"]
    job = talk.ok("scheduler:create_adhoc_task", name="j", system_prompt="s", prompt="p")["uuid"]
    claim = talk.ok("control:claim")["claim"]
    talk.ok("task", action="update", task_id=two, status="completed", result={"r": 1})
    return talk, {"@task": one, "@other": two, "@plan": plan, "@job": job, "@claim": claim}


def real(value: object, uids: dict[str, str]) -> object:
    if isinstance(value, str):
        return uids.get(value, value)
    if isinstance(value, list):
        return [real(item, uids) for item in value]
    if isinstance(value, dict):
        return {key: real(item, uids) for key, item in value.items()}
    return value


ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(["a", "b"]),
        "list": st.sampled_from(["tasklist", "new", "@plan"]),
        "if_version": st.integers(0, 3),
        "idempotency_key": st.text("kl", min_size=1, max_size=4),
        "thoughts": VALUES,
    },
)


@pytest.mark.parametrize("name", [name for name, tool in TABLE.tools.items() if not tool.human])
def test_no_arguments_whatever_are_a_defect(name):
    with Store(":memory:") as store:
        talk, uids = filled(store)

        @settings(max_examples=PER_TOOL)
        @given(ENVELOPES, arguments_of(name))
        def run(envelope, arguments):
            request = {"id": 7, "tool": name, "arguments": real(arguments, uids), **real(envelope, uids)}
            replies = [json.loads(line) for line in talk.session.answer([request])]
            replies += [json.loads(line) for line in talk.session.settle(ending=True)]
            assert len(replies) == 1 or (not replies and talk.session.waits)
            for reply in replies:
                assert reply["id"] == 7
                assert reply["ok"] or reply["error"]["code"] in CODES, reply
            for home in task_queries.lists(store.db):
                assert not home.one_in_progress or task_queries.who_has_several_in_progress(store.db, home.id) is None

        run()
        assert database_findings.broken_link(store.db) is None
        assert talk.ok("control:history", since=0, limit=10_000)["entries"]
        with Store(":memory:") as again:
            replay(store.db, again.db)
            assert talk.ok("tasklist:display") == Talk(again, talk.clock).ok("tasklist:display")
