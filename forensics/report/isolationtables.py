"""The tables of isolation: properties, validations, pools, and what the ways out cost."""

from __future__ import annotations

from typing import Final

from forensics.report.spec import Column, Spec, count

_NODE: Final = Column("Node", "node", "id")
_EVIDENCE: Final = Column("Evidence", "evidence")

SPECS: Final = (
    Spec(
        "properties",
        "Six properties of an isolated hand-off, judged from the logs alone",
        lambda exposure: exposure.properties,
        (
            Column("Property", "name"),
            Column("Requirement", "requirement"),
            Column("Result", "result", "result"),
            _EVIDENCE,
        ),
        empty="The properties were not judged.",
    ),
    Spec(
        "validations",
        "Changed epochs, each with the gate and the canary that passed after it",
        lambda exposure: exposure.validations,
        (
            _NODE,
            Column("Changed (UTC)", "changed_at", "time"),
            Column("Settings", "changed"),
            Column("Gate passed (UTC)", "gate_at", "checked"),
            Column("Canary passed (UTC)", "canary_at", "checked"),
            Column("Result", "result", "result"),
            Column("Because", "reason"),
        ),
        empty="No setting that moves a pool changed in what was read.",
    ),
    Spec(
        "pools",
        "Pool audit: is it shown, assumed, or not so; what is assumed is open",
        lambda exposure: exposure.pools,
        (
            Column("Pool", "pool", "id"),
            Column("Owner", "owner", "stated"),
            Column("Damage (1 to 5)", "damage", "stated"),
            Column("Covers the largest request", "covers_largest", "answer"),
            Column("Rejects before it allocates", "rejects_first", "answer"),
            Column("Receiver verifies", "receiver_verifies", "answer"),
            count("Open answers", "open"),
            Column("Known from", "basis"),
            _EVIDENCE,
        ),
        empty="No pool is known from the logs, and the incident file lists none.",
    ),
    Spec(
        "limit_costs",
        "Refusing at the edge: what a 400 from each limit on would have refused",
        lambda exposure: exposure.limit_costs,
        (
            count("From (tokens)", "limit_tokens"),
            count("Engines with this limit", "nodes"),
            count("Refused (requests)", "requests"),
            count("Tenants", "tenants"),
            count("without a tenant (requests)", "tenants_unknown"),
            count("of these answered well (requests)", "answered_well"),
        ),
        empty="No limit is known.",
    ),
    Spec(
        "pool_costs",
        "A pool that covers the window: engines that work at the same time",
        lambda exposure: exposure.pool_costs,
        (
            Column("Role", "role"),
            count("Engines", "nodes"),
            count("Pools together (tokens)", "pool_tokens"),
            count("Needed of each (tokens)", "needed_tokens"),
            count("Engines after", "nodes_after"),
            count("Given up (engines)", "given_up"),
            Column("In words", "sentence"),
        ),
        empty="No pool was below 1.25 x its window, where both are known.",
    ),
)
