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
    │   ├── NotProven                        its checks have not passed
    │   └── CannotUndo                       the newest change, which can be passed over
    ├── Forbidden         forbidden          this speaker may not
    ├── Paused            paused             the human has paused this agent
    ├── StaleClaim        stale_claim        the claim has lapsed or ended
    ├── TimedOut          timeout            a wait ended without what it waited for
    ├── CursorExpired     cursor_expired     events were compacted away
    └── StorageFailed     storage_error      nothing was written
        ├── Busy          busy               locked past the limit
        └── OutcomeUnknown unknown           a server's commit, of which no answer came
    DatabaseRefused                          the database cannot be used at all
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self


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

    def add(self, more: str, **data: Any) -> None:
        """Add to the end of the message, and to the details."""
        self.message += more
        self.data |= data


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


# The path of an argument, such as `todos[1].status`, and what is wrong with it.
Problem = tuple[str, str]
# How many problems a refusal names.
MAX_PROBLEMS: Final = 100


class InvalidArgument(Refusal):
    """Arguments are wrong. `data["problems"]` has all that is wrong, and `data["argument"]` the path of the first."""

    code = "invalid_argument"

    def __init__(self, argument: str, message: str, **data: Any) -> None:
        super().__init__(message, argument=argument, problems=_as_data([(argument, message)]), **data)

    @classmethod
    def of(cls, problems: Sequence[Problem], **data: Any) -> Self:
        """Return a refusal with several problems, of which there is at least one."""
        named = problems[:MAX_PROBLEMS]
        argument, message = named[0]
        if len(problems) > 1:
            each = " ".join(f"({number}) {text}" for number, (_, text) in enumerate(named, 1))
            more = f" and {len(problems) - len(named):,} more" if len(problems) > len(named) else ""
            message = f"{len(problems):,} problems: {each}{more}"
        refusal = cls(argument, message, **data)
        refusal.data["problems"] = _as_data(named)
        return refusal


def _as_data(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [{"argument": argument, "message": message} for argument, message in problems]


class NotFound(Refusal):
    """Nothing has that id.

    Attributes:
        kind: what was looked for, such as `task`.
        is_explained: whether the message says what is wrong with the id.
    """

    code = "not_found"

    def __init__(self, kind: str, id: str, hint: str = "") -> None:
        super().__init__(f"no {kind} {id}{hint}", id=id)
        self.kind = kind
        self.is_explained = bool(hint)

    def explain(self, hint: str) -> None:
        """Add to the message what is wrong with the id, unless `hint` is empty."""
        self.message += hint
        self.is_explained = self.is_explained or bool(hint)


class Conflict(Refusal):
    """The state forbids it; `data` says why."""

    code = "conflict"


class NotProven(Conflict):
    """A task cannot be set done before its checks have passed.

    Attributes:
        uid: the task whose checks are to be run; None if they cannot be run yet.
    """

    def __init__(self, reason: str, advice: str, uid: str | None, **data: Any) -> None:
        super().__init__(f"{reason}; {advice}", **data)
        self._reason = reason
        self.uid = uid

    def cannot_run(self) -> None:
        """Correct the advice: the task has the checks only by what the same batch did, which was refused with it."""
        self.message = f"{self._reason}; they can be run after the batch: leave setting it done out of the batch"


class InputsUnread(Exception):
    """The inputs of passed checks must be read again, outside of the transaction, before they open a gate.

    No refusal: whoever holds the transaction reads them and tries again. `runs` has the uids of the checks' runs.
    """

    def __init__(self, runs: Sequence[str]) -> None:
        super().__init__(*runs)
        self.runs = tuple(runs)


class CannotUndo(Conflict):
    """A change cannot be undone. `change` is its number: `Undo` can pass over it, and undoes `before` then."""

    def __init__(self, message: str, change: int, before: int | None = None, **data: Any) -> None:
        super().__init__(message, **data)
        self.change = change
        self.before = before


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


class WritesJournal(Exception):
    """A transaction that was to change only what is one machine's own has changed more; nothing was written."""


class WriteConflict(Exception):
    """Others have written to a server since a transaction was decided; nothing was written.

    No refusal: whoever holds the transaction decides again, with the server's lock.
    """


class Busy(StorageFailed):
    """Another process held the database for longer than the limit."""

    code = "busy"

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class RoleRefused(StorageFailed):
    """A server does not allow this machine's role to write this; nothing was written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=False)


class OutcomeUnknown(StorageFailed):
    """The connection to the server was lost while it committed: it may have been written, or not."""

    code = "unknown"

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class DatabaseRefused(Exception):
    """The database cannot be used and was left as it is (docs: protocol, section 3). Shown to people at the start."""
