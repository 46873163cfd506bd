"""What an ingest has to do: which inputs are new, there already, or grown since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from forensics.incident import Incident
from forensics.sources.evidence_set import INPUTS
from forensics.sources.files import Input, reading_order
from forensics.sources.ledger import Ledger, decode
from forensics.sources.overlap import Known, overlap


@dataclass
class Plan:
    """Inputs that are to be read, each with all its names; and what is known of the others.

    ``known`` holds, per key, the names that this run gives to logs that are there already;
    ``outdated`` the keys that the run makes needless, because the log has grown.
    """

    pending: list[tuple[Input, tuple[str, ...]]] = field(default_factory=list)
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outdated: set[str] = field(default_factory=set)


def committed(folder: Path) -> dict[str, Ledger]:
    """Return the ledgers that a set holds, by key: of runs that ended and that did not."""
    found = [decode(path.read_bytes()) for path in sorted((folder / INPUTS).glob("*.json"))]
    return {ledger.key: ledger for ledger in found}


def plan(inputs: Sequence[Input], there: dict[str, Ledger], incident: Incident) -> Plan:
    """Compare the inputs of a run with what the set holds."""
    known = [Known(ledger, ledger.names) for ledger in there.values()]
    raw = [source for source in inputs if source.stored is None]
    found = overlap(raw, known, incident)
    made = Plan(outdated=set(found.continued))
    for source in raw:
        if source.number in found.same:
            key = found.same[source.number]
            made.known[key] = (*made.known.get(key, ()), source.name)
        else:
            made.pending.append((source, (source.name,)))
    made.pending.sort(key=lambda pending: reading_order(pending[0]))
    _add_stored(made, inputs, there)
    return made


def _add_stored(made: Plan, inputs: Sequence[Input], there: dict[str, Ledger]) -> None:
    names: dict[str, list[Input]] = {}
    for source in inputs:
        if source.stored is not None:
            names.setdefault(source.stored.key, []).append(source)
    for key, own in names.items():
        given = tuple(sorted(source.name for source in own))
        if key in there:
            made.known.setdefault(key, given)
        else:
            made.pending.append((own[0], given))


def settled(
    ledgers: dict[str, Ledger], todo: Plan, keys: Sequence[str], inputs: Sequence[Input]
) -> tuple[dict[str, Ledger], list[Ledger]]:
    """Return the ledgers that the set has after a run, and those of them with new names.

    Args:
        ledgers: all that were committed.
        todo: what the run had to do.
        keys: what its pending inputs turned out to be, in order.
        inputs: all inputs of the run.
    """
    given = {key: list(names) for key, names in todo.known.items()}
    for key, (_, names) in zip(keys, todo.pending, strict=True):
        given.setdefault(key, []).extend(names)
    gone = todo.outdated - given.keys()
    retried = {source.name for source in inputs}
    kept, renamed = {}, []
    for key, ledger in ledgers.items():
        failed = not ledger.sha256 and not retried.isdisjoint(ledger.names)
        if key in gone or (failed and key not in given):
            continue
        names = _names(ledger, given.get(key, ()))
        kept[key] = replace(ledger, names=names)
        if names != ledger.names:
            renamed.append(kept[key])
    return kept, renamed


def _names(ledger: Ledger, given: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an input after a run that gave it under some.

    Copies that lie side by side in one call are as many inputs, as they are for a
    report; the same log under another path is not.
    """
    return ledger.names if len(given) <= len(ledger.names) else tuple(sorted(given))
