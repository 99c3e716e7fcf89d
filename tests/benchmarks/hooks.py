"""Hooks of agent programs: what one costs the agent that waits for it, and many agents at once beside a screen."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks import painted
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.live import keys_took
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.hooks.hook_folder import Spool, put_payload

ROUNDS: Final = 60
SESSIONS: Final = 50
EACH: Final = 20
"""Events of a session in a second."""
SECONDS: Final = 10
SAMPLES: Final = 300
_AT_REST: Final = 3.0
"""Seconds after which records to which nothing is added have been read."""
PROGRAM: Final = Path(sys.executable).with_name("tui-tasks")


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    yield _process(place)
    yield from _many(place)


def _process(place: Place) -> Figure:
    """Run in turn, so that both have the machine's mood."""
    db = place.folder / "hooks.db"
    payload = json.dumps(_event("s-1", 1, db.parent)).encode()
    hook = [str(PROGRAM), "hook", "claude", "--db", str(db)]
    bare = [sys.executable, "-c", "pass"]
    taken: dict[bool, list[float]] = {True: [], False: []}
    for is_ours, command in [(True, hook), (False, bare)] * place.times(ROUNDS):
        begin = time.perf_counter()
        subprocess.run(command, input=payload, check=True)
        taken[is_ours].append((time.perf_counter() - begin) * 1000)
    ours, theirs = (statistics.median(taken[is_ours]) for is_ours in (True, False))
    return Figure("`tui-tasks hook`, the whole process", "`python3 -c pass`", ours, theirs, "ms", 1.5, "lower")


def _many(place: Place) -> Iterator[Figure]:
    """Payloads of many sessions as their hooks leave them; the processes themselves would take ten such machines."""
    db = place.folder / "hooks-many.db"
    shutil.copyfile(place.filled(1_000), db)
    db.chmod(0o600)
    with painted.ours(db, "--no-scheduler") as screen:
        screen.stand(1.0)
        quiet = keys_took(screen, place.times(SAMPLES))
        with _feeding(db, place.seconds(SECONDS)) as feeder:
            screen.drain(0.5)
            busy = keys_took(screen, place.times(SAMPLES))
            assert feeder.stdout is not None
            began, put = map(float, feeder.stdout.read().split())
        with Spool(str(db), make=False) as spool:
            while spool.pending():
                screen.drain(0.05)
        rate = put / (time.time() - began)
        screen.drain(_AT_REST)
    what = f"events of {SESSIONS} sessions taken in beside a screen"
    yield Figure(what, "those that came", rate, SESSIONS * EACH, "1/s", 0.9, "higher")
    with Store(str(db)) as store:
        told = [seen.session.last_prompt for seen in session_queries.everyone(store.db)]
        spent = sum(seen.session.tokens or 0 for seen in session_queries.everyone(store.db))
    last = [f"prompt {int(put) // SESSIONS - 1}"] * SESSIONS
    yield Figure("their last words of which none is lost", "sessions", told.count(last[0]), SESSIONS, "", 1.0, "higher")
    yield Figure("their tokens, of which none is missed", "their records", spent, _recorded(db), "", 1.0, "higher")
    middle = statistics.median
    yield Figure("a key meanwhile, p50", "with no events", middle(busy), middle(quiet), "ms", 1.5, "lower")


def _recorded(db: Path) -> int:
    """How many messages, of a token each, stand in the records of all sessions."""
    return sum(len(file.read_text().splitlines()) for file in Path(f"{db}-records").iterdir())


@contextlib.contextmanager
def _feeding(db: Path, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.benchmarks.hooks", str(db), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as feeder:
        yield feeder


def _event(session: str, number: int, records: Path) -> dict[str, object]:
    """A prompt, then tools, then the next prompt."""
    told: dict[str, object] = {"session_id": session, "cwd": "/somewhere", "permission_mode": "default"}
    told["transcript_path"] = str(records / f"{session}.jsonl")
    if number % EACH in (0, EACH - 1):
        return {**told, "hook_event_name": "UserPromptSubmit", "prompt": f"prompt {number}"}
    event = "PreToolUse" if number % 2 else "PostToolUse"
    return {**told, "hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "make"}}


def _record(path: Path, number: int) -> None:
    """What the program itself writes of a message, which is read for its tokens."""
    message = {"id": f"m-{number}", "usage": {"input_tokens": 1}, "content": [{"type": "text", "text": "x" * 2_000}]}
    with path.open("a") as file:
        file.write(json.dumps({"type": "assistant", "message": message}) + "\n")


def feed(arguments: Sequence[str]) -> None:
    """Leave payloads at the rate that is measured; print when that began and how many they were."""
    db, seconds = arguments
    records = Path(f"{db}-records").absolute()
    records.mkdir()
    began, put = time.time(), 0
    with Spool(db, make=True) as spool:
        for number in range(int(float(seconds)) * EACH):
            for session in range(SESSIONS):
                head = {"program": "claude", "at": time.time_ns() // 1000, "cwd": "/", "pid": 0}
                event = _event(f"s-{session}", number, records)
                if "prompt" in event:
                    _record(Path(str(event["transcript_path"])), number)
                put_payload(spool.folder, head, json.dumps(event).encode())
                put += 1
            time.sleep(max(0.0, began + (number + 1) / EACH - time.time()))
    print(began, put)


if __name__ == "__main__":
    os.nice(5)
    feed(sys.argv[1:])
