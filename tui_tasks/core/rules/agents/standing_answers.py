"""Standing answers: the human's rules for permissions that agent programs ask for (docs: configuration).

A deny wins over an ask, an ask over an allow. A command matches a pattern word by word, and only a command of plain
words and quotes is matched. What a deny or an ask might mean is asked. Nothing that was shortened or redacted is
allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from tui_tasks.text.times import SECOND

ANY: Final = "*"
"""As a tool: every tool; as the last word of a pattern: any further words."""
# Without $ ` \ ! * ? [ ] { } ~ # ^ < > | & ; ( ) and newlines, in quotes as well: a shell takes each word as it stands.
_PLAIN: Final = r"[A-Za-z0-9_@%+=:,./-]"
_WORD: Final = rf"""(?:{_PLAIN}+|'(?:{_PLAIN}| )*'|"(?:{_PLAIN}| )*")+"""
_ASSIGNMENT: Final = r"[A-Za-z_][A-Za-z0-9_]*\+?="
_KEYWORD_NAMES: Final = """
if then else elif fi for while until do done case esac select function in time coproc repeat foreach end
"""
_KEYWORDS: Final = frozenset(_KEYWORD_NAMES.split())
# A shell that is given its command as one argument, as Codex starts it.
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh"})
# What an input may have beside the command, none of which changes what is run.
_HARMLESS: Final = frozenset({"command", "description", "timeout"})
_ORDER: Final = ("deny", "ask", "allow")
# A program calls its tools by such names.
_TOOL: Final = r"[A-Za-z0-9_.:/-]{1,64}"
MAX_PROPOSED: Final = 150
"""The longest rule that is offered, in characters: the screen shows it whole."""
# Commands that start others by their words: a `*` of a rule allows none of them. These are the usual programs and
# options; a program that is not here counts as one that starts nothing.
_STARTER_NAMES: Final = """
sh bash rbash dash ash zsh ksh mksh fish csh tcsh pwsh powershell nu elvish xonsh busybox toybox env xargs parallel sudo
doas su pkexec gosu ssh scp sftp rsync mosh exec eval command builtin source . trap nice ionice chrt taskset nohup
timeout setsid stdbuf unbuffer time watch watchexec nodemon entr hyperfine strace ltrace gdb lldb rr valgrind perf
bpftrace script expect unshare nsenter chroot fakeroot proot bwrap firejail setpriv prlimit runuser runcon flock tini
dumb-init run-parts start-stop-daemon systemd-run systemctl service loginctl machinectl dbus-run-session dbus-launch at
batch crontab tmux screen ip nc ncat netcat socat telnet ftp lftp tcpdump ld-linux-x ld-linux-aarch ld-linux ldd
python pypy ipython pip pipx uv uvx poetry pdm hatch rye conda mamba micromamba tox nox pytest pre-commit perl ruby php
lua luajit tclsh wish guile racket sbcl clisp emacsclient julia r rscript octave gnuplot node nodejs deno bun npm npx
pnpm pnpx yarn jest vitest mocha eslint prettier webpack vite turbo nx lerna java javac jshell groovy scala kotlin
clojure clj lein sbt mvn gradle gradlew mvnw ant dotnet swift zig mix iex elixir erl ghc runghc cabal stack ocaml opam
dune gcc g++ cc c++ clang clang++ ld as rustc cargo go make gmake cmake ninja meson scons bazel bazelisk buck pants waf
just task rake invoke fab bundle bundler rails rspec composer phpunit brew apt apt-get aptitude dpkg rpm yum dnf pacman
apk snap flatpak nix nix-shell nix-build guix docker podman nerdctl ctr crictl buildah lxc incus vagrant packer kubectl
helm skaffold terraform tofu ansible ansible-playbook direnv mise rtx asdf volta nvm pyenv rbenv nodenv chezmoi op
doppler dotenv envdir awk gawk mawk nawk sed ed ex vi vim view nvim emacs nano pico less more most man info mutt w3m
lynx links tar gtar bsdtar cpio zip wget split install sdiff patch psql mysql mariadb sqlite sqlite3 gh glab hg svn cvs
darcs fossil pdflatex latex tex xelatex lualatex latexmk groff troff gpg openssl tui-tasks
"""
_STARTERS: Final = frozenset(_STARTER_NAMES.split())
# What stands behind a program's name: a version or a variant.
_VARIANT: Final = r"(?:[-_.]?[0-9][\w.-]*|\.exe|[.-](?:tiny|basic|nox|gtk3|dbg|static|real|wrapper))+\Z"
# Subcommands of git that start nothing that their words name. Hooks and filters of the repository may run.
_GIT_NAMES: Final = """
add blame branch check-attr check-ignore checkout cherry commit count-objects describe diff diff-files diff-index
diff-tree for-each-ref grep log ls-files ls-tree merge-base mv name-rev reflog reset restore rev-list rev-parse rm
shortlog show show-ref stash status switch tag whatchanged
"""
_GIT: Final = frozenset(_GIT_NAMES.split())
# What subcommands start by these letters and long options: an editor or a program that signs.
_GIT_LETTERS: Final = {"add": "e", "commit": "eS", "tag": "esuv"}
_GIT_LONG: Final = {"commit": ("gpg-sign",), "tag": ("sign", "local-user", "verify")}
# With one of these no editor asks for the message. Before it may stand flags that take no value.
_MESSAGE: Final = r"(?s)-[afnqsv]*[mF].*|--(?:message|file)(?:=.*)?|--no-edit"
_FLAGS: Final = r"-[afnqsv]+|--(?:all|amend|annotate|force|no-verify|quiet|signoff|verbose)"
# Options by which commands start others or write files. Programs take the beginning of a long name for it.
_LONG_NAMES: Final = """
exec execdir exec-batch ok okdir upload-pack receive-pack ext-diff textconv open-files-in-pager output exec-path
config-env pre hostname-bin compress-program to-command checkpoint-action use-compress-program rsh pager search-zip
files0-from preserve-paths show-signature edit-description edit filters
"""
_LONG: Final = tuple(_LONG_NAMES.split())
_FIND: Final = r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)"
# Letters of short options, also among others behind one dash.
_LETTERS: Final = {"fd": "xX", "fdfind": "xX", "rg": "z", "sort": "oT", "shuf": "o", "tree": "o", "iconv": "o"}
_ALL_LETTERS: Final = "OIc"


class AnswerRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A standing answer. The constructor raises ValueError for a rule that could not mean what it says.

    Attributes:
        answer: what is answered; `ask` leaves it to the human.
        tool: the tool's name in the program; `*`: every tool.
        pattern: the words of a command, the last perhaps `*`; empty: whatever the tool is given.
        program: the agent program; empty: each.
        project: the project of the session; empty: each.
        until: when the rule ends, in ISO 8601: an instant, or a day and its end; UTC unless it names an offset. Empty:
            never.
    """

    answer: Literal["allow", "deny", "ask"]
    tool: str
    pattern: str = ""
    program: str = ""
    project: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        if self.until and _end(self.until) is None:
            raise ValueError(f"until: a day or an instant, such as 2026-12-31, not {self.until!r}")
        if self.answer == "allow" and self.tool == ANY:
            raise ValueError("a rule that allows must name its tool")
        if self.pattern and _pattern_words(self.pattern) is None:
            raise ValueError(f"pattern: only plain words and quotes, and * at its end, not {self.pattern!r}")

    def __str__(self) -> str:
        parts = [self.answer, self.tool, self.pattern]
        parts += [f"{name} {value}" for name in ("program", "project", "until") if (value := getattr(self, name))]
        return " ".join(filter(None, parts))


def _end(until: str) -> int | None:
    """Return when a rule ends, in microseconds since the epoch; None if the text is not a time."""
    try:
        end = datetime.fromisoformat(until)
        if len(until) == len("2026-12-31"):
            end += timedelta(days=1)
        return round((end if end.tzinfo is not None else end.replace(tzinfo=UTC)).timestamp() * SECOND)
    except (ValueError, OverflowError):
        return None


def with_text_times(rules: Any) -> Any:
    """Return rules of a TOML file with their days and instants as text."""
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        return rules
    return [
        {name: value.isoformat() if isinstance(value, date | datetime) else value for name, value in rule.items()}
        for rule in rules
    ]


def find(
    rules: Iterable[AnswerRule],
    tool: str | None,
    given: Any,
    *,
    program: str,
    project: str | None,
    now: int,
    is_whole: bool,
) -> AnswerRule | None:
    """Return the rule that answers a permission; None if it is for the human.

    Args:
        rules: the human's rules.
        tool: the tool that is to be allowed.
        given: its input.
        program: the agent program.
        project: the project of its session.
        now: microseconds since the epoch.
        is_whole: whether `given` is all that the tool gets.
    """
    if tool is None:
        return None
    words = command_words(given)
    concerned = [
        rule
        for rule in rules
        if rule.tool in (ANY, tool)
        and rule.program in ("", program)
        and rule.project in ("", project)
        and (not rule.until or now < (_end(rule.until) or 0))
    ]
    matching = [
        rule
        for rule in concerned
        if (not rule.pattern or (words is not None and matches(rule, words)))
        and (rule.answer != "allow" or (is_whole and _is_known(rule, given)))
    ]
    best = min(matching, key=lambda rule: (_ORDER.index(rule.answer), not rule.pattern), default=None)
    if best is None or best.answer == "ask":
        return None
    if best.answer == "allow" and any(_may_mean(rule, words, is_named=bool(best.pattern)) for rule in concerned):
        return None
    return best


def _may_mean(rule: AnswerRule, words: Sequence[str] | None, *, is_named: bool) -> bool:
    """Return whether a command may do what a deny or an ask speaks of, by other words.

    It has the words of the pattern in their order. Where no allow names it (`is_named`), it is not plain or starts
    another.
    """
    wanted = None if rule.answer == "allow" or not rule.pattern else _pattern_words(rule.pattern)
    if wanted is None:
        return False
    if words is None:
        return True
    name = _name(words[0])
    if not is_named and starts_others(words, 2 if name == "git" else 1):
        return True
    rest = iter(words[1:])
    return wanted[0] == ANY or (name == _name(wanted[0]) and all(word in rest for word in wanted[1:] if word != ANY))


def _name(program: str) -> str:
    return program.rpartition("/")[2]


def proposed(answer: Literal["allow", "deny"], tool: str, given: Any, *, program: str) -> AnswerRule | None:
    """Return the narrowest rule that gives the same answer to the same command; None if no rule could."""
    words = command_words(given)
    if words is None or any(char in word for word in words for char in " '\""):
        return None
    rule = AnswerRule(answer, tool, " ".join(words), program)
    if len(str(rule)) > MAX_PROPOSED or re.fullmatch(_TOOL, tool) is None:
        return None
    gives = find((rule,), tool, given, program=program, project=None, now=0, is_whole=True)
    return rule if gives is not None else None


def _is_known(rule: AnswerRule, given: Any) -> bool:
    """Return whether the pattern of an allow speaks of all that the tool is given."""
    return not rule.pattern or (isinstance(given, dict) and given.keys() <= _HARMLESS)


def matches(rule: AnswerRule, words: Sequence[str]) -> bool:
    """Return whether the words of a command are those of a rule's pattern."""
    wanted = _pattern_words(rule.pattern)
    if wanted is None:
        return False
    if wanted[-1] != ANY:
        return list(words) == wanted
    fixed = wanted[:-1]
    if list(words[: len(fixed)]) != fixed:
        return False
    return rule.answer != "allow" or not starts_others(words, len(fixed))


def command_words(given: Any) -> list[str] | None:
    """Return the words of the command in a tool's input; None if it has none, or one that is not plain."""
    command = given.get("command") if isinstance(given, dict) else None
    if isinstance(command, list) and len(command) == 3 and command[0] in _SHELLS and command[1] in ("-c", "-lc"):
        command = command[2]
    return plain_words(command) if isinstance(command, str) else None


def plain_words(command: str) -> list[str] | None:
    """Return the words of a command as a shell takes them; None if it is more than plain words and quotes."""
    words: list[str] = []
    for part in _split(command):
        if part is None or re.fullmatch(_WORD, part) is None:
            return None
        words.append(part.replace("'", "").replace('"', ""))
    if not words or words[0] in _KEYWORDS or words[0].startswith(("=", "-")) or re.match(_ASSIGNMENT, words[0]):
        return None
    return None if any(not word or word.startswith("=") for word in words) else words


def _split(command: str) -> list[str | None]:
    """Return the words of a command with their quotes; None in place of what is no word."""
    parts: list[str | None] = []
    at = 0
    command = command.strip(" ")
    while at < len(command):
        match = re.compile(_WORD).match(command, at)
        after = match.end() if match is not None else at
        if match is None or (after < len(command) and command[after] != " "):
            return [None]
        parts.append(match[0])
        at = after
        while at < len(command) and command[at] == " ":
            at += 1
    return parts


def _pattern_words(pattern: str) -> list[str] | None:
    """Return the words of a pattern; None if it could match no plain command."""
    before, any_more, after = pattern.rstrip(" ").rpartition(ANY)
    if not any_more:
        return plain_words(pattern)
    if after or (before and not before.endswith(" ")):
        return None
    if not before.strip(" "):
        return [ANY]
    words = plain_words(before)
    return None if words is None else [*words, ANY]


def starts_others(words: Sequence[str], fixed: int) -> bool:
    """Return whether a command may start another one by a word after the first `fixed`."""
    program = words[0].rpartition("/")[2].lower()
    if fixed == 0 or program in _STARTERS or re.sub(_VARIANT, "", program) in _STARTERS:
        return True
    if re.sub(_VARIANT, "", program) == "git":
        known = [word for word in words[1:fixed] if word != "--no-pager"]
        if not known or known[0] not in _GIT or any("%G" in word for word in words[fixed:]):
            return True
        return _git_starts(known[0], words, fixed)
    letters = _ALL_LETTERS + _LETTERS.get(program, "")
    return any(_is_starting(word, letters, _LONG) for word in words[fixed:])


def _git_starts(subcommand: str, words: Sequence[str], fixed: int) -> bool:
    letters, longs = _ALL_LETTERS + _GIT_LETTERS.get(subcommand, ""), (*_LONG, *_GIT_LONG.get(subcommand, ()))
    if any(_is_starting(word, letters, longs) for word in words[fixed:]):
        return True
    after = words[words.index(subcommand) + 1 :]
    is_annotated = any("--annotate".startswith(word) or _has_letter(word, "a") for word in after)
    if subcommand != "commit" and not (subcommand == "tag" and is_annotated):
        return False
    first = next((word for word in after if re.fullmatch(_FLAGS, word) is None), "")
    return re.fullmatch(_MESSAGE, first) is None


def _has_letter(word: str, letters: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and any(char in letters for char in word)


def _is_starting(word: str, letters: str, longs: Sequence[str]) -> bool:
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return bool(name) and any(long.startswith(name) for long in longs)
    return word.startswith("-") and (re.fullmatch(_FIND, word) is not None or _has_letter(word, letters))
