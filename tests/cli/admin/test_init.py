"""`init`: the name that it proposes for a project, and the file that it writes."""

import subprocess

import pytest

from tui_tasks.cli.admin import setup_command
from tui_tasks.settings import project


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "web" / "src" / "deep"
    inner.mkdir(parents=True)
    return inner


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org/team/web.git", "web"),
        ("git@example.org:team/web api.git", "web"),
        ("ssh://example.org/~me/web/", "web"),
        ("file:///", "src"),
    ],
)
def test_the_remote_proposes_a_name_else_the_work_tree(folder, url, name):
    tree = folder.parent
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert setup_command.proposed(folder) == "src"
    subprocess.run(["git", "-C", tree, "config", "remote.origin.url", url], check=True)
    assert setup_command.proposed(folder) in (name, "web-api")


def test_outside_a_work_tree_the_folder_proposes_its_own_name(folder):
    assert setup_command.proposed(folder) == "deep"


def test_what_init_writes_is_read_and_never_written_over(folder):
    file = setup_command.write_project_file(folder, "web")
    assert project.of_folder(folder) == "web"
    with pytest.raises(project.ProjectRefused, match="is there already"):
        setup_command.write_project_file(folder, "other")
    assert "web" in file.read_text()
