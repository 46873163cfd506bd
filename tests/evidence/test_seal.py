"""The sums of a folder: what a stranger can check without this package."""

import shutil
import stat
import subprocess

import pytest

from forensics.errors import ForensicsError
from forensics.evidence.hashes import Digest
from forensics.evidence.seal import read_sums, seal, sums
from forensics.evidence.verify import verify
from forensics.output import whole_folder, write_private


def names_in(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="did not run: no sha256sum here")
def test_sha256sum_finds_every_file_unchanged(out):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=out, capture_output=True, check=True
    )
    checked = [line.removesuffix(": OK") for line in done.stdout.decode().splitlines()]
    assert checked == [name for name in names_in(out) if name != "SHA256SUMS"]


def test_a_folder_of_any_kind_with_sub_folders_is_sealed_and_verified(tmp_path):
    with whole_folder(tmp_path / "set", "evidence") as folder:
        (folder / "deep").mkdir(mode=0o700)
        write_private(folder / "deep" / "a.parquet", b"rows")
        write_private(folder / "b.json", b"{}")
        seal(folder, {"kind": "evidence", "inputs": []})
    found = verify(tmp_path / "set")
    assert (found.kind, found.files, found.mismatches, found.exit_code) == ("evidence", 4, [], 0)
    assert list(read_sums((tmp_path / "set" / "SHA256SUMS").read_bytes())) == [
        "b.json",
        "deep/a.parquet",
        "manifest.json",
    ]
    assert stat.S_IMODE((tmp_path / "set" / "SHA256SUMS").stat().st_mode) == 0o600
    (tmp_path / "set" / "deep" / "a.parquet").write_bytes(b"ROWS")
    assert [fault.file for fault in verify(tmp_path / "set").mismatches] == ["deep/a.parquet"]


@pytest.mark.parametrize("name", ["a\nb", "a\\b", "a\rb", ""])
def test_a_name_that_the_form_cannot_hold_is_refused(name):
    with pytest.raises(ForensicsError, match="cannot stand"):
        sums({name: Digest(0, "0" * 64)})
