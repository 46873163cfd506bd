"""Recipients and sources of a made-up incident, and what each of them did."""

from forensics.attribution.reasons import REASONS
from forensics.exposure import (
    Attribution,
    Deliberate,
    LookBack,
    OwnedPages,
    PageOwner,
    SourceRank,
    Spread,
    Tenant,
    Trigger,
    TriggerDay,
)
from tests.report.made.names import at, date


def recipients(names: list[str]) -> list[Tenant]:
    rows = [
        Tenant(
            tenant_id=name,
            population="recipient",
            tier="confirmed" if n == 7 else "probable" if n < 45 else "possible",
            n_confirmed=2 if n == 7 else 0,
            n_probable=(n * 7) % 9 + 1 if n < 45 else 0,
            n_possible=n % 4,
            n_not_assessable=n % 3,
            requests=(n * 7) % 9 + 3,
            responses=(n * 7) % 9 + 1,
            pages=None,
            first_at=at(n / 9),
            last_at=at(n / 9 + 4),
            same_tenant_only=n == 31,
        )
        for n, name in enumerate(names)
    ]
    return [*rows, Tenant(None, "recipient", "possible", 0, 0, 3, 1, 3, 3, None, None, None, False)]


def sources(names: list[str]) -> list[Tenant]:
    return [
        Tenant(
            tenant_id=name,
            population="source",
            tier="probable" if n < 4 else "possible",
            n_confirmed=0,
            n_probable=3 if n < 4 else 0,
            n_possible=900 - n,
            n_not_assessable=n % 2,
            requests=1_900 - n,
            responses=40 - n % 40,
            pages=None if n > 20 else 2_100 + n,
            first_at=at(0),
            last_at=at(13.9),
            same_tenant_only=False,
        )
        for n, name in enumerate(names)
    ]


def attribution(names: list[str]) -> Attribution:
    """Ranks, the look-back curve, and one response whose pages these tenants wrote."""
    owners = [
        PageOwner("tenant", name, 90 - n, 3, 0.95, same_tenant=n == 1)
        for n, name in enumerate(names)
    ]
    owners.append(PageOwner("never used", None, 5, 0, None, same_tenant=False))
    rank = ("decode-01/dp0", at(1), 900, 4, "sorted-sweep")
    return Attribution(
        sentence=names[0],
        ranks=[
            SourceRank(*rank, "modelled", 20, 7, 7, []),
            SourceRank(*rank, "co-residency only", 0, 7, 2, [REASONS["records_lost"]]),
        ],
        lookback=[LookBack(1.0, 3, 9, 8), LookBack(None, 20, 31, 8)],
        example=OwnedPages("resp-1", 0, "decode-01/dp0", 400, owners),
        spread=[Spread("follow-up turn", 3, 2, "not known", names[0])],
    )


def deliberate(names: list[str | None]) -> Deliberate:
    tenants = [
        Trigger(name, 40 - n, 900, 3, 4, 1, 2, at(n / 9), at(n / 9 + 4), ["same_length"][: n % 2])
        for n, name in enumerate(names)
    ]
    days = [TriggerDay(date(day), name, n + 1) for day in (1, 2) for n, name in enumerate(names)]
    return Deliberate(
        "No pattern was found in number, time and length.", ["repeats"], ["content"], tenants, days
    )
