"""Lines of the channel: whatever comes, each gets one reply in its order, and none holds up another."""

import json
import random

from tests.contract.client import Agent, line
from tests.talking import ADD

MIB = 1024 * 1024


BAD = {
    b"{]": "parse_error",
    b'[""],': "parse_error",
    b'{"id": 1, "tool": "control:hello"},': "parse_error",
    b'{"id": 1, "tool": "control:he': "parse_error",
    b'{"tool": "control:hello"} {}': "parse_error",
    b"\xff\xfe": "parse_error",
    b'{"tool": NaN}': "parse_error",
    b'{"tool": "a", "tool": "b"}': "parse_error",
    b'{"tool": "\\ud800"}': "parse_error",
    b"[" * 65 + b"]" * 65: "parse_error",
    b'{"id": 99999999999999999999, "tool": "control:hello"}': "parse_error",
    b"\0": "parse_error",
    b"x" * (MIB + 1): "too_large",
    b"5": "invalid_request",
    b"[]": "invalid_request",
    b"null": "invalid_request",
    b'{"id": 1.5, "tool": "control:hello"}': "invalid_request",
    b'{"tool": "control:hello", "agent": "human"}': "invalid_request",
    b'{"tool": "tasklist:dance"}': "unknown_tool",
    b'{"tool": "tasklist:add_task"}': "invalid_argument",
    b'{"tool": "tasklist:get_task", "arguments": {"uid": "none"}}': "not_found",
    b'{"tool": "control:pause"}': "forbidden",
    b'{"tool": "control:undo"}': "conflict",
    b'{"tool": "control:heartbeat", "arguments": {"claim": "none"}}': "not_found",
}


def test_no_line_however_bad_ends_the_channel_or_gets_anything_but_one_reply(agent):
    for bad, code in BAD.items():
        agent.send(bad + b"\n" + line("tasklist:display", "next"))
        reply, after = agent.reply(), agent.reply()
        assert (reply["ok"], reply["error"]["code"]) == (False, code), (bad[:60], reply)
        assert (after["id"], after["ok"], after["result"]) == ("next", True, [])
    assert agent.finish() == []


def test_no_part_of_a_batch_over_several_lines_is_done_and_each_whole_request_in_it_is_refused_by_its_id(agent):
    batch = [{"id": n, "tool": ADD, "arguments": {"name": str(n)}} for n in range(3)]
    for text in (
        json.dumps(batch, indent=2),
        "[\n" + ",\n".join(map(json.dumps, batch)) + "\n]",
        "[" + ",\n".join(map(json.dumps, batch)) + "]",
        "[\n" + "\n".join(map(json.dumps, batch)) + "\n\n",
    ):
        agent.send(text.encode() + b"\n" + line("tasklist:display", "next"))
        whole = [json.loads(one)["id"] for one in text.split("\n") if one.startswith("{") and one.endswith("}")]
        refused = [agent.reply() for one in text.split("\n") if one]
        assert {reply["error"]["code"] for reply in refused} == {"parse_error"}
        assert [reply["id"] for reply in refused if reply["id"] is not None] == whole
        assert agent.reply() == {"id": "next", "ok": True, "result": [], "seq": 0}


def test_thousands_of_lines_of_noise_get_one_reply_each_and_change_nothing(agent):
    rng = random.Random(3)
    seeds = [json.dumps({"id": 1, "tool": ADD, "arguments": {"name": "x"}}).encode(), b'[{"tool":"control:undo"}]']
    noise = []
    for _ in range(3_000):
        raw = bytearray(rng.choice(seeds)) if rng.random() < 0.7 else bytearray(rng.randbytes(rng.randrange(1, 60)))
        for _ in range(rng.randrange(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        raw = raw.replace(b"\n", b"").replace(b"\r", b"")
        noise.append(bytes(raw) if raw.strip() and b"add_task" not in raw else b"?")
    # The blank line ends whatever value a line of noise has begun.
    agent.send(b"\n".join(noise) + b"\n\n")
    answered = [agent.reply() for _ in noise]
    for reply in answered:
        for one in reply if isinstance(reply, list) else [reply]:
            assert one["ok"] is False, reply
            assert one["error"]["code"] in {
                *("parse_error", "invalid_request", "unknown_tool", "invalid_argument", "conflict")
            }, reply
    assert agent.ok("tasklist:display") == []
    assert agent.finish() == []


def test_a_line_of_50_mib_is_dropped_without_being_held(agent):
    agent.ok("control:hello")
    for _ in range(50):
        agent.send(b"x" * MIB)
    agent.send(b"\n" + line("tasklist:display", "next"))
    assert agent.reply()["error"]["code"] == "too_large"
    assert agent.reply()["id"] == "next"
    assert agent.peak() < 150 * 1024


def test_a_line_of_the_limit_is_served(agent):
    head, tail = b'{"id": 1, "tool": "tasklist:display", "pad": "', b'"}'
    agent.send(head + b"x" * (MIB - len(head) - len(tail)) + tail + b"\n")
    assert agent.reply()["ok"]


def test_replies_come_in_the_order_of_requests_whatever_they_are(agent):
    kinds = [line(ADD, None, name="x"), b"{\n", b"[]\n", line("tasklist:display"), line("nope"), b"\n"]
    rng = random.Random(1)
    lines, expected = [], []
    for n in range(400):
        kind = rng.choice(kinds)
        lines.append(kind.replace(b"null", str(n).encode()))
        if kind.strip():
            expected.append(n if b"null" in kind else None)
    agent.send(b"".join(lines))
    assert [agent.reply()["id"] for _ in expected] == expected


def test_half_a_line_holds_up_nobody_and_is_served_when_its_other_half_comes(agent, db):
    request = line(ADD, 1, name="slow")
    agent.send(request[:20])
    with Agent(db) as other:
        other.ok("control:subscribe")
        other.ok(ADD, name="meanwhile")
        assert other.event()["task"]["name"] == "meanwhile"
    for byte in request[20:]:
        agent.send(bytes([byte]))
    assert agent.reply()["ok"]


def test_one_who_has_sent_half_a_line_still_hears_events(agent, db):
    agent.ok("control:subscribe")
    agent.send(b'{"id": 1, "tool": "tasklist:')
    with Agent(db) as other:
        other.ok(ADD, name="theirs")
    assert agent.event()["task"]["name"] == "theirs"
    agent.send(b'display"}\n')
    assert agent.reply()["ok"]


def test_half_a_line_at_the_end_of_input_is_a_line(agent):
    agent.send(b'{"id": 1, "tool": "tasklist:disp')
    (reply,) = agent.finish()
    assert reply["error"]["code"] == "parse_error"
