"""What it takes to hold a program's replies and events against the model's."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.dialects.model_state import Refused
from tests.on_server import IS_ON_SERVER
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Names:
    """The model's names for the program's ids, and back."""

    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}
        self.by_name: dict[str, str] = {}
        self.count: dict[str, int] = {}

    def learn(self, id: str, kind: str, name: str | None = None) -> None:
        if id not in self.by_id:
            self.count[kind] = self.count.get(kind, 0) + 1
            self.by_id[id] = name or f"{kind}-{self.count[kind]}"
            self.by_name[self.by_id[id]] = id

    def read(self, value: Any) -> Any:
        """A value from the program, in the model's names."""
        return json.loads(UUID.sub(lambda found: self.by_id.get(found[0], found[0]), json.dumps(value)))

    def write(self, value: Any) -> Any:
        """A value for the program, where a string that is a name stands for the id."""
        if isinstance(value, dict):
            return {name: self.write(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.write(item) for item in value]
        return self.by_name.get(value, value) if isinstance(value, str) else value


def are_refusals(replies: list[dict], refused: Refused) -> None:
    """The one that is refused says why; the others of its batch say which it was."""
    for at, reply in enumerate(replies):
        assert not reply["ok"], (reply, refused.codes)
        error = reply["error"]
        if at == refused.at:
            assert error["code"] in refused.codes, (error, refused.codes)
            assert {name: error["data"].get(name) for name in refused.data} == refused.data
        else:
            assert (error["code"], error["data"]["failed"]) == ("conflict", refused.at)


# The fields of which an event tells in the same words as the model.
TOLD = {"name", "description", "status", "priority", "tags", "domain", "result", "metadata"}
TOLD |= {"agent", "intent", "node_ids", "due", "estimate", "links"}


def wanted_event(kind: str, name: Any, new: Any) -> str | None:
    """The event that tells of a difference, where the protocol names one."""
    if kind == "task":
        special = {"made": "task.created", "deleted": "task.deleted" if new else "task.restored"}
        named = {"moves": "task.moved", "node_ids": "task.linked", "held": "task.accepted"}
        return special.get(name) or named.get(name, "task.updated")
    if kind == "log":
        return "task.logged"
    return "state.saved" if kind == "saved" else None


def same(shown: Any, expected: Any, asked: Any) -> None:
    assert shown == expected, f"{asked}\nshown:    {json.dumps(shown)}\nexpected: {json.dumps(expected)}"


def asking(tool: str, **arguments: Any) -> dict:
    return {"tool": tool, "arguments": arguments}


def display(handle: str) -> dict:
    return {**asking("tasklist:display"), "list": handle}


def trimmed(tool: str, result: Any) -> Any:
    """A result less what the protocol does not fix: the words of `todo`, instants that it only names."""
    if not isinstance(result, dict):
        return result
    if tool == "todo":
        assert result["content"].startswith("Successfully ")
        if IS_ON_SERVER:
            # The path of a replica, which the model does not know.
            result = {**result, "metadata": {**result["metadata"], "checkpoint_path": ":memory:"}}
        return without(result, "content")
    if "version" in result:
        return without(result, "started_at", "finished_at")
    if "memories" in result:
        return {**result, "memories": [without(memory, "created_at") for memory in result["memories"]]}
    if "memory_id" in result:
        return without(result, "created_at")
    return {**result, "task": trimmed(tool, result["task"])} if "claim" in result and "task" in result else result


def without(value: dict, *names: str) -> dict:
    return {name: item for name, item in value.items() if name not in names}


def tables(store: Store) -> dict[str, list]:
    return {name: sorted(map(repr, store.db.sql(f"SELECT * FROM {name}").fetchall())) for name in STATE}
