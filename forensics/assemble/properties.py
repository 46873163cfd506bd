"""Six properties of an isolated hand-off, each answered from evidence.

``pass`` needs records that would have looked different otherwise; what no log can hold is
said with the answer.
"""

from __future__ import annotations

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.columns import ensure
from forensics.exposure.isolation import Result
from forensics.standins import stands_in
from forensics.verdicts import flag
from forensics.wording import count

_NAMES = (
    *("rejected", "reserved_pages", "transferred_pages", "transfer_status", "released_at"),
    *("reserved_at", "sender_tenant", "receiver_tenant", "owner_generation", "read_generation"),
    *("slot_owner", "http_status", "tenant_id", "request_id", "finish_reason"),
)
_DELIVERED = (pl.col("rung") == "delivered").fill_null(value=False)
_REJECTED = pl.col("rejected").fill_null(value=False)


def properties(analysis: Analysis) -> list[doc.Property]:
    """Return the six properties with result and evidence."""
    rows = ensure(analysis.requests, _NAMES)
    return [
        _admission(rows),
        _ownership(rows),
        _completion(rows),
        _clean_up(rows, analysis),
        _tests(rows, analysis),
        _observability(rows, analysis.traces.unexplained().height),
    ]


def _number(rows: pl.DataFrame, where: pl.Expr) -> int:
    return int(rows.select(where.fill_null(value=False).sum()).item() or 0)


def _result(*, failed: bool, shown: bool) -> Result:
    return "fail" if failed else "pass" if shown else "not observable"


def _admission(rows: pl.DataFrame) -> doc.Property:
    rejected = rows.filter(_REJECTED)
    began = _number(rejected, _DELIVERED | (pl.col("reserved_pages") > 0))
    silent = _number(rows, flag("placeholder_prefill") & _DELIVERED)
    clean = _number(rejected, pl.col("reserved_pages") == 0)
    return doc.Property(
        "admission",
        "A request is refused before any shared state is set up for it",
        _result(failed=bool(began or silent), shown=0 < rejected.height == clean),
        f"{count(rejected.height, 'rejection')} logged; {began:,} of them had pages reserved or "
        f"were answered, {clean:,} are logged with none reserved; {silent:,} answered after a "
        "placeholder prefill",
    )


def _ownership(rows: pl.DataFrame) -> doc.Property:
    tenants = pl.col("sender_tenant").is_not_null() & pl.col("receiver_tenant").is_not_null()
    slots = pl.col("owner_generation").is_not_null() & pl.col("read_generation").is_not_null()
    both = _number(rows, tenants | slots)
    wrong = _number(rows, flag("owner_mismatch"))
    refused = _number(rows, flag("owner_mismatch") & flag("not_delivered"))
    return doc.Property(
        "ownership",
        "Each allocation and transfer is bound to a request and a tenant, and the receiver checks",
        _result(failed=wrong > refused, shown=refused > 0),
        f"{count(both, 'hand-off')} logged with the identity of both sides; {wrong:,} with "
        f"different ones, of which {refused:,} were refused",
    )


def _completion(rows: pl.DataFrame) -> doc.Property:
    claimed = pl.col("transfer_status") == "complete"
    false = _number(rows, flag("complete_but_short"))
    silent = _number(rows, flag("placeholder_prefill") & _DELIVERED)
    counted = _number(rows, claimed & flag("full_transfer"))
    unchecked = _number(rows, claimed) - counted - false
    told = _number(rows, (pl.col("transfer_status") == "failed") & flag("short_transfer"))
    return doc.Property(
        "completion",
        "An acknowledgement proves that what was reserved has arrived",
        _result(failed=bool(false or silent), shown=bool(counted and told and not unchecked)),
        f"{counted:,} transfers called complete arrived in full, {false:,} were short, "
        f"{max(unchecked, 0):,} have no counts; {told:,} short ones were called failed; "
        f"{silent:,} answered after a placeholder prefill",
    )


def _clean_up(rows: pl.DataFrame, analysis: Analysis) -> doc.Property:
    ended = pl.col("transfer_status").is_in(["failed", "aborted"]) | (
        pl.col("finish_reason").is_in(["abort", "error"])
    )
    held = rows.filter(ended.fill_null(value=False) & (pl.col("reserved_pages") > 0))
    freed = _number(held, pl.col("released_at").is_not_null())
    shared = _number(rows, flag("late_release") | flag("expired_transfer") | flag("block_overlap"))
    planted, foreign = analysis.markers.records.height, analysis.markers.foreign
    # That pages were overwritten is in no log: only a marker that turns up nowhere shows it.
    clean = held.height and freed == held.height and planted
    return doc.Property(
        "clean-up",
        "After a failure pages are freed or overwritten before they are used again",
        _result(failed=bool(shared or foreign), shown=bool(clean)),
        f"{count(held.height, 'failed request')} held pages, {freed:,} of them with their release "
        f"logged; {shared:,} with pages in use by two at a time; {planted:,} canary records, "
        f"{foreign:,} with a foreign marker; that pages were overwritten is in no log",
    )


def _tests(rows: pl.DataFrame, analysis: Analysis) -> doc.Property:
    records, foreign = analysis.markers.records, analysis.markers.foreign
    accounts = records["planted_tenant"].drop_nulls().unique().sort()
    own = rows.filter(pl.col("tenant_id").is_in(accounts.implode()).fill_null(value=False))
    failed = _number(own, (pl.col("http_status") >= 400) | _REJECTED)
    served = _number(own, pl.col("http_status").is_between(200, 299)) - _number(
        own, _REJECTED & pl.col("http_status").is_between(200, 299)
    )
    return doc.Property(
        "isolation tests",
        "Two accounts plant unique markers, in requests that succeed and in some that fail",
        _result(failed=bool(foreign), shown=bool(len(accounts) > 1 and failed and served)),
        f"{count(records.height, 'canary record')} of {count(len(accounts), 'account')}, "
        f"{foreign:,} with a foreign marker; of the accounts' requests {served:,} were served and "
        f"{failed:,} failed",
    )


def _observability(rows: pl.DataFrame, nameless: int) -> doc.Property:
    named = ~stands_in("request_id")
    rejections = _number(rows, _REJECTED & named)
    transfers = _number(rows, (flag("short_transfer") | flag("full_transfer")) & named)
    unsaid = _number(rows, flag("placeholder_prefill") & _DELIVERED & ~_REJECTED)
    return doc.Property(
        "observability",
        "Rejections and transfers are logged with request ids and no content; alerts follow",
        _result(failed=bool(nameless or unsaid), shown=bool(rejections and transfers)),
        f"{rejections:,} rejections and {transfers:,} transfers with both counts are logged with "
        f"an id; {count(nameless, 'line')} of a hand-off cut short, of no request; {unsaid:,} "
        "answered after a placeholder prefill with no rejection logged; alerts are in no log",
    )
