"""What a benchmark gives: a figure of ours, the yardstick's of the same run, and how they must compare."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tests.benchmarks import fill


@dataclass(frozen=True)
class Figure:
    """One row of the table: `ours` and `yardstick` in the same unit, and the ratio that is wanted.

    Attributes:
        what: what was measured.
        against: what the yardstick is.
        unit: of both, e.g. "1/s", "ms", "MB".
        wanted: the ratio `ours / yardstick` that must be reached: `better` says on which side of it.
    """

    what: str
    against: str
    ours: float
    yardstick: float
    unit: str
    wanted: float
    better: Literal["higher", "lower"]

    @property
    def ratio(self) -> float:
        """Ours by the yardstick's."""
        return self.ours / self.yardstick

    @property
    def is_reached(self) -> bool:
        """Whether the ratio is what is wanted, or better."""
        return self.ratio >= self.wanted if self.better == "higher" else self.ratio <= self.wanted

    def as_dict(self) -> dict[str, Any]:
        """For the JSON file."""
        return {**asdict(self), "ratio": self.ratio, "reached": self.is_reached}

    def as_row(self) -> str:
        """For the table, in Markdown."""
        sign = "≥" if self.better == "higher" else "≤"
        verdict = "" if self.is_reached else " **missed**"
        return (
            f"| {self.what} | {_short(self.ours)} {self.unit} | {self.against}: {_short(self.yardstick)} {self.unit} "
            f"| {self.ratio:.2f} | {sign} {self.wanted:g}{verdict} |"
        )


HEAD = "| what | ours | against | ratio | wanted |\n| --- | --- | --- | --- | --- |"


def read_through(path: Path) -> None:
    """Have the system hold a file: what is measured is the program, not a disk that others use as well."""
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Place:
    """Where a benchmark works, and how long it may take.

    Attributes:
        folder: empty at first, on the disk that is measured; the caller removes it.
        quick: a first look in seconds, in place of figures to rely on.
        most: how many tasks, and entries of the journal, are many.
    """

    folder: Path
    quick: bool
    most: int = 1_000_000

    def seconds(self, whole: float) -> float:
        """How long to measure what is measured for `whole` seconds."""
        return whole / 5 if self.quick else whole

    def times(self, whole: int) -> int:
        """How often to measure what is measured `whole` times."""
        return max(3, whole // 5) if self.quick else whole

    @property
    def many(self) -> int:
        """How many tasks are many."""
        return min(20_000, self.most) if self.quick else self.most

    def filled(self, tasks: int) -> Path:
        """A database with one list of so many tasks, made once and shared: open it to read, or copy it."""
        path = self.folder / f"filled-{tasks}.db"
        if not path.exists():
            fill.fill(path, tasks)
        return path
