"""From a key to the last byte that it paints, in a long list and in a short one in turn."""

from __future__ import annotations

import contextlib
import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.benchmarks import painted, yardstick
from tests.benchmarks.figures import Figure, Place, read_through
from tests.benchmarks.painted import COLUMNS, FRAME, LINES, Painted

SAMPLES: Final = 500
WORDS: Final = ("auth", "deploy", "token", "cache")


@dataclass(frozen=True)
class Way:
    """Keys that are measured over and over; `back` are pressed after them each time, `once` at first."""

    name: str
    keys: Sequence[str]
    back: str = ""
    once: Sequence[str] = ()


WAYS: Final = (
    Way("cursor down", ["j"] * 25, back="g"),
    Way("page down", ["\x04"] * 20, back="g"),
    Way("end", ["G"], back="g"),
    Way("home", ["g"], back="G", once="G"),
    Way("another pane and back", ["2", "1"]),
    Way("another column of the board and back", ["l", "h"], once=("2", "hhhhl", "h")),
)


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    with contextlib.ExitStack() as opened:
        screens = [opened.enter_context(painted.ours(place.filled(tasks))) for tasks in (1_000, place.many)]
        for screen in screens:
            screen.stand(1.0)
        for way in WAYS:
            few, many = _took(place, screens, way)
            what = f"{way.name}, {place.many:,} tasks: key to last byte"
            yield Figure(f"{what}, p50", "a frame", statistics.median(many), FRAME, "ms", 1.0, "lower")
            against = "with 1,000 tasks"
            yield Figure(f"{what}, p99", against, yardstick.p(many, 99), yardstick.p(few, 99), "ms", 1.2, "lower")
    with painted.ours(place.filled(place.many)) as screen:
        screen.stand(1.0)
        read_through(place.filled(place.many))
        took = list(itertools.islice(_filtering(screen), place.times(200)))
    what = f"a filter keystroke, {place.many:,} tasks, to the first screenful"
    yield Figure(f"{what}, p99", "a frame", yardstick.p(took, 99), FRAME, "ms", 6.0, "lower")


def _took(place: Place, screens: Sequence[Painted], way: Way) -> list[list[float]]:
    """The milliseconds of each press on each screen, the machine's mood being shared."""
    took: list[list[float]] = [[] for _ in screens]
    for screen in screens:
        for key in way.once:
            screen.press(key)
    while len(took[0]) < place.times(SAMPLES):
        for key in way.keys:
            for screen, each in zip(screens, took, strict=True):
                each.append(screen.press(key))
        for screen in screens:
            for key in way.back:
                screen.press(key)
    return took


def _filtering(screen: Painted) -> Iterator[float]:
    """The milliseconds of each letter of words that are typed into the filter and taken out again."""
    for key in "/":
        screen.press(key)
    for word in itertools.cycle(WORDS):
        for key in (*word, *"\x7f" * (len(word) - 1)):
            begin, chunks = screen.record(key)
            yield (_stands_at(chunks) - begin) * 1000
        screen.press("\x7f")


def _stands_at(chunks: Sequence[tuple[float, bytes]]) -> float:
    """When the rows stood as they stand at the end; how many match is counted for longer."""
    import pyte

    terminal = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(terminal)
    stood, rows = chunks[0][0], None
    for at, data in chunks:
        stream.feed(data)
        now = [line[: COLUMNS // 2] for line in terminal.display[4:-3]]
        if now != rows:
            stood, rows = at, now
    return stood
