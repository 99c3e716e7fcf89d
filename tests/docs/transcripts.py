"""Conversations as the pages show them, and what a real `serve` says to them.

In a block of the kind `transcript`, a line `> ` is sent, each `< ` is a line that comes back, and a line that is
indented goes on with the one before it. Replies are compared as JSON, with these signs in the page:

    "<task-1>"   any text where it stands first, that text wherever it stands again, sent lines included
    "<at>"       an instant; "<time>" a local one
    "…"          anything; as a key: further members; at the end of an array: further items

A line `# The human answers: TEXT` answers the open question, `# The human writes: TEXT` sends a message to `agent`, and
`# The human pauses the agent: TEXT` does. `# The human reviews: LIST` holds what agents file there, `# The human
declines: TEXT` declines the task that is held. The words behind `transcript` are options of `serve`.

In a block of the kind `console`, a line `$ ` is run by a shell, and what follows is what it prints. In one of the kind
`console person` a terminal is its standard input.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from tui_tasks import clock
from tui_tasks.core.operations.asks import AnswerAsk, PauseAgent, SendMessage
from tui_tasks.core.operations.tasks import DeclineTask, SetListReview
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.tasks import held_queries, task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN

_BLOCK = re.compile(r"^```(transcript|console)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"<[a-z]+(?:-\d+)?>")
_PATTERNS = {
    "<at>": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?[+-]\d\d:\d\d"),
    "<time>": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
}


class Block(NamedTuple):
    """A conversation of a page: the line it begins on, its kind and options, and its steps, each a sign and a text."""

    page: str
    line: int
    kind: str
    options: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]


def blocks(page: Path) -> list[Block]:
    """Every conversation of a page."""
    text = page.read_text()
    return [
        Block(page.name, text.count("\n", 0, found.start()) + 1, found[1], tuple(found[2].split()), _steps(found[3]))
        for found in _BLOCK.finditer(text)
    ]


def _steps(text: str) -> tuple[tuple[str, str], ...]:
    steps: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith(("> ", "< ", "# ", "$ ")):
            steps.append((line[0], line[2:]))
        elif steps and steps[-1][0] == "$":
            steps.append(("=", line))
        elif steps and steps[-1][0] == "=":
            steps[-1] = ("=", f"{steps[-1][1]}\n{line}")
        else:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]} {line.strip()}")
    return tuple(steps)


class Names:
    """What the names of a page, such as `<task-1>`, stand for."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def put_in(self, text: str) -> str:
        """A text of the page with what its names stand for."""
        return _NAME.sub(lambda found: self._held[found[0]], text)

    def match(self, shown: Any, real: Any, at: str = "$") -> None:
        """Hold what the page shows against what came.

        Raises:
            AssertionError: they differ; it tells where.
        """
        if shown == "…":
            return
        if isinstance(shown, dict) and isinstance(real, dict):
            missing = (shown.keys() ^ real.keys()) - {"…"}
            assert not (missing - real.keys() if "…" in shown else missing), f"{at}: {missing}; it is {real}"
            for key in shown.keys() - {"…"}:
                self.match(shown[key], real[key], f"{at}.{key}")
        elif isinstance(shown, list) and isinstance(real, list):
            whole = not shown or shown[-1] != "…"
            assert len(shown) == len(real) if whole else len(shown) - 1 <= len(real), f"{at}: it is {real}"
            for n, (one, other) in enumerate(zip(shown, real, strict=False)):
                self.match(one, other, f"{at}[{n}]")
        elif isinstance(shown, str) and isinstance(real, str):
            assert self._is_said(shown, real), f"{at}: {shown!r} stands in the page, {real!r} came"
        else:
            assert shown == real, f"{at}: {shown!r} stands in the page, {real!r} came"

    def _is_said(self, shown: str, real: str) -> bool:
        found = re.fullmatch(self._pattern(shown), real, re.DOTALL)
        for name, value in (found.groupdict() if found else {}).items():
            self._held[f"<{name.replace('_', '-')}>"] = value
        return found is not None

    def _pattern(self, shown: str) -> str:
        new: set[str] = set()

        def part(text: str) -> str:
            if text == "…":
                return ".*"
            if not _NAME.fullmatch(text):
                return re.escape(text)
            if text in _PATTERNS:
                return _PATTERNS[text].pattern
            group = text[1:-1].replace("-", "_")
            if text in self._held:
                return re.escape(self._held[text])
            if group in new:
                return f"(?P={group})"
            new.add(group)
            return rf'(?P<{group}>[^\s()\]"]+)'

        return "".join(part(text) for text in re.split(rf"(…|{_NAME.pattern})", shown))


def do_as_human(db: Path, said: str) -> None:
    """Do what a comment says that the human does; nothing for any other comment."""
    does, _, text = said.partition(": ")
    with Store(str(db)) as store:
        if does == "The human answers":
            (asked,) = ask_queries.open_asks(store.db)
            store.commit(AnswerAsk(asked.uid, text), actor=HUMAN, now=clock.now())
        elif does == "The human writes":
            store.commit(SendMessage("agent", text), actor=HUMAN, now=clock.now())
        elif does == "The human pauses the agent":
            store.commit(PauseAgent("agent", text), actor=HUMAN, now=clock.now())
        elif does == "The human reviews":
            home = task_queries.find_list(store.db, text)
            assert home is not None
            store.commit(SetListReview(home.uid, True), actor=HUMAN, now=clock.now())
        elif does == "The human declines":
            (proposed,) = held_queries.everything(store.db)
            store.commit(DeclineTask(proposed.uid, text), actor=HUMAN, now=clock.now())


def value(text: str) -> Any:
    """The JSON of a line of the page."""
    return json.loads(text)
