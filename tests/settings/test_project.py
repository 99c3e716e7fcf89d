"""Which project a folder belongs to."""

import os

import pytest

from tui_tasks.settings import project


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "web" / "src" / "deep"
    inner.mkdir(parents=True)
    return inner


def test_the_nearest_file_above_names_the_project(folder):
    assert project.of_folder(folder) is None
    (folder.parents[1] / project.FILE).write_text('project = "web"\n')
    assert project.of_folder(folder) == project.of_folder(folder.parents[1]) == "web"
    (folder / project.FILE).write_text('project = "deep"\n')
    assert project.of_folder(folder) == "deep"
    assert project.of_folder(folder.parent) == "web"


def test_a_file_of_another_user_is_passed_over(folder, monkeypatch):
    (folder / project.FILE).write_text('project = "deep"\n')
    os.chown(folder / project.FILE, 12_345, -1)
    assert project.of_folder(folder) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "{file}"),
        ("project = 1", "{file}"),
        ('project = "a/b"', "a/b"),
        ('project = ""', "''"),
        ("project = [", "{file}"),
        ("[project]", "{file}"),
        (b"project = '\xff'", "{file}"),
    ],
)
def test_a_file_that_names_no_project_is_refused_and_told_with_what_is_wrong(folder, text, told):
    file = folder / project.FILE
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(project.ProjectRefused) as refused:
        project.of_folder(folder)
    assert told.format(file=file) in refused.value.message


@pytest.mark.parametrize("name", ["", "-x", "../x", "a b", "x" * 65, "a\n", "\u202ex", "a/b"])
def test_what_could_be_mistaken_for_a_path_or_another_is_no_name(name):
    with pytest.raises(project.ProjectRefused):
        project.checked(name)
