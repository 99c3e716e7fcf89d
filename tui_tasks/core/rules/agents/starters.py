"""Commands that start others by their words: a `*` of a rule allows none of them.

The list knows the usual programs and options. A program that is not here counts as one that starts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_PROGRAM_NAMES: Final = """
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
_PROGRAMS: Final = frozenset(_PROGRAM_NAMES.split())
# What stands behind a program's name: a version or a variant.
_VARIANT: Final = re.compile(r"(?:[-_.]?[0-9][\w.-]*|\.exe|[.-](?:tiny|basic|nox|gtk3|dbg|static|real|wrapper))+\Z")
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
_MESSAGE: Final = re.compile(r"-[afnqsv]*[mF].*|--(?:message|file)(?:=.*)?|--no-edit", re.DOTALL)
_FLAGS: Final = re.compile(r"-[afnqsv]+|--(?:all|amend|annotate|force|no-verify|quiet|signoff|verbose)")
# Options by which commands start others or write files. Programs take the beginning of a long name for it.
_LONG_NAMES: Final = """
exec execdir exec-batch ok okdir upload-pack receive-pack ext-diff textconv open-files-in-pager output exec-path
config-env pre hostname-bin compress-program to-command checkpoint-action use-compress-program rsh pager search-zip
files0-from preserve-paths show-signature edit-description edit filters
"""
_LONG: Final = tuple(_LONG_NAMES.split())
_FIND: Final = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)")
# Letters of short options, also among others behind one dash.
_LETTERS: Final = {"fd": "xX", "fdfind": "xX", "rg": "z", "sort": "oT", "shuf": "o", "tree": "o", "iconv": "o"}
_ALL_LETTERS: Final = "OIc"


def starts_others(words: Sequence[str], fixed: int) -> bool:
    """Return whether a command may start another one by a word after the first `fixed`."""
    program = words[0].rpartition("/")[2].lower()
    if fixed == 0 or program in _PROGRAMS or _VARIANT.sub("", program) in _PROGRAMS:
        return True
    if _VARIANT.sub("", program) == "git":
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
    first = next((word for word in after if _FLAGS.fullmatch(word) is None), "")
    return _MESSAGE.fullmatch(first) is None


def _has_letter(word: str, letters: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and any(char in letters for char in word)


def _is_starting(word: str, letters: str, longs: Sequence[str]) -> bool:
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return bool(name) and any(long.startswith(name) for long in longs)
    return word.startswith("-") and (_FIND.fullmatch(word) is not None or _has_letter(word, letters))
