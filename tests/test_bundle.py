"""The bundle for a machine without a network: whole, verified, and the same of the same files."""

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKER = ROOT / "packaging" / "bundle.py"


@pytest.fixture(scope="module")
def bundle():
    spec = importlib.util.spec_from_file_location("bundle", PACKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_files_give_the_same_archive_at_any_time(bundle, tmp_path, monkeypatch):
    (folder := tmp_path / "packed").mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "b").mkdir()
    (folder / "b" / "c.txt").write_text("c")
    first = bundle.archive(folder).read_bytes()
    monkeypatch.setattr("time.time", lambda: 4_000_000_000.0)
    os.utime(folder / "a.txt", (1, 1))
    assert bundle.archive(folder).read_bytes() == first


@pytest.mark.parametrize("harm", ["changed", "gone"])
def test_nothing_is_installed_from_files_that_are_not_those_that_were_packed(
    bundle, tmp_path, harm
):
    (file := tmp_path / "wheel.whl").write_bytes(b"packed")
    hashed = hashlib.sha256(b"packed").hexdigest()
    (tmp_path / "SHA256SUMS").write_text(f"{hashed}  wheel.whl\n")
    (tmp_path / "install.sh").write_text(bundle.INSTALL)
    file.write_bytes(b"other") if harm == "changed" else file.unlink()
    done = subprocess.run(["sh", "install.sh"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode != 0
    assert not (tmp_path / ".venv").exists()


def test_what_its_readme_points_at_is_in_it(bundle, tmp_path):
    bundle.fill(tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    links = {link for link in re.findall(r"\]\(([^)#]+)[)#]", text) if "://" not in link}
    paths = set(re.findall(r"data/samples/[\w./-]*\w", text))
    assert links
    assert paths
    assert sorted(name for name in links | paths if not (tmp_path / name).exists()) == []


@pytest.mark.long
def test_no_setting_of_pip_lends_the_bundle_a_package(bundle, tmp_path):
    """Told to look for packages elsewhere, pip still finds none but those of the bundle."""
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "home"
    (tmp_path / "packed" / "wheels").mkdir(parents=True)
    elsewhere.mkdir()
    wheel = elsewhere / "kv_exposure_forensics-9.9-py3-none-any.whl"
    about = "kv_exposure_forensics-9.9.dist-info"
    with zipfile.ZipFile(wheel, "w") as lent:
        name = "Metadata-Version: 2.1\nName: kv-exposure-forensics\nVersion: 9.9\n"
        lent.writestr(f"{about}/METADATA", name)
        lent.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        lent.writestr(f"{about}/RECORD", "")
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text(f"[global]\nfind-links = {elsewhere}\n")
    (tmp_path / "packed" / "SHA256SUMS").write_text(f"{hashlib.sha256().hexdigest()}  empty\n")
    (tmp_path / "packed" / "empty").touch()
    (tmp_path / "packed" / "install.sh").write_text(bundle.INSTALL)
    told = {"HOME": str(home), "PIP_FIND_LINKS": str(elsewhere), "EXTRAS": ""}
    told["PYTHON"] = sys.executable
    done = subprocess.run(
        ["sh", "install.sh"], cwd=tmp_path / "packed", env=os.environ | told,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "No matching distribution" in done.stderr


@pytest.mark.long
def test_the_bundle_is_tried_out_and_holds_what_it_names(tmp_path):
    done = subprocess.run(
        [sys.executable, PACKER, "--extras", "", "--out", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "pip wheel failed" in done.stderr:
        pytest.skip("did not run: no package index can be reached")
    assert done.returncode == 0, done.stderr[-500:]
    (packed,) = tmp_path.glob("forensics-bundle-*.tar.gz")
    with tarfile.open(packed) as tar:
        files = {m.name.partition("/")[2]: tar.extractfile(m) for m in tar if m.isfile()}
        sums = files.pop("SHA256SUMS").read().decode().splitlines()
        stated = {name: digest for digest, name in (line.split("  ", 1) for line in sums)}
        assert stated == {n: hashlib.sha256(f.read()).hexdigest() for n, f in files.items()}
    assert {"install.sh", "README.md", "docs/tutorial.md"} <= set(stated)
    assert any(name.startswith("wheels/kv_exposure_forensics-") for name in stated)
    assert any(name.startswith("data/samples/glm53/logs/") for name in stated)
