"""What the pages and the README say that can be held against the program: tools, settings, codes, links, proofs."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import Talk
from tests.contract.client import ROOT
from tests.docs import tools_page
from tests.soak.__main__ import SOAKS
from tui_tasks import __version__
from tui_tasks.core import errors
from tui_tasks.core.schedule.policy import Settings
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.settings.config import Config

DOCS = ROOT / "tui_tasks" / "docs"
PAGES = [ROOT / "README.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def rows(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose first column has that head."""
    found = re.search(rf"^\| {first} \|.*\n\|[- |]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found, first
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in found[1].splitlines()]


def test_the_page_of_tools_is_as_the_tool_table_is() -> None:
    assert read("tools") == tools_page.page(), "python -m tests.docs.tools_page writes it anew"


def test_the_protocol_names_every_tool_beyond_the_dialects_and_hello_lists_it(talk: Talk) -> None:
    own = [tool.name for tool in TABLE.tools.values() if tool.name.startswith("control:") and not tool.human]
    assert "control:cancel" in own
    page = read("protocol")
    assert [name for name in [*own, "ask"] if f"`{name}`" not in page] == []
    listed = {tool["name"] for tool in talk.ok("control:hello")["tools"]}
    assert listed >= {*own, "ask"}


def test_the_changelog_begins_with_the_version_of_the_program() -> None:
    versions = re.findall(r"^## (\S+)$", read("changelog"), re.MULTILINE)
    assert versions[0] == __version__
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_to_a_file_that_is_there(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_the_index_links_to_every_page_and_the_readme_to_the_index() -> None:
    assert "tui_tasks/docs/index.md" in LINK.findall((ROOT / "README.md").read_text())
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= set(LINK.findall(read("index")))


def test_the_configuration_page_says_of_each_setting_once_when_a_change_of_it_takes_effect() -> None:
    named = [name for row in rows(read("configuration"), "changed") for name in re.findall(r"`(\w+)`", row[0])]
    # The hooks' waits are read at another time than the other settings of sessions.
    settings = [field.name for field in msgspec.structs.fields(Config)]
    assert sorted(named) == sorted([*settings, "sessions", "wait", "wait"])


@pytest.mark.parametrize(
    ("page", "kind", "shown"), [("configuration", Config, msgspec.json.encode), ("scheduling", Settings, str)]
)
def test_each_setting_stands_in_its_page_with_its_default(page: str, kind: Any, shown: Any) -> None:
    fields = msgspec.structs.fields(kind)
    defaults = [
        field.default if field.default is not msgspec.NODEFAULT else field.default_factory() for field in fields
    ]
    expected = [(field.name, shown(value)) for field, value in zip(fields, defaults, strict=True)]
    told = [(row[0].strip("`"), row[1].strip("`")) for row in rows(read(page), "setting")]
    assert told == [(name, text.decode() if isinstance(text, bytes) else text) for name, text in expected]


def test_each_code_of_a_refusal_stands_in_the_page_of_errors() -> None:
    def codes(kind: type[errors.Refusal]) -> set[str]:
        return {kind.code}.union(*(codes(sub) for sub in kind.__subclasses__()))

    assert {row[0].strip("`") for row in rows(read("events-and-errors"), "code")} == codes(errors.Refusal)


def test_each_kind_of_event_stands_in_the_page_of_events() -> None:
    entities = (
        "agent|ask|check|claim|job|journal|list|memory|message|run|session|settings|state|task|terminal|tool|work"
    )
    known = re.compile(rf"(?:{entities})\.[a-z]+|message")
    kinds = {
        node.value
        for file in (ROOT / "tui_tasks" / "core").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and known.fullmatch(node.value)
    }
    told = {kind for row in rows(read("events-and-errors"), "event") for kind in re.findall(r"`([^`]+)`", row[0])}
    assert told == kinds


def test_each_promise_names_a_proof_that_there_is() -> None:
    promises = rows(read("security"), "promise")
    assert promises
    for promise, proved_by, _ in promises:
        proofs = re.findall(r"`([^`]+)`", proved_by)
        assert proofs, promise
        for proof in proofs:
            assert proof in SOAKS or (ROOT / proof).is_file(), proof
    assert {proof for _, proved_by, _ in promises for proof in re.findall(r"`([a-z_]+)`", proved_by)} == set(SOAKS)


@pytest.mark.parametrize("name", ["tui_tasks/docs/architecture.md", ".github/CONTRIBUTING.md"])
def test_each_file_and_room_that_is_named_is_there(name: str) -> None:
    text = (ROOT / name).read_text()
    places = [ROOT, ROOT / "tui_tasks"]
    named = re.findall(r"`((?:[a-z_]+/)*(?:[a-z_]+\.(?:py|md|sql)|(?<=/)))`", text)
    assert [found for found in named if not any((place / found).exists() for place in places)] == []


def test_each_module_that_the_map_names_is_there() -> None:
    files = {path.relative_to(ROOT / "tui_tasks").with_suffix("") for path in (ROOT / "tui_tasks").rglob("*.py")}
    stems = {path.stem for path in files}
    text = read("architecture").split("## Where things are decided")[1].split("\n## ")[0]
    named = re.findall(r"`((?:[a-z]+/)*[a-z]+(?:_[a-z]+)+|(?:[a-z_]+/)+[a-z_]+)`", text)
    assert "fire_times" in named
    assert [name for name in named if Path(name) not in files and name not in stems] == []


def test_each_file_has_a_name_of_its_own_that_says_what_it_holds() -> None:
    files = [path.relative_to(ROOT) for path in (ROOT / "tui_tasks").rglob("*.py") if path.stem != "__init__"]
    stems = Counter(path.stem for path in files)
    assert [stem for stem, times in stems.items() if times > 1] == []
    assert [path for path in files if path.stem.rstrip("s") == path.parent.name.rstrip("s")] == []
    said_of_anything = r"bases?|common|core|functions|general|helpers?|lib|misc|shared|stuff|things|types|utils?"
    assert [path for path in files if re.fullmatch(said_of_anything, path.stem)] == []


def test_each_page_and_heading_that_the_code_cites_is_there() -> None:
    cited = {
        found
        for file in (*(ROOT / "tui_tasks").rglob("*.py"), *(ROOT / "tests").rglob("*.py"))
        for found in re.findall(r"(?<!the )docs: ([a-z-]+)(?:, \"([^\"\n]+)\")?", file.read_text())
    }
    assert {"protocol", "scheduling"} <= {page for page, _ in cited}
    for page, heading in cited:
        assert (DOCS / f"{page}.md").is_file(), page
        assert not heading or re.search(rf"^#+ {re.escape(heading)}$", read(page), re.MULTILINE), (page, heading)


def test_the_protocol_has_the_sections_that_the_code_cites() -> None:
    page = read("protocol")
    cited = {
        int(number)
        for file in (*(ROOT / "tui_tasks").rglob("*.py"), *(ROOT / "tests").rglob("*.py"))
        for numbers in re.findall(r"docs: protocol, sections? ([\d, and to]+)", file.read_text())
        for number in re.findall(r"\d+", numbers)
    }
    assert cited <= {int(number) for number in re.findall(r"^## (\d+)\. ", page, re.MULTILINE)}
    for family in range(5):
        assert f"| seed 00{family} |" in page
