"""How the sources were found, as a section of the document."""

from __future__ import annotations

from typing import Literal

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.attribution.reasons import REASONS, UNCHECKED
from forensics.attribution.stay import Stay, responses
from forensics.direction import receives
from forensics.exposure import stamp
from forensics.schema import AFFECTED_TIERS
from forensics.wording import count

OWNERS = 25
"""Tenants of the picture at the most; the others are one bar."""


def attribution(analysis: Analysis) -> doc.Attribution:
    """Return how the sources were found on each rank, and what the model says."""
    found = analysis.attribution
    return doc.Attribution(
        sentence=_sentence(analysis),
        ranks=[_rank(stay) for stay in found.stays],
        lookback=[doc.LookBack(*row) for row in found.lookback.iter_rows()],
        example=_example(analysis),
        spread=[_spread(**row) for row in found.spread.iter_rows(named=True)],
    )


def _rank(stay: Stay) -> doc.SourceRank:
    return doc.SourceRank(
        node=stay.node,
        since=stamp(stay.since),
        requests=stay.rows.height,
        responses=stay.responses,
        allocator=stay.allocator or "unknown",
        result=_result(stay),
        replays=stay.replays,
        hours=stay.hours,
        hours_fitting=stay.hours_fitting,
        reasons=_why(stay),
    )


def _result(stay: Stay) -> Literal["modelled", "modelled, unchecked", "co-residency only"]:
    if not stay.replays:
        return "co-residency only"
    return "modelled, unchecked" if stay.unchecked else "modelled"


def _why(stay: Stay) -> list[str]:
    """Say what kept a rank from being replayed or, where it was, the replay from being believed."""
    texts, codes = (UNCHECKED, stay.unchecked) if stay.replays else (REASONS, stay.reasons)
    return [text for code, text in texts.items() if code in codes]


def _sentence(analysis: Analysis) -> str:
    """Say how many responses the model covers, how it was checked, and who has no source."""
    parts = (_covered(analysis), _anywhere(analysis), _without(analysis))
    return " ".join(part for part in parts if part)


def _covered(analysis: Analysis) -> str:
    """Say how many responses the model covers, and how its figures were checked."""
    stays = analysis.attribution.stays
    total = responses(stays)
    if analysis.incident.trigger.mechanism != "read":
        return "Only a fault that reads is modelled; sources are by co-residency alone."
    if not total:
        return "There is no affected response with a known decode rank to look back from."
    modelled = [stay for stay in stays if stay.replays]
    if not modelled:
        return (
            f"None of {count(total, 'affected response')} with a known decode rank could be "
            "modelled; their sources are by co-residency alone."
        )
    named = analysis.attribution.named
    own = named.drop_nulls("owner")["reader"].n_unique()
    covered = responses(modelled)
    bare = f", for {covered - own:,} it names none (never used, or of a health check)"
    return (
        f"Modelled: the reuse of pages was replayed for {covered:,} of "
        f"{count(total, 'affected response')}; {count(own, 'response')} read pages that the model "
        f"names a request for{bare if covered > own else ''}; {_checked(modelled)}."
    )


def _checked(modelled: list[Stay]) -> str:
    """Say by how many figures the model was checked, and for how many ranks they confirm it not."""
    hours, fitting = (sum(getattr(s, n) for s in modelled) for n in ("hours", "hours_fitting"))
    said = "no figures of the engine's own are there to check it by"
    if hours:
        said = f"the engine's own figures agree in {fitting:,} of {count(hours, 'rank hour')}"
    few = sum(stay.capped for stay in modelled)
    if not few:
        return said
    where = f"for {few:,} of {count(len(modelled), 'run')} of a rank"
    return f"{said}; {where} they do not confirm it, and whom it names there is possible at most"


def _read(analysis: Analysis, how: Literal["semi", "anti"]) -> pl.DataFrame:
    """Return the affected responses with or without a source of their decode pages."""
    mechanism = analysis.incident.trigger.mechanism
    rows = analysis.requests.filter(pl.col("tier").is_in(AFFECTED_TIERS) & receives(mechanism))
    key = ["request_id", "attempt"]
    listed = analysis.pairs.filter(pl.col("origin") == "decode").select(key).unique()
    return rows.join(listed, on=key, how=how, nulls_equal=True)


def _anywhere(analysis: Analysis) -> str:
    """Count the affected responses whose sources are those of all ranks: theirs is not known."""
    number = _read(analysis, "semi")["decode_node"].null_count()
    if not number:
        return ""
    return (
        f"No log names the decode rank of {count(number, 'affected response')}: whoever ran on any "
        "before, since its last start, is listed as possible."
    )


def _without(analysis: Analysis) -> str:
    """Count the affected responses of whose decode pages no source is listed, by what is known."""
    bare = _read(analysis, "anti")
    nowhere = bare["decode_node"].null_count()
    told = (
        (nowhere, "of a decode rank that no log names"),
        (
            bare.height - nowhere,
            "of a rank on which no client's request is known to have run before",
        ),
    )
    parts = [f"{number:,} {where}" for number, where in told if number]
    if not parts:
        return ""
    number = count(bare.height, "affected response")
    return f"No source is listed for the decode pages of {number}: {', '.join(parts)}."


def _example(analysis: Analysis) -> doc.OwnedPages | None:
    """Return the response with the most pages of other tenants, and the owners of its pages."""
    rows = analysis.requests.with_row_index("_row").with_columns(pl.col("_row").cast(pl.Int64))
    rows = rows.select("_row", "request_id", "attempt", "tenant_id", "decode_node")
    named = analysis.attribution.named.join(rows, left_on="reader", right_on="_row", how="left")
    owners = rows.select(owner="_row", by="tenant_id")
    named = named.join(owners, on="owner", how="left")
    same = (pl.col("by") == pl.col("tenant_id")).fill_null(value=False)
    named = named.with_columns(same=same & pl.col("owner").is_not_null())
    foreign = named.filter(pl.col("owner").is_not_null() & ~pl.col("same"))
    if not foreign.height:
        return None
    most = foreign.group_by("reader", "request_id", "attempt").agg(pl.col("pages").sum())
    first = most.sort(
        [pl.col("pages").round(3), "request_id", "attempt"], descending=[True, False, False]
    )
    own = named.filter(pl.col("reader") == first["reader"][0])
    head = own.row(0, named=True)
    return doc.OwnedPages(
        request_id=head["request_id"],
        attempt=head["attempt"],
        decode_node=head["decode_node"],
        pages=_whole(own["pages"].sum()),
        owners=_owners(own),
        believed=bool(head["believed"]),
    )


def _owners(own: pl.DataFrame) -> list[doc.PageOwner]:
    kind = (
        pl.when(pl.col("owner").is_null())
        .then(pl.lit("never used"))
        .when(pl.col("by").is_null())
        .then(pl.lit("no tenant id"))
        .otherwise(pl.lit("tenant"))
    )
    by = own.group_by(kind.alias("kind"), "by", "same").agg(
        pl.col("pages").sum(),
        pl.col("owner").n_unique().alias("requests"),
        pl.col("probability").max(),
    )
    order = [pl.col("pages").round(3), "kind", "by"]
    by = by.sort(order, descending=[True, False, False], nulls_last=True)
    listed = [_owner(row) for row in by.head(OWNERS).iter_rows(named=True)]
    rest = by.slice(OWNERS)
    if rest.height:
        pages, requests = _whole(rest["pages"].sum()), int(rest["requests"].sum())
        listed.append(
            doc.PageOwner("other tenants", None, pages, requests, None, same_tenant=False)
        )
    return listed


def _owner(row: dict[str, object]) -> doc.PageOwner:
    unused = row["kind"] == "never used"
    return doc.PageOwner(
        owner=row["kind"],  # type: ignore[arg-type]
        tenant_id=row["by"],  # type: ignore[arg-type]
        pages=_whole(row["pages"]),
        requests=0 if unused else int(row["requests"]),  # type: ignore[call-overload]
        probability=None if unused else float(row["probability"]),  # type: ignore[arg-type]
        same_tenant=bool(row["same"]),
    )


def _whole(pages: object) -> int:
    return int(float(pages) + 0.5)  # type: ignore[arg-type]


_WAYS = {
    "follow-up turn": "Later prompts of the same tenant, within an hour and long enough to hold "
    "the affected prompt and its answer: a conversation that goes on carries the answer along.",
    "decode prefix cache": "Requests that ran on the same decode rank after an affected answer. "
    "Only a rank that keeps prefixes can have handed affected pages on to them.",
}


def _spread(way: str, responses: int, requests: int, known: bool | None) -> doc.Spread:
    told = {None: "not known", True: "yes", False: "no"}[known]
    return doc.Spread(way, responses, requests, told, _WAYS[way])  # type: ignore[arg-type]
