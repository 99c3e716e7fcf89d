"""The guidance for agents: a marked block in the file that a program's agents read first, and a skill."""

from __future__ import annotations

from typing import Final

from tui_tasks.cli.setup import files

_BEGIN: Final = "<!-- tui-tasks: begin (`tui-tasks setup --remove` takes this out) -->"
_END: Final = "<!-- tui-tasks: end -->"
_WHEN: Final = """\
A human follows your work live, through the MCP server `tui-tasks`.

- Work of several steps: add each as a task, then set it in progress, log what you find, set it done or failed.
- First look whether the list has tasks, and claim the one you take; other agents share it.
- What only the human can decide, or what cannot be undone: call `ask` and wait for the answer.
- Words of the human in a reply come before your plan.

Keep no list of your own in a file. For a question or single step, use none of this.
"""
BLOCK: Final = f"{_BEGIN}\n## Tasks\n\n{_WHEN}{_END}\n"
SKILL: Final = f"""\
---
name: tui-tasks
description: Keep your tasks where the human sees them live, ask the human, share tasks with other agents. \
Use it for work of several steps, for decisions that are the human's, and to take up or hand over work.
---
{_BEGIN}

# Tasks that the human sees

{_WHEN}
## Which tool

- What is there: the tool that gets the tasks; `control_claim` takes the next one for you alone. Heartbeat while you
  work on it for long; release it if you give it up.
- `ask` takes a question, and options that the human answers by a number. It may come back as a ticket:
  `control_answer_of` has the answer later.
- A refusal says what to write instead. Do that, once.

{_END}
"""


def put(text: str | None) -> str:
    """Return the text of a guidance file with the block, in its place or at the end."""
    place = find(text or "")
    if place is None:
        return files.append(text, BLOCK)
    assert text is not None
    start, end = place
    return text[:start] + BLOCK.rstrip("\n").replace("\n", files.newline_of(text)) + text[end:]


def remove(text: str) -> str | None:
    """Return the text without the block; None if the file was created for it. A text without a block is unchanged."""
    place = find(text)
    return text if place is None else files.remove(text, *place)


def find(text: str) -> tuple[int, int] | None:
    """Return the offsets at which the block begins and ends; None if there is none."""
    start = text.find(_BEGIN.split(" (")[0])
    end = text.find(_END, start)
    return None if start < 0 or end < 0 else (start, end + len(_END))


def is_our_skill(text: str) -> bool:
    """Return whether a skill is the one that `setup` writes, of any version."""
    return find(text) is not None
