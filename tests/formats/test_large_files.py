"""Files of any length: read in parts as they would be whole, with little memory for each task."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock
from tests.formats.round_trips import NOW, filled, lost, out
from tui_tasks.cli.admin import import_export
from tui_tasks.cli.admin.import_export import decoded_lines
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting, format_table
from tui_tasks.formats.file_records import RecordStore, TaskRecord
from tui_tasks.formats.format_table import FORMATS, Format, json_values, lines_of
from tui_tasks.formats.importing import Importer
from tui_tasks.formats.standards import markdown

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text("a[]{},\n\" \\'é", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)
# Lines of Markdown that open and close blocks around items with a box.
LINES = (
    *("- [ ] a", "* [x] b", "  - [ ] nested", "    - [/] deeper", "1. [ ] numbered", "- plain", "  > quoted", ""),
    *("# Heading", "text", "```", "~~~", "<div>", "</div>", "<!--", "-->", "    code", "\tc", "> - [ ] in a quote"),
    *("- [ ] a 📅 2026-01-31\r", "[a]: b", "---", "  ```", "- [ ] one\rtwo", "<pre>", "- [ ] ^x"),
)
STREAMED = [format_ for format_ in FORMATS.values() if format_.is_streamed]


@settings(max_examples=60, deadline=None)
@given(values=st.lists(VALUES, max_size=8), indent=st.sampled_from([None, 0, 2]), block=st.integers(1, 40))
def test_the_items_of_an_array_are_the_same_in_blocks_of_any_size(
    values: list[object], indent: int | None, block: int
) -> None:
    text = f"\n {json.dumps(values, indent=indent)}\n\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format_table, "_BLOCK", block)
        assert list(json_values(lines_of(text))) == [(f"item {at}", value) for at, value in enumerate(values, 1)]


@pytest.mark.parametrize("text", ["[", "[1", "[1,", "[1 2]", "[1] 2", "[1]\n[2]", '[{"a": 1},\n{"a"', "[1,]", "[,]"])
def test_an_array_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="not one JSON text"):
        list(json_values(lines_of(text)))


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(st.sampled_from(LINES), max_size=25))
def test_markdown_read_in_parts_is_what_it_is_as_a_whole(lines: list[str]) -> None:
    text = "\n".join(lines)
    whole = markdown.read(lines_of(text), NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "_PART", 0)
        parts = markdown.read(lines_of(text), NOW)
    assert (list(parts.records), parts.lists, parts.lost) == (list(whole.records), whole.lists, whole.lost)


def test_a_block_of_code_full_of_items_is_parsed_a_few_times_not_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "_PART", 0)
    parsed = list[int]()
    parse = markdown.MarkdownIt.parse
    monkeypatch.setattr(markdown.MarkdownIt, "parse", lambda self, text: parsed.append(len(text)) or parse(self, text))
    text = "```\n" + "- [ ] no task\n" * 1000 + "```\n- [ ] a task"
    assert [record.fields["name"] for record in markdown.read(lines_of(text), NOW).records] == ["a task"]
    assert sum(parsed) < 4 * len(text)


def test_many_tasks_of_a_file_come_back_as_they_were_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordStore, "_IN_MEMORY", 100)
    store = RecordStore()
    records = [
        TaskRecord(f"line {at}", str(at), {"name": "\ud800", "tags": ("a",), "result": 2**70}, "web") for at in range(9)
    ]
    for record in records:
        store.append(record)
        assert store[0] == records[0]
    assert (list(store), len(store), store.homes) == (records, 9, {"web"})


@pytest.mark.parametrize("format_", STREAMED, ids=lambda format_: format_.name)
def test_what_a_format_loses_is_the_same_counted_in_parts(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch, format_: Format
) -> None:
    filled(store, clock())
    monkeypatch.setattr("tui_tasks.formats.format_table._AT_ONCE", 1)
    rows = exporting.stored_rows(store.db, None, None)
    if format_.is_read:
        whole = lost(store, format_, out(store, format_))
    else:
        whole = format_.count_losses(exporting.rows(store.db, None, None), "", NOW)
    # A list has one task here, and no task is before or after another.
    del whole["rank: the file has another order"]
    assert format_.count_losses_in_parts(rows, NOW) == whole


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"\xef\xbb\xbfa\r\n\nb", ["a\r", "", "b"]), (b"", []), (b"\n", [""]), ("é\n".encode(), ["é"])],
)
def test_the_lines_of_a_file_are_decoded_without_its_mark(content: bytes, lines: list[str]) -> None:
    assert list(decoded_lines("f", io.BytesIO(content))) == lines


def test_a_file_that_is_not_utf_8_or_too_long_is_refused_with_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match=r"f is not UTF-8: invalid start byte at byte 6$"):
        list(decoded_lines("f", io.BytesIO(b"abc\nde\xff\n")))
    monkeypatch.setattr(import_export, "MAX_BYTES", 6)
    with pytest.raises(InvalidArgument, match="over 6 bytes"):
        list(decoded_lines("f", io.BytesIO(b"abc\ndefg")))


def _import_peak(path: Path, count: int) -> int:
    """Import so many tasks of 20,000 characters; return the memory that Python's objects took at the most."""
    text = "d" * 20_000
    lines = [
        f'{{"uid": "00000000-0000-4000-8000-{at:012}", "name": "n", "description": "{text}"}}\n' for at in range(count)
    ]
    file = io.BytesIO("".join(lines).encode())
    del lines
    with Store(str(path)) as store:
        tracemalloc.start()
        found = FORMATS["jsonl"].read(decoded_lines("f", file), NOW)
        importer = Importer(store, "jsonl", found, target=None, fallback="tasklist", project=None)
        outcome = importer.run("shell", 1_770_000_000_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (outcome.added, task_queries.lists(store.db)[0].total) == (count, count)
    return peak


def test_an_import_keeps_no_texts_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordStore, "_IN_MEMORY", 100_000)
    _import_peak(tmp_path / "loads.db", 2)
    few, many = (_import_peak(tmp_path / f"{count}.db", count) for count in (50, 250))
    assert (many - few) / 200 < 5_000
