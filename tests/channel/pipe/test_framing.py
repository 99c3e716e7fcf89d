"""Bytes to lines and back (docs: protocol, section 2 and the code `too_large`)."""

import json
import os
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tasks.channel.pipe.line_splitter import LineSplitter
from tui_tasks.channel.pipe.loop import CHUNK
from tui_tasks.channel.pipe.output_queue import OutputQueue
from tui_tasks.core.errors import ParseError, TooLarge

MIB = 1024 * 1024


def read(chunks) -> list:
    """What the lines of a stream are, the refusals as their codes."""
    splitter = LineSplitter()
    values = [value for chunk in chunks if chunk for value in splitter.feed(chunk)]
    values += splitter.feed(b"")
    return [value.code if isinstance(value, (ParseError, TooLarge)) else value for value in values]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(stream) + 1) for place in places} | {len(stream)})
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]


LINES = st.one_of(
    st.sampled_from([b"", b"  ", b"\t", b"{", b"\xff", b'{"a":1,"a":2}', b"[1,2]", '"\u00e9\U0001f600"'.encode()]),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2).map(lambda d: json.dumps(d).encode()),
)


@given(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n"])), max_size=8), LINES, st.lists(st.integers(0, 500)))
def test_however_a_stream_is_cut_the_lines_are_the_same(lines, last, places):
    stream = b"".join(line + end for line, end in lines) + last
    expected = []
    for line in [*(line for line, _ in lines), last]:
        if line.strip():
            try:
                expected.append(json.loads(line) if line != b'{"a":1,"a":2}' else "parse_error")
            except ValueError:
                expected.append("parse_error")
    assert read(cut(stream, places)) == expected


def test_a_stream_cut_at_every_byte_gives_the_same_lines():
    stream = '{"a": "\u00e9\U0001f600"}\r\n\r\n  \n[1]\n{\n"end"'.encode()
    whole = read([stream])
    assert whole == [{"a": "\u00e9\U0001f600"}, [1], "parse_error", "end"]
    assert read([stream[at : at + 1] for at in range(len(stream))]) == whole


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
    splitter = LineSplitter()
    chunk = b"x" * CHUNK
    tracemalloc.start()
    try:
        for _ in range(100 * MIB // CHUNK):
            assert splitter.feed(chunk) == []
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()
    refusal, value = splitter.feed(b"\n[1]\n")
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
