"""The pool audit: three questions of each shared pool; and what the ways out cost."""

from __future__ import annotations

import fnmatch

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.checklist import HEADROOM
from forensics.exposure.isolation import Answer
from forensics.incident import Pool
from forensics.verdicts import flag, in_scope
from forensics.wording import count

_WORST = 6
"""Where the damage is not stated it counts as worse than the worst."""


def audit(analysis: Analysis, checks: list[doc.Check]) -> list[doc.PoolAudit]:
    """Return one row per pool of the logs and of the inventory, worst damage first."""
    stated = {pool.name: pool for pool in analysis.incident.pool}
    logged = [_logged(role, rows, checks, stated) for role, rows in _by_role(analysis)]
    names = {row.pool for row in logged}
    found = logged + [_stated(pool) for pool in analysis.incident.pool if pool.name not in names]
    return sorted(found, key=lambda row: (-(row.damage or _WORST), -row.open, row.pool))


def _by_role(analysis: Analysis) -> list[tuple[str, pl.DataFrame]]:
    """Return the last known epoch of each engine, by role."""
    last = (
        analysis.capacity.epochs.sort("node", "effective_at")
        .with_columns(pl.col("role").fill_null("unknown"))
        .with_columns(
            pl.col(name).forward_fill().over("node") for name in ("pool_tokens", "context_tokens")
        )
        .group_by("node", maintain_order=True)
        .last()
    )
    parts = last.partition_by("role", as_dict=True)
    return [(str(role), parts[role,]) for (role,) in sorted(parts)]


def _logged(
    role: str, rows: pl.DataFrame, checks: list[doc.Check], stated: dict[str, Pool]
) -> doc.PoolAudit:
    name = "KV pool, role unknown" if role == "unknown" else f"{role} KV pool"
    mine = next((p for n, p in stated.items() if fnmatch.fnmatchcase(name, n)), None)
    covers, evidence = _covers(rows)
    results = {check.item: check.result for check in checks}
    answers = (covers, _ANSWERS[results[2]], _ANSWERS[results[3]])
    return doc.PoolAudit(
        pool=name,
        owner=(mine.owner or None) if mine is not None else None,
        damage=mine.damage if mine is not None else None,
        basis="logs",
        covers_largest=covers,
        rejects_first=answers[1],
        receiver_verifies=answers[2],
        open=sum(answer != "shown" for answer in answers),
        evidence=f"{evidence}; the others by items 2 and 3 of the checklist",
    )


_ANSWERS: dict[str, Answer] = {"pass": "shown", "fail": "no", "not observable": "assumed"}


def _covers(rows: pl.DataFrame) -> tuple[Answer, str]:
    known = rows.filter(
        pl.col("pool_tokens").is_not_null() & pl.col("context_tokens").is_not_null()
    )
    small = known.filter(pl.col("pool_tokens") <= pl.col("context_tokens")).height
    evidence = f"at the end of the logs {small:,} of {count(rows.height, 'engine')} had a pool no "
    evidence += "larger than the window"
    if known.height < rows.height:
        evidence += f"; of {rows.height - known.height:,} it is not known"
    if small:
        return "no", evidence
    return ("shown" if known.height == rows.height else "assumed"), evidence


def _stated(pool: Pool) -> doc.PoolAudit:
    """Return the row of a pool that no log is about: without evidence nothing is shown."""
    short = (
        pool.size is not None
        and pool.largest_request is not None
        and pool.size < pool.largest_request
    )
    covers: Answer = "no" if short else _backed(pool.covers_largest, pool)
    answers = (covers, _backed(pool.rejects_first, pool), _backed(pool.receiver_verifies, pool))
    return doc.PoolAudit(
        pool=pool.name,
        owner=pool.owner or None,
        damage=pool.damage,
        basis="stated",
        covers_largest=answers[0],
        rejects_first=answers[1],
        receiver_verifies=answers[2],
        open=sum(answer != "shown" for answer in answers),
        evidence=_said(pool, short=short),
    )


def _backed(answer: Answer, pool: Pool) -> Answer:
    return "assumed" if answer == "shown" and not pool.evidence else answer


def _said(pool: Pool, *, short: bool) -> str:
    if short:
        return "the stated size is below the stated largest request"
    return pool.evidence or "no evidence is stated: each answer but a no counts as assumed"


def limit_costs(analysis: Analysis) -> list[doc.LimitCost]:
    """Return what an edge would have refused, for each limit that was in force."""
    asked = ("request_id", "tenant_id", "prompt_tokens", "tier", flag("not_delivered"))
    rows = in_scope(analysis.requests, *asked)
    limits = (
        analysis.capacity.epochs.filter(pl.col("role").fill_null("prefill") == "prefill")
        .drop_nulls("limit")
        .group_by("limit")
        .agg(pl.col("node").n_unique().alias("nodes"))
        .sort("limit")
    )
    return [_limit_cost(rows, limit, nodes) for limit, nodes in limits.iter_rows()]


def _limit_cost(rows: pl.DataFrame, limit: int, nodes: int) -> doc.LimitCost:
    refused = rows.filter(pl.col("prompt_tokens") >= limit)
    well = refused.filter((pl.col("tier") == "ruled_out") & ~flag("not_delivered"))
    return doc.LimitCost(
        limit_tokens=limit,
        nodes=nodes,
        requests=_calls(refused),
        tenants=refused["tenant_id"].drop_nulls().n_unique(),
        tenants_unknown=_calls(refused.filter(pl.col("tenant_id").is_null())),
        answered_well=_calls(well),
    )


def _calls(rows: pl.DataFrame) -> int:
    """Count requests as an edge sees them: attempts behind it are of one."""
    named = rows.filter(pl.col("request_id").is_not_null()).select("request_id", "tenant_id")
    return named.n_unique() + rows["request_id"].null_count()


def pool_costs(analysis: Analysis) -> list[doc.PoolCost]:
    """Return what pools that cover the window cost, for each role that had one too small."""
    epochs = analysis.capacity.epochs.filter(
        (pl.col("pool_tokens") > 0) & (pl.col("context_tokens") > 0)
    )
    needed = (pl.col("context_tokens") * HEADROOM).ceil().cast(pl.Int64)
    short = epochs.with_columns(needed=needed).filter(pl.col("pool_tokens") < pl.col("needed"))
    least = short.group_by(pl.col("role").fill_null("unknown"), "node").agg(
        pl.col("pool_tokens").min(), pl.col("needed").max()
    )
    by_role = least.group_by("role").agg(
        nodes=pl.len(), pool=pl.col("pool_tokens").sum(), needed=pl.col("needed").max()
    )
    return [_pool_cost(*row) for row in by_role.sort("role").iter_rows()]


def _pool_cost(role: str, nodes: int, pool: int, needed: int) -> doc.PoolCost:
    after = pool // needed
    given_up = nodes - after
    sentence = (
        f"The pools of {count(nodes, f'{role} engine')} held {pool:,} tokens together when they "
        f"were smallest. Shared out in pools of {needed:,} tokens that is "
        f"{count(after, 'engine')}, {given_up:,} fewer that can work on long prompts at the same "
        "time. This holds the memory for pages constant; memory that is added, or taken from "
        "elsewhere, changes it."
    )
    return doc.PoolCost(role, nodes, pool, needed, after, given_up, sentence)
