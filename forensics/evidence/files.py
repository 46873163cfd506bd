"""The files of a folder against its manifest and its ``SHA256SUMS``.

Three witnesses say what a file was: its bytes, the manifest and the sums. Where two
agree, the third is named; the manifest itself has two only.
"""

from __future__ import annotations

from collections.abc import Iterator

from forensics.evidence.faults import Fault
from forensics.evidence.folder import Sealed
from forensics.evidence.hashes import Digest
from forensics.evidence.seal import MANIFEST, SUMS, read_sums, sums


def check(sealed: Sealed) -> list[Fault]:
    """Return what is wrong with the folder's own files, sorted by name."""
    return sorted({*_files(sealed), *_own(sealed)}, key=lambda fault: (fault.file, fault.what))


def untouched(sealed: Sealed) -> set[str]:
    """Return the names of files whose bytes the manifest or the sums vouch for."""
    stated, listed = _stated(sealed), _listed(sealed)
    return {
        name
        for name, now in sealed.files.items()
        if now is not None and (stated.get(name) == now or listed.get(name) == now.sha256)
    }


def _stated(sealed: Sealed) -> dict[str, Digest]:
    outputs = sealed.record.outputs if sealed.record is not None else []
    return {output.name: Digest(output.bytes, output.sha256) for output in outputs}


def _listed(sealed: Sealed) -> dict[str, str]:
    return (read_sums(sealed.sums) if sealed.sums is not None else None) or {}


def _files(sealed: Sealed) -> Iterator[Fault]:
    stated, listed = _stated(sealed), _listed(sealed)
    for name in sorted({*stated, *listed, *sealed.files} - {MANIFEST, SUMS}):
        if name not in sealed.files:
            yield _absent(name, name in stated or not stated, name in listed or not listed)
        elif name not in stated and name not in listed:
            yield Fault(name, "is in the folder and not in its manifest")
        else:
            yield from _one(name, sealed.files[name], stated.get(name), listed.get(name))
    for name in sealed.bare_folders:
        yield Fault(
            f"{name}/", "is in the folder and not in its manifest: nothing in it, or closed"
        )


def _absent(name: str, by_manifest: bool, by_sums: bool) -> Fault:
    """Name a missing file, or the one proof that invents it."""
    if by_manifest and by_sums:
        return Fault(name, "is missing")
    return Fault(MANIFEST if by_manifest else SUMS, "names a file that was never written")


def _one(
    name: str, now: Digest | None, stated: Digest | None, listed: str | None
) -> Iterator[Fault]:
    if now is None:
        yield Fault(name, "is a link, or cannot be read")
        return
    by_manifest, by_sums = stated == now, listed == now.sha256
    if not by_manifest and not by_sums:
        yield Fault(name, "has other bytes than were written")
    if not by_manifest and (by_sums or stated is None or listed != stated.sha256):
        yield Fault(MANIFEST, f"has another hash or size of {name}, or none")
    if not by_sums and (by_manifest or listed is None):
        yield Fault(SUMS, f"has another hash of {name}, or none")


def _own(sealed: Sealed) -> Iterator[Fault]:
    """Check the manifest and the sums themselves."""
    if sealed.manifest is None:
        yield Fault(MANIFEST, "is missing")
    elif sealed.record is None:
        yield Fault(MANIFEST, "is no manifest any more")
    if sealed.sums is None:
        yield Fault(SUMS, "is missing")
        return
    listed = read_sums(sealed.sums)
    if listed is None or sums({n: Digest(0, sha) for n, sha in listed.items()}) != sealed.sums:
        yield Fault(SUMS, "is not in the form in which it was written")
    now = sealed.files.get(MANIFEST)
    if now is not None and (listed or {}).get(MANIFEST) != now.sha256:
        yield Fault(MANIFEST, f"does not match its line in {SUMS}: one of the two was changed")
