"""What an agent is told of the tools over MCP, and what that costs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.mcp_server.shared import Driven, driven
from tui_tasks.cli.help import PAGES
from tui_tasks.cli.main import main
from tui_tasks.core.errors import InvalidRequest
from tui_tasks.dialects.requests import confinement
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.mcp_server import tool_listing as costs
from tui_tasks.mcp_server import tool_listing as wording
from tui_tasks.mcp_server.tool_listing import NOT_OVER_MCP, mcp_tool

OFFERED = {tool.name for tool in TABLE.tools.values() if not tool.human} - NOT_OVER_MCP
TYPES = {"string", "integer", "number", "boolean", "object", "array"}
# What the strictest clients take (Gemini's function declarations, VS Code's normaliser).
TAKEN = {"type", "description", "properties", "required", "items", "enum", "default"}
TAKEN |= {"minimum", "maximum", "minItems", "maxItems", "additionalProperties"}


def listed(client: Driven) -> dict[str, Any]:
    return {tool.name: tool for tool in client.run(client.session.list_tools).tools}


def parts(part: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each schema within a schema, with where it stands."""
    yield path, part
    for name, inner in part.get("properties", {}).items():
        yield from parts(inner, f"{path}.{name}")
    if "items" in part:
        yield from parts(part["items"], f"{path}[]")


@pytest.mark.parametrize("name", sorted(tool.name for tool in TABLE.tools.values() if not tool.human))
def test_the_strictest_client_takes_the_schema_of_a_tool(name: str) -> None:
    taken = schema(TABLE.tools[name].arguments)
    jsonschema.Draft202012Validator.check_schema(taken)
    assert taken["type"] == "object"
    for path, part in parts(taken, name):
        assert part.get("type") in TYPES, f"{path} has no single type, or a union"
        assert part.keys() <= TAKEN, path
        if part["type"] == "array":
            assert part["items"], f"{path} is a bare array"
        assert set(part.get("required", ())) <= part.get("properties", {}).keys(), path
        assert part.get("default", 0) is not None, path


def test_every_tool_is_listed_under_a_name_without_colons_with_a_title_and_what_it_does(client: Driven) -> None:
    tools = listed(client)
    assert tools.keys() == {name.replace(":", "_") for name in OFFERED}
    assert all(tool.title and tool.description for tool in tools.values())
    assert tools["tasklist_add_task"].input_schema["required"] == ["name"]
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert hints["tasklist_display"].read_only_hint
    assert hints["memory"].read_only_hint
    assert hints["tasklist_clear"].destructive_hint
    assert hints["tasklist_add_task"].destructive_hint is False
    assert hints["tasklist_set_task_done"].idempotent_hint
    assert all(
        bool(hint.read_only_hint) is not TABLE.tools[name].ever_writes
        for name, hint in zip(tools, hints.values(), strict=True)
        if name in TABLE.tools
    )


def test_no_text_over_mcp_names_a_tool_as_the_channel_does_or_one_that_is_not_there(client: Driven) -> None:
    told = json.dumps([tool.model_dump(mode="json") for tool in listed(client).values()]) + wording.instructions(
        TABLE.tools
    )
    assert not re.findall(r"\b(?:control|tasklist|scheduler):\w+", told)
    named = set(re.findall(r"\b(?:control|tasklist|scheduler)_\w+", told))
    assert named <= listed(client).keys()
    assert "JSON line" not in told
    assert "serve" not in wording.instructions(TABLE.tools)


def test_the_instructions_are_under_150_words() -> None:
    assert len(wording.instructions(TABLE.tools).split()) < 150


def test_the_instructions_speak_of_no_tool_that_is_not_there() -> None:
    few = wording.instructions(confinement.select(["todo"]).tools)
    assert "`ask`" not in few
    assert "claim" not in few
    assert "`ask`" in wording.instructions(confinement.select(["todo", "ask"]).tools)


def test_what_was_likely_meant_is_named_as_mcp_names_it(client: Driven) -> None:
    refused = client.refused("tasklist_add_tsk")
    assert refused["code"] == "unknown_tool"
    assert refused["data"]["did_you_mean"][0] == "tasklist_add_task"
    assert set(refused["data"]["did_you_mean"]) <= listed(client).keys()


def test_a_refusal_over_mcp_does_not_speak_of_the_lines_of_the_channel(client: Driven) -> None:
    assert client.refused("tasklist_add_task")["message"].startswith("missing argument name: it takes")
    assert client.refused("task", action="create")["message"] == "missing argument title of the action create"


# --tools


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("ask", {"ask", "control:answer_of"} & TABLE.tools.keys()),
        ("claim", {"control:claim", "control:heartbeat", "control:release"}),
        ("task", {"task", "memory"}),
        ("control_history, create_plan", {"control:history", "create_plan"}),
        ("display,tasklist:add_task", {"tasklist:display", "tasklist:add_task"}),
        ("update_task", {"update_task"}),
        ("tasks", {"tasks"}),
    ],
)
def test_tools_are_chosen_by_dialects_and_names(words: str, names: set[str]) -> None:
    chosen = confinement.select(confinement.words_of(words))
    assert {name for name, tool in chosen.tools.items() if not tool.human} == names
    assert chosen.find("control:pause") is not None


def test_an_unknown_word_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidRequest, match=r"no tool or dialect 'tasklst'; did you mean tasklist"):
        confinement.select(["tasklst"])


@pytest.mark.parametrize("command", ["serve", "mcp", "setup"])
def test_a_command_with_an_unknown_tool_is_wrong_usage_and_makes_nothing(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "tasks.db"
    words = [command, "--tools", "nothing-like-it", "--db", str(db)]
    assert main([*words, "claude"] if command == "setup" else words) == 2
    assert "no tool or dialect 'nothing-like-it'" in capsys.readouterr().err
    assert not db.exists()


def test_what_is_not_chosen_is_neither_listed_nor_served(tmp_path: Path) -> None:
    with driven(tmp_path / "tasks.db", "--tools", "tasklist,ask") as client:
        assert "tasklist_add_task" in listed(client)
        assert "todo" not in listed(client)
        assert client.refused("todo", merge=False, todos=[])["code"] == "unknown_tool"
        assert client.refused("control_pause", agent="x")["code"] == "forbidden"


# The bill


def test_the_tools_cost_no_more_than_they_may() -> None:
    told = {words: cost for words, _, cost in costs.costs()}
    assert told["(all)"] < 8_500
    for dialect in ("tasklist", "task", "todo", "tasks", "scheduler"):
        assert told[f"{dialect},ask,claim"] < 2_600, dialect


def test_the_bill_is_what_the_list_of_tools_weighs(client: Driven) -> None:
    result = client.run(client.session.list_tools)
    sent = result.model_dump_json(by_alias=True, exclude_none=True, include={"tools"})
    assert costs.costs().__next__()[2] == pytest.approx(len(sent) / 4, rel=0.01)


def test_the_bill_stands_in_the_page_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    page = (PAGES / "mcp.md").read_text()
    assert main(["mcp", "--tokens"]) == 0
    assert capsys.readouterr().out in page, "`tui-tasks mcp --tokens` prints it anew"
    assert main(["mcp", "--tokens", "--tools", "ask,claim"]) == 0
    told = capsys.readouterr().out
    assert "| `control:claim` |" in told
    assert "| together |" in told


def test_a_tool_that_does_what_another_does_says_so_where_that_one_is_listed() -> None:
    twin = TABLE.tools["create_plan"]
    told = mcp_tool(twin, {"tasks"}).description
    assert told == "Make a plan, its own list, whose tasks outlast the session, as `tasks` create_plan does."
    assert mcp_tool(twin).description == wording.for_mcp(twin.description)
