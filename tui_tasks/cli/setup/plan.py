"""What setting up a program writes, or takes out again: planned as a whole before anything is written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tui_tasks.cli.setup import guidance, hooks_entry, server_entry
from tui_tasks.cli.setup.files import File, NotSetUp, read
from tui_tasks.cli.setup.programs import PROGRAMS, SERVER, TOOLS, Target, target
from tui_tasks.cli.setup.server_entry import Options
from tui_tasks.hooks import entries

# The options of `hook` that are written.
_OF_HOOKS: Final = ("--db", "--project")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        name: of the program.
        folder: where, for a project.
        for_user: whether it is for a person, in all folders.
        server: whether the tools and the guidance are meant.
        hooks: whether the hooks are meant.
        starter: the words that start this program.
        options: those of `mcp` that were given.
        wait: the seconds for which a hook of the program may wait for the human.
        outbox: the folder in which messages for sessions appear; empty where it is not to be named.
    """

    name: str
    folder: Path
    for_user: bool = False
    server: bool = True
    hooks: bool = False
    starter: tuple[str, ...] = ("tui-tasks",)
    options: Options = field(default_factory=dict)
    wait: float = 0
    outbox: str = ""

    def target(self) -> Target:
        """Where it is set up."""
        return target(PROGRAMS[self.name], self.folder, for_user=self.for_user)

    def hook_command(self, there: Sequence[str] = ()) -> list[str]:
        """The command that the program's hooks run; what is not asked for anew is as in the command that is there."""
        kept = {name: value for name, value in itertools.pairwise(there) if name in _OF_HOOKS}
        named = [(name, value) for name, value in (kept | self.options).items() if name in _OF_HOOKS]
        return [*self.starter, "hook", self.name, *(word for pair in named for word in pair if word is not None)]


@dataclass(slots=True)
class Plan:
    """The files that change, and what is said about them.

    Attributes:
        files: each file that was looked at, as it is and is to be.
        told: for each thing that was meant, what it is and where.
        notes: what was left alone, and why.
    """

    files: list[File] = field(default_factory=list)
    told: list[tuple[str, File]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def changed(self) -> list[File]:
        """The files that are to be otherwise than they are."""
        return [file for file in self.files if file.after != file.before]

    def carry_out(self) -> None:
        """Write what changes.

        Raises:
            NotSetUp: a file cannot be written; those before it are.
        """
        for file in self.changed():
            file.write()

    def file(self, path: Path, root: Path) -> File:
        """A file, the same where two paths lead to it."""
        found = read(path, root)
        for file in self.files:
            if file.real == found.real:
                return file
        self.files.append(found)
        return found


def setting_up(wish: Wish) -> Plan:
    """Plan what is written.

    Raises:
        NotSetUp: a file is not as it should be; nothing is written.
    """
    program, at, plan = PROGRAMS[wish.name], wish.target(), Plan()
    if wish.server:
        file = plan.file(at.path(at.places.server), at.root)
        otherwise: Options = {"--agent-only": wish.name, "--tools": TOOLS}
        if server_entry.put(file, program, wish.starter, wish.options, otherwise):
            plan.told.append((f"the server {SERVER}", file))
        else:
            plan.notes.append(f"{file.path} has an entry {SERVER} of your own; it stays as it is")
        if at.places.guide:
            file = plan.file(at.path(at.places.guide), at.root)
            file.after = guidance.put(file.after)
            plan.told.append(("when to use the tools", file))
        if at.places.skill:
            file = plan.file(at.path(at.places.skill), at.root)
            if file.after is None or guidance.is_our_skill(file.after):
                file.after = guidance.SKILL
                plan.told.append(("the skill", file))
            else:
                plan.notes.append(f"{file.path} is a skill of your own; it stays as it is")
    if wish.hooks:
        file = plan.file(at.path(at.places.hooks), at.root)
        if file.path.suffix == ".js":
            file.after = entries.opencode_plugin(wish.hook_command(plugin_command(file.before)), wish.outbox)
        else:
            there = next(iter(hooks_entry.commands(file).values()), [])
            command = wish.hook_command(there)
            hooks_entry.put(file, entries.hook_settings(wish.name, command, wish.wait))
        plan.told.append(("the hooks", file))
        _warn_of_others(plan, wish)
    return plan


def _warn_of_others(plan: Plan, wish: Wish) -> None:
    """Say where hooks are in the other scope as well: the program would run both."""
    other = target(PROGRAMS[wish.name], wish.folder, for_user=not wish.for_user)
    try:
        file = read(other.path(other.places.hooks), other.root)
        is_there = is_our_plugin(file.before) if file.path.suffix == ".js" else bool(hooks_entry.commands(file))
    except NotSetUp:
        return
    if is_there:
        which = "" if wish.for_user else " --user"
        plan.notes.append(
            f"{file.path} has the hooks, too, so that each event is told twice: "
            f"tui-tasks setup {wish.name}{which} --hooks-only --remove takes those out"
        )


def removing(wish: Wish) -> Plan:
    """Plan what is taken out: all that setting up writes, or the hooks alone.

    Raises:
        NotSetUp: a file is not as it should be; nothing is taken out.
    """
    program, at, plan = PROGRAMS[wish.name], wish.target(), Plan()
    if at.places.hooks:
        file = plan.file(at.path(at.places.hooks), at.root)
        if file.path.suffix == ".js":
            file.after = None if is_our_plugin(file.before) else file.before
            if file.after != file.before:
                plan.told.append(("the hooks", file))
        elif hooks_entry.remove(file):
            plan.told.append(("the hooks", file))
    if not wish.server:
        return plan
    file = plan.file(at.path(at.places.server), at.root)
    if server_entry.remove(file, program):
        plan.told.append((f"the server {SERVER}", file))
    if at.places.guide:
        file = plan.file(at.path(at.places.guide), at.root)
        if guidance.find(file.after or "") and not _is_kept(plan, file, wish, at):
            file.after = guidance.remove(file.after or "")
            plan.told.append(("when to use the tools", file))
    if at.places.skill:
        file = plan.file(at.path(at.places.skill), at.root)
        if guidance.is_our_skill(file.before or "") and not _is_kept(plan, file, wish, at):
            file.after = None
            plan.told.append(("the skill", file))
    return plan


def _is_kept(plan: Plan, file: File, wish: Wish, at: Target) -> bool:
    """Whether another program that is set up in the project reads the same file; says so."""
    if at.is_user:
        return False
    name = str(file.path.relative_to(at.folder))
    shared = [other for other, each in PROGRAMS.items() if name in (each.project.guide, each.project.skill)]
    others = [other for other in shared if other != wish.name and _has_server(other, wish)]
    if others:
        plan.notes.append(f"{file.path} stays as it is: it is meant for {', '.join(others)} as well")
    return bool(others)


def _has_server(name: str, wish: Wish) -> bool:
    at = target(PROGRAMS[name], wish.folder, for_user=wish.for_user)
    try:
        return server_entry.find(read(at.path(at.places.server), at.root), PROGRAMS[name]) is not None
    except NotSetUp:
        return False


def plugin_command(text: str | None) -> list[str]:
    """The command in a plugin for opencode; empty where there is none."""
    found = re.search(r"^const COMMAND = (\[.*\])$", text or "", re.MULTILINE)
    return list(json.loads(found[1])) if found else []


def is_our_plugin(text: str | None) -> bool:
    """Whether a file is the plugin for opencode that is written here, of this version or another."""
    return text is not None and "tui-tasks setup opencode" in text
