"""The output of a run on its way into the database."""

import pytest

from tui_tasks.core.unjournaled import run_output
from tui_tasks.core.unjournaled.run_output import HEAD, TAIL
from tui_tasks.runner.run_process import PIECE, OutputLog, StreamTail


@pytest.mark.parametrize("flush_every", [1, 7, 10_000])
@pytest.mark.parametrize("total", [0, 10, PIECE, HEAD + 5, HEAD + TAIL, 3 * HEAD + 12_345])
def test_what_is_kept_is_the_head_and_the_tail_however_it_comes(store, total, flush_every):
    whole = bytes(at * 31 % 251 for at in range(10_007)) * (total // 10_007 + 1)
    whole = whole[:total]
    log = OutputLog()
    for at, start in enumerate(range(0, total, 9_999)):
        log.feed(whole[start : start + 9_999])
        if at % flush_every == 0:
            run_output.write_output(store.db, "run", log.unwritten_pieces(), log.total)
            log.mark_written()
    run_output.write_output(store.db, "run", log.unwritten_pieces(), log.total)
    kept = run_output.read_output(store.db, "run")
    assert kept.total == total
    assert sum(len(data) for _, data in kept.pieces) <= HEAD + TAIL
    assert all(whole[start : start + len(data)] == data for start, data in kept.pieces)
    held = {at for start, data in kept.pieces for at in (start, start + len(data) - 1)}
    assert not total or {0, total - 1} <= held
    if total <= HEAD + TAIL:
        assert b"".join(data for _, data in kept.pieces) == whole


def test_a_flood_between_two_writes_is_not_held_in_memory():
    log = OutputLog()
    for _ in range(100):
        log.feed(bytes(1_000_000))
    assert sum(len(data) for _, data in log.unwritten_pieces()) <= HEAD + TAIL + PIECE
    assert log.total == 100_000_000


def test_the_end_of_a_stream_is_marked_where_it_was_cut_and_cut_between_characters():
    end = StreamTail(10)
    end.feed("short é".encode())
    assert end.text() == "short é"
    end.feed("é".encode() * 100)
    assert end.text() == "[… 198 bytes left out …]\n" + "é" * 5


def test_the_last_line_that_says_something_is_found():
    end = StreamTail(100)
    end.feed(b"Traceback\nsmtp: 535 authentication failed\n\n  \n")
    assert end.telling_line() == "smtp: 535 authentication failed"
    assert StreamTail(100).telling_line() == ""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Traceback\nValueError: no such user\n\n1 failed, 3 passed\n}\n", "ValueError: no such user"),
        ("E   AssertionError: 2 != 3\n=== 1 failed in 0.2s ===", "E   AssertionError: 2 != 3"),
        ("Error: Cannot find module 'x'\n    at run (a.js:1:2)\n\nNode.js v22.1.0", "Error: Cannot find module 'x'"),
        ("error[E0308]: mismatched types\n --> a.rs:1\n", "error[E0308]: mismatched types"),
        ("java.io.IOException: disk\n\tat A.main(A.java:3)", "java.io.IOException: disk"),
        ("fatal: not a git repository\nhint: see git help", "fatal: not a git repository"),
        ("thread 'main' panicked at a.rs:3\nnote: run with RUST_BACKTRACE=1", "thread 'main' panicked at a.rs:3"),
        ("no errors so far\nstopped by the quota\n}\n", "stopped by the quota"),
    ],
)
def test_the_line_of_an_error_is_preferred_to_the_summary_after_it(output, line):
    end = StreamTail(1_000)
    end.feed(output.encode())
    assert end.telling_line() == line
