"""From the facts of a notice to its sentences; which ones is decided by numbers alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from forensics.exposure import Exposure
from forensics.notices.facts import TIERS
from forensics.notices.wording import Wording

SECTIONS: Final = ("direction", "known", "bounds", "unknown", "actions", "checking")


@dataclass(frozen=True)
class Setting:
    """What the report says of all notices alike; taken from it once."""

    mechanism: str
    sampling_rate: float
    gaps: int
    unreadable: int
    nameless: int
    """Requests of the recipients' list that name no tenant."""
    others_unseen: bool
    """Nobody is listed as a source but tenants of their own responses."""

    @classmethod
    def of(cls, exposure: Exposure) -> Setting:
        """Return the setting of a report."""
        return cls(
            exposure.scope.mechanism,
            exposure.scope.sampling_rate,
            len(exposure.headline.incomplete),
            sum(sum(counted.unreadable.values()) for counted in exposure.read),
            sum(row.requests for row in exposure.recipients if row.tenant_id is None),
            bool(exposure.sources) and all(row.same_tenant_only for row in exposure.sources),
        )


@dataclass(frozen=True)
class Variant:
    """One wording: the sentences of a notice before its numbers are filled in."""

    title: str
    sections: tuple[tuple[str, ...], ...]
    parties: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        """A name that changes with any word of it."""
        text = "\x1e".join(
            "\x1f".join(part) for part in ((self.title,), *self.sections, *self.parties)
        )
        return "V-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def filled(
        self, values: Mapping[str, Any], form: Callable[[str, Mapping[str, Any]], str]
    ) -> dict[str, Any]:
        """Return title, direction and lists of sentences with their numbers."""
        every = {**values, **dict(self.parties)}
        lists = {
            name: [form(sentence, every) for sentence in section]
            for name, section in zip(SECTIONS, self.sections, strict=True)
        }
        lists.pop("direction")
        direction = form(" ".join(self.sections[0]), every)
        return {"title": form(self.title, every), **lists, "direction": direction}


def variant(fact: Mapping[str, Any], setting: Setting, said: Wording) -> Variant:
    """Return the wording of a notice."""
    population = fact["population"]
    parties = _parties(fact, setting, said)
    unknown = said.several("unknown", population)
    if population == "source" and fact["listed"] < fact["total"]:
        part = "part_list" if setting.mechanism == "read" else "part_list_write"
        unknown = [*unknown, *said.several("unknown", part if fact["listed"] else "no_list")]
    return Variant(
        said.title[population],
        (
            (_direction(population, setting.mechanism, said),),
            tuple(_known(fact, setting, said)),
            tuple(_bounds(fact, setting, said)),
            tuple(unknown),
            tuple(said.actions[population]),
            tuple(said.checking["all"]),
        ),
        tuple(sorted(parties.items())),
    )


def numbers(fact: Mapping[str, Any], setting: Setting) -> dict[str, str]:
    """Return what the placeholders of the sentences stand for, but for the parties."""
    found = {
        **{f"n_{tier}": fact[f"n_{tier}"] for tier in TIERS},
        **{name: fact[name] for name in ("delivered", "requests", "to_own", "listed", "total")},
        **{name: fact[name] for name in ("bound_low", "bound_high", "coverage_pct")},
        "affected": _affected(fact),
        "gaps": setting.gaps,
        "unreadable": setting.unreadable,
        "nameless": setting.nameless,
        "sampling": setting.sampling_rate,
    }
    return {name: _shown(value) for name, value in found.items()}


def exact(fact: Mapping[str, Any], setting: Setting) -> bool:
    """Say whether nothing is open: no bound, no gap, no unread record, no sample."""
    same = fact["bound_low"] is not None and fact["bound_low"] == fact["bound_high"]
    return (
        same
        and fact["coverage_pct"] == 100
        and not setting.gaps
        and not setting.unreadable
        and not setting.nameless
        and setting.sampling_rate == 1
    )


def _affected(fact: Mapping[str, Any]) -> int:
    return sum(int(fact[f"n_{tier}"]) for tier in TIERS[:3])


def _shown(value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _parties(fact: Mapping[str, Any], setting: Setting, said: Wording) -> dict[str, str]:
    """Return whose data and to whom: of sources, to recipients, whatever the mechanism."""
    party = said.party
    if fact["population"] == "source" and fact["same_tenant_only"]:
        return {"giver": party["own_earlier"], "receiver": party["own"]}
    if fact["population"] != "source":
        others = "others_unseen" if setting.others_unseen else "others"
        return {"giver": party[others], "receiver": party["own"]}
    others = party["both"] if fact["to_own"] else party["others"]
    return {"giver": party["own"], "receiver": others}


def _direction(population: str, mechanism: str, said: Wording) -> str:
    if population not in ("recipient", "source"):
        return said.direction["unlisted"]
    return said.direction["unsettled" if mechanism == "unknown" else "settled"]


def _known(fact: Mapping[str, Any], setting: Setting, said: Wording) -> Iterator[str]:
    if fact["population"] == "unaffected":
        yield from _not_listed(setting, said)
        return
    words: dict[str, str] = getattr(said, fact["population"])
    if fact["population"] == "source" and setting.mechanism != "read":
        words = words | (said.source_write if setting.mechanism == "write" else said.source_unknown)
    yield from (words[tier] for tier in TIERS if fact[f"n_{tier}"])
    if fact["population"] == "recipient" and _affected(fact):
        yield words["delivered" if fact["delivered"] != _affected(fact) else "all_delivered"]
        yield words["integrity"]
    if fact["population"] == "source":
        if fact["same_tenant_only"]:
            yield words["same_tenant"]
        elif fact["to_own"]:
            yield words["mixed"]
        yield words["resident"]


def _not_listed(setting: Setting, said: Wording) -> Iterator[str]:
    words = said.unaffected
    yield words["listed"]
    open_ends = setting.gaps or setting.nameless or setting.unreadable
    yield words["incomplete"] if open_ends else words["complete"]
    yield words["seen"]


def _form(fact: Mapping[str, Any], setting: Setting) -> str:
    """Return which sentence says how many: by two numbers, one, or one without an upper one."""
    if fact["bound_high"] is None:
        return "open"
    if fact["bound_low"] != fact["bound_high"]:
        return "between"
    return "exact" if exact(fact, setting) else "equal"


def _bounds(fact: Mapping[str, Any], setting: Setting, said: Wording) -> Iterator[str]:
    words = said.bounds
    if fact["bound_low"] is not None:
        yield words[_form(fact, setting)]
        yield words["no_coverage"] if fact["coverage_pct"] is None else words["coverage"]
    if setting.gaps:
        yield words["gaps"]
    if setting.unreadable:
        yield words["unreadable"]
    if setting.sampling_rate < 1:
        yield words["sampled"]
    yield words["trigger"]
