"""The SQL that makes roles on a server: those who read, agents who write as themselves alone, and humans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tui_tasks.core.errors import InvalidArgument

_TABLES: Final = ("about", "head", "journal", "companion", "snapshot")
LOCK: Final = "tui_tasks.lock_head(bigint, bigint, integer)"
_ENTRIES: Final = (
    "bigint[], bigint[], text[], text[], text[], text[], text[], bigint[], bigint[], text[], text[], text[], text[], "
    "bytea[], bigint, bigint, text[], text[], text[]"
)
_APPEND: Final = (
    f"tui_tasks.append(bigint, bytea, {_ENTRIES}), tui_tasks.append_next(bigint, bytea, bigint, integer, {_ENTRIES})"
)
_HUMANS: Final = (
    "tui_tasks.put_snapshot(bigint, bytea, bigint, bigint, integer, integer, bytea), tui_tasks.cut(bigint), "
    "tui_tasks.begin_at(bigint, bytea)"
)
_LIMITS: Final = {"idle_in_transaction_session_timeout": "2s", "lock_timeout": "2s"}
# A machine with a screen and several agents has about ten.
_CONNECTIONS: Final = 32
_MONITOR_LIMITS: Final = {**_LIMITS, "statement_timeout": "60s", "default_transaction_read_only": "on"}


class AgentRole(NamedTuple):
    """A login role, and the agent as which it writes: a name, or the beginning of names before a `*`."""

    role: str
    agent: str


def script(monitors: Sequence[str], agents: Sequence[AgentRole], humans: Sequence[str]) -> str:
    """Return the statements that make these roles and what they may do. Running them again changes nothing.

    Raises:
        InvalidArgument: a role has a name that needs more quoting than it is worth.
    """
    every = (*monitors, *(each.role for each in agents), *humans)
    _refuse_odd_names(every)
    writers = every[len(monitors) :]
    lines = [
        "-- Run this as the owner of the database, who may make roles, after the owner has used it once.",
        "-- It sets no passwords: \\password ROLE in psql does.",
        "BEGIN;",
        *(line for role in monitors for line in _made(role, _MONITOR_LIMITS)),
        *(line for role in writers for line in _made(role, _LIMITS)),
        *(f"ALTER ROLE {_name(role)} CONNECTION LIMIT {_CONNECTIONS};" for role in every if role not in humans),
        *_grants(every, writers, humans),
        *_members(agents, humans),
        "COMMIT;",
        "",
    ]
    return "\n".join(lines)


def _refuse_odd_names(roles: Sequence[str]) -> None:
    for role in roles:
        if not re.fullmatch(r"[\w.@-]{1,63}", role):
            raise InvalidArgument(
                "role", f"a role is named by letters, digits, `_`, `.`, `@` and `-` here, not {role!r}"
            )


def _grants(every: Sequence[str], writers: Sequence[str], humans: Sequence[str]) -> Iterator[str]:
    """Yield the statements that say what the roles may do."""
    names = _names(every)
    yield "DO $$ BEGIN"
    yield "    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());"
    yield f"    EXECUTE format('GRANT CONNECT ON DATABASE %I TO {names}', current_database());"
    yield "END $$;"
    yield "-- All read."
    yield f"GRANT USAGE ON SCHEMA tui_tasks TO {names};"
    yield f"GRANT SELECT ON {', '.join(f'tui_tasks.{table}' for table in _TABLES)} TO {names};"
    yield f"GRANT EXECUTE ON FUNCTION tui_tasks.snapshots() TO {names};"
    if writers:
        yield "-- Agents and humans append; the tables of members and kinds limit what."
        yield f"GRANT EXECUTE ON FUNCTION {LOCK}, {_APPEND} TO {_names(writers)};"
    if humans:
        yield "-- Humans store snapshots and drop old entries."
        yield f"GRANT EXECUTE ON FUNCTION {_HUMANS} TO {_names(humans)};"


def _members(agents: Sequence[AgentRole], humans: Sequence[str]) -> Iterator[str]:
    """Yield the statement that records as whom each role writes."""
    rows = [
        *(f"({_text(each.role)}, 'agent', {_text(each.agent)})" for each in agents),
        *(f"({_text(role)}, 'human', NULL)" for role in humans),
    ]
    if rows:
        yield "INSERT INTO tui_tasks.member (role, may, agent) VALUES"
        yield "    " + ",\n    ".join(rows)
        yield "ON CONFLICT (role) DO UPDATE SET may = excluded.may, agent = excluded.agent;"


def _made(role: str, limits: dict[str, str]) -> list[str]:
    make = f"CREATE ROLE {_name(role)} LOGIN"
    return [
        "DO $$ BEGIN",
        f"    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {_text(role)}) THEN",
        f"        EXECUTE '{make}';",
        "    END IF;",
        "END $$;",
        *(f"ALTER ROLE {_name(role)} SET {setting} = '{value}';" for setting, value in limits.items()),
    ]


def _names(roles: Sequence[str]) -> str:
    return ", ".join(map(_name, roles))


def _name(role: str) -> str:
    return f'"{role}"'


def _text(value: str) -> str:
    # An `E` string is read alike whatever `standard_conforming_strings` says.
    return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
