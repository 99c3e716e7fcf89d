"""Texts of settings are edited in place, and given back as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.cli.admin import jsonc, program_entries, setup_plan

SERVER = ("mcpServers", "tui-tasks")
ENTRY = {"command": "tui-tasks", "args": ["mcp", "ü"]}

GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // one\n", "/* one */", "\n\n// ü, {\n  ", "/* a\n b */ "])
NAMES = st.sampled_from(["a", "hooks", "mcpServers", "other"])
SCALARS = st.sampled_from(["1", "1e400", "1.10", '"s"', '"// no comment, }"', "null", "true", '"\\u00fc"'])


def container(members: st.SearchStrategy[str], brackets: str) -> st.SearchStrategy[str]:
    @st.composite
    def draw(draw: Any) -> str:
        parts = []
        for _ in range(draw(st.integers(0, 3))):
            name = f"{json.dumps(draw(NAMES))}{draw(GAPS)}:{draw(GAPS)}" if brackets == "{}" else ""
            parts.append(f"{draw(GAPS)}{name}{draw(members)}{draw(GAPS)}")
        last = f",{draw(GAPS)}" if parts and draw(st.booleans()) else ""
        return f"{brackets[0]}{','.join(parts) or draw(GAPS)}{last}{brackets[1]}"

    return draw()


VALUES = st.recursive(SCALARS, lambda each: container(each, "[]") | container(each, "{}"), max_leaves=8)
OBJECTS = st.tuples(GAPS, container(VALUES, "{}"), GAPS).map("".join)


def in_other_forms(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    lines = texts | texts.map(lambda text: text.replace("\n", "\r\n"))
    return lines | lines.map(lambda text: f"\ufeff{text}") | st.none()


@given(in_other_forms(OBJECTS | GAPS | st.just("// one")))
def test_what_was_put_into_json_with_comments_is_taken_out_to_the_byte(text: str | None) -> None:
    try:
        made = jsonc.put(text, SERVER, ENTRY)
        for event in ("A", "B"):
            made = jsonc.append(made, ("hooks", event), {"hooks": [1]})
    except jsonc.NotAContainer:
        return
    assert jsonc.value_at(jsonc.load(made), SERVER) == ENTRY
    left: str | None = made
    for event in ("B", "A"):
        assert left is not None
        number = len(jsonc.value_at(jsonc.load(left), ("hooks", event))) - 1
        left = jsonc.remove(left, ("hooks", event, number))
    assert left is not None
    assert jsonc.remove(left, SERVER) == text


LINES = st.sampled_from(
    [
        "a = 1 # one",
        "# two",
        "",
        "[x]",
        "b = 'ü'",
        "[mcp_servers.other] # o",
        "[[y]]",
        "mcp_servers = {}",
        "[mcp_servers]",
        "  [z.w]",
        "k = '''\n[mcp_servers.tui-tasks]\n'''",
        "mcp_servers.q.command = 'x'",
    ]
)


@given(in_other_forms(st.tuples(st.lists(LINES, max_size=6).map("\n".join), st.sampled_from(["", "\n"])).map("".join)))
def test_what_was_put_into_toml_is_taken_out_to_the_byte(text: str | None) -> None:
    try:
        made = program_entries.put_in_toml(text, "tui-tasks", ENTRY)
    except program_entries.NotToml:
        return
    assert program_entries.load_toml(made)["mcp_servers"]["tui-tasks"] == ENTRY
    assert program_entries.put_in_toml(made, "tui-tasks", ENTRY) == made
    assert program_entries.remove_from_toml(made, "tui-tasks") == text


@given(in_other_forms(st.text(alphabet="ab ü\n#<!->", max_size=40)))
def test_a_block_of_guidance_is_written_once_and_taken_out_to_the_byte(text: str | None) -> None:
    made = setup_plan.put_guidance(text)
    assert setup_plan.put_guidance(made) == made
    assert setup_plan.remove_guidance(made) == text


def test_the_guidance_is_short() -> None:
    assert len(setup_plan.BLOCK.split()) < 120


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, // one\n}', '{"a": 1, // one\n  "n": 2,\n}'),
        ('{\n\t"a": 1 // one\n}', '{\n\t"a": 1, // one\n\t"n": 2\n}'),
        ('{"a": 1}', '{"a": 1,\n  "n": 2}'),
        ("{}", '{"n": 2}'),
        ("// one\n", '// one\n{\n  "n": 2\n}'),
        ('{"n" : [1] /* old */}', '{"n" : 2 /* old */}'),
        ('{"n": 0, "n": 1}', '{"n": 0, "n": 2}'),
    ],
)
def test_a_member_is_put_where_a_person_would(before: str, after: str) -> None:
    assert jsonc.put(before, ("n",), 2) == after


@pytest.mark.parametrize("text", ["{", "[1 2]", '{"a" 1}', "{a: 1}", '{"a": 1} x', "/* {}", "[" * 100_000, '{,"a":1}'])
def test_what_is_not_json_is_told(text: str) -> None:
    with pytest.raises(jsonc.NotJson):
        jsonc.load(text)


def test_a_table_with_comments_keeps_them_when_its_command_changes() -> None:
    text = '# mine\n[mcp_servers.tui-tasks] # ours\ncommand = "old" # why\n[mcp_servers.tui-tasks.env]\nA = "1"\n'
    made = program_entries.put_in_toml(text, "tui-tasks", {"command": "new"})
    assert made == text.replace('"old"', '"new"')


def test_toml_that_cannot_be_edited_without_moving_its_tables_is_refused() -> None:
    with pytest.raises(program_entries.NotToml, match="its tables would have to be moved"):
        program_entries.put_in_toml("mcp_servers = {}\n[[y]]\n[x]\n[[y]]\n", "tui-tasks", ENTRY)
