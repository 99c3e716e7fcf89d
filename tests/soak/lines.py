"""No line breaks the channel: whatever bytes a line holds, it gets one reply, and the next request is served at once.

Lines are the shapes that JSON readers are known to get wrong, requests of every tool, and both changed at random.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.dialects.requests.test_strict_json import REFUSED, TAKEN
from tests.soak.budget import Budget
from tests.soak.soundness import found
from tests.soak.speaking import Speaker, memory, serve
from tui_tasks.core.commit import journal
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import TOOL_KEYS
from tui_tasks.dialects.tool_table import TABLE

LINES: Final = 1_000_000
BETWEEN_LOOKS: Final = 1_000
"""Lines after which the process's memory is looked at."""
WINDOW: Final = 32
"""So many lines are on their way at once, each with a request after it."""
SERVED_WITHIN: Final = 0.1
TRIES: Final = 20
"""What came late is sent again so often, and was late if it is so each time: the machine may have stood still."""
GROWTH: Final = 16 << 20
"""What the process may grow by once it is warm, after a quarter of the lines."""
ENDLESS: Final = 100 << 20

WAITING: Final = {name for name, tool in TABLE.tools.items() if tool.waits} | {"control:subscribe"}
_WAITING_WORDS: Final = tuple(name.encode() for name in WAITING)
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
    if b"\\" not in line and not any(name in line for name in _WAITING_WORDS):
        return False
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
    """A `serve` that gets lines, each with a request after it, and what it makes of them; several are on their way."""

    def __init__(self, speaker: Speaker, tries: int = TRIES) -> None:
        """`tries`: how often a line is sent again alone, where the request after it was served late."""
        self.speaker = speaker
        self.tries = tries
        self.codes: Counter[str] = Counter()
        self.slowest = 0.0
        self.probes = self.stalls = 0
        self.seq = 0
        self.changed: list[tuple[int, int, bytes]] = []
        """Entries that came to be (after one seq, up to another) while a line was refused, and the line."""
        self._flight: deque[tuple[bytes, bytes, float]] = deque()

    def send(self, lines: Iterable[bytes], window: int = WINDOW) -> None:
        """Send lines, up to `window` of them at once; return when each has had its reply, and so its request."""
        late: list[bytes] = []
        rest = iter(lines)
        while some := list(itertools.islice(rest, max(1, window // 2))):
            self._send(some)
            while len(self._flight) > window // 2:
                late += self._hear()
        while self._flight:
            late += self._hear()
        self.stalls += len(late)
        for line in late:
            # What is late each time is not the machine's fault.
            took = SERVED_WITHIN
            for _ in range(self.tries):
                if (took := self._alone(line)) < SERVED_WITHIN:
                    break
            self.slowest = max(self.slowest, took)

    def _alone(self, line: bytes) -> float:
        """Send one line when nothing else is on its way; how long the request after it took."""
        began = time.monotonic()
        self._send([line])
        self._hear()
        return time.monotonic() - began

    def _send(self, lines: list[bytes]) -> None:
        now = time.monotonic()
        sent = b""
        for line in lines:
            self.probes += 1
            self._flight.append((line, b'{"id":"probe %d",' % self.probes, now))
            # A blank line ends the value that the line may have begun.
            end = b"\n" if line.rstrip().endswith((b"[", b"{", b",", b":")) else b""
            sent += b'%b\n%b{"id":"probe %d","tool":"control:task","args":{}}\n' % (line, end, self.probes)
        self.speaker.send_hearing(sent)

    def _hear(self) -> list[bytes]:
        """Take in the reply to the oldest line and to the request after it; return the line where that was late."""
        line, probe, began = self._flight.popleft()
        if not is_blank(line):
            self._take(line, msgspec.json.decode(self.speaker.line() or b""))
        reply = self.speaker.line() or b""
        assert reply.startswith(probe), f"{reply!r} came after {line[:2_000]!r}, and not the reply to {probe!r}"
        assert b'"argument":"uid"' in reply, reply
        took = time.monotonic() - began
        if took > SERVED_WITHIN:
            return [line]
        self.slowest = max(self.slowest, took)
        return []

    def _take(self, line: bytes, value: Any) -> None:
        replies = value if isinstance(value, list) else [value]
        for reply in replies:
            code = "ok" if reply["ok"] else reply["error"]["code"]
            assert code != "internal", f"a defect at {line[:2_000]!r}: {reply}"
            # That somebody posed as the human is kept in the journal.
            is_kept = code == "invalid_request" and "is reserved" in reply["error"]["message"]
            is_harmless = code in HARMLESS and not is_kept and len(replies) == 1
            if is_harmless and reply["seq"] != self.seq:
                self.changed.append((self.seq, reply["seq"], line))
            # The stored reply to a key that is used again has an older one.
            self.seq = max(self.seq, reply["seq"])
            self.codes[code] += 1


def soak(folder: Path, budget: Budget) -> str:
    database, log = folder / "state" / "tasks.db", folder / "log"
    mutator = Mutator(random.Random(17))
    # The ordinary tests measure no time.
    measures = budget.share == 1
    with log.open("wb") as errors, serve(database, stderr=errors) as speaker:
        talk = Talk(speaker, TRIES if measures else 0)
        talk.send(corpus())
        sent, held = 0, []
        for _ in budget.times(LINES // BETWEEN_LOOKS, 4):
            talk.send(mutator.line() for _ in range(BETWEEN_LOOKS))
            sent += BETWEEN_LOOKS
            held.append(memory(speaker.pid))
        grown = held[-1] - held[len(held) // 4]
        before = memory(speaker.pid, "VmHWM")
        _endless(talk)
        endless = memory(speaker.pid, "VmHWM") - before
    assert b"Traceback" not in log.read_bytes(), log.read_text()[-3_000:]
    assert grown < GROWTH, f"{grown:,} bytes more after {sent:,} lines"
    is_timely = not measures or talk.slowest < SERVED_WITHIN
    assert is_timely, f"a request was served {talk.slowest:.3f} s after a line, each time"
    found(database)
    only_time_has_changed(database, talk)
    codes = ", ".join(f"{number:,} {code}" for code, number in talk.codes.most_common())
    return (
        f"{sent:,} fuzzed lines and {len(corpus())} known shapes, one reply each ({codes}), {WINDOW} on their way at "
        f"once; the request after each served within {talk.slowest * 1000:.0f} ms ({talk.stalls} of them at a later "
        f"try: the machine stood still); {grown / 2**20:.1f} MiB more memory after the first quarter, and "
        f"{endless / 2**20:.1f} MiB for a line of 100 MiB"
    )


def only_time_has_changed(database: Path, talk: Talk) -> None:
    """What came to be while a line was refused must be claims alone whose lease had run out by then."""
    with Store(str(database), read_only=True) as store:
        for before, after, line in talk.changed:
            kinds = {entry.kind for entry in journal.since(store.db, before, after - before)}
            assert kinds == {"claim.lapsed"}, f"{line[:2_000]!r} changed the state: {kinds}"


def _endless(talk: Talk) -> None:
    """A line that seems to have no end."""
    block = b'{"tool": "' + b"x" * (1 << 20)
    for _ in range(ENDLESS // len(block)):
        talk.speaker.send(block)
    talk.send([b"x"])
    assert talk.codes["too_large"], "a line without end was taken"
