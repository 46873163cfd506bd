"""Which inputs are taken on: rows that each tell a whole request, in finished evidence sets.

What joins a row to others by more than its identifiers, or judges it by what others show, asks
for all rows. Such a case is read as a whole, as any log is; :func:`refusal` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from forensics.incident import Incident
from forensics.sources.files import Input
from forensics.sources.layout import KINDS
from forensics.sources.ledger import Ledger

TAKEN = frozenset(
    (
        "request_id", "transfer_id", "tenant_id", "model", "received_at", "finished_at",
        "prefill_node", "decode_node", "prompt_tokens", "prefill_prompt_tokens",
        "decode_prompt_tokens", "cached_tokens", "prefill_tokens", "prefill_ms",
        "reserved_pages", "transferred_pages", "transfer_status", "rejected", "rejection_code",
        "http_status", "stream_error", "finish_reason", "completion_tokens", "hop",
        "reserved_at", "released_at", "file", "line", "naive", "source_node",
    )
)  # fmt: skip
"""Columns of which it is known what they do to a verdict; others ask for all rows."""
_OTHERS = tuple(kind for kind in KINDS if kind not in ("observations", "capacity"))


def refusal(inputs: Sequence[Input], ledgers: Sequence[Ledger], incident: Incident) -> str | None:
    """Return why the inputs have to be read as a whole, None where they need not.

    Args:
        inputs: all of a run.
        ledgers: of those that an evidence set holds, in their order.
        incident: what is asked.
    """
    return next(_refusals(inputs, ledgers, incident), None)


def _refusals(
    inputs: Sequence[Input], ledgers: Sequence[Ledger], incident: Incident
) -> Iterator[str]:
    if incident.trigger.mechanism != "read":
        yield "the fault writes, or may"
    if incident.attestations:
        yield "verdicts of reviewers are to be matched"
    if any(source.stored is None for source in inputs):
        yield "not all logs are in an evidence set"
    for source, ledger in zip(inputs, ledgers, strict=False):
        if source.node not in ("", ledger.node):
            yield "a node goes by another name here"
    for ledger in ledgers:
        yield from _of_input(ledger)


def takes(format_name: str | None, columns: Mapping[str, Sequence[str]]) -> bool:
    """Say whether an input of a format, with columns per kind of rows, may be taken on."""
    return next(_of_format(format_name, columns), None) is None


def _of_format(format_name: str | None, columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not (format_name or "").startswith("plain-"):
        yield f"{format_name} is no plain input format"
    if any(kind in columns for kind in _OTHERS):
        yield "there are records other than of requests and capacity"
    if set(columns.get("observations", ())) - TAKEN:
        yield "records have figures that are judged together with others"


def _of_input(ledger: Ledger) -> Iterator[str]:
    if ledger.kept:
        yield from _of_format(ledger.format, ledger.columns)
    if ledger.zoneless or ledger.clock or ledger.redacted:
        yield "times without a zone, or identifiers that were not kept"
