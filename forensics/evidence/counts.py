"""The numbers of a folder against each other: none may say what another does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from forensics.errors import PrivacyError
from forensics.evidence import reportcounts
from forensics.evidence.faults import Fault
from forensics.evidence.files import untouched
from forensics.evidence.folder import Sealed
from forensics.evidence.reporttables import ReportTables
from forensics.evidence.seal import MANIFEST

Check = Callable[[ReportTables], Iterator[Fault]]


def check(sealed: Sealed) -> list[Fault]:
    """Return every count that could be taken; those that differ are faults.

    Files that are not what was written are named already; nothing is counted in them.
    """
    if sealed.record is None:
        return []
    found = list(_accounted(sealed))
    if sealed.record.kind == "report":
        whole = ReportTables(sealed.path, untouched(sealed), sealed.record)
        for one in reportcounts.CHECKS:
            found += _attempt(one, whole)
    return found


def _accounted(sealed: Sealed) -> Iterator[Fault]:
    """Each record of an input was kept, ignored for a reason, a duplicate or unreadable."""
    for source in sealed.record.inputs if sealed.record is not None else ():
        if source.read is not None:
            ignored = sum(source.ignored.values())
            went = source.kept + ignored + source.duplicate + source.unreadable
            yield Fault(MANIFEST, f"records accounted for of {source.name}", went, source.read)


def _attempt(one: Check, whole: ReportTables) -> list[Fault]:
    """Run one check; what is not in the form it expects is a fault, not an end."""
    try:
        return list(one(whole))
    except FileNotFoundError:
        return []  # missing or not what was written: named already
    except (LookupError, TypeError, ValueError, PrivacyError, pl.exceptions.PolarsError):
        names = ", ".join(whole.asked) or "report"
        return [Fault(names, "cannot be counted: not in the form that is expected")]
    finally:
        whole.asked.clear()
