"""Whether the human could have read what a key answers: how long it has stood on screen, and whether to its end."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

READ_SECONDS = 0.5
"""For so long something must have stood on screen when a key answers it."""
LOOK_SECONDS: Final = 0.5
"""Between two looks whether programs still wait for the answers to what is on screen."""

READ_FIRST: Final = "Not sent, the question came here just now: read it first."
CAME_JUST_NOW: Final = "This question came up just now: read it first."


class Reading:
    """Since when something stands on screen, so that a key answers nothing that the human could not have read."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._version: object = None
        self._since = 0.0
        self._read_since: float | None = None
        # What was on screen to its end before.
        self._read: set[object] = set()

    def painted(self, version: object, *, to_end: bool) -> None:
        """Note what is painted now (None: nothing that could be answered), and whether to its end."""
        now = monotonic()
        if version != self._version:
            self._version, self._since = version, now
            self._read_since = now if version in self._read else None
        if to_end and self._read_since is None:
            self._read_since = now
            self._read.add(version)

    def is_read(self, version: object) -> bool:
        """Return whether it has been on screen to its end."""
        return version in self._read

    def has_stood(self, version: object, *, to_end: bool = False) -> bool:
        """Return whether it, or its end, had stood on screen for long enough when the key was pressed."""
        since = self._read_since if to_end else self._since
        return version == self._version and since is not None and self.is_long_since(since)

    def is_long_since(self, at: float) -> bool:
        """Return whether what came to the screen then could be read when the key was pressed."""
        return self._context.pressed.at - at >= READ_SECONDS


class _Shown(NamedTuple):
    """A painted version of something.

    Attributes:
        version: which it is.
        content: what it was.
        before: the content of the version before it.
        is_whole: whether all of it was shown.
        since: since when it is on the screen after that; None: it is not there.
        has_stood: whether it was there for `READ_SECONDS` before.
    """

    version: Hashable
    content: Any
    before: Any
    is_whole: bool = False
    since: float | None = None
    has_stood: bool = False


class Standing:
    """Knows which version of each thing is or was on the screen, and for how long after all of it had been shown."""

    def __init__(self) -> None:
        self._shown: dict[str, _Shown] = {}

    def show(self, key: str, version: Hashable, content: Any = None) -> bool:
        """Note that a version is being painted, and return whether it takes the place of another one.

        `content` is what a later version is compared with.
        """
        shown = self._shown.get(key)
        if shown is not None and shown.version == version:
            return False
        self._shown[key] = _Shown(version, content, shown.content if shown is not None else None)
        return shown is not None

    def show_whole(self, key: str) -> None:
        """Note that all of the painted version is on the screen, or was part by part."""
        shown = self._shown[key]
        if not shown.is_whole:
            self._shown[key] = shown._replace(is_whole=True, since=monotonic())

    def on_screen(self, keys: Collection[str]) -> None:
        """Note what is on the screen now: what is not there is not being read."""
        now = monotonic()
        for key, shown in self._shown.items():
            if key in keys:
                if shown.is_whole and shown.since is None:
                    self._shown[key] = shown._replace(since=now)
            elif shown.since is not None:
                has_stood = shown.has_stood or now - shown.since >= READ_SECONDS
                self._shown[key] = shown._replace(since=None, has_stood=has_stood)

    def has_stood(self, key: str, version: Hashable, pressed_at: float) -> bool:
        """Return whether all of this version had been on the screen for `READ_SECONDS` when the key was pressed."""
        shown = self._shown.get(key)
        if shown is None or shown.version != version:
            return False
        return shown.has_stood or (shown.since is not None and pressed_at - shown.since >= READ_SECONDS)

    def before(self, key: str, version: Hashable) -> Any:
        """Return the content that was painted before this version; None if none was."""
        shown = self._shown.get(key)
        if shown is None:
            return None
        return shown.before if shown.version == version else shown.content
