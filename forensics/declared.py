"""The tables that a report writes, declared: columns, types, and what texts may be in them."""

from __future__ import annotations

import polars as pl

from forensics import fields, schema
from forensics.believed import JOINED
from forensics.fields import Field, count, flag, measure, moment, text
from forensics.findings import FINDINGS
from forensics.guard import table
from forensics.notices.pseudonyms import PATTERN as PSEUDONYM
from forensics.schema import CONFIG_KEYS, ENGINE_HOP, HOPS, POPULATIONS, RUNGS, TIERS, by_name

_REQUEST = by_name(schema.REQUEST_COLUMNS)
_CAPACITY = by_name(schema.CAPACITY_COLUMNS)
SEEN_HOPS = (*HOPS, JOINED, ENGINE_HOP)
LIMIT = "input_limit_tokens"
REASON_CODES = tuple(finding.code for finding in FINDINGS)
COMPARED = ("pool_tokens", "context_tokens", "page_tokens", "engine_version", "model_version")
_SETTING = rf"(?:{'|'.join((*COMPARED, *CONFIG_KEYS))}): [^\s\p{{Cc}}]+ -> [^\s\p{{Cc}}]+"
CHANGES = fields.matching(rf"(?:{_SETTING}(?:; {_SETTING})*)?")


def _request(*names: str) -> list[Field]:
    return [fields.of(_REQUEST[name]) for name in names]


def _capacity(*names: str) -> list[Field]:
    return [fields.of(_CAPACITY[name]) for name in names]


def _codes(name: str, codes: tuple[str, ...]) -> Field:
    return Field(name, pl.List(pl.String), fields.one_of(codes))


REQUESTS = table(
    "requests",
    _request("request_id", "prefill_request_id", "transfer_id"),
    count("attempt"),
    _request("tenant_id", "model"),
    moment("received_at"),
    _request("prefill_node", "decode_node"),
    _request("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"),
    count(LIMIT),
    text("rung", fields.one_of(RUNGS)),
    text("tier", fields.one_of(TIERS)),
    _codes("reasons", REASON_CODES),
    _codes("missing", (*_REQUEST, LIMIT)),
    _request("completion_tokens", "reserved_pages", "transferred_pages", "prefill_ms"),
    measure("expected_prefill_ms"),
    count("timing_cluster"),
)

LINEAGE = table(
    "evidence",
    _request("request_id"),
    count("attempt"),
    _request("tenant_id"),
    text("column", fields.one_of(column.name for column in fields.LOGGED)),
    Field("value", pl.String(), fields.logged, beside="column"),
    text("hop", fields.one_of(SEEN_HOPS)),
    text("file", fields.place),
    count("line"),
)

TENANTS = table(
    "affected_tenants",
    _request("tenant_id"),
    text("population", fields.one_of(POPULATIONS)),
    text("tier", fields.one_of(TIERS)),
    count("n_confirmed", "n_probable", "n_possible", "n_not_assessable"),
    count("requests", "responses", "pages"),
    moment("first_at", "last_at"),
    flag("same_tenant_only"),
)

PAIRS = table(
    "source_pairs",
    _request("request_id"),
    text("source_request_id", fields.identifier),
    text("source_tenant_id", fields.named),
    text("origin", fields.one_of(("decode", "prefill"))),
    count("pages", "tokens"),
    measure("probability"),
    text("tier", fields.one_of(TIERS)),
    flag("same_tenant"),
)

SOURCE_REQUESTS = table(
    "source_requests",
    _request("request_id"),
    count("attempt"),
    _request("tenant_id", "model"),
    moment("received_at"),
    _request("prompt_tokens", "completion_tokens"),
)

REJECTIONS = table(
    "rejections",
    text("day", fields.DAY),
    text("node", fields.identifier),
    text("code", fields.one_of(schema.REJECTION_CODES)),
    count("stopped", "served", "unknown"),
)

CLUSTERS = table(
    "timing_clusters",
    count("cluster"),
    text("kind", fields.one_of(("leak", "stall", "slow_node", "cache_hit", "other"))),
    count("requests"),
    moment("first_at", "last_at"),
    text("nodes", fields.matching(r"[^\s\p{Cc}]*")),
    measure("median_ratio"),
)

CAPACITY = table(
    "capacity",
    _capacity("node", "role"),
    moment("effective_at", "until"),
    _capacity("pool_tokens", "page_tokens", "context_tokens", LIMIT),
    text("limit_basis", fields.sentence),
    _capacity("pool_basis"),
    count("gap_tokens"),
    flag("inferred"),
    _capacity("engine", "engine_version", "model_version"),
    _capacity("disaggregated", "auto_truncate", "allocator", "config"),
    text("changed", CHANGES),
)

COVERAGE = table(
    "coverage",
    text("node", fields.identifier),
    text("hop", fields.one_of(SEEN_HOPS)),
    moment("hour"),
    count("records"),
    flag("gap"),
    count("batches", "sequences"),
    flag("unlogged", "thin"),
    count("duplicates", "skipped", "proved_elsewhere"),
    flag("sampled"),
)

UNREADABLE = table(
    "unreadable",
    text("file", fields.place),
    count("line", "byte_offset"),
    text("reason", fields.phrase),
    text("shape", fields.shape),
)

NOTIFICATIONS = table(
    "notifications",
    text("notice_id", fields.matching("N-[0-9a-f]{16}")),
    _request("tenant_id"),
    text("population", fields.one_of(POPULATIONS)),
    text("tier", fields.one_of(TIERS)),
    text("window_start", fields.STAMP),
    text("window_end", fields.STAMP),
    count("n_confirmed", "n_probable", "n_possible", "n_not_assessable"),
    text("first_at", fields.STAMP),
    text("last_at", fields.STAMP),
    count("delivered"),
    flag("same_tenant"),
    measure("coverage_pct"),
    count("bound_low", "bound_high"),
    text("bound_method", fields.sentence),
    text("template_id", fields.matching(rf"(?:{'|'.join(POPULATIONS)})-(?:{'|'.join(TIERS)})-\d+")),
    count("revision"),
)

TOLD = (*POPULATIONS, "unaffected")
"""What a packet is about: one of the two populations, or a tenant in neither."""
_NOTICE = fields.matching(rf"{PSEUDONYM}-(?:{'|'.join(TOLD)})")
_VARIANT = fields.matching("V-[0-9a-f]{12}")
_TIER_COUNTS = ("n_confirmed", "n_probable", "n_possible", "n_not_assessable")

NOTICE_REQUESTS = table(
    "requests of a notice",
    text("notice", _NOTICE),
    _request("request_id"),
    count("attempt"),
    _request("model"),
    moment("received_at"),
    _request("prompt_tokens", "completion_tokens"),
    text("tier", fields.one_of(TIERS)),
    flag("delivered"),
    _codes("reasons", REASON_CODES),
    _codes("missing", (*_REQUEST, LIMIT)),
    count("pages", "tokens"),
    measure("probability"),
)

NOTICE_FACTS = table(
    "facts of a notice",
    text("notice", _NOTICE),
    text("pseudonym", fields.matching(PSEUDONYM)),
    text("account", fields.named),
    text("population", fields.one_of(TOLD)),
    text("tier", fields.one_of(TIERS)),
    count(*_TIER_COUNTS, "requests", "responses", "delivered", "to_own"),
    text("first_at", fields.STAMP),
    text("last_at", fields.STAMP),
    flag("same_tenant_only"),
    measure("coverage_pct"),
    count("bound_low", "bound_high"),
    text("bound_method", fields.sentence),
    count("listed", "total", "without_id"),
    text("notice_id", fields.matching("N-[0-9a-f]{16}")),
)

NOTICE_NAMES = table(
    "recipients of notices",
    text("pseudonym", fields.matching(PSEUDONYM)),
    _request("tenant_id"),
    text("population", fields.one_of(TOLD)),
    text("tier", fields.one_of(TIERS)),
    count(*_TIER_COUNTS),
    text("notice", _NOTICE),
    text("notice_id", fields.matching("N-[0-9a-f]{16}")),
    text("state", fields.one_of(("packet", "no packet: tenant not known"))),
)

_CONTACT = fields.matching(r"[^\p{Cc}\p{Zl}\p{Zp}]{0,320}")

NOTICE_MERGE = table(
    "notifications to send",
    text("notice", _NOTICE),
    text("pseudonym", fields.matching(PSEUDONYM)),
    text("population", fields.one_of(TOLD)),
    text("tier", fields.one_of(TIERS)),
    text("variant", _VARIANT),
    text("window_start", fields.STAMP),
    text("window_end", fields.STAMP),
    count(*_TIER_COUNTS),
    text("first_at", fields.STAMP),
    text("last_at", fields.STAMP),
    count("delivered"),
    flag("same_tenant"),
    measure("coverage_pct"),
    count("bound_low", "bound_high"),
    text("bound_method", fields.sentence),
    count("revision"),
    text("packet", fields.matching(rf"packets/{PSEUDONYM}-(?:{'|'.join(TOLD)})")),
    text("packet_sha256", fields.matching("[0-9a-f]{64}")),
    text("contact_state", fields.one_of(("contact", "no contact"))),
    text("contact", _CONTACT),
    text("contact_role", _CONTACT),
    text("locale", _CONTACT),
)
