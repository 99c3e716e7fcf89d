"""The form of a job: one line holds its times, with a live preview of how they are understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.core.errors import NotFound, Refusal
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.operations.jobs import CreateJob, EditJob
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.schedule.cron import ScheduleError
from tui_tasks.core.schedule.fire_times import system_zone, zone_of
from tui_tasks.dialects.requests import job_syntax
from tui_tasks.dialects.requests.job_syntax import Times
from tui_tasks.text.safe import is_blank, safe_line
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.edit_conflicts import ConflictScreen
from tui_tasks.tui.inputs.editor import LongText
from tui_tasks.tui.inputs.form_screen import ChoiceLine, FormScreen, Option
from tui_tasks.tui.inputs.line_inputs import WordLine
from tui_tasks.tui.painting.line_painter import FrameLine, rule
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines, wrapped
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.widgets.foot_line import FootLine

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_LABELS: Final = {
    "name": "Name",
    "times": "When",
    "timezone": "Zone",
    "runs": "Runs by",
    "settings": "Settings",
    "system_prompt": "System prompt",
    "prompt": "Prompt",
}
_HINTS: Final = {
    "times": "e.g. 0 8 * * *   or 9:00 mon-fri, every 15m, @daily   or 2026-03-01 09:00, next friday noon   or nothing",
    "settings": "e.g. timeout=600 retries=2 overlap=queue",
}
# Those of a job that there is: its kind of times stays.
_TIMES_OF_KIND: Final = {
    "scheduled": "e.g. 0 8 * * *   or 9:00 mon-fri, every 15m, @daily",
    "planned": "e.g. 2026-03-01 09:00, next friday noon",
    "adhoc": "no times: it is run by hand",
}
# Shown instead of the preview while the field has the focus.
_EXPLAINED: Final = {
    "runs": "runner: a process of its own, by the command of the configuration\n"
    "conversation: the agents that listen are asked (run.requested)",
    "settings": f"these, with their default if omitted: {', '.join(job_syntax.SETTINGS)}",
}
_LONG: Final = ("system_prompt", "prompt")
RUNNER, CONVERSATION = "runner", "conversation"
_RUNS: Final = (Option(RUNNER), Option(CONVERSATION))


@dataclass(frozen=True, slots=True)
class Typed:
    """The content of the form."""

    name: str = ""
    times: str = ""
    timezone: str = ""
    runs: str = RUNNER
    settings: str = ""
    system_prompt: str = ""
    prompt: str = ""


def form_of(job: Job) -> Typed:
    """Return the form of a job. Its single lines show control characters as pictures; long texts keep them."""
    return Typed(
        name=safe_line(job.name, None),
        times=job_syntax.written(job),
        timezone=safe_line(job.timezone, None),
        runs=RUNNER if job.dedicated_context else CONVERSATION,
        settings=safe_line(job_syntax.written_settings(job), None),
        system_prompt=job.system_prompt,
        prompt=job.prompt,
    )


class Preview(TextDrawing):
    """Draws how the times are understood, and the next five of them, or what is wrong with them."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.text = ""
        self.is_wrong = False

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the times in words, then dates."""
        first, _, rest = self.text.partition("\n")
        room = max(8, width - 2)
        shown: list[tuple[str, str]] = [
            (line, "$state-failed" if self.is_wrong else "") for line in wrapped(first, room)
        ]
        shown += [(line, "$muted") for line in wrapped(rest, room)] if rest else []
        last = max(1, height) - 1
        return [
            [(f" {line.rstrip(',') if at == last else line}", style)]
            for at, (line, style) in enumerate(shown[: last + 1])
        ]


class JobForm(FormScreen[str]):
    """Creates or changes a job. Result: the job's uid when it is saved; None: left without saving."""

    AUTO_FOCUS = "WordLine"
    DEFAULT_CSS = """
    JobForm #job-fields { height: auto; max-height: 55%; }
    JobForm.-narrow #job-fields, JobForm.-short #job-fields { height: 1fr; max-height: 100%; }
    JobForm #preview { height: 3; }
    JobForm.-narrow #preview, JobForm.-short #preview { height: 2; }
    """

    def __init__(self, context: Context, job: Job | None = None) -> None:
        about = job.uid if job is not None else "new"
        super().__init__(context, draft=f"job {about}", fields=tuple(_LABELS))
        self._preview_text = Preview(context)
        self._job = job
        self._was = form_of(job) if job is not None else Typed()
        self._warning = ""
        self._head = FrameLine(context, self._head_parts, id="job-head", is_bar=True)

    def compose(self) -> ComposeResult:
        """Compose a line for each field, the prompts below, then the preview."""
        with Vertical(classes="whole"):
            yield self._head
            yield rule(self.context)
            with VerticalScroll(id="job-fields", can_focus=False):
                for name, label in _LABELS.items():
                    with Horizontal(classes=f"{'long' if name in _LONG else 'field'} labelled"):
                        yield Static(label, classes="label")
                        yield self._field(name)
            yield rule(self.context)
            yield TextLines(self.context, self._preview_text, id="preview")
            yield FootLine(self.context, id="foot")

    def _field(self, name: str) -> WordLine | LongText | ChoiceLine:
        value = getattr(self._was, name)
        if name in _LONG:
            return LongText(value, id=name)
        if name == "runs":
            return ChoiceLine(_RUNS, value, id=name, keys=self.line_keys)
        hint = _HINTS.get(name, "")
        if name == "times" and self._job is not None:
            hint = _TIMES_OF_KIND[self._job.type]
        return WordLine(value, id=name, keys=self.line_keys, placeholder=hint)

    def _head_parts(self, width: int) -> Sequence[Part]:
        return [(f" {self._title}", "bold"), (f"   {self._warning}", "$state-overdue")]

    @property
    def _title(self) -> str:
        return f"Edit {safe_line(self._job.name, 60)}" if self._job is not None else "New job"

    def on_mount(self) -> None:
        """Set the time zone, and show the keys."""
        if self._job is None:
            zone = getattr(self.context.clock.zone, "key", None) or system_zone()
            self.query_one("#timezone", WordLine).value = zone
            self._was = Typed(timezone=zone)
        self.bring_back()
        if self._job is not None:
            self._warn_of_changes(self._job.uid)
        self.set_focus(self.query_one("#name"))
        self.show_keys()
        self._preview()

    @property
    def typed(self) -> Typed:
        """The content now."""
        return Typed(**{each.name: self._value(each.name) for each in fields(Typed)})

    def _value(self, name: str) -> str:
        if name in _LONG:
            return self.query_one(f"#{name}", LongText).value
        if name == "runs":
            return self.query_one("#runs", ChoiceLine).value
        return self.query_one(f"#{name}", WordLine).value

    # The preview

    def on_input_changed(self) -> None:
        """Show how it is understood."""
        self._preview()

    def on_descendant_focus(self) -> None:
        """Explain the field if it needs that."""
        self._preview()

    def _preview(self) -> None:
        focused = self.focused.id if self.focused is not None else None
        if focused in _EXPLAINED:
            self._say(_EXPLAINED[focused])
            return
        zone = self._value("timezone").strip()
        now = self.context.clock.now()
        try:
            words, instants = job_syntax.preview(self._times(), zone, now)
        except ScheduleError as wrong:
            self._say(str(wrong), is_wrong=True)
            return
        place = zone_of(zone)
        dates = job_text.dates(instants, place, now)
        raw = self._times().schedule
        shown = f"{words}  ({' '.join(raw.values())})" if raw and " ".join(raw.values()) != self._was_typed else words
        self._say(f"{shown}\nnext: {dates} ({zone})" if dates else shown)

    def _say(self, text: str, *, is_wrong: bool = False) -> None:
        self._preview_text.text, self._preview_text.is_wrong = text, is_wrong
        self.query_one(TextLines).redraw()

    @property
    def _was_typed(self) -> str:
        return " ".join(self._value("times").split())

    def _times(self) -> Times:
        kind, now = self._job.type if self._job is not None else "", self.context.clock.now()
        return job_syntax.read_times(self._value("times"), self._value("timezone").strip(), now, kind)

    # Changes by others

    def changed(self, changes: StateChanges) -> None:
        """Show when somebody else changes the job; typed text stays."""
        job = self._job
        if job is not None and (changes.all or any(entry.uid == job.uid for entry in changes.entries)):
            self._warn_of_changes(job.uid)

    @override
    def take_key(self, event: events.Key) -> bool:
        """And drop what was said of changes since the draft was begun."""
        has_taken = super().take_key(event)
        if has_taken and self._job is not None:
            self._warn_of_changes(self._job.uid)
        return has_taken

    @property
    def _asked(self) -> Typed:
        """The content before the human typed: where a draft was brought back, before the draft."""
        return replace(self._was, **self.began)

    def _warn_of_changes(self, uid: str) -> None:
        now = job_queries.any_job(self.context.db, uid)
        is_gone = now is None or now.deleted
        has_changed = now is not None and form_of(now) != self._asked
        self._warning = "! deleted meanwhile" if is_gone else "! changed meanwhile" if has_changed else ""
        self._head.redraw()

    # Saving and leaving

    @override
    def action_save(self) -> None:
        self.context.run(self._save())

    async def _save(self) -> None:
        typed = self.typed
        try:
            uid = await (self._make(typed) if self._job is None else self._change(self._job, typed))
        except ScheduleError as wrong:
            self.refuse("timezone" if wrong.argument == "timezone" else "times", str(wrong))
        except Refusal as refusal:
            self.refuse(_field_of(refusal), refusal.message)
        else:
            if uid is not None:
                self.context.drafts.pop(self.draft, None)
                self.dismiss(uid)
                if (why := _why_not_run(typed)) is not None:
                    self.context.say(f"Saved, but it cannot run yet: {why}")

    async def _make(self, typed: Typed) -> str | None:
        if self._wrong(typed):
            return None
        times = self._times()
        (job,) = await self.context.link.commit(
            CreateJob(
                typed.name.strip(),
                times.kind,
                typed.system_prompt,
                typed.prompt,
                typed.timezone.strip(),
                schedule=times.schedule,
                plan=times.plan,
                dedicated_context=_dedicated(typed.runs),
                settings=job_syntax.read_settings(typed.settings),
            )
        )
        uid: str = job.uid
        return uid

    def _wrong(self, typed: Typed) -> bool:
        """Show all that is missing or wrong, and focus the first of it; return False when nothing is."""
        found = {"name": "a job needs a name"} if is_blank(typed.name) else {}
        asked = self._asked
        if self._job is None or (typed.times, typed.timezone) != (asked.times, asked.timezone):
            try:
                self._times()
            except ScheduleError as wrong:
                found["timezone" if wrong.argument == "timezone" else "times"] = str(wrong)
        if is_blank(typed.prompt):
            found["prompt"] = "a job needs a prompt"
        if found:
            self.refuse(next(iter(found)), "; ".join(found.values()))
        return bool(found)

    async def _change(self, base: Job, typed: Typed) -> str | None:
        """Save only the fields that the human changed."""
        if self._wrong(typed):
            return None
        names = [each.name for each in fields(Typed) if getattr(typed, each.name) != getattr(self._asked, each.name)]
        names_to_save = await self._names_to_save(base, typed, names)
        if names_to_save is None:
            return None
        names = names_to_save
        changes: dict[str, Any] = {name: getattr(typed, name) for name in ("system_prompt", "prompt") if name in names}
        changes |= {name: getattr(typed, name).strip() for name in ("name", "timezone") if name in names}
        if "times" in names:
            times = self._times()
            changes |= {"schedule": times.schedule} if times.schedule is not None else {"plan": times.plan}
        if "runs" in names:
            changes["dedicated_context"] = _dedicated(typed.runs)
        settings: dict[str, Any] = {}
        if "settings" in names:
            settings = job_syntax.changed_settings(base, job_syntax.read_settings(typed.settings))
        if changes or settings:
            await self.context.link.commit(EditJob(base.uid, changes, settings))
        return base.uid

    async def _names_to_save(self, base: Job, typed: Typed, names: list[str]) -> list[str] | None:
        """Return which changed fields to save; the human chooses where others changed the same ones."""
        now = job_queries.any_job(self.context.db, base.uid)
        if now is None or now.deleted:
            raise NotFound("job", base.uid)
        theirs = form_of(now)
        asked = self._asked
        both = [name for name in names if getattr(theirs, name) not in (getattr(asked, name), getattr(typed, name))]
        if not both:
            return names
        title = f"{safe_line(base.name, 40)} was changed while you were typing"
        mine = {_LABELS[name]: getattr(typed, name) or "—" for name in both}
        other = {_LABELS[name]: getattr(theirs, name) or "—" for name in both}
        choice = await self.context.ask(ConflictScreen(self.context, title, "Somebody else", mine, other))
        if choice is None:
            return None
        return names if choice == "mine" else [name for name in names if name not in both]

    def action_outside(self) -> None:
        """Edit in $EDITOR the prompt that has the focus, else the job's prompt."""
        focused = self.focused
        area = focused if isinstance(focused, LongText) else self.query_one("#prompt", LongText)
        text = editor.edit(self.context, area.value)
        if text is not None:
            area.value = text


def _why_not_run(typed: Typed) -> str | None:
    """Return why there is no command for the runs of a job; None if there is one, or if none is needed."""
    from tui_tasks.settings import live_settings

    if typed.runs.strip() != RUNNER:
        return None
    runners, name = live_settings.runners(), str(job_syntax.read_settings(typed.settings).get("runner") or "")
    return runners.missing(name) if name not in runners.profiles else None


def _field_of(refusal: Refusal) -> str:
    """Return the field that a refusal is about; empty where it is about none."""
    argument = str(refusal.data.get("argument", ""))
    if argument in _LABELS:
        return argument
    if argument.partition(".")[0].partition("[")[0] in ("schedule", "plan"):
        return "times"
    # A name that another job has is refused with that job's uid; other arguments are names of settings.
    return "settings" if argument else "name" if "uuid" in refusal.data else ""


def _dedicated(runs: str) -> bool:
    return runs.strip() == RUNNER
