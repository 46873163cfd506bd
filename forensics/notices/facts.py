"""What each notice states: one row per tenant and population, and its requests.

Every number is the report's own. The requests of a packet are counted against the numbers
that it states: a packet that says more or less than the report is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl

from forensics import declared
from forensics.direction import gives, reasoned, received_tier, receives
from forensics.errors import UsageError, VerificationError
from forensics.exposure import Tenant, stamp
from forensics.guard import checked
from forensics.notices.finished import Finished
from forensics.notices.identity import notice_id
from forensics.notices.plaintext import folded
from forensics.shown import visible
from forensics.standins import stands_in

TIERS = ("confirmed", "probable", "possible", "not_assessable")
_STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"
Named = Callable[[str], str]


@dataclass(frozen=True)
class Told:
    """Everything that packets are made from, as declared tables."""

    facts: pl.DataFrame
    requests: pl.DataFrame
    unnamed: list[Tenant]
    """Rows of requests without a tenant: nobody can be told of them."""


def told(report: Finished, pseudonym: Named, unaffected: Iterable[str] = ()) -> Told:
    """Return the facts and requests of all packets, sorted by notice.

    Args:
        report: the finished report.
        pseudonym: gives each tenant its name.
        unaffected: tenants in neither population that asked for a statement.

    Raises:
        UsageError: one of them is in a population.
        VerificationError: the requests of a tenant are not as many as the report states.
    """
    listed = (*report.exposure.recipients, *report.exposure.sources)
    named = [tenant for tenant in listed if tenant.tenant_id is not None]
    rows = [_fact(report, tenant, pseudonym) for tenant in named]
    rows += _unaffected(report, named, pseudonym, unaffected)
    facts = pl.DataFrame(rows, schema=_without_counts(), orient="row")
    requests = _requests(report, facts)
    facts = _counted(facts, requests)
    _refuse_other_counts(facts, requests)
    _refuse_other_pages(report.exposure.sources, facts, requests)
    return Told(
        checked(facts, declared.NOTICE_FACTS),
        requests,
        [tenant for tenant in listed if tenant.tenant_id is None],
    )


def _without_counts() -> dict[str, pl.DataType]:
    kinds = dict(declared.NOTICE_FACTS.dtypes)
    return {name: kinds[name] for name in kinds if name not in ("listed", "without_id")}


def _fact(report: Finished, tenant: Tenant, pseudonym: Named) -> dict[str, object]:
    """Return one row; times of a source are those of others' requests, so only their hours."""
    assert tenant.tenant_id is not None  # noqa: S101 -- for the type checker: filtered above
    name, source = pseudonym(tenant.tenant_id), tenant.population == "source"
    known = notice_id(report.exposure.case.id, tenant.population, tenant.tenant_id)
    stated = report.stated[known]
    return {
        **{name: getattr(tenant, name) for name in _COPIED},
        "notice": f"{name}-{tenant.population}",
        "pseudonym": name,
        "account": tenant.tenant_id,
        "delivered": _number(stated["delivered"]),
        "to_own": report.to_own.get(tenant.tenant_id, 0) if source else None,
        "first_at": _hour(tenant.first_at) if source else tenant.first_at,
        "last_at": _hour(tenant.last_at, up=True) if source else tenant.last_at,
        "coverage_pct": float(stated["coverage_pct"]) if stated["coverage_pct"] else None,
        "bound_low": int(stated["bound_low"]),
        "bound_high": _number(stated["bound_high"]),
        "bound_method": stated["bound_method"],
        "total": _affected(tenant) + tenant.n_not_assessable if not source else tenant.requests,
        "notice_id": known,
    }


_COPIED = (
    *("population", "tier", "n_confirmed", "n_probable", "n_possible", "n_not_assessable"),
    *("requests", "responses", "same_tenant_only"),
)


def _affected(tenant: Tenant) -> int:
    return tenant.n_confirmed + tenant.n_probable + tenant.n_possible


def _number(cell: str | None) -> int | None:
    return int(cell) if cell else None


def _hour(time: str | None, *, up: bool = False) -> str | None:
    """Return a stamp rounded outwards to the hour."""
    if time is None:
        return None
    moment = datetime.strptime(time, _STAMP).replace(tzinfo=UTC)
    whole = moment.replace(minute=0, second=0, microsecond=0)
    if up and whole != moment:
        whole += timedelta(hours=1)
    return stamp(int(whole.timestamp()) * 1_000_000)


def _forms(tenant: str) -> set[str]:
    """Return a name as it is compared, as the records have it and as tables show it."""
    return {folded(tenant), folded(visible(tenant))}


def _unaffected(
    report: Finished, named: list[Tenant], pseudonym: Named, asked: Iterable[str]
) -> list[dict[str, object]]:
    listed = {tenant.tenant_id for tenant in named}
    alike = {form for tenant in listed if tenant is not None for form in _forms(tenant)}
    rows: list[dict[str, object]] = []
    for tenant in sorted(set(asked)):
        if tenant in listed:
            raise UsageError("a tenant that asked for a statement is listed in the report")
        if not tenant.strip():
            raise UsageError("a tenant that asked for a statement has no name")
        if _forms(tenant) & alike:
            raise UsageError(
                "a tenant that asked for a statement has the name of one that is listed in the "
                "report but for its case, blanks or what shows nothing"
            )
        name, population = pseudonym(tenant), declared.TOLD[-1]
        counts = dict.fromkeys(
            (*(f"n_{tier}" for tier in TIERS), "requests", "responses", "total"), 0
        )
        rows.append(
            {
                **counts,
                "notice": f"{name}-{population}",
                "pseudonym": name,
                "account": tenant,
                "population": population,
                "notice_id": notice_id(report.exposure.case.id, population, tenant),
            }
        )
    return rows


def _requests(report: Finished, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the requests of all packets; each is its tenant's own."""
    names = facts.select("notice", "population", tenant_id="account")
    sources = names.filter(pl.col("population") == "source")
    found = [
        _recipients(_received(report), names.filter(pl.col("population") == "recipient")),
        _sources(report, sources),
        _writers(report, sources),
    ]
    rows = pl.concat(found, how="diagonal_relaxed").rechunk()
    rows = rows.sort("notice", "received_at", "request_id", "attempt", nulls_last=True)
    rows = rows.with_columns(request_id=pl.when(~stands_in("request_id")).then("request_id"))
    kinds = declared.NOTICE_REQUESTS.dtypes
    lacking = (pl.lit(None, dtype=kinds[n]).alias(n) for n in kinds if n not in rows.columns)
    shaped = rows.with_columns(*lacking).select(
        pl.col(name).cast(kind) for name, kind in kinds.items()
    )
    return checked(shaped, declared.NOTICE_REQUESTS)


def _received(report: Finished) -> pl.DataFrame:
    """Return the listed requests that count as recipients, with their tier as such."""
    mechanism = report.exposure.scope.mechanism
    rows = report.requests.filter(receives(mechanism, reasoned))
    return rows.with_columns(tier=received_tier(mechanism, reasoned))


def _recipients(requests: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """A hop's own id of a request stays out: after a false join it would be somebody else's."""
    return requests.join(names, on="tenant_id").select(
        "notice",
        "request_id",
        "attempt",
        "model",
        "received_at",
        "prompt_tokens",
        "completion_tokens",
        "tier",
        (pl.col("rung") == "delivered").alias("delivered"),
        "reasons",
        "missing",
    )


def _sources(report: Finished, names: pl.DataFrame) -> pl.DataFrame:
    """Requests of a source, where a replay named them; of co-residency there is no list."""
    named = report.pairs.filter(pl.col("source_request_id").is_not_null())
    tier = pl.col("tier").cast(pl.Enum(("confirmed", "probable", "possible", "not_assessable")))
    key = ["tenant_id", "request_id"]
    return (
        named.group_by(tenant_id="source_tenant_id", request_id="source_request_id")
        .agg(
            tier.min().cast(pl.String),
            pl.col("pages").sum(),
            pl.col("tokens").sum(),
            pl.col("probability").max(),
        )
        .join(names, on="tenant_id")
        .join(_last_attempts(report.named), on=key, how="left", nulls_equal=True)
        .drop("tenant_id", "population")
    )


def _last_attempts(named: pl.DataFrame) -> pl.DataFrame:
    """Return what the logs hold of each request that is named: of several attempts, the last."""
    rows = named.sort("attempt", "received_at", nulls_last=False)
    return rows.unique(["tenant_id", "request_id"], keep="last", maintain_order=True)


def _writers(report: Finished, names: pl.DataFrame) -> pl.DataFrame:
    """Requests of a source that met the condition of a fault that writes, or may have."""
    wrote = report.requests.filter(gives(report.exposure.scope.mechanism, reasoned))
    return _recipients(wrote, names).with_columns(delivered=pl.lit(None, dtype=pl.Boolean))


def _counted(facts: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    counted = requests.group_by("notice").agg(
        listed=pl.len().cast(pl.Int64),
        without_id=pl.col("request_id").null_count().cast(pl.Int64),
    )
    whole = facts.join(counted, on="notice", how="left", maintain_order="left").with_columns(
        pl.col("listed", "without_id").fill_null(0)
    )
    return whole.select(*declared.NOTICE_FACTS.dtypes).sort("notice").rechunk()


def _refuse_other_counts(facts: pl.DataFrame, requests: pl.DataFrame) -> None:
    """Raise where a recipient's packet lists another number of some tier than it states."""
    rows = facts.filter(pl.col("population") == "recipient")
    for tier in TIERS:
        found = requests.filter(pl.col("tier") == tier).group_by("notice").len("found")
        both = rows.join(found, on="notice", how="left").with_columns(pl.col("found").fill_null(0))
        wrong = both.filter(pl.col("found") != pl.col(f"n_{tier}"))["notice"].to_list()
        if wrong:
            raise VerificationError(f"{wrong[0]}: {tier} requests: not as many as the report has")


def _refuse_other_pages(sources: list[Tenant], facts: pl.DataFrame, requests: pl.DataFrame) -> None:
    """Raise where the pages of a source's listed requests are not those that the report has."""
    pages = requests.group_by("notice").agg(pl.col("pages").sum())
    known = facts.filter(pl.col("population") == "source").join(pages, on="notice", how="left")
    listed = dict(known.select("account", "pages").iter_rows())
    for tenant in sources:
        if tenant.tenant_id is not None and (listed[tenant.tenant_id] or 0) != (tenant.pages or 0):
            notice = known.row(by_predicate=pl.col("account") == tenant.tenant_id, named=True)
            raise VerificationError(f"{notice['notice']}: pages: not as many as the report has")
