"""What a refusal says, so that who sent the line can put it right from the reply alone."""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peewee import ModelSelect

from tests.conftest import Talk
from tui_tasks.channel import tool_names
from tui_tasks.channel.line_parser import LineParser
from tui_tasks.channel.session import Session
from tui_tasks.core.errors import ParseError
from tui_tasks.dialects.requests import Identity, confinement
from tui_tasks.dialects.requests.arguments import decode
from tui_tasks.dialects.tool_table import TABLE

REQUEST = '{"tool": "tasklist:display"}'


def _problem(line: bytes) -> str:
    (refusal,) = LineParser().feed(line + b"\n")
    assert isinstance(refusal, ParseError)
    return refusal.message


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("```json", "a Markdown fence"),
        (f"```json {REQUEST} ```", "a Markdown fence"),
        (f"`{REQUEST}`", "Markdown backquotes"),
        (f"\ufeff{REQUEST}", "byte order mark"),
        ("<tool_call><name>task</name></tool_call>", "XML"),
        ("I will now read the list.", "prose"),
        (f"Here it is: {REQUEST}", "prose"),
        (f"{REQUEST} {REQUEST}", "more than one value"),
        (f"{REQUEST} and that is all", "more than one value"),
        ("{'tool': 'tasklist:display'}", "single quotes"),
        ('{tool: "tasklist:display"}', "keys are not in double quotes"),
        ('{"tool": "tasklist:display",}', "comma before a closing bracket"),
        ('{"tool": "task", "arguments": {"a": True}}', "Python's True"),
        ("Content-Length: 28", "a header"),
        (f"data: {REQUEST}", "server-sent event"),
        (f"// {REQUEST}", "a comment"),
        ('{"tool": "tasklist:display"', ""),
        ("{", ""),
    ],
)
def test_what_is_no_json_is_told_as_what_it_looks_like_and_what_to_send(line: str, seen: str) -> None:
    problem = _problem(line.encode())
    assert seen in problem
    assert "one JSON object a line, no Markdown" in problem


def test_a_long_line_that_is_no_json_is_told_of_as_soon_as_a_short_one() -> None:
    for line in ("{" + ", " * 500_000, "[" * 1_000_000, "x" * 1_000_000, "{" + " " * 1_000_000):
        assert len(_problem(line.encode())) < 300


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("tasklist:add_task", {"nam": "x"}, ["unknown argument nam", "name, description", "did you mean name?"]),
        ("tasklist:add_task", {"title": "x", "name": "x"}, ["unknown argument title", "name, description"]),
        ("tasklist:add_task", {}, ["missing argument name", 'under "arguments"', '{"name": ...}']),
        ("task", {"action": "update", "status": "open"}, ["missing argument task_id", 'under "arguments"']),
        ("task", {"action": "create", "title": "x", "limit": 5}, ["limit does not go with", "title, description"]),
        ("task", {"action": "create", "title": 5}, ["expected string", "got integer"]),
        ("control:history", {"limit": "x"}, ["expected integer", "got string"]),
        ("control:history", {"limit": 0}, ["expected integer >= 1"]),
        ("ask", {"question": "?", "timeout": "soon"}, ["expected number", "got string"]),
        ("tasks", {"action": "pending", "suggest_next": "yes"}, ["expected boolean", "got string"]),
        ("task", {"action": "create", "title": "x", "metadata": 5}, ["expected object", "got integer"]),
        ("tasklist:get_tasks", {"status": 5}, ["expected array", "got integer"]),
    ],
)
def test_a_wrong_argument_is_told_with_what_to_write(
    talk: Talk, tool: str, arguments: dict[str, Any], said: list
) -> None:
    error = talk.refused(tool, **arguments)
    assert error["code"] == "invalid_argument"
    for words in said:
        assert words in error["message"], error["message"]
    assert not re.search(r"`|\b(int|str|bool|float|dict|list)\b", error["message"])


@pytest.mark.parametrize(
    ("written", "tasklist", "task", "tasks"),
    [
        ("todo", "pending", "open", "pending"),
        ("To-Do", "pending", "open", "pending"),
        ("completed", "done", None, "done"),
        ("finished", "done", "completed", "done"),
        ("in-progress", "in_progress", "in_progress", "in_progress"),
        ("wip", "in_progress", "in_progress", "in_progress"),
        ("canceled", "skipped", "cancelled", "cancelled"),
        ("error", "failed", "cancelled", "cancelled"),
    ],
)
def test_another_word_for_a_status_names_the_dialects_own(
    talk: Talk, written: str, tasklist: str, task: str | None, tasks: str
) -> None:
    uid = talk.ok("tasklist:add_task", name="t")["uid"]
    for tool, arguments, word in [
        ("tasklist:update_task", {"uid": uid}, tasklist),
        ("task", {"action": "update", "task_id": uid}, task),
        ("tasks", {"action": "update", "id": uid}, tasks),
    ]:
        if word is None:  # it is the dialect's own
            continue
        error = talk.refused(tool, **arguments, status=written)
        assert f"did you mean {word}?" in error["message"], error["message"]
        assert error["data"]["argument"] == "status"
    assert json.dumps(talk.ok("tasklist:display")).count("pending") == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("tasklist:ad_taks", {}, "did you mean tasklist:add_task or "),
        ("no:such", {}, "control:hello lists the tools"),
        ("tasklist:add_task", {"nane": "x"}, "did you mean name?"),
        ("tasks", {"action": "penidng"}, "did you mean pending?"),
        ("tasklist:get_task", {"uid": "nothing"}, "no task nothing: name a task by its uid"),
    ],
)
def test_what_was_meant_by_a_mistake_is_looked_for_once(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any], said: str
) -> None:
    work: list[str] = []

    def counted(holder: Any, name: str) -> None:
        real = getattr(holder, name)

        def call(*args: Any, **more: Any) -> Any:
            work.append(name)
            return real(*args, **more)

        monkeypatch.setattr(holder, name, call)

    counted(difflib.SequenceMatcher, "ratio")
    counted(msgspec.json, "schema")
    counted(ModelSelect, "sql")
    request = {"tool": tool, "arguments": arguments}
    first = talk.one(request)
    assert said in first["error"]["message"]
    work.clear()
    assert talk.one(request) == first
    # An argument and a word have few candidates, which are compared anew.
    assert len(work) <= 3
    assert not {"schema", "sql"} & set(work)


def test_no_more_tools_are_compared_where_enough_are_found_by_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = ("tasklist:add_task", "tasklist:add_task_before", "tasklist:add_task_after", "task")
    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", None)
    assert tool_names.suggestions("insertTask", tools) == list(tools[:3])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("control:done", "tasklist:set_task_done"),
        ("control:complete", "tasklist:set_task_done"),
        ("tasklist:reorder", "control:update_task"),
        ("tasklist:move_task", "control:update_task"),
        ("scheduler:cancel_task", "scheduler:disable_task"),
        ("control:ask", "ask"),
        ("AskUserQuestion", "ask"),
        ("tasklist:remove_task", "tasklist:delete_task"),
        ("control:revert", "control:undo"),
        ("control:set_done", "tasklist:set_task_done"),
        ("control:finish", "tasklist:set_task_done"),
        ("control:cancel_task", "tasklist:set_task_skipped"),
        ("control:withdraw", "control:cancel"),
        ("control:delete_task", "tasklist:delete_task"),
        ("control:add_task", "tasklist:add_task"),
        ("control:move_task", "control:update_task"),
        ("tasklist:undo", "control:undo"),
        ("TodoRead", "todo"),
        ("AskUser", "ask"),
        ("control:remove_task", "tasklist:delete_task"),
        ("delete", "tasklist:delete_task"),
        ("done", "tasklist:set_task_done"),
        ("skip", "tasklist:set_task_skipped"),
        ("start", "tasklist:set_task_in_progress"),
        ("get_next_task", "control:claim"),
        ("search_tasks", "control:find"),
        ("control:search", "control:find"),
        ("list", "control:lists"),
        ("add", "tasklist:add_task"),
        ("add_dependency", "control:update_task"),
        ("control:plan", "create_plan"),
        ("update_plan", "todo"),
    ],
)
def test_the_first_suggestion_is_what_was_meant(name, meant):
    tools = [tool for tool, of in TABLE.tools.items() if not of.human]
    assert tool_names.suggestions(name, tools)[0] == meant


TODO_WRITE = {
    "todos": [
        {"content": "a", "status": "pending", "activeForm": "doing a"},
        {"content": "b", "status": "doing", "activeForm": "doing b"},
    ]
}


@pytest.mark.parametrize("key", ["input", "arguments"])
@pytest.mark.parametrize("name", ["TodoWrite", "todo"])
def test_the_todo_list_of_another_program_is_put_right_by_one_reply(talk: Talk, name: str, key: str) -> None:
    error = talk.one({"tool": name, key: TODO_WRITE})["error"]
    assert (error["data"].get("did_you_mean") == ["todo"]) == (name == "TodoWrite")
    assert ("the arguments of" in error["message"]) == (key == "input")
    assert [problem["argument"] for problem in error["data"]["problems"]] == [
        "merge",
        "todos[0].activeForm",
        "todos[0].id",
        "todos[1].activeForm",
        "todos[1].id",
        "todos[1].status",
    ]


def test_arguments_that_are_no_object_are_answered_with_the_names_of_the_tools_own(talk: Talk) -> None:
    said = talk.one({"tool": "ask", "arguments": "Which?"})["error"]["message"]
    assert said.endswith("; it takes question, options, task, timeout, wait")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("control:update_task", {"uid": "#1", "estimate": "2h"}, "it is a number of minutes"),
        ("control:update_task", {"uid": "#1", "result": "all good"}, 'as {"summary": "..."}'),
        ("control:update_task", {"uid": "#1", "blocked_by": ["#2"]}, "did you mean depends_on?"),
        ("control:update_task", {"uid": "#1", "assignee": "bob"}, "did you mean agent?"),
        ("control:update_task", {"uid": "#1", "plan_id": "p"}, "did you mean list?"),
        ("control:update_task", {"uid": "#1", "position": 1}, "did you mean before?"),
        ("control:find", {"query": "x"}, "did you mean text?"),
        ("control:find", {"search": "x"}, "did you mean text?"),
        ("tasks", {"action": "search"}, "did you mean pending?"),
        ("control:find", {"offset": 10}, "did you mean after?"),
        ("control:claim", {"task": "#1"}, "did you mean uid?"),
        ("ask", {"question": "q", "timeout": "5m"}, "it is a number of seconds"),
        ("tasks", {"action": "add_tasks", "plan_id": "p", "tasks": "k"}, "it holds objects of title, id"),
    ],
)
def test_one_reply_says_what_to_send(talk: Talk, tool: str, arguments: dict[str, object], said: str) -> None:
    assert said in talk.refused(tool, **arguments)["message"]


def test_dependencies_that_come_as_one_string_are_several(talk: Talk) -> None:
    first, second, third = (talk.ok("tasklist:add_task", name=name)["uid"] for name in "abc")
    made = talk.ok("control:update_task", uid=third, depends_on=f"#1, {second}")
    assert made["depends_on"] == [first, second]


WORDS = ["task", "list", "set", "get", "add", "move", "done", "control", "scheduler", "all", "old", "plan", "cl", "un"]


@given(st.lists(st.sampled_from(WORDS)))
def test_what_destroys_is_never_suggested_to_who_did_not_ask_for_it(words):
    suggested = tool_names.suggestions("_".join(words), TABLE.tools)
    assert not [tool for tool in suggested if re.search("delete|clear|undo|cancel", tool)]


@pytest.mark.parametrize(
    "name", ["control:delete_task", "tasklist:remove", "tasklist:remove_task", "delete_task", "scheduler:cancel_task"]
)
def test_who_asks_to_delete_a_task_is_not_offered_to_clear_a_list_or_to_delete_a_plan(name):
    tools = [tool for tool, of in TABLE.tools.items() if not of.human]
    assert not {"tasklist:clear", "control:delete_plan", "control:undo"} & set(tool_names.suggestions(name, tools))


@pytest.mark.parametrize("tags", ["a, b", " a ,b,", '["a", "b"]', "['a', 'b']", ["a", "b"]])
def test_tags_that_come_as_one_string_are_several(talk, tags):
    made = talk.ok("task", action="create", title="x", tags=tags)
    assert made["structuredContent"]["task"]["tags"] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ("Go on", ["Go on"]),
        ("[CI] again", ["[CI] again"]),
        (["yes or no"], ["yes or no"]),
        ("['yes', 'no']", ["yes", "no"]),
        ("", []),
    ],
)
def test_one_option_that_does_not_seem_to_be_several_is_taken(options, taken):
    given = decode(TABLE.tools["ask"].arguments, {"question": "ok?", "options": options})
    assert given.options == taken


def test_without_hello_an_unknown_name_is_answered_with_the_tools_that_there_are():
    table = confinement.select(["ask"], TABLE)
    assert tool_names.unknown_tool("zzz", table).message == "no tool zzz; the tools are ask, control:answer_of"


@pytest.mark.parametrize(("names", "told"), [(["tasks"], False), (["tasks", "tasklist:delete_task"], True)])
@pytest.mark.parametrize(("tool", "arguments"), [("tasks", {"action": "delete"}), ("tasks:delete", {})])
def test_a_hint_names_a_tool_only_where_that_is_served(store, clock, names, told, tool, arguments):
    session = Session(store, confinement.select(names, TABLE), Identity(), clock)
    (reply,) = session.answer([{"id": 1, "tool": tool, "arguments": arguments}])
    assert b"create_plan" in reply
    assert b"control:delete_plan" not in reply
    assert (b"tasklist:delete_task" in reply) is told
