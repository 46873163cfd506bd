"""A check of an archive lists its members, and reads no more of each than its share."""

import json
import tarfile
from pathlib import Path

from forensics.checking.budget import Budget
from forensics.checking.checked import check_logs
from forensics.cli import run


def pack(folder: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder, "logs")
    return target


def test_members_are_listed_like_files(pair, tmp_path, capsys):
    archive = pack(pair, tmp_path / "logs.tgz")
    assert run(["check", str(pair), "--json", "-q"]) == 3
    apart = json.loads(capsys.readouterr().out)
    assert run(["check", str(archive), "--json", "-q"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["files"][0]["format"] == "archive"
    for name in ("format", "records", "requests", "node", "how"):
        assert [f[name] for f in found["files"][1:]] == [f[name] for f in apart["files"]]
    assert found["sample"] == apart["sample"]


def test_no_more_is_read_than_the_budget(pair, tmp_path):
    archive = pack(pair, tmp_path / "logs.tgz")
    size = sum(path.stat().st_size for path in pair.rglob("*") if path.is_file())
    found = check_logs(archive, budget=Budget(total=size // 2))
    assert found.bytes_read <= size // 2
    assert {entry.how for entry in found.files[1:]} <= {"head", "whole", "nothing"}
