"""The notification service on the human's phone (`[ntfy]`; docs: phone)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

Topic = Annotated[str, Meta(pattern=r"^[-_A-Za-z0-9]{0,64}$")]
TOKENS: Final = ("TUI_TASKS_NTFY_TOKEN", "NTFY_TOKEN")
"""The variables of the environment that hold the token; the first that is set is used."""
# Messages and token can be read by anybody on the way; on this machine there is nobody.
_SERVER: Final = re.compile(r"https://[^/\s@]+(/\S*)?|http://(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?/?")


class NtfySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[ntfy]`.

    Attributes:
        server: the address of the server.
        topic: where messages are sent to; empty: none are.
        reply_topic: where answers come from, None: the topic with `-reply` behind it; empty: none are taken.
        titles: whether questions, titles and names of lists are sent, or only who waits.
        delay: for how many seconds a question stands before it is sent: who sits at the screen has answered by then.
        expires: for how many seconds an answer is taken.
    """

    server: str = "https://ntfy.sh"
    topic: Topic = ""
    reply_topic: Topic | None = None
    titles: bool = True
    delay: Annotated[int, Meta(ge=0, le=86_400)] = 5
    expires: Annotated[int, Meta(ge=10, le=86_400)] = 3_600

    def __post_init__(self) -> None:
        """Refuse a server to which others could listen.

        Raises:
            ValueError: it is none, or is not reached by https.
        """
        if not _SERVER.fullmatch(self.server):
            raise ValueError("server is an address that begins with https:// (http:// on this machine alone)")
        if self.topic and self.replies == self.topic:
            raise ValueError("reply_topic is another than topic")

    @property
    def replies(self) -> str:
        """The topic of the answers; empty: none are read."""
        return f"{self.topic[:58]}-reply" if self.reply_topic is None else self.reply_topic


def token(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token of the server, None where none is set."""
    return next((environment[name] for name in TOKENS if environment.get(name)), None)
