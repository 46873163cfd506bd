"""A report on an archive: its bytes, and those of each member, are vouched for."""

import contextlib
import tarfile
from pathlib import Path

import pytest

from forensics.cli import run


@pytest.fixture
def made(own):
    """A case whose logs lie in one archive, and its report."""
    logs = own / "logs"
    files = sorted(path for path in logs.rglob("*") if path.is_file())
    with tarfile.open(own / "logs.tar.gz", "w:gz") as archive:
        for path in reversed(files):
            archive.add(path, path.relative_to(logs).as_posix())
            path.unlink()
    (own / "logs.tar.gz").rename(logs / "logs.tar.gz")
    assert call(own, "report", "logs", "-i", "incident.toml", "-o", "out", "-q", "--force") == 3
    return own


def call(folder: Path, *arguments: str) -> int:
    with contextlib.chdir(folder):
        return run(list(arguments))


@pytest.mark.long
def test_it_holds_and_is_made_again(made, capsys):
    assert call(made, "verify", "out") == 0
    assert call(made, "rerun", "out") == 0
    assert "the same bytes again" in capsys.readouterr().err


@pytest.mark.long
def test_it_holds_where_the_archive_lies_now(made, tmp_path, capsys):
    moved = tmp_path / "elsewhere.bin"
    (made / "logs" / "logs.tar.gz").rename(moved)
    assert call(made, "rerun", "out") != 0
    assert call(made, "verify", "out", "--logs", str(moved)) == 0
    assert call(made, "rerun", "out", "--logs", str(moved)) == 0


@pytest.mark.long
def test_a_changed_byte_is_named(made, capsys):
    path = made / "logs" / "logs.tar.gz"
    changed = bytearray(path.read_bytes())
    changed[len(changed) // 2] ^= 1
    path.write_bytes(changed)
    assert call(made, "verify", "out") == 7
    assert "logs/logs.tar.gz: has other bytes than were read" in capsys.readouterr().out
    assert call(made, "rerun", "out") == 7
