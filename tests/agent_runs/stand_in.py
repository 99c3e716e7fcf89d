"""`python stand_in.py RECORDING PIDS ...`: stands in the place of an agent program, and says what was recorded.

It writes its pid, and that of a child that sleeps, into the file PIDS. It waits for what was said to the program before
it says more; a line that it is told is as good as the one recorded where its kind, or the id that it answers, is.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def key(message):
    """What tells one message from another."""
    if message is None or "jsonrpc" in message or "method" in message:
        return message and (message.get("method") or "reply")
    if message["type"] == "control_response":
        return message["response"]["request_id"]
    if message["type"] == "control_request":
        return message["request"]["subtype"]
    return message["type"]


def main(recording, pids, *words):
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    Path(pids).write_text(f"{os.getpid()} {child.pid}\n")
    session = words[words.index("--session-id") + 1] if "--session-id" in words else ""
    told = []
    for line in Path(recording).read_text().splitlines():
        ((side, value),) = json.loads(line.replace("@SESSION@", session).replace("@CWD@", str(Path.cwd()))).items()
        if side == "out":
            print(json.dumps(value), flush=True)
            continue
        while key(value) not in told:
            read = sys.stdin.readline()
            told.append(key(json.loads(read)) if read else None)
            assert read or value is None, f"its input was closed, but not by {value}"
        told.remove(key(value))
    child.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
