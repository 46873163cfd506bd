"""Pack all that a machine without a network needs: ``make bundle``.

The archive is put in place only after the package was installed from it alone, into a new
environment, and had written and verified the report of the sample incident.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTION = "kv-exposure-forensics"
EXTRAS = "notebooks,pdf,live"
INSTALL = f"""\
#!/bin/sh
# Checks every file of the bundle, then installs from it alone into .venv: no setting of
# this machine's pip lends it a package.
set -eu
cd "$(dirname "$0")"
sha256sum --check --quiet --strict SHA256SUMS
${{PYTHON:-python3}} -m venv .venv
PIP_CONFIG_FILE=/dev/null .venv/bin/python -m pip --isolated install --quiet \\
    --disable-pip-version-check --no-index --find-links wheels \\
    '{DISTRIBUTION}'"${{EXTRAS-[{EXTRAS}]}}"
echo "installed: $(pwd)/.venv/bin/forensics"
"""
_INCOMPLETE = 3


def main() -> None:
    """Parse, pack, try it out, put it in place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the archive")
    parser.add_argument("--extras", default=EXTRAS, help=f"of the package ({EXTRAS})")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forensics-bundle-") as scratch:
        packed = _packed(Path(scratch), asked.extras)
        _tried(packed, Path(scratch) / "elsewhere", asked.extras)
        asked.out.mkdir(parents=True, exist_ok=True)
        done = asked.out / packed.name
        unfinished = done.with_suffix(".part")
        shutil.copyfile(packed, unfinished)
        unfinished.replace(done)
    _say(f"{done} ({done.stat().st_size / 1e6:.0f} MB)")


def _packed(scratch: Path, extras: str) -> Path:
    """Return the archive of everything, with the hash of each file in it."""
    _say("collecting wheels")
    wheels = scratch / "wheels"
    wanted = f"{ROOT}[{extras}]" if extras else str(ROOT)
    _pip("wheel", "--wheel-dir", str(wheels), wanted)
    folder = scratch / _name(wheels)
    folder.mkdir()
    wheels.rename(folder / "wheels")
    fill(folder)
    (folder / "install.sh").write_text(INSTALL, encoding="utf-8")
    (folder / "install.sh").chmod(0o755)
    (folder / "SHA256SUMS").write_text(_hashes(folder), encoding="utf-8")
    return archive(folder)


def fill(folder: Path) -> None:
    """Copy what the documentation speaks of, each under the path that it has there."""
    for name in ("data/samples", "docs", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "LICENSE", "CHANGELOG.md"):
        shutil.copyfile(ROOT / name, folder / name)


def _name(wheels: Path) -> str:
    own = next(wheels.glob(f"{DISTRIBUTION.replace('-', '_')}-*.whl"))
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"forensics-bundle-{own.name.split('-')[1]}-{python}-{machine}"


def _hashes(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder).as_posix()}\n"
        for file in files
    )


def archive(folder: Path) -> Path:
    """Pack a folder beside it; the same files give the same archive."""
    packed = folder.with_name(f"{folder.name}.tar.gz")
    with (
        packed.open("wb") as file,
        # By itself it would write down when this was.
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=1, mtime=0) as whole,
        tarfile.open(fileobj=whole, mode="w") as tar,
    ):
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{folder.name}/{path.relative_to(folder)}", recursive=False, filter=_of)
    return packed


def _of(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who packed it and when."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def _tried(packed: Path, elsewhere: Path, extras: str) -> None:
    """Install from the archive alone, and write and verify the report of the sample."""
    _say("trying it out")
    # With no filter, which the first releases of Python 3.11 do not know: it was packed above.
    shutil.unpack_archive(packed, elsewhere)
    folder = elsewhere / packed.name.removesuffix(".tar.gz")
    install = {"PYTHON": sys.executable, "EXTRAS": f"[{extras}]" if extras else ""}
    _run(["./install.sh"], folder, install)
    forensics, sample = ".venv/bin/forensics", Path("data/samples/glm53")
    logs = [str(sample / "logs"), "-i", str(sample / "incident.toml")]
    _run([forensics, "report", *logs, "-o", "case"], folder, may_end_with=_INCOMPLETE)
    _run([forensics, "verify", "case"], folder)


def _run(
    command: list[str], folder: Path, more: dict[str, str] | None = None, may_end_with: int = 0
) -> None:
    done = subprocess.run(
        command, cwd=folder, env=_environment() | (more or {}), check=False, stdout=sys.stderr
    )
    if done.returncode not in (0, may_end_with):
        raise SystemExit(f"{' '.join(command)}: ended with {done.returncode}")


def _environment() -> dict[str, str]:
    """Return the environment without what could lend the new one a package."""
    lent = ("PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in lent}


def _pip(*arguments: str) -> None:
    """Call pip; an environment made by uv has none of its own."""
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], check=False, capture_output=True).returncode:
        subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=sys.stderr)
    command = [*pip, *arguments, "--quiet", "--disable-pip-version-check"]
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise SystemExit(f"pip {arguments[0]} failed on {platform.platform()}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
