"""A small ntfy server on loopback: what of its API is used, and the tricks that a real one may play."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.started import DEADLINE


class StandIn:
    """Messages by topic; `status` answers everything; `location` sends whoever comes elsewhere."""

    def __init__(self) -> None:
        self.messages: dict[str, list[dict[str, Any]]] = {}
        self.tokens: list[str | None] = []
        self.status = 200
        self.location = ""
        self.changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.is_closed = False

    def close(self) -> None:
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def put(self, topic: str, text: str, **more: Any) -> None:
        """What a phone does when an action is touched, and what anybody can do who knows the topic."""
        with self.changed:
            topic_messages = self.messages.setdefault(topic, [])
            number = sum(map(len, self.messages.values())) + 1
            topic_messages.append({"id": f"m{number}", "event": "message", "topic": topic, "message": text, **more})
            self.changed.notify_all()

    def wait_for(self, topic: str, number: int = 1, seconds: float = DEADLINE) -> list[dict[str, Any]]:
        """The messages of a topic, once there are so many."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.messages.get(topic, [])) >= number, seconds), self.messages
            return list(self.messages[topic])

    def touch(self, message: dict[str, Any], label: str) -> str:
        """Touch an action of a message; return the nonce that went out."""
        (action,) = [each for each in message["actions"] if each["label"] == label]
        assert action["url"].startswith(self.address + "/")
        assert (action["action"], action["method"]) == ("http", "POST")
        self.put(action["url"].rpartition("/")[2], action["body"])
        return action["body"]


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _refused(self) -> bool:
            stand_in.tokens.append(self.headers.get("Authorization"))
            if stand_in.location:
                self.send_response(302)
                self.send_header("Location", stand_in.location)
                self.end_headers()
                return True
            if stand_in.status != 200:
                self.send_error(stand_in.status)
                return True
            return False

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self._refused():
                return
            message = json.loads(body)
            stand_in.put(
                message["topic"],
                message["message"],
                **{k: v for k, v in message.items() if k not in ("topic", "message")},
            )
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            if self._refused():
                return
            topic, _, query = self.path[1:].partition("/json?since=")
            self.send_response(200)
            self.end_headers()
            self._line({"event": "open", "topic": topic})
            known = stand_in.messages.get(topic, [])
            sent = next((at for at, each in enumerate(known, 1) if each["id"] == query), 0)
            while not stand_in.is_closed:
                with stand_in.changed:
                    news = stand_in.messages.get(topic, [])[sent:]
                    if not news:
                        stand_in.changed.wait(0.5)
                try:
                    for message in news:
                        self._line(message)
                except OSError:
                    return
                sent += len(news)

        def _line(self, value: dict[str, Any]) -> None:
            self.wfile.write(json.dumps(value).encode() + b"\n")
            self.wfile.flush()

    return Handler
