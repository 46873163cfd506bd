"""The few distinct wordings of all notices with their counts: what counsel approves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from forensics.notices.sentences import SECTIONS, Variant
from forensics.wording import count

_HEADINGS = {
    "known": "What the records show",
    "bounds": "How sure, and how complete",
    "unknown": "What is not known",
    "actions": "What to do",
    "checking": "Check it yourself",
}


def review(used: Counter[Variant]) -> dict[str, bytes]:
    """Return ``variants.json`` and ``variants.md``, the most frequent wording first."""
    ranked = sorted(used.items(), key=lambda item: (-item[1], item[0].id))
    listed = [_plain(variant) | {"notices": number} for variant, number in ranked]
    document = {"schema_version": 1, "notices": used.total(), "variants": listed}
    data = msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2)
    return {"variants.json": data + b"\n", "variants.md": _page(listed, used.total()).encode()}


def _plain(variant: Variant) -> dict[str, Any]:
    sections = dict(zip(SECTIONS, variant.sections, strict=True))
    return {
        "id": variant.id,
        "title": variant.title,
        "parties": dict(variant.parties),
        "sections": {name: list(section) for name, section in sections.items()},
    }


def _page(listed: list[dict[str, Any]], total: int) -> str:
    head = (
        f"# Wordings to approve: {len(listed):,} in {count(total, 'notice')}\n\n"
        "Each notice has one of these wordings; {names} in braces stand for its numbers. "
        "A notice states the id of its wording, which changes with any word of it.\n"
    )
    return head + "".join(_part(variant) for variant in listed)


def _part(variant: dict[str, Any]) -> str:
    direction = " ".join(variant["sections"]["direction"]).format_map(variant["parties"])
    lines = [
        f"\n## {variant['id']}: {count(variant['notices'], 'notice')}\n",
        f"**{variant['title']}**\n",
        f"{direction}",
    ]
    for name, heading in _HEADINGS.items():
        lines.append(f"\n### {heading}\n")
        lines += [f"* {sentence}" for sentence in variant["sections"][name]]
    return "\n".join(lines) + "\n"
