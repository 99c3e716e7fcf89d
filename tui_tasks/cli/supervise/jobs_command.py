"""`jobs`: lists the jobs, shows one, or changes it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, Final, get_args

import msgspec

from tui_tasks import clock
from tui_tasks.cli import person_rights
from tui_tasks.cli.command_parser import CommandAction, declare_actions, words
from tui_tasks.cli.options import open_store, require_database, session_of
from tui_tasks.cli.streams import inset, print_json
from tui_tasks.cli.tasks.task_changes import request
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.operations.jobs import CreateJob, StopRun
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.read.job_lines import RunLine
from tui_tasks.core.schedule import policy
from tui_tasks.core.schedule.cron import ScheduleError
from tui_tasks.core.schedule.fire_times import system_zone
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.command_tools import SHELL as TOOLS
from tui_tasks.dialects.requests import job_syntax
from tui_tasks.dialects.requests.arguments import Arguments, Name, Text
from tui_tasks.dialects.scheduler import Schedule, Type, job_json, run_json
from tui_tasks.dialects.tool_table import Call
from tui_tasks.text.safe import TEXT_CHARS, in_quotes, name_text, safe_line
from tui_tasks.text.times import moment
from tui_tasks.tui.schedule import job_text

_JOB: Final = "its number, its name (in quotes, '\"S1\"', if that looks like a number), or the beginning of its id"
_TIMES: Final = "a cron, @daily, `9:00 mon-fri`, `every 15m`, `tomorrow 18:25`, or dates"
_RUNS: Final = 20
_MAX_SAID: Final = 60
"""How much of a word is repeated in an error."""
_NEW: Final = "tui-tasks jobs new Audit 'Read the log.' --when '9:00 mon-fri' --process --timeout 600 --retries 2"
_EDIT: Final = "tui-tasks jobs edit Audit --when @daily --catch-up none"
_SETTINGS: Final = {
    "catch_up": "times missed while nothing ran: start none, one (the latest) or all",
    "catch_up_cap": "with all: at most so many, the latest",
    "stagger": "seconds between missed times that start now",
    "start_deadline": "seconds after which a due time is dropped; 0: never",
    "overlap": "due while it runs: skip it, queue one, or allow both",
    "starts_per_hour": "at most; 0: no limit",
    "jitter": "seconds over which starts are spread",
    "timeout": "seconds after which a run is ended; 0: the runner's",
    "retries": "how often a failed run is repeated",
    "retry_delay": "seconds before the first retry; doubles, up to an hour",
    "pause_after": "switch the job off after so many failures in a row; 0: never",
    "keep_runs": "runs kept with their output; only a person lowers it, on the screen",
}
"""What each of `policy.Settings` does, except the runner, which has an option of its own."""
_CHOICES: Final = {"catch_up": policy.CatchUp, "overlap": policy.Overlap}
_EPILOG: Final = (
    "Without an action: the jobs. `tui-tasks help scheduling` describes them. Stopping a run needs a person at a "
    "terminal."
)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    declare_actions(name, command, _ACTIONS)
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """List the jobs, or act on one. Exit status 0."""
    if options.action != "new":
        require_database(options)
    if options.action is not None:
        _ACTIONS[options.action].run(options)
        return 0
    with open_store(options) as store:
        jobs = job_lines.lines(store.db)
    if options.json:
        print_json({"jobs": [job_json(line.job) for line in jobs]}, indent=2)
        return 0
    now = clock.now()
    for line in jobs:
        last, upcoming = job_text.last(line, now), job_text.next_(line.job, now)
        facts = [job_text.state(line, now), job_text.when(line.job)]
        facts += [last if line.running is not None else f"last run: {last}"]
        facts += [f"next: {upcoming}"] if upcoming.strip("-– ") else []
        text = ", ".join(fact for fact in facts if fact.strip("-– "))
        print(f"{f'S{line.job.number}':>5}  {_name_text(line.job.name, 60)}  [{safe_line(text)}]")
    if not jobs:
        print("There are no jobs: `tui-tasks jobs new` makes one.")
    return 0


def _found(store: Store, reference: str) -> Job:
    """Return the job with a number, a name, or an id that begins with the reference. A name that looks like a number
    counts in quotes alone, so that no agent takes the number of another job by it.

    Raises:
        NotFound: there is none.
        Conflict: several jobs match.
    """
    quoted = reference[1:-1] if len(reference) > 2 and reference[0] == reference[-1] == '"' else None
    is_number = _is_number(reference)
    jobs = job_queries.jobs(store.db)
    if is_number:
        digits = reference.lstrip("Ss#").lstrip("0")
        found = next((job for job in jobs if str(job.number) == digits), None)
    else:
        # Quotes as the listing writes them come first, so that a name that has some itself takes no other job's.
        names = (reference,) if quoted is None else (quoted, reference)
        found = next((job for name in names if (job := job_queries.job_named(store.db, name)) is not None), None)
    if found is not None:
        return found
    matching = [job for job in jobs if reference and job.uid.startswith(reference)]
    if not matching:
        is_name = is_number and job_queries.job_named(store.db, reference) is not None
        how = f"""the job of that name is '"{reference}"'""" if is_name else "`tui-tasks jobs` lists them"
        raise NotFound("job", f"{safe_line(reference, _MAX_SAID)}; {how}")
    if len(matching) > 1:
        raise Conflict(f"several jobs begin with {reference}: write more of the id")
    return matching[0]


def _is_number(text: str) -> bool:
    digits = text[1:] if text[:1] in ("S", "s", "#") else text
    return digits.isascii() and digits.isdecimal()


def _name_text(name: str, limit_cells: int | None = None) -> str:
    """Return the name of a job in one line; in quotes, where it could pass for a number."""
    return in_quotes(safe_line(name, limit_cells)) if _is_number(name) else name_text(name, limit_cells)


def _request_action(word: str, tool: str, **arguments: Any) -> Callable[[argparse.Namespace], None]:
    """Return an action that makes one request about a job."""

    def run(options: argparse.Namespace) -> None:
        with open_store(options) as store:
            job = _found(store, options.job)
            result = request(session_of(options, store, TOOLS), tool, uuid=job.uid, **arguments)
        _print_result(options, word, job, result)

    return run


def _print_result(options: argparse.Namespace, word: str, job: Job, result: dict[str, Any]) -> None:
    if options.json:
        print_json(result, indent=2)
    else:
        print(f"{word}: {in_quotes(job.name) if _is_number(job.name) else safe_line(job.name)}")


def _show(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        job = _found(store, options.job)
        line = job_lines.line_of(store.db, job)
        ended = job_queries.last_ended(store.db, job.uid)
    if options.json:
        print_json(job_json(job), indent=2)
        return
    now = clock.now()
    named = f"{_name_text(job.name)}\nS{job.number}  {job.uid}"
    print(f"{named}  {job_text.state(line, now)}  {safe_line(job_text.when(job))}")
    for text in (job_text.who_runs(job), job_text.next_words(job, now, 3), job_text.settings(job)):
        if text:
            print(safe_line(text))
    for text in (job.system_prompt, job.prompt):
        if text:
            print(f"\n{inset(text)}")
    if ended is not None:
        why = _why(line.last) if line.last is not None and line.running is None else ""
        print(f"\nLast run: {safe_line(job_text.last(line, now) + why)}")
        if ended.result:
            print(inset(ended.result[-TEXT_CHARS:].rstrip()))


def _run(options: argparse.Namespace) -> None:
    from tui_tasks.state import hosting

    with open_store(options) as store:
        job = _found(store, options.job)
        # Whoever types this asked for it, so a job with a schedule runs, too (docs: scheduling, rule S3).
        arguments = {"uuid": job.uid, "context": options.input or "", "force": True}
        result = request(session_of(options, store, TOOLS), "scheduler:run_task", **arguments)
        hosting.start_waiting_runs(store)
    _print_result(options, "starts now", job, result)
    _warn_of_missing_runner(options, job)


def _runs(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        job = _found(store, options.job)
        runs = list(job_queries.each_run(store.db, job.uid, _RUNS))
        lines = job_lines.newer(store.db, job.uid, _RUNS)
    if options.json:
        print_json({"runs": [run_json(run, job.timezone) for run in runs]}, indent=2)
        return
    now = clock.now()
    for line in sorted(lines, key=lambda each: each.id, reverse=True):
        at = moment(line.at, None) if line.at is not None else ""
        has_failed = line.decision != "ran" or line.outcome not in (None, "success")
        why = _why(line) if has_failed else ""
        print(safe_line("  ".join(filter(None, (at, f"{job_text.went(line, now)}{why}", job_text.used(line))))))
    if not lines:
        print("It has not run yet.")


def _why(run: RunLine) -> str:
    """Return why a run has failed, with a colon before it: in quotes, where an agent's output says so."""
    if run.outcome == "success" or not run.why:
        return ""
    return f": {run.why if run.reason else in_quotes(run.why)}"


def _stop(options: argparse.Namespace) -> None:
    with open_store(options) as store:
        job = _found(store, options.job)
        running = [run for run in job_queries.open_runs(store.db, job.uid) if run.state != "queued"]
        if not running:
            raise Conflict(f"job {job.name!r} does not run")
        (run,) = person_rights.commit(options, store, StopRun(running[-1].uid))
    _print_result(options, "its run is being ended", job, run_json(run, job.timezone))


def _declare_new(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="its name")
    command.add_argument("prompt", metavar="PROMPT", help="what to do")
    _declare_fields(command, "left out: run by hand", "settings", _NEW)


def _declare_edit(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", metavar="JOB", help=_JOB)
    command.add_argument("--name", metavar="NAME", help="a new name")
    command.add_argument("--prompt", metavar="TEXT", help="a new prompt")
    _declare_fields(command, "left out: as before; of the kind that the job has", "settings, else as before", _EDIT)


def _declare_fields(command: argparse.ArgumentParser, left_out: str, titled: str, example: str) -> None:
    command.add_argument("--when", metavar="TIMES", help=f"{_TIMES}; {left_out}")
    command.add_argument("--timezone", metavar="ZONE", help="IANA, such as Europe/Vienna (default: the system's)")
    command.add_argument("--system-prompt", metavar="TEXT", help="the system prompt")
    context = command.add_mutually_exclusive_group()
    context.add_argument(
        "--process", action="store_true", default=None, dest="dedicated", help="run as a process of its own"
    )
    context.add_argument(
        "--conversation", action="store_false", default=None, dest="dedicated", help="run in a conversation (default)"
    )
    context.add_argument(
        "--runner",
        metavar="NAME",
        help="run as a process of its own, by [runner.NAME] of the configuration; '': by [runner]",
    )
    settings = command.add_argument_group(titled)
    for field in msgspec.structs.fields(policy.Settings):
        if (about := _SETTINGS.get(field.name)) is not None:
            value: dict[str, Any] = {"type": int, "metavar": "N"}
            if field.name in _CHOICES:
                value = {"choices": get_args(_CHOICES[field.name])}
            option = f"--{field.name.replace('_', '-')}"
            settings.add_argument(option, help=f"{about} (default: {field.default})", **value)
    command.epilog = f"example:\n  {example}"


def _new(options: argparse.Namespace) -> None:
    zone = options.timezone or system_zone()
    times = _parse_times(options.when or "", zone)
    arguments = {"name": options.name, "prompt": options.prompt, "system_prompt": options.system_prompt or ""}
    arguments |= {
        "timezone": zone,
        "kind": times.kind,
        **_time_arguments(times),
        "dedicated_context": False,
        **_context(options),
    }
    arguments["settings"] = _settings(options) | {"runner": arguments.pop("runner", "")}
    with open_store(options) as store:
        made = request(session_of(options, store, TOOLS), "shell:create_job", **arguments)
        job = job_queries.job(store.db, made["uuid"])
    _print_result(options, "made", job, made)
    _warn_of_missing_runner(options, job)


def _edit(options: argparse.Namespace) -> None:
    given = {"name": options.name, "prompt": options.prompt, "system_prompt": options.system_prompt}
    given |= {"timezone": options.timezone}
    arguments = {name: value for name, value in given.items() if value is not None}
    arguments |= _context(options) | _settings(options)
    if not arguments and options.when is None:
        raise InvalidArgument("job", "say what to change: `tui-tasks jobs edit --help`")
    with open_store(options) as store:
        job = _found(store, options.job)
        if options.when is not None:
            zone = options.timezone or job.timezone
            arguments |= _time_arguments(_parse_times(options.when, zone, job.type))
        changed = request(session_of(options, store, TOOLS), "scheduler:update_task", uuid=job.uid, **arguments)
        job = job_queries.job(store.db, job.uid)
    _print_result(options, "changed", job, changed)
    _warn_of_missing_runner(options, job)


def _context(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for the runner of a job, without omitted ones."""
    if options.runner is not None:
        return {"dedicated_context": True, "runner": options.runner}
    return {} if options.dedicated is None else {"dedicated_context": options.dedicated}


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the given settings by name."""
    return {name: value for name in _SETTINGS if (value := getattr(options, name)) is not None}


def _warn_of_missing_runner(options: argparse.Namespace, job: Job) -> None:
    """Warn a person about a runner that is not configured here. Another machine that runs the job may have it."""
    if options.json or not job.dedicated_context:
        return
    from tui_tasks.settings import live_settings

    runners, runner = live_settings.runners(), policy.read_settings(job.settings).runner
    if runner not in runners.profiles:
        print(f"tui-tasks jobs: {safe_line(runners.missing(runner))}", file=sys.stderr)


def _parse_times(text: str, zone: str, kind: str = "") -> job_syntax.Times:
    try:
        return job_syntax.read_times(text, zone, clock.now(), kind)
    except ScheduleError as error:
        raise InvalidArgument("when", str(error)) from None


def _time_arguments(times: job_syntax.Times) -> dict[str, Any]:
    if times.schedule is not None:
        return {"schedule": dict(times.schedule)}
    return {"plan": list(times.plan)} if times.plan is not None else {}


_ACTIONS: Final = {
    "show": CommandAction("show a job", words(job=_JOB), _show),
    "runs": CommandAction(f"show how a job's runs ended, the newest {_RUNS}", words(job=_JOB), _runs),
    "new": CommandAction("make a job", _declare_new, _new),
    "edit": CommandAction("change a job", _declare_edit, _edit),
    "run": CommandAction("run a job now", words(job=_JOB, input="?input for this run, put before its prompt"), _run),
    "stop": CommandAction("end a job's run", words(job=_JOB), _stop),
    "enable": CommandAction("switch a job on", words(job=_JOB), _request_action("is on", "scheduler:enable_task")),
    "disable": CommandAction(
        "switch a job off; a started run continues",
        words(job=_JOB),
        _request_action("is off", "scheduler:disable_task"),
    ),
    "rm": CommandAction(
        "delete a job, and end its run", words(job=_JOB), _request_action("deleted", "scheduler:delete_task")
    ),
}


class _Create(Arguments, kw_only=True):
    name: Name
    prompt: Text
    system_prompt: Text
    timezone: Text
    dedicated_context: bool
    kind: Type
    schedule: Schedule | None = None
    plan: list[Text] | None = None
    settings: dict[str, Any] = {}


@TOOLS.tool("shell:create_job", _Create, writes=True)
def create_job(call: Call, given: _Create) -> dict[str, Any]:
    """Create a job."""
    job = call.run(
        CreateJob(
            given.name,
            given.kind,
            given.system_prompt,
            given.prompt,
            given.timezone,
            schedule=None if given.schedule is None else given.schedule.fields(),
            plan=None if given.plan is None else tuple(given.plan),
            dedicated_context=given.dedicated_context,
            settings=given.settings,
        )
    )
    return job_json(job)
