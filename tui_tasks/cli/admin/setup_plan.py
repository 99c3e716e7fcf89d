"""The plan of a setup: which files change and how. It is complete before the first file is written.

The guidance for agents is a marked block in the file that a program's agents read first, and a skill.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tui_tasks.cli.admin import program_entries, program_files
from tui_tasks.cli.admin.program_entries import Options
from tui_tasks.cli.admin.program_files import PROGRAMS, SERVER, TOOLS, File, NotSetUp, Target, read, target
from tui_tasks.hooks import hook_forms

# The options of `hook` that `setup` writes.
_HOOK_OPTIONS: Final = ("--db", "--project")


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """What the user asked `setup` for.

    Attributes:
        name: the name of the program, a key of `PROGRAMS`.
        folder: the project's folder.
        for_user: for the user in all folders, not for one project.
        server: whether to set up the MCP server and the guidance.
        hooks: whether to set up the hooks.
        starter: the argv that starts this program.
        options: the given options of `mcp`.
    """

    name: str
    folder: Path
    for_user: bool = False
    server: bool = True
    hooks: bool = False
    starter: tuple[str, ...] = ("tui-tasks",)
    options: Options = field(default_factory=dict)

    def target(self) -> Target:
        """Return where the program is set up."""
        return target(PROGRAMS[self.name], self.folder, for_user=self.for_user)

    def hook_command(self, existing: Sequence[str] = ()) -> list[str]:
        """Return the argv that the program's hooks run; options that were not given are as in `existing`."""
        kept = {name: value for name, value in itertools.pairwise(existing) if name in _HOOK_OPTIONS}
        named = [(name, value) for name, value in (kept | self.options).items() if name in _HOOK_OPTIONS]
        return [*self.starter, "hook", self.name, *(word for pair in named for word in pair if word is not None)]


@dataclass(slots=True)
class Plan:
    """The files that change, and the report about them.

    Attributes:
        files: each file that was read, with its text before and after.
        parts: what was planned: the name of each part, and its file.
        notes: what is left alone, and why.
    """

    files: list[File] = field(default_factory=list)
    parts: list[tuple[str, File]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def changed(self) -> list[File]:
        """Return the files whose text changes."""
        return [file for file in self.files if file.after != file.before]

    def carry_out(self) -> None:
        """Write the changed files.

        Raises:
            NotSetUp: a file cannot be written; the files before it were.
        """
        for file in self.changed():
            file.write()

    def file(self, path: Path, root: Path) -> File:
        """Read a file, or return it if it was read before, also under another path.

        Raises:
            NotSetUp: as `read`.
        """
        opened = read(path, root)
        for file in self.files:
            if file.real == opened.real:
                return file
        self.files.append(opened)
        return opened


def plan_setup(request: SetupRequest) -> Plan:
    """Plan the setup of a program.

    Raises:
        NotSetUp: a file is not as expected; nothing was written.
    """
    program, at, plan = PROGRAMS[request.name], request.target(), Plan()
    if request.server:
        file = plan.file(at.path(at.files.server), at.root)
        otherwise: Options = {"--agent-only": request.name, "--tools": TOOLS}
        if program_entries.put_server(file, program, request.starter, request.options, otherwise):
            plan.parts.append((f"the server {SERVER}", file))
        else:
            plan.notes.append(f"{file.path} has an entry {SERVER} of your own; it stays as it is")
        if at.files.guide:
            file = plan.file(at.path(at.files.guide), at.root)
            file.after = put_guidance(file.after)
            plan.parts.append(("when to use the tools", file))
        if at.files.skill:
            file = plan.file(at.path(at.files.skill), at.root)
            if file.after is None or is_our_skill(file.after):
                file.after = SKILL
                plan.parts.append(("the skill", file))
            else:
                plan.notes.append(f"{file.path} is a skill of your own; it stays as it is")
    if request.hooks:
        file = plan.file(at.path(at.files.hooks), at.root)
        if file.path.suffix == ".js":
            file.after = hook_forms.opencode_plugin(request.hook_command(plugin_command(file.before)))
        else:
            there = next(iter(program_entries.hook_commands(file).values()), [])
            command = request.hook_command(there)
            program_entries.put_hooks(file, hook_forms.hook_settings(request.name, command))
        plan.parts.append(("the hooks", file))
        _note_other_scope(plan, request)
    return plan


def _note_other_scope(plan: Plan, request: SetupRequest) -> None:
    """Note that the hooks are in the other scope (user or project), too: the program would run both."""
    other = target(PROGRAMS[request.name], request.folder, for_user=not request.for_user)
    try:
        file = read(other.path(other.files.hooks), other.root)
        is_there = (
            is_our_plugin(file.before) if file.path.suffix == ".js" else bool(program_entries.hook_commands(file))
        )
    except NotSetUp:
        return
    if is_there:
        which = "" if request.for_user else " --user"
        plan.notes.append(
            f"{file.path} has the hooks too, and each event is reported twice: "
            f"tui-tasks setup {request.name}{which} --hooks-only --remove removes those"
        )


def hooks_file(request: SetupRequest) -> Path | None:
    """Return the file that has our hooks; None if there is none.

    Raises:
        NotSetUp: the file is not as expected.
    """
    at = request.target()
    if not at.files.hooks:
        return None
    file = read(at.path(at.files.hooks), at.root)
    is_ours = is_our_plugin(file.before) if file.path.suffix == ".js" else program_entries.hook_commands(file)
    return file.path if is_ours else None


def plan_removal(request: SetupRequest) -> Plan:
    """Plan the removal of everything that `plan_setup` adds, or of the hooks alone.

    Raises:
        NotSetUp: a file is not as expected; nothing was written.
    """
    program, at, plan = PROGRAMS[request.name], request.target(), Plan()
    if at.files.hooks:
        file = plan.file(at.path(at.files.hooks), at.root)
        if file.path.suffix == ".js":
            file.after = None if is_our_plugin(file.before) else file.before
            if file.after != file.before:
                plan.parts.append(("the hooks", file))
        elif program_entries.remove_hooks(file):
            plan.parts.append(("the hooks", file))
    if not request.server:
        return plan
    file = plan.file(at.path(at.files.server), at.root)
    if program_entries.remove_server(file, program):
        plan.parts.append((f"the server {SERVER}", file))
    if at.files.guide:
        file = plan.file(at.path(at.files.guide), at.root)
        if find_guidance(file.after or "") and not _note_if_shared(plan, file, request, at):
            file.after = remove_guidance(file.after or "")
            plan.parts.append(("when to use the tools", file))
    if at.files.skill:
        file = plan.file(at.path(at.files.skill), at.root)
        if is_our_skill(file.before or "") and not _note_if_shared(plan, file, request, at):
            file.after = None
            plan.parts.append(("the skill", file))
    return plan


def _note_if_shared(plan: Plan, file: File, request: SetupRequest, at: Target) -> bool:
    """Note that another program set up in the project reads the same file, and return whether one does."""
    if at.is_user:
        return False
    name = str(file.path.relative_to(at.folder))
    shared = [other for other, each in PROGRAMS.items() if name in (each.project.guide, each.project.skill)]
    others = [other for other in shared if other != request.name and _has_server(other, request)]
    if others:
        plan.notes.append(f"{file.path} stays as it is: it is meant for {', '.join(others)} as well")
    return bool(others)


def _has_server(name: str, request: SetupRequest) -> bool:
    at = target(PROGRAMS[name], request.folder, for_user=request.for_user)
    try:
        return program_entries.find_server(read(at.path(at.files.server), at.root), PROGRAMS[name]) is not None
    except NotSetUp:
        return False


def is_hook_command(words: Sequence[str], *, is_user: bool) -> bool:
    """Return whether `setup` may have written an argv for hooks: for a project, by name or as this installation."""
    if "hook" not in words:
        return False
    at = list(words).index("hook")
    starter, options = tuple(words[:at]), words[at + 2 :]
    own = (("tui-tasks",), (str(Path(sys.executable).with_name("tui-tasks")),), (sys.executable, "-m", "tui_tasks"))
    is_starter = len(starter) == 1 or starter[1:] == ("-m", "tui_tasks")
    return (
        (starter in own or (is_user and is_starter))
        and words[at + 1 : at + 2] != []
        and len(options) % 2 == 0
        and all(name in _HOOK_OPTIONS for name in options[::2])
    )


def plugin_command(text: str | None) -> list[str]:
    """Return the argv in a plugin for opencode; empty if there is none."""
    match = re.search(r"^const COMMAND = (\[.*\])$", text or "", re.MULTILINE)
    return list(json.loads(match[1])) if match else []


def is_our_plugin(text: str | None) -> bool:
    """Return whether a text is the plugin for opencode that `setup` writes, of any version."""
    return text is not None and "tui-tasks setup opencode" in text


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


def put_guidance(text: str | None) -> str:
    """Return the text of a guidance file with the block, in its place or at the end."""
    place = find_guidance(text or "")
    if place is None:
        return program_files.append_block(text, BLOCK)
    assert text is not None
    start, end = place
    return text[:start] + BLOCK.rstrip("\n").replace("\n", program_files.newline_of(text)) + text[end:]


def remove_guidance(text: str) -> str | None:
    """Return the text without the block; None if the file was created for it. A text without a block is unchanged."""
    place = find_guidance(text)
    return text if place is None else program_files.remove_block(text, *place)


def find_guidance(text: str) -> tuple[int, int] | None:
    """Return the offsets at which the block begins and ends; None if there is none."""
    start = text.find(_BEGIN.split(" (")[0])
    end = text.find(_END, start)
    return None if start < 0 or end < 0 else (start, end + len(_END))


def is_our_skill(text: str) -> bool:
    """Return whether a skill is the one that `setup` writes, of any version."""
    return find_guidance(text) is not None
