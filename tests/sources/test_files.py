"""From what was named to the files that are read."""

from pathlib import Path

import pytest

from forensics.errors import NoInputError
from forensics.sources.files import expand


def names(*logs) -> list[str]:
    return [source.name for source in expand(*logs)]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b/day.log", "a/day.log", "a/deep/x.log", "c.log", ".hidden/z.log", "a/.git/y"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def test_folders_globs_and_files_each_once_in_name_order(tree):
    everything = ["a/day.log", "a/deep/x.log", "b/day.log", "c.log"]
    assert names(".") == everything
    assert names("c.log", "a", "b/*", "./c.log", "**/*.log") == everything
    assert names("b", "a") == names("a", "b")


def test_numbers_do_not_depend_on_the_order_given(tree):
    assert expand("c.log", "a") == expand("a", "c.log")


def test_one_file_under_two_names_is_read_once(tree):
    Path("link.log").symlink_to("a/day.log")
    assert names("link.log", "a/day.log", str(tree / "a/day.log")) == [str(tree / "a/day.log")]
    assert names("link.log", "a/day.log") == names("a/day.log", "link.log") == ["a/day.log"]


def test_labels_tell_files_of_one_name_apart(tree):
    assert [source.label for source in expand(".")] == ["a/day.log", "x.log", "b/day.log", "c.log"]


def test_a_hidden_folder_that_is_named_is_read(tree):
    assert names(".hidden") == [".hidden/z.log"]


def test_a_glob_over_an_empty_folder_reads_the_others(tree):
    (tree / "empty").mkdir()
    assert "c.log" in names("*")


def test_a_name_with_brackets_is_a_name_first(tree):
    (tree / "x[1].log").write_text("x")
    assert names("x[1].log") == ["x[1].log"]


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ((), "no log was named"),
        (("gone.log",), "gone.log: no such file or folder"),
        (("c.log", "gone"), "gone: no such file or folder"),
        (("*.gone",), "*.gone: no file matches"),
        (("empty",), "empty: the folder holds no file"),
        (("x" * 300,), "cannot be read"),
        (("c.log/inside",), "c.log/inside: "),
    ],
)
def test_what_cannot_be_found(tree, logs, message):
    (tree / "empty").mkdir()
    with pytest.raises(NoInputError) as caught:
        expand(*logs)
    assert message in str(caught.value)
