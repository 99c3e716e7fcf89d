"""Every way a request can be refused, each with a stable code.

The codes are those of the channel (docs: protocol, section 3)::

    Refusal
    ├── ParseError        parse_error        not one JSON text
    ├── TooLarge          too_large          a line over the limit
    ├── InvalidRequest    invalid_request    JSON, but not a request
    ├── UnknownTool       unknown_tool       no tool of that name
    ├── InvalidArgument   invalid_argument   a tool's argument is wrong
    ├── NotFound          not_found          nothing has that id
    ├── Conflict          conflict           the state forbids it
    │   └── NotProven                        its checks have not passed
    ├── Forbidden         forbidden          this speaker may not
    ├── Paused            paused             the human has paused this agent
    ├── StaleClaim        stale_claim        the claim has lapsed or ended
    ├── TimedOut          timeout            a wait ended without what it waited for
    ├── CursorExpired     cursor_expired     events were compacted away
    └── StorageFailed     storage_error      nothing was written
        └── Busy          busy               locked past the limit
    DatabaseRefused                          the database cannot be used at all
"""

from __future__ import annotations

from typing import Any, ClassVar


def as_utf8(text: str) -> str:
    """Return the text of a path, which may be any bytes, with `?` for those that are not UTF-8."""
    return text.encode(errors="replace").decode()


class Refusal(Exception):
    """A refused request: nothing of it was written.

    `code` is stable and for programs, `message` is for people, `data` has details.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, Any] = data


class ParseError(Refusal):
    """The line is not one JSON text."""

    code = "parse_error"


class TooLarge(Refusal):
    """The line is longer than the channel's limit."""

    code = "too_large"


class InvalidRequest(Refusal):
    """The line is JSON, but not a request."""

    code = "invalid_request"


class ReservedName(InvalidRequest):
    """An agent's name is, or looks like, that of the human or of the program itself."""


class UnknownTool(Refusal):
    """No tool has that name; `data["did_you_mean"]` has similar names."""

    code = "unknown_tool"


class InvalidArgument(Refusal):
    """An argument is wrong; `data["argument"]` is its path, such as `todos[1].status`."""

    code = "invalid_argument"

    def __init__(self, argument: str, message: str, **data: Any) -> None:
        super().__init__(message, argument=argument, **data)


class NotFound(Refusal):
    """Nothing has that id."""

    code = "not_found"

    def __init__(self, kind: str, id: str, hint: str = "") -> None:
        super().__init__(f"no {kind} {id}{hint}", id=id)
        self.kind = kind


class Conflict(Refusal):
    """The state forbids it; `data` says why."""

    code = "conflict"


class NotProven(Conflict):
    """A task cannot be set done before its checks have passed. `uid` is the task's; None if they cannot be run yet."""

    def __init__(self, message: str, uid: str | None, **data: Any) -> None:
        super().__init__(message, **data)
        self.uid = uid


class Forbidden(Refusal):
    """This speaker may not do that."""

    code = "forbidden"


class Paused(Refusal):
    """The human has paused this agent; the message is what the human wrote."""

    code = "paused"


class StaleClaim(Refusal):
    """The claim has lapsed or ended."""

    code = "stale_claim"


class TimedOut(Refusal):
    """A wait ended without what it waited for."""

    code = "timeout"


class CursorExpired(Refusal):
    """Events before `data["oldest"]` were compacted away: take a snapshot."""

    code = "cursor_expired"


class StorageFailed(Refusal):
    """The database could not be read or written; nothing was written."""

    code = "storage_error"

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(as_utf8(message), retryable=retryable)  # the message names the file


class Busy(StorageFailed):
    """Another process held the database for longer than the limit."""

    code = "busy"

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class DatabaseRefused(Exception):
    """The database cannot be used and was left as it is (docs: protocol, section 3). Shown to people at the start."""
