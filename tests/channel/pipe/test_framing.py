"""Bytes to lines and back, and lines that models write wrongly (docs: protocol, section 2 and the code `too_large`)."""

import json
import os
import tomllib
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Clock, Talk
from tui_tasks.channel.line_parser import LineParser
from tui_tasks.channel.loop import CHUNK, OutputQueue
from tui_tasks.channel.request_reader import RefusedValue
from tui_tasks.core.errors import ParseError, TooLarge
from tui_tasks.core.store import Store

MIB = 1024 * 1024


def read(chunks) -> list:
    """What the lines of a stream are, the refusals as their codes; what is refused unread as `{"refused": value}`."""
    parser = LineParser()
    values = [value for chunk in chunks if chunk for value in parser.feed(chunk)]
    values += parser.feed(b"")
    return [
        {"refused": value.value}
        if isinstance(value, RefusedValue)
        else value.code
        if isinstance(value, (ParseError, TooLarge))
        else value
        for value in values
    ]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(stream) + 1) for place in places} | {len(stream)})
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def continues(line: bytes, depth: int) -> int:
    """Byte by byte: how many brackets of a value are open behind a line that leaves it to the next one, else 0."""
    in_string = escaped = False
    own, last = not depth, b""
    for at in range(len(line)):
        byte = line[at : at + 1]
        if in_string:
            in_string, escaped = escaped or byte != b'"', byte == b"\\" and not escaped
        elif byte == b'"':
            in_string, escaped = True, False
        elif byte in (b"[", b"{"):
            depth += 1
        elif byte in (b"]", b"}") and depth:
            depth -= 1
            own = own or depth == 0
        last = byte if byte.strip() else last
    ends_open = not in_string and last in (b"[", b"{", b",", b":")
    return depth if not own or ends_open else 0


def lines_of(lines) -> list:
    """What `read` is to return, from section 2 of docs/protocol."""
    found, depth = [], 0
    for line in lines:
        if not line.strip():
            depth = 0
            continue
        was_within = bool(depth)
        try:
            value = json.loads(line) if line != b'{"a":1,"a":2}' else "parse_error"
        except ValueError:
            found.append("parse_error")
            depth = continues(line, depth)
            continue
        depth = depth and continues(line, depth)
        found.append({"refused": value} if was_within and value != "parse_error" else value)
    return found


PIECES = st.lists(
    st.sampled_from([b"[", b"{", b"]", b"}", b",", b":", b" ", b'"', b'"a"', b'"[\\""', b"1", b"x", b"\\", b"\xff"]),
    max_size=6,
).map(b"".join)
LINES = st.one_of(
    st.sampled_from([b"", b"  ", b"\t", b"{", b"\xff", b'{"a":1,"a":2}', b"[1,2]", '"\u00e9\U0001f600"'.encode()]),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2).map(lambda d: json.dumps(d).encode()),
    PIECES,
)


@given(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n"])), max_size=8), LINES, st.lists(st.integers(0, 500)))
def test_however_a_stream_is_cut_the_lines_are_the_same(lines, last, places):
    stream = b"".join(line + end for line, end in lines) + last
    assert read(cut(stream, places)) == lines_of([*(line for line, _ in lines), last])


def test_a_stream_cut_at_every_byte_gives_the_same_lines():
    stream = '{"a": "\u00e9\U0001f600"}\r\n\r\n  \n[1]\n{\n[2]\n\n"end"'.encode()
    whole = read([stream])
    assert whole == [{"a": "\u00e9\U0001f600"}, [1], "parse_error", {"refused": [2]}, "end"]
    assert read([stream[at : at + 1] for at in range(len(stream))]) == whole


@pytest.mark.parametrize(
    "bad",
    [
        *('[""],', '{"id": 1, "tool": "control:hello"},', "],", "}", ",", ":", "x,", "a: b,", "[1] ,", '"[",', "[},"),
        *('{"id": 1, "tool": "task', '{"id": 1', '["a"', '{"a": "[', '{"a": "b,', '{"a": "\\\\"', '{"a": tru', "[1"),
        *('{"a": "\\', "[NaN]", '{"a":1,"a":2}', "[" * 65 + "]" * 65, '{"a": "x:'),
    ],
)
def test_a_bad_line_spoils_no_other(bad):
    assert read([bad.encode() + b"\n[7]\n"]) == ["parse_error", [7]]


REQUEST = {"id": 7, "tool": "tasklist:display"}
ARGUMENTS = {"name": "a [b", "tags": ["x,", "{"], "metadata": {"k": {"l": []}}}
BATCH = [REQUEST, {"id": 8, "tool": "tasklist:add_task", "arguments": ARGUMENTS}]


@pytest.mark.parametrize("value", [REQUEST, BATCH, [BATCH, REQUEST]])
@pytest.mark.parametrize("indent", [0, 1, 4])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
def test_of_a_value_over_several_lines_none_is_served_and_the_next_value_is(value, indent, end):
    stream = json.dumps(value, indent=indent).replace("\n", end).encode()
    *within, after = read([stream + end.encode() + b'{"id": 9}\n'])
    assert len(within) == stream.count(b"\n") + 1
    assert all(one == "parse_error" or set(one) == {"refused"} for one in within)
    assert after == {"id": 9}


def test_a_whole_value_within_another_is_refused_by_itself_and_a_blank_line_ends_what_was_never_closed():
    first, second = b'{"id": 1}', b'[{"id": 2}, {"id": 3}]'
    lines = [b"[", first + b",", first, second, b"x" * (MIB + 1), first, b"  ", first, b"]", second]
    assert read([b"\n".join(lines) + b"\n"]) == [
        *("parse_error", "parse_error", {"refused": {"id": 1}}, {"refused": [{"id": 2}, {"id": 3}]}),
        *("too_large", {"refused": {"id": 1}}, {"id": 1}, "parse_error", [{"id": 2}, {"id": 3}]),
    ]


def test_a_line_that_closes_one_value_and_begins_another_leaves_it_to_the_next():
    assert read([b'[\n1\n], {"a":\n[2]\n}\n[3]\n']) == [
        *("parse_error", {"refused": 1}, "parse_error", {"refused": [2]}, "parse_error", [3])
    ]
    assert read([b'[\n], {"a": 1\n[3]\n']) == ["parse_error", "parse_error", [3]]


def test_a_line_without_its_end_is_read_at_the_end_of_the_stream():
    assert read([b'{"a": 1}']) == [{"a": 1}]


def test_a_line_of_exactly_the_limit_is_taken_with_either_end():
    text = b'"' + b"x" * (MIB - 2) + b'"'
    assert len(text) == MIB
    for end in (b"\n", b"\r\n", b""):
        assert read([text + end]) == [json.loads(text)]


@pytest.mark.parametrize("size", [MIB + 1, MIB + 2, MIB + 3, 2 * MIB, 2 * MIB + CHUNK])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_longer_one_is_too_large_and_the_next_is_served(size, end):
    stream = b'"' + b"x" * (size - 2) + b'"' + end + (b"[1]\n" if end else b"")
    for step in (CHUNK, 1000, len(stream)):
        values = read([stream[at : at + step] for at in range(0, len(stream), step)])
        assert values == (["too_large", [1]] if end else ["too_large"])


def test_a_line_of_100_mib_is_not_held_in_memory():
    parser = LineParser()
    chunk = b"x" * CHUNK
    tracemalloc.start()
    try:
        for _ in range(100 * MIB // CHUNK):
            assert parser.feed(chunk) == []
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()
    refusal, value = parser.feed(b"\n[1]\n")
    assert refusal.code == "too_large"
    assert value == [1]


def test_a_line_has_one_value_at_the_most():
    stream = b"".join(b"%s\n" % bytes([byte]) for byte in range(256) if byte not in b"\n\r\t ")
    values = read([stream])
    assert len(values) <= stream.count(b"\n")
    assert [value for value in values if value != "parse_error"] == list(range(10))


def test_the_outbox_gives_back_every_line_in_order_to_a_slow_reader():
    reading, writing = os.pipe()
    outbox = OutputQueue(writing)
    lines = [json.dumps({"n": n, "pad": "x" * (n * 37 % 9000)}).encode() for n in range(300)]
    got = b""
    for line in lines:
        outbox.put(line)
        outbox.flush()
        if len(got) % 3 == 0:
            got += os.read(reading, 1000)
    while outbox.size:
        got += os.read(reading, 5000)
        outbox.flush()
    os.close(writing)
    while more := os.read(reading, CHUNK):
        got += more
    os.close(reading)
    assert got.splitlines() == lines


def test_the_outbox_never_blocks_on_a_reader_who_stands_still():
    reading, writing = os.pipe()
    outbox = OutputQueue(writing)
    outbox.put(b"x" * (3 * MIB))
    outbox.flush()
    assert outbox.size > 2 * MIB
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        outbox.flush()
    os.close(writing)


def test_the_outbox_copies_a_great_reply_a_few_times_not_once_a_write():
    reading, writing = os.pipe()
    outbox = OutputQueue(writing)
    outbox.put(b"x" * (8 * MIB))
    outbox.flush()
    tracemalloc.start()
    try:
        for _ in range(20):
            os.read(reading, CHUNK)
            tracemalloc.reset_peak()
            held = tracemalloc.get_traced_memory()[0]
            outbox.flush()
            assert tracemalloc.get_traced_memory()[1] - held < MIB
    finally:
        tracemalloc.stop()
        os.close(reading)
        os.close(writing)


WRONG_LINES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "lines.toml").read_text())["line"]


@pytest.fixture(scope="module")
def agent():
    """A conversation with a task or two in each dialect. A refusal writes nothing, so that all lines share it."""
    with Store(":memory:") as store:
        talk = Talk(store, Clock())
        talk.ok("tasklist:add_task", name="first")
        talk.ok("tasklist:add_task", name="second")
        talk.ok("tasklist:set_task_in_progress", uid="#1")
        talk.ok("task", action="create", title="board one")
        talk.ok("todo", merge=False, todos=[{"id": one, "content": one, "status": "pending"} for one in "ab"])
        talk.ok("scheduler:create_adhoc_task", name="Nightly", system_prompt="", prompt="go", dedicated_context=False)
        yield talk


def test_there_are_lines_enough():
    assert len({line["sent"] for line in WRONG_LINES}) == len(WRONG_LINES) >= 150
    assert all(line["said"] for line in WRONG_LINES)


@pytest.mark.parametrize(
    "line", WRONG_LINES, ids=[f"{at}: {line['sent'][:50]!a}" for at, line in enumerate(WRONG_LINES)]
)
def test_the_reply_to_a_wrong_line_says_how_to_put_it_right(agent: Talk, line: dict[str, Any]) -> None:
    (said,) = agent.session.answer(LineParser().feed(line["sent"].encode() + b"\n"))
    reply = json.loads(said)
    error = (reply[0] if isinstance(reply, list) else reply)["error"]
    assert error["code"] == line["code"]
    for words in line["said"]:
        assert words in error["message"]
