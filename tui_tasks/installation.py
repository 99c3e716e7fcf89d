"""This installation of the program: the command that starts it, the one that adds an extra to it, and the default paths
of the user's files. It imports almost nothing: every hook uses it.
"""

import os
import sys

NAME = "tui-tasks"
REPLICA = ".replica"
DEMO_FOLDER = "tui-tasks-demo-"
"""How the name of a demo's folder begins."""


def is_replica(path: str) -> bool:
    """Return whether a file is, by its name, this machine's replica of a server's journal."""
    return path.endswith(REPLICA)


def data_folder(path: str) -> str:
    """Return the folder for what belongs to a database, as worktrees: its own; of a replica one beside it."""
    real = os.path.realpath(path)
    return real.removesuffix(REPLICA) if is_replica(real) else os.path.dirname(real)


def replica_pointer(url: str) -> str:
    """Return the path of the file with the id of the journal at a server's URL; its replica stands beside it."""
    import hashlib

    return f"{default_state_folder()}/replicas/url-{hashlib.sha256(url.encode()).hexdigest()[:32]}"


def known_replica(url: str) -> str | None:
    """Return the path of this machine's replica of a server's journal; None if it was never opened here."""
    pointer = replica_pointer(url)
    try:
        with open(pointer, encoding="utf-8") as file:
            return f"{os.path.dirname(pointer)}/{file.read()}{REPLICA}"
    except FileNotFoundError:
        return None


def default_database() -> str:
    """Return the path of the database: a file in the platform's folder for user data."""
    folder = _xdg_folder("XDG_DATA_HOME", ".local/share")
    if folder is None:
        import platformdirs

        folder = str(platformdirs.user_data_path(NAME, appauthor=False))
    return f"{folder}/tasks.db"


def default_configuration() -> str:
    """Return the path of the configuration file, in the platform's folder for user configuration."""
    folder = _xdg_folder("XDG_CONFIG_HOME", ".config")
    if folder is None:
        import platformdirs

        folder = str(platformdirs.user_config_path(NAME, appauthor=False))
    return f"{folder}/config.toml"


def default_state_folder() -> str:
    """Return the path of the platform's folder for what a user's programs keep on this machine alone."""
    folder = _xdg_folder("XDG_STATE_HOME", ".local/state")
    if folder is None:
        import platformdirs

        folder = str(platformdirs.user_state_path(NAME, appauthor=False))
    return folder


def _xdg_folder(variable: str, below_home: str) -> str | None:
    """Return what platformdirs returns on Linux, without the time of importing it (a test compares them)."""
    if sys.platform != "linux" or "ANDROID_DATA" in os.environ:
        return None
    named, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    if named.startswith("/") and named.isprintable():
        return f"{named.rstrip('/')}/{NAME}"
    return f"{home.rstrip('/')}/{below_home}/{NAME}" if not named and home.startswith("/") else None


def starter() -> tuple[str, ...]:
    """Return the argv that starts this very installation from anywhere."""
    script = os.path.join(os.path.dirname(sys.executable), NAME)
    return (script,) if os.access(script, os.X_OK) else (sys.executable, "-m", "tui_tasks")


def install_command(extra: str) -> str:
    """Return the command line that adds an extra to this installation: of pipx, of uv, or of its own pip."""
    from importlib.util import find_spec

    source, is_editable = _source()
    what = f"'{source}[{extra}]'" if source else f"'tui-tasks[{extra}]'"
    place = sys.prefix.split(os.sep)
    if "pipx" in place:
        return f"pipx install --force {what}"
    if place[-3:-1] == ["uv", "tools"]:
        return f"uv tool install --force {what}"
    pip = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f"{pip} {'-e ' if is_editable else ''}{what}"


def _source() -> tuple[str, bool]:
    """Return the folder from which the package was installed, empty if from an index, and whether it is editable
    (packaging.python.org, "Recording the Direct URL Origin").
    """
    import json
    from importlib import metadata

    try:
        held = json.loads(metadata.distribution("tui-tasks").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return "", False
    folder = held.get("url", "").removeprefix("file://") if "dir_info" in held else ""
    return folder, bool(folder and held["dir_info"].get("editable"))
