"""No line breaks the channel: whatever bytes a line holds, it gets one reply, and the next request is served at once.

Lines are the shapes that JSON readers are known to get wrong, requests of every tool, and both changed at random.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.soak.budget import Budget
from tests.soak.soundness import found
from tests.soak.speaking import Speaker, memory, serve
from tests.test_strictjson import REFUSED, TAKEN
from tui_tasks.dialects.table import TABLE
from tui_tasks.requests import TOOL_KEYS

LINES: Final = 1_000_000
TOGETHER: Final = 100
SERVED_WITHIN: Final = 0.1
GROWTH: Final = 16 << 20
"""What the process may grow by once it is warm, after a quarter of the lines."""
ENDLESS: Final = 100 << 20

WAITING: Final = {name for name, tool in TABLE.tools.items() if tool.waits} | {"control:subscribe"}
# These change nothing, so the journal is as long as before.
HARMLESS: Final = {"parse_error", "too_large", "invalid_request", "unknown_tool", "invalid_argument"}

VALUES: Final = (
    b"null", b"true", b"false", b"0", b"-0", b"1e400", b"-1", b"18446744073709551616", b"9223372036854775807", b"0.1",
    b'""', b'"x"', b'"\\u0000"', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xf0\x9f\x98\x80"', b"[]", b"{}", b"[[]]",
    b'{"a":1,"a":2}', b"NaN", b"Infinity", b"1E", b"01", b"'x'", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\x00",
    b"\xef\xbb\xbf", b"\x1b[2J", b'"' + b"x" * 20_000 + b'"', b"[" * 70 + b"]" * 70, b"9" * 400, b'"\\u202e\\u0007"',
    b"\r", b"\t", b" ",
)  # fmt: skip
ENVELOPE: Final = (
    {"id": []}, {"id": 1.5}, {"agent": "human"}, {"agent": ""}, {"list": 7}, {"if_version": -1}, {"if_version": "1"},
    {"idempotency_key": ""}, {"idempotency_key": "k"}, {"topic": {"deep": [1, 2]}}, {"args": []}, {"args": None},
)  # fmt: skip
PLAIN: Final = (
    None, True, False, 0, -1, 2**63, 0.5, "", " ", "x", "\0", "\u202e\x1b[2J", "done", "high", [], {}, [[]], ["a"],
    "x" * 11_000, {"a": {"b": []}}, "[1]", "['done']", "2026-01-01", [None], list(range(300)),
)  # fmt: skip
PROBE: Final = b'{"id":"probe","tool":"control:task","args":{}}\n'


def requests() -> Iterator[Any]:
    """Requests of every tool, right and wrong, and of none."""
    right = [
        ("tasklist:add_task", {"name": "a", "description": "b"}),
        ("tasklist:clear", {}),
        ("todo", {"merge": False, "todos": [{"id": n, "content": n, "status": "pending"} for n in ("1", "2")]}),
        ("task", {"action": "create", "title": "t", "tags": ["x"], "priority": "high"}),
        ("task", {"action": "list", "limit": 3}),
        ("tasks", {"action": "pending"}),
        ("scheduler:list_tasks", {}),
        ("control:history", {"limit": 2}),
        ("control:undo", {}),
    ]
    for tool, arguments in right:
        yield {"id": 1, "tool": tool, "args": arguments}
    for tool in TABLE.tools:
        if tool not in WAITING:
            yield {"id": "x", "tool": tool, "args": {}}
            yield {"tool_name": tool, "arguments": {"uid": "nobody", "action": "update", "name": None}}
    for more in ENVELOPE:
        yield {"id": 1, "tool": "tasklist:display", **more}
    yield [{"tool": "tasklist:display"}, {"tool": "nope"}]
    yield []
    yield [[]]
    yield {"tool": 7}


def corpus() -> list[bytes]:
    """What lines are made from."""
    shapes = [text.encode(errors="surrogatepass") for text in (*TAKEN, *REFUSED.values())]
    lines = [*shapes, *VALUES, *(json.dumps(request).encode() for request in requests())]
    return [line for line in lines if b"\n" not in line and len(line) < 120_000]


class Mutator:
    """Makes lines out of lines."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._corpus = corpus()
        ways = [self._flip, self._cut, self._double, self._insert, self._splice, self._replace, self._nest]
        self._ways = [*ways, *[self._edit] * len(ways)]

    def line(self) -> bytes:
        """A line without its end, which is not one that waits."""
        while True:
            line = self._chance.choice(self._corpus)
            for _ in range(self._chance.choice((0, 1, 1, 2, 3, 8))):
                line = self._chance.choice(self._ways)(line)
            line = line.replace(b"\n", b" ")
            if not _waits(line):
                return line

    def _place(self, line: bytes) -> int:
        return self._chance.randint(0, len(line))

    def _flip(self, line: bytes) -> bytes:
        at = self._place(line)
        return line[:at] + bytes([self._chance.randrange(256)]) + line[at + 1 :]

    def _cut(self, line: bytes) -> bytes:
        at = self._place(line)
        return line[:at] + line[at + self._chance.randint(1, 12) :]

    def _double(self, line: bytes) -> bytes:
        at = self._place(line)
        return line[:at] + line[at : at + self._chance.randint(1, 40)] * 2 + line[at:]

    def _insert(self, line: bytes) -> bytes:
        at = self._place(line)
        return line[:at] + self._chance.choice(VALUES) + line[at:]

    def _splice(self, line: bytes) -> bytes:
        other = self._chance.choice(self._corpus)
        return line[: self._place(line)] + other[self._place(other) :]

    def _replace(self, line: bytes) -> bytes:
        """Put a value in the place of another."""
        parts = line.split(b":")
        at = self._chance.randrange(len(parts))
        head, mark, tail = parts[at].partition(b",")
        parts[at] = self._chance.choice(VALUES) + mark + tail if mark else head
        return b":".join(parts)

    def _edit(self, line: bytes) -> bytes:
        """Change a value within the JSON, which stays JSON."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return line
        if not isinstance(value, (dict, list)) or not value:
            return line
        inside: Any = value
        while True:
            key = self._chance.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
            if not isinstance(inside[key], (dict, list)) or not inside[key] or self._chance.random() < 0.3:
                break
            inside = inside[key]
        other = self._chance.choice(PLAIN)
        if isinstance(inside, dict) and self._chance.random() < 0.2:
            inside[str(other)[:20]] = inside[key]
        inside[key] = other
        return json.dumps(value).encode()

    def _nest(self, line: bytes) -> bytes:
        depth = self._chance.choice((1, 2, 63, 64, 65))
        return b"[" * depth + line + b"]" * depth


def _waits(line: bytes) -> bool:
    """Whether a reply would come later: such requests are tried elsewhere."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    asked = value if isinstance(value, list) else [value]
    return any(isinstance(one, dict) and str(one.get(key)) in WAITING for one in asked for key in TOOL_KEYS)


def is_blank(line: bytes) -> bool:
    """Whether a line gets no reply."""
    held = line.removesuffix(b"\r")
    return not held or held.isspace()


class Talk:
    """A `serve` that gets lines, and what it makes of them."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self.codes: Counter[str] = Counter()
        self.slowest = 0.0
        self.probes = self.stalls = 0
        self.seq = 0

    def send(self, lines: list[bytes]) -> None:
        """Send lines and a request after them; each must have its reply."""
        self.speaker.send(b"".join(line + b"\n" for line in lines) + PROBE)
        for line in lines:
            if not is_blank(line):
                self._hear(line, self.speaker.hear())
        reply = self.speaker.hear()
        assert reply["id"] == "probe", reply
        assert reply["error"]["data"]["argument"] == "uid", reply

    def send_one(self, line: bytes) -> None:
        """Send a line and a request, and see how long that takes. What is late twice is not the machine's fault."""
        took = self._time(line)
        if took > SERVED_WITHIN:
            self.stalls += 1
            took = min(took, self._time(line))
        self.slowest = max(self.slowest, took)
        self.probes += 1

    def _time(self, line: bytes) -> float:
        began = time.monotonic()
        self.send([line])
        return time.monotonic() - began

    def _hear(self, line: bytes, value: Any) -> None:
        replies = value if isinstance(value, list) else [value]
        for reply in replies:
            code = "ok" if reply["ok"] else reply["error"]["code"]
            assert code != "internal", f"a defect at {line[:2_000]!r}: {reply}"
            assert code not in HARMLESS or len(replies) > 1 or reply["seq"] == self.seq, f"{line!r} changed the state"
            # The stored reply to a key that is used again has an older one.
            self.seq = max(self.seq, reply["seq"])
            self.codes[code] += 1


def soak(folder: Path, budget: Budget) -> str:
    database, log = folder / "state" / "tasks.db", folder / "log"
    mutator = Mutator(random.Random(17))
    with log.open("wb") as errors, serve(database, stderr=errors) as speaker:
        talk = Talk(speaker)
        talk.send(corpus())
        sent, held = 0, []
        for number in budget.times(LINES // TOGETHER, 20):
            if number % 4 == 1:
                for _ in range(TOGETHER):
                    talk.send_one(mutator.line())
            else:
                talk.send([mutator.line() for _ in range(TOGETHER)])
            sent += TOGETHER
            held.append(memory(speaker.pid))
        grown = held[-1] - held[len(held) // 4]
        before = memory(speaker.pid, "VmHWM")
        _endless(talk)
        endless = memory(speaker.pid, "VmHWM") - before
    assert b"Traceback" not in log.read_bytes(), log.read_text()[-3_000:]
    assert grown < GROWTH, f"{grown:,} bytes more after {sent:,} lines"
    # The ordinary tests measure no time.
    is_timely = budget.share < 1 or talk.slowest < SERVED_WITHIN
    assert is_timely, f"a request was served {talk.slowest:.3f} s after a line, twice"
    found(database)
    codes = ", ".join(f"{number:,} {code}" for code, number in talk.codes.most_common())
    return (
        f"{sent:,} fuzzed lines and {len(corpus())} known shapes, one reply each ({codes}); the next request served "
        f"within {talk.slowest * 1000:.0f} ms, {talk.probes:,} times ({talk.stalls} of them at the second try: the "
        f"machine stood still); {grown / 2**20:.1f} MiB more memory after the first quarter, and "
        f"{endless / 2**20:.1f} MiB for a line of 100 MiB"
    )


def _endless(talk: Talk) -> None:
    """A line that seems to have no end."""
    block = b'{"tool": "' + b"x" * (1 << 20)
    for _ in range(ENDLESS // len(block)):
        talk.speaker.send(block)
    talk.send([b"x"])
    assert talk.codes["too_large"], "a line without end was taken"
