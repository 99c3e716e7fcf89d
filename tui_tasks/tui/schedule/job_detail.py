"""The job under the cursor: its last run, its next one, and what it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.jobs.job_rows import JobLine
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, wrapped
from tui_tasks.tui.schedule import job_text

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The width of a field's name in cells, with the space after it.
_LABEL: Final = 9


class JobDetail(TextDrawing):
    """Draws as much of a job as fits; one line on a small screen."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._is_titled = False
        self._job: JobLine | None = None
        self._number = 0

    def put(self, line: JobLine | None, number: int, *, is_titled: bool) -> None:
        """Set the job to draw, with its number; None: nothing. `is_titled`: number and name stand above it."""
        self._job, self._number, self._is_titled = line, number, is_titled

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, the most important first."""
        if self._job is None:
            return []
        line, now = self._job, self.context.clock.now()
        self.lasts(job_text.lasts(line, now))
        if height <= 1:
            return [self._short(line, now, width)]
        titled = not self._is_titled
        lines = self._story(line, now, width, titled)
        lines += self._times(line, now, width, brief=titled)
        lines += self._field("prompt", line.job.prompt, width, 2)
        lines += self._field("system", line.job.system_prompt, width, 1)
        settings = " · ".join(part for part in (job_text.who_runs(line.job), job_text.settings(line.job)) if part)
        lines.append([(f" {safe_line(settings, width - 2)}", "$muted")])
        return lines[:height]

    def _short(self, line: JobLine, now: int, width: int) -> Drawn:
        story, state = job_text.story(line, now)
        if state == "failed" and line.failure is not None and line.failure.why:
            story = line.failure.why
        head = f" S{self._number} "
        return [(head, ""), (safe_line(story, width - len(head)), job_text.job_look(state).color)]

    def _story(self, line: JobLine, now: int, width: int, titled: bool) -> list[Drawn]:
        story, state = job_text.story(line, now)
        look = job_text.job_look(state)
        head: list[Part] = [(f" S{self._number} " if titled else " ", "bold")]
        head.append((f"{look.mark(ascii_only=self.context.ascii_only)} ", look.color))
        indent = sum(len(text) for text, _ in head)
        lines = wrapped(story, width - indent - 1, 1_000)[:2]
        return [[*(head if at == 0 else [(" " * indent, "")]), (text, look.color)] for at, text in enumerate(lines)]

    def _times(self, line: JobLine, now: int, width: int, *, brief: bool) -> list[Drawn]:
        job = line.job
        words = job_text.next_words(job, now, 2 if brief else 3)
        parts = [words] if brief and words else [job_text.raw(job), job_text.when(job), words]
        return [[(f" {safe_line('  ·  '.join(part for part in parts if part), width - 2)}", "")]]

    def _field(self, name: str, text: str, width: int, most: int) -> list[Drawn]:
        if not text.strip():
            return []
        lines = wrapped(" ".join(text.split()), max(8, width - _LABEL - 2), 2_000)
        if len(lines) > most:
            lines = [*lines[: most - 1], safe_line(" ".join(lines[most - 1 :]), max(8, width - _LABEL - 2))]
        return [
            [(f" {name if at == 0 else '':<{_LABEL - 1}}", "$muted"), (line, "")]
            for at, line in enumerate(lines[:most])
        ]
