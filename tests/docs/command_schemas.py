"""The JSON Schemas of what commands print with `--json`: a part of `tui_tasks/docs/schema.json`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.cli.streams import SCHEMA_VERSION
from tui_tasks.core.agent_snapshots import WORK_COUNTS
from tui_tasks.core.read.digest_lines import PARTS
from tui_tasks.core.vocab import STATUSES, WORK_STATES
from tui_tasks.dialects import control_agents
from tui_tasks.state.open_state import TaskObject

_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_NUMBER: Final = {"type": "integer"}
_YES_OR_NO: Final = {"type": "boolean"}


def _object(**properties: Any) -> dict[str, Any]:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _versioned(shape: dict[str, Any]) -> dict[str, Any]:
    """As a command prints it: with the version of the schema."""
    return {"allOf": [_ref("version"), shape]}


def _ref(name: str) -> dict[str, Any]:
    """A schema of `DEFINITIONS`, as the whole file has them."""
    return {"$ref": f"#/$defs/{name}"}


def _array(shape: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": shape}


def _inlined(shape: Any, parts: dict[str, Any]) -> Any:
    """A schema with what it refers to in its place."""
    if isinstance(shape, dict):
        if "$ref" in shape:
            return _inlined(parts[shape["$ref"].rpartition("/")[2]], parts)
        return {name: _inlined(value, parts) for name, value in shape.items() if name not in ("title", "description")}
    return [_inlined(value, parts) for value in shape] if isinstance(shape, list) else shape


def _task() -> dict[str, Any]:
    (shape,), parts = msgspec.json.schema_components([TaskObject])
    found: dict[str, Any] = _inlined(shape, parts)
    # A title or a description is a member here, and not a word about the schema.
    found["properties"] |= {"description": _TEXT}
    return found


_LIST: Final = _object(
    handle=_TEXT,
    uid=_TEXT,
    kind={"enum": ["list", "plan"]},
    name=_TEXT,
    description=_TEXT,
    project=_TEXT_OR_NULL,
    archived=_YES_OR_NO,
    one_in_progress=_YES_OR_NO,
    review=_YES_OR_NO,
    counts=_object(**dict.fromkeys(STATUSES, _NUMBER)),
)
_ASK: Final = _object(
    ask=_TEXT,
    kind={"enum": ["permission", "question"]},
    agent=_TEXT,
    question=_TEXT,
    options=_array(_TEXT),
    task=_TEXT_OR_NULL,
    state=_TEXT,
    answer=_TEXT_OR_NULL,
    opened_at=_TEXT,
    expires_at=_TEXT_OR_NULL,
)
_JOB: Final = _object(uuid=_TEXT, name=_TEXT, type=_TEXT, state=_TEXT, prompt=_TEXT, timezone=_TEXT)
_RUN: Final = _object(run_id=_TEXT, uuid=_TEXT, trigger=_TEXT, decision=_TEXT, outcome=_TEXT_OR_NULL)
_ENTRY: Final = _object(at=_TEXT, agent=_TEXT, message=_TEXT)
_AGENT: Final = _object(**{key: {} for key in control_agents.KEYS})
_NUMBER_OR_NULL: Final = {"type": ["integer", "null"]}
_WORK: Final = _object(
    task=_TEXT,
    number=_NUMBER_OR_NULL,
    machine=_TEXT_OR_NULL,
    agent=_TEXT,
    program=_TEXT,
    branch=_TEXT_OR_NULL,
    worktree=_TEXT,
    base=_TEXT_OR_NULL,
    state={"enum": [*WORK_STATES]},
    **dict.fromkeys(WORK_COUNTS, _NUMBER_OR_NULL),
    dirty={"type": ["boolean", "null"]},
    pull_request=_TEXT_OR_NULL,
    started_at=_TEXT,
    merged_at=_TEXT_OR_NULL,
    message=_TEXT_OR_NULL,
)
_DIGEST: Final = _object(
    since=_TEXT,
    until=_TEXT,
    after=_NUMBER,
    newest=_NUMBER,
    is_cut=_YES_OR_NO,
    needed_before=_NUMBER,
    **{key: {"type": "array"} for key in PARTS},
)
_CHECKED: Final = _object(uid=_TEXT, verified=_TEXT_OR_NULL, checks={"type": "array"})

DEFINITIONS: Final = {
    "version": _object(schema_version={"const": SCHEMA_VERSION}),
    "task": _task(),
    "list": _LIST,
    "ask": _ASK,
    "job": _JOB,
    "run": _RUN,
    "agent": _AGENT,
    "work": _WORK,
}
"""What several of `COMMANDS` refer to."""

_TASK: Final = _ref("task")
_OF_A_TASK: Final = ("add", "status", "fail", "skip", "edit", "mv", "link", "accept", "decline", "join", "release")
COMMANDS: Final[dict[str, dict[str, Any]]] = {
    **{name: _versioned(_TASK) for name in _OF_A_TASK},
    # Of several tasks an array, whose members have no version.
    **{name: {"anyOf": [_versioned(_TASK), _array(_TASK)]} for name in ("start", "done", "rm")},
    "show": {"allOf": [_ref("version"), _TASK, _object(log=_array(_ENTRY))]},
    "next": {"anyOf": [_versioned(_TASK), {"type": "null"}]},
    "ls": _array(_TASK),
    "log": _versioned(_object(timestamp=_TEXT, message=_TEXT)),
    "undo": _versioned(_object(undone=_NUMBER)),
    "redo": _versioned(_object(redone=_NUMBER)),
    "lists": _versioned(_object(lists=_array(_ref("list")))),
    **{f"lists {name}": _versioned(_ref("list")) for name in ("new", "rename", "archive", "unarchive", "rm")},
    **{f"lists {name}": _versioned(_ref("list")) for name in ("one-in-progress", "review")},
    "lists auto": _versioned(
        _object(
            program=_TEXT,
            at_once=_NUMBER,
            failures=_NUMBER,
            stays=_YES_OR_NO,
            is_on=_YES_OR_NO,
            message=_TEXT_OR_NULL,
        )
    ),
    "asks": _versioned(_object(asks=_array(_ref("ask")))),
    "asks answer": _versioned(_ref("ask")),
    "rules": _versioned(_object(rules=_array(_object(number=_NUMBER, answer=_TEXT, tool=_TEXT)))),
    "rules remove": _versioned(_object(removed=_object(answer=_TEXT, tool=_TEXT))),
    "rules test": _versioned(_object(answer=_TEXT, rule=_TEXT_OR_NULL, plain={"type": "boolean"})),
    "jobs": _versioned(_object(jobs=_array(_ref("job")))),
    **{f"jobs {name}": _versioned(_ref("job")) for name in ("show", "new", "edit", "enable", "disable", "rm")},
    "jobs run": _versioned(_object(uuid=_TEXT, run_id=_TEXT, state=_TEXT)),
    "jobs stop": _versioned(_ref("run")),
    "jobs runs": _versioned(_object(runs=_array(_ref("run")))),
    "work": _array(_ref("work")),
    **{f"work {name}": _array(_ref("work")) for name in ("start", "ls")},
    "work show": {"allOf": [_ref("version"), _ref("work"), _object(lines=_array(_TEXT))]},
    "work attach": _versioned(_object(agent=_TEXT, argv={"anyOf": [_array(_TEXT), {"type": "null"}]})),
    **{f"work {name}": _versioned(_ref("work")) for name in ("comment", "merge", "pr", "discard", "restore")},
    "work review": {
        "allOf": [
            _ref("version"),
            _ref("work"),
            _object(
                review=_object(
                    version=_TEXT,
                    head=_TEXT,
                    tree=_TEXT,
                    files=_array(_object(path=_TEXT)),
                    commits=_array(_object(id=_TEXT)),
                    conflicts=_array(_TEXT),
                    notes=_array(_TEXT),
                    checks=_array(_object(name=_TEXT, state=_TEXT)),
                )
            ),
        ]
    },
    "work clean": _array(_TEXT),
    "agents": _array(_ref("agent")),
    **{f"agents {name}": _versioned(_object(agent=_TEXT, action=_TEXT)) for name in ("pause", "resume")},
    **{
        f"agents {name}": _versioned(
            _object(agent=_TEXT, action=_TEXT, state={"enum": ["sent", "queued"]}, until=_TEXT_OR_NULL)
        )
        for name in ("message", "stop")
    },
    "agents undo": _versioned(
        _object(agent=_TEXT, taken_back=_NUMBER, left=_array(_object(change=_NUMBER, why=_TEXT)))
    ),
    "check": {"anyOf": [_versioned(_object(checks={"type": "array"})), _versioned(_CHECKED)]},
    "digest": _versioned(_DIGEST),
}
"""By the words of the command, with its action where it has one."""
