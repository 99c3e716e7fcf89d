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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another user")
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


@pytest.mark.timeout(20)
def test_a_fifo_in_place_of_the_file_is_refused_and_blocks_nobody(folder):
    os.mkfifo(folder / project.FILE)
    with pytest.raises(project.ProjectRefused) as refused:
        project.of_folder(folder)
    file = folder / project.FILE
    assert refused.value.message == (
        f"{file} cannot be used: it is not a regular file; correct it, or remove it and run tui-tasks init"
    )


def test_a_file_that_is_too_long_is_refused_unread(folder):
    with (folder / project.FILE).open("wb") as made:
        made.truncate(15 * 1024**4)
    with pytest.raises(project.ProjectRefused, match="65,536 bytes"):
        project.of_folder(folder)
