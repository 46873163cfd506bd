"""The tables of the case: tiers, published figures, deliberate use, containment, clocks."""

from __future__ import annotations

from typing import Final

from forensics.report.spec import Column, Spec, count

TIERS: Final = Spec(
    "tiers",
    "Requests by tier; a tier says how sure it is, not how bad",
    lambda exposure: exposure.headline.tiers,
    (
        Column("Tier", "tier", "tier"),
        count("Requests", "requests"),
        count("Affected and delivered for certain", "delivered"),
        Column("Means", "meaning"),
    ),
    empty="No tier is counted in this document.",
)
"""What the page shows as cards."""

SPECS: Final = (
    Spec(
        "published",
        "Published, and found in these logs",
        lambda exposure: exposure.published,
        (
            Column("Figure", "name"),
            Column("Published", "published", "id"),
            Column("Found", "found"),
            Column("Note", "note"),
        ),
        empty="No published figure is stated in the incident file.",
    ),
    Spec(
        "triggers",
        "Requests at or over the limit by tenant, and what would look deliberate",
        lambda exposure: exposure.deliberate.tenants,
        (
            Column("Tenant", "tenant_id", "tenant"),
            count("At or over (requests)", "over_limit"),
            count("All (requests)", "requests"),
            count("Days", "days"),
            count("Most in one hour", "most_in_hour"),
            count("Most of one length", "same_length"),
            count("Near the limit", "near_limit"),
            Column("First (UTC)", "first_at", "time"),
            Column("Last (UTC)", "last_at", "time"),
            Column("Patterns", "patterns", "words"),
        ),
        empty="No request is at or over the limit.",
    ),
    Spec(
        "trigger_days",
        "Requests at or over the limit by tenant and UTC day",
        lambda exposure: exposure.deliberate.days,
        (
            Column("Day (UTC)", "day"),
            Column("Tenant", "tenant_id", "tenant"),
            count("At or over (requests)", "over_limit"),
        ),
        empty="No request with a known day is at or over the limit.",
    ),
    Spec(
        "containment",
        "Steps as stated, and what the logs show",
        lambda exposure: exposure.containment,
        (
            Column("Step", "step"),
            Column("Time (UTC)", "at", "checked"),
            Column("Basis", "basis"),
            Column("Evidence", "evidence"),
        ),
        empty="No step is stated or found.",
    ),
    Spec(
        "clocks",
        "Rules and their clocks; applies is as a person decided",
        lambda exposure: exposure.clocks.clocks,
        (
            Column("Rule", "rule", "id"),
            Column("Where", "jurisdiction"),
            Column("Role", "role"),
            Column("Duty", "duty"),
            Column("Starts when", "trigger"),
            Column("Within", "duration", "code"),
            Column("Counted in", "calendar"),
            Column("Status", "status"),
            Column("Applies", "applies", "applies"),
            Column("As decided", "reason", "stated", below=True),
            Column("Started (UTC)", "started_at", "checked"),
            Column("Due (UTC)", "due_at", "checked"),
            Column("Done (UTC)", "done_at", "checked"),
            Column("Note", "note", below=True),
            Column("Source", "source", below=True),
            Column("Looked up", "as_of", below=True),
        ),
        empty="No rule is listed.",
    ),
)
