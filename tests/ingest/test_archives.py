"""Archives in evidence sets: their members are inputs like any other."""

import tarfile

import pytest


@pytest.mark.long
def test_a_set_of_an_archive_gives_the_report_on_the_archive(small_logs, tmp_path, kit):
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        for path in sorted(small_logs.rglob("*"), reverse=True):
            archive.add(path, path.relative_to(small_logs).as_posix(), recursive=False)
    assert kit.ingest(tmp_path / "logs.tar.gz", out=tmp_path / "set") == 3
    raw = kit.report(tmp_path / "logs.tar.gz", out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again"), raw)
    assert b"truncated JSON" in raw["unreadable.csv"]


def test_a_second_ingest_finds_every_member_there(small_logs, tmp_path, kit, capsys):
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        archive.add(small_logs, "logs")
    assert kit.ingest(tmp_path / "logs.tar", out=tmp_path / "set") == 3
    before = kit.held(tmp_path / "set")
    assert kit.ingest(tmp_path / "logs.tar", out=tmp_path / "set") == 3
    kit.same(kit.held(tmp_path / "set"), before)
