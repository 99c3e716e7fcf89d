"""Jobs in the schedule: their lines, the rules between its parts, and the job under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from typing_extensions import override

from tui_tasks.core import vocab
from tui_tasks.core.read import job_lines
from tui_tasks.core.read.job_lines import JobLine
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.layout import WIDE
from tui_tasks.tui.painting.line_painter import rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, wrapped
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import GUTTER, NUMBER_GAP, RowDrawing, RowLook, gutter
from tui_tasks.tui.schedule import job_text

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


# In cells: more than a line has.
_WIDEST: Final = 400
# In cells: the longest words for a schedule, and the least for the last run.
_WHEN: Final = 30
_LAST: Final = 18
# In cells: by how much the words for the last run may grow while they age, with two spaces after them.
_GROWS: Final = 6
# In cells: the least for the words for a schedule where a job has failed, with two spaces after them.
_LEAST_WHEN: Final = 15
# In cells: in less, a line has only the name and the next time.
_COLUMNS_FROM: Final = 60


class JobColumns(NamedTuple):
    """The width of each column in cells, with the space after it; 0: not shown."""

    task: int
    when: int
    last: int
    next: int
    history: int


def columns(width: int, head: int, name: int, when: int, failure: int = 0, last: int = 0) -> JobColumns:
    """Divide a width into columns behind `head` cells; `name`, `when`, `failure` and `last` are the widths of the
    longest ones.

    The last run takes what it needs of what the others leave. The words for the schedule give way where the whole
    reason of a failure fits then.
    """
    history, next_ = (job_lines.HISTORY + 1, 14) if width >= 100 else (0, 12)
    rest = width - head - next_ - history
    task = min(max(name, 4) + 2, rest * 2 // 5)
    when = min(max(when, 4) + 2, _WHEN)
    least = max(failure + 2, _LAST)
    if least > rest - task - min(when, _LEAST_WHEN):
        least = _LAST
    when = min(when, max(_LEAST_WHEN, rest - task - least))
    return JobColumns(task, when, min(rest - task - when, max(least, last + _GROWS)), next_, history)


# How many lines the words for the last run have at most.
_LAST_LINES: Final = 3
_SLOW: Final = "$state-overdue"
# The lines of what to do where there is no job.
_EMPTY: Final = 4


class JobRows(RowDrawing[JobLine]):
    """Draws jobs, one in each line; below it the rest of how the last run went, where there is room."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._longest = (0, 0, 0, 0, 0)
        self.tall: set[str] = set()
        """The uids of the jobs that have lines below their first one."""

    def fit(self, lines: Iterable[JobLine]) -> bool:
        """Make room for the names, schedules and failures of these jobs; return whether columns have moved."""
        before, names, whens, failures, now = self._longest, [0], [0], [0], self.context.clock.now()
        lasts, highest = [0], 0
        for line in lines:
            highest = max(highest, line.job.number)
            names.append(cell_len(safe_line(line.job.name, _WIDEST)))
            whens.append(cell_len(safe_line(job_text.when(line.job), _WIDEST)))
            last = job_text.last(line, now, with_reason=True)
            lasts.append(cell_len(safe_line(last, _WIDEST)))
            if _is_failure(line):
                failures.append(cell_len(_in_short(last)))
        self._longest = max(names), max(whens), max(failures), max(lasts), highest
        return before != self._longest

    def titles(self, width: int) -> list[Part]:
        """Return the titles of the columns: `       job     when    last run    next    history`."""
        if width < _COLUMNS_FROM:
            return [(f"{' ' * self._head}job", "$muted")]
        task, when, last, next_, history = self._sizes(width)
        titled = f"{'job':<{task}}{'when':<{when}}{'last run':<{last}}{'next':<{next_}}"
        return [(f"{' ' * self._head}{titled}{'history' if history else ''}", "$muted")]

    @property
    def _number_width(self) -> int:
        return max(self.context.state.number_width, len(f"S{self._longest[-1]}"))

    @property
    def _head(self) -> int:
        """Return how many cells are before a job's name."""
        return GUTTER + self._number_width + NUMBER_GAP

    def _sizes(self, width: int) -> JobColumns:
        return columns(width, self._head, *self._longest[:-1])

    def says(self, row: JobLine) -> str:
        """Return what the filter finds a row by: what it shows, and its prompt."""
        job, now = row.job, self.context.clock.now()
        shown = job_text.job_look(job_text.state(row, now)).word, job_text.when(job), job_text.next_(job, now)
        last = job_text.last(row, now, with_reason=True)
        return "\n".join((f"S{job.number}", job.name, *shown, last, job.type, job.prompt)).casefold()

    def draw(self, row: JobLine, row_look: RowLook, line: int) -> Sequence[Part]:
        """`>  ✗ S4  Digest mail   08:00 daily    failed 4h ago   in 11h   ✓✓✓✗✗`."""
        context, width = self.context, row_look.width
        if line:
            sizes = self._sizes(width)
            rest = self.last_lines(row, width)[line]
            return ((" " * (self._head + sizes.task + sizes.when), ""), (rest, ""))
        now, ascii_only, job = context.clock.now(), context.ascii_only, row.job
        state = job_text.state(row, now)
        shown = job_text.job_look(state)
        self.lasts(job_text.lasts(row, now))
        number = f"S{job.number}".ljust(self._number_width + NUMBER_GAP)
        next_ = job_text.next_(job, now, ascii_only=ascii_only)
        next_style = shown.color if state == "overdue" else "$muted"
        glyph = (shown.mark(ascii_only=ascii_only), _SLOW if job_text.is_slow(row, now) else shown.color)
        head = (*gutter(row_look, glyph, is_new=False, ascii_only=ascii_only), (number, "$muted"))
        quiet = "$muted" if not job.enabled else ""
        if width < _COLUMNS_FROM:
            room = max(1, width - self._head - cell_len(next_) - 2)
            return (*head, (fit(job.name, room), quiet), (f" {next_} ", next_style))
        sizes = self._sizes(width)
        return (
            *head,
            (fit(job.name, sizes.task - 2) + "  ", quiet),
            *self._last(row, sizes, now),
            (fit(next_, sizes.next - 1) + " ", next_style),
            *(self._history(row) if sizes.history else ()),
        )

    def _last(self, row: JobLine, sizes: JobColumns, now: int) -> tuple[Part, Part]:
        """Return the schedule and how the last run went; of a failure without the word where its reason needs room."""
        when, said = job_text.when(row.job), job_text.last(row, now, with_reason=True)
        if row.job.uid in self.tall:
            said = self._wrapped(said, sizes)[0]
        elif _is_failure(row) and cell_len(safe_line(said, _WIDEST)) > sizes.last - 2:
            said = _in_short(said)
        is_calm = row.running is None and (row.last is None or row.last.outcome == "success")
        style = _SLOW if job_text.is_slow(row, now) else "$muted" if is_calm else ""
        return (
            (fit(when, sizes.when - 2) + "  ", "$muted"),
            (fit(said, sizes.last - 2) + "  ", style),
        )

    def last_lines(self, row: JobLine, width: int) -> list[str]:
        """Return how the last run went, on as many lines as it needs in a list of this width."""
        said = job_text.last(row, self.context.clock.now(), with_reason=True)
        return self._wrapped(said, self._sizes(width)) if width >= _COLUMNS_FROM else [said]

    def _wrapped(self, said: str, sizes: JobColumns) -> list[str]:
        return _wrapped_at_most(safe_line(said, _WIDEST), sizes.last - 2, _LAST_LINES)

    def _history(self, row: JobLine) -> list[Part]:
        ascii_only = self.context.ascii_only
        if not row.history:
            return [(sign("log", ascii_only=ascii_only), "$muted")]
        ok = job_text.job_look("success")
        looks = map(job_text.job_look, row.history)
        return [(each.mark(ascii_only=ascii_only), "$muted" if each == ok else each.color) for each in looks]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw what to do next."""
        new = self.context.keymap.key_of("job_new")
        more = ": by a cron schedule, by dates, or run by hand" if width >= 60 else ""
        add = () if self.context.link.read_only else ("", f"   {new:<5} add a job{more}")
        text = ("   Nothing is scheduled.", *add)
        return [(text[line - 1], "" if line == 1 else "$muted")] if 0 < line <= len(text) else ()


def _is_failure(row: JobLine) -> bool:
    """Return whether the line says of the last run that it failed."""
    return row.running is None and row.last is not None and vocab.run_failed(row.last.outcome)


def _in_short(failure: str) -> str:
    """Return how a run failed without the word for it, which the mark of the line says."""
    return safe_line(failure.removeprefix(f"{look('error').word} "), _WIDEST)


class JobList(VirtualList[JobLine]):
    """The jobs; how a last run went that does not fit in its line goes on below it, as far as there are free lines."""

    def __init__(self, context: Context, drawing: JobRows) -> None:
        super().__init__(context, drawing, id="jobs")
        self._job_rows = drawing

    def most_lines(self, jobs: Sequence[JobLine], width: int) -> int:
        """Return how many lines these jobs take in a width with all that their last runs say, and an empty one."""
        return 1 + max(_EMPTY, sum(len(self._job_rows.last_lines(job, width)) for job in jobs))

    @override
    def row_heights(self) -> Sequence[int] | None:
        drawing, rows, size = self._job_rows, self._cache.rows, self.size
        drawing.tall = set()
        left = size.height - len(rows)
        if not (self._cache.has_first and self._cache.has_last) or left <= 0:
            return None
        tall = []
        for row in rows:
            more = len(drawing.last_lines(row, size.width)) - 1
            more = more if more <= left else 0  # half of a reason reads as all of it
            left -= more
            drawing.tall |= {row.job.uid} if more else set()
            tall.append(1 + more)
        return tall if drawing.tall else None


def titled_rule(context: Context, title: str, width: int, style: str = "$muted") -> list[Part]:
    """Return a rule with a title in it, any text, which is made safe here: `─ next 24 h ──────`."""
    return rule_parts(context, width, [(safe_line(title, max(1, width - 4)), style)] if title else ())


# The width of a field's name in cells, with the space after it.
_LABEL: Final = 9


class JobDetail(TextDrawing):
    """Draws as much of a job as fits; one line on a small screen."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._is_titled = False
        self._job: JobLine | None = None
        self._last_start = ""

    def put(self, line: JobLine | None, *, is_titled: bool, last_start: str = "") -> None:
        """Set the job to draw; None: nothing.

        `is_titled`: number and name stand above it; `last_start`: which job the scheduler started last, and when.
        """
        self._job, self._is_titled, self._last_start = line, is_titled, last_start

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
        lines += self._times(line, now, width, brief=width < WIDE)
        lines += self._field("prompt", line.job.prompt, width, 2)
        lines += self._field("system", line.job.system_prompt, width, 1)
        settings = " · ".join(part for part in (job_text.who_runs(line.job), job_text.settings(line.job)) if part)
        lines.append([(f" {safe_line(settings, width - 2)}", "$muted")])
        return lines[:height]

    def _short(self, line: JobLine, now: int, width: int) -> Drawn:
        story, state = job_text.story(line, now, lambda: self._why(line, now))
        if state == "failed" and line.failure is not None and line.failure.why:
            story = line.failure.why
        number, look = f" S{line.job.number} ", job_text.job_look(state)
        mark = f"{look.mark(ascii_only=self.context.ascii_only)} "
        color = _SLOW if job_text.is_slow(line, now) else look.color
        return [(number, "$muted"), (mark, color), (safe_line(story, width - len(number + mark)), "")]

    def _story(self, line: JobLine, now: int, width: int, titled: bool) -> list[Drawn]:
        story, state = job_text.story(line, now, lambda: self._why(line, now))
        look = job_text.job_look(state)
        head: list[Part] = [(f" S{line.job.number} " if titled else " ", "bold")]
        style = _SLOW if job_text.is_slow(line, now) else ""
        head.append((f"{look.mark(ascii_only=self.context.ascii_only)} ", style or look.color))
        indent = sum(len(text) for text, _ in head)
        lines = _wrapped_at_most(story, width - indent - 1, 2)
        return [[*(head if at == 0 else [(" " * indent, "")]), (text, style)] for at, text in enumerate(lines)]

    def _why(self, line: JobLine, now: int) -> str:
        """Return why nothing has started it, or its run; or what keeps the agent of its run from it."""
        # Imported here, as most jobs are on time.
        from tui_tasks.core.read.agents import agent_views
        from tui_tasks.runner import run_holders

        run, db, is_past = line.running, self.context.db, self.context.link.as_of is not None
        if run is None:
            why = "not started" if is_past else run_holders.why_late(db)
            return f"{why}: {self._last_start}" if why == run_holders.NOT_YET and self._last_start else why
        if run.state == "running":
            asked = line.job.created_by
            return f"{agent_text.who(asked)} is paused" if not run.dedicated and asked in agent_views.paused(db) else ""
        if run.not_before is not None and run.not_before > now:
            return run.why or "later, as its settings say"
        return "not started" if is_past else run_holders.why_waits(db, run)

    def _times(self, line: JobLine, now: int, width: int, *, brief: bool) -> list[Drawn]:
        job = line.job
        words = job_text.next_words(job, now, 2 if brief else 3)
        parts = [words] if brief and words else [job_text.raw(job), job_text.when(job), words]
        return [[(f" {safe_line('  ·  '.join(part for part in parts if part), width - 2)}", "")]]

    def _field(self, name: str, text: str, width: int, most: int) -> list[Drawn]:
        if not text.strip():
            return []
        lines = _wrapped_at_most(" ".join(text.split()), max(8, width - _LABEL - 2), most)
        return [[(f" {name if at == 0 else '':<{_LABEL - 1}}", "$muted"), (line, "")] for at, line in enumerate(lines)]


def _wrapped_at_most(text: str, width: int, most: int) -> list[str]:
    """Return a text in lines of a width in cells, at most `most`; the last one is cut where there would be more."""
    lines = wrapped(text, width, 2_000)
    return lines if len(lines) <= most else [*lines[: most - 1], safe_line(" ".join(lines[most - 1 :]), width)]
