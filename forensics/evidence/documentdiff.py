"""What differs between two reports besides their requests: numbers, tenants, epochs, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from forensics.evidence.record import Record
from forensics.evidence.reporttables import TENANTS_FILE, ReportTables


class Change(Struct, frozen=True):
    """One thing that differs: what kind of thing, how, its name, and its two values.

    ``kind`` is ``headline``, ``tenant``, ``epoch``, ``setting``, ``input`` or ``tool``.
    """

    kind: str
    change: str
    name: str
    before: str | None
    after: str | None
    population: str | None = None


def document_changes(old: ReportTables, new: ReportTables) -> Iterator[Change]:
    """Yield what differs in headline, tenants, epochs, settings and tool."""
    yield from _differences("headline", _headline(old.document), _headline(new.document))
    yield from _tenants(old, new)
    yield from _differences("epoch", _epochs(old.document), _epochs(new.document))
    yield from _differences("setting", _settings(old.record), _settings(new.record))
    yield from _differences("tool", _tools(old.record), _tools(new.record))


def _differences(
    kind: str, old: Mapping[str, str | None], new: Mapping[str, str | None]
) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before != after:
            how = "added" if name not in old else "removed" if name not in new else "changed"
            yield Change(kind, how, name, before, after)


def _headline(document: dict[str, Any]) -> dict[str, str | None]:
    head = document["headline"]
    found = {f"requests {tier['tier']}": tier["requests"] for tier in head["tiers"]}
    found |= {f"delivered {tier['tier']}": tier["delivered"] for tier in head["tiers"]}
    found |= {f"requests {step['name']}": step["requests"] for step in document["funnel"]}
    plain = ("recipients", "recipients_unknown_tenant", "sources")
    found |= {name: head[name] for name in (*plain, "first_affected_at", "last_affected_at")}
    found |= {f"bound {name}": head["bound"][name] for name in ("low", "high", "method")}
    found |= {"ongoing": head["ongoing"]["answer"]}
    found |= {f"incomplete: {flag}": "yes" for flag in head["incomplete"]}
    return {name: _text(value) for name, value in found.items()}


def _tenants(old: ReportTables, new: ReportTables) -> Iterator[Change]:
    """Tenants that entered or left a population, or whose counts in it differ."""
    before, after = _by_tenant(old), _by_tenant(new)
    for key in sorted(before.keys() | after.keys(), key=lambda key: (key[0], key[1] or "")):
        population, tenant = key
        if before.get(key) != after.get(key):
            how = "entered" if key not in before else "left" if key not in after else "changed"
            name = "unknown" if tenant is None else tenant
            yield Change("tenant", how, name, before.get(key), after.get(key), population)


_TENANT_COUNTS = ("n_confirmed", "n_probable", "n_possible", "n_not_assessable")


def _by_tenant(report: ReportTables) -> dict[tuple[str, str | None], str]:
    return {
        (row["population"], row["tenant_id"]): _counted(row)
        for row in report.table(TENANTS_FILE).iter_rows(named=True)
    }


def _counted(row: dict[str, Any]) -> str:
    counts = [f"{row[name]} {name.removeprefix('n_')}" for name in _TENANT_COUNTS if row[name]]
    return f"{row['tier']}: {', '.join(counts)}"


_EPOCH = (
    "until", "pool_tokens", "page_tokens", "context_tokens", "input_limit_tokens", "limit_basis",
    "inferred", "engine", "engine_version", "config",
)  # fmt: skip


def _epochs(document: dict[str, Any]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for epoch in document["epochs"]:
        since = epoch["effective_at"] or "the beginning"
        name = f"{epoch['node']} {epoch['role'] or 'role unknown'} from {since}"
        known = [f"{key} {epoch[key]}" for key in _EPOCH if epoch.get(key) is not None]
        found[name] = "; ".join(filter(None, (found.get(name), ", ".join(known))))
    return found


def _settings(record: Record) -> dict[str, str | None]:
    asked = dict(_leaves(record.incident, ""))
    return asked | {"format": _text(record.arguments.get("format"))}


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str | None]]:
    """Yield each setting that is set, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{where}.{key}".removeprefix("."))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for at, inner in enumerate(value):
            yield from _leaves(inner, f"{where}[{at}]")
    elif value not in (None, [], ""):
        yield where, _text(value)


def _tools(record: Record) -> dict[str, str | None]:
    return {record.tool.name: record.tool.version, **record.dependencies}


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return None if value is None else str(value)
