"""The versions of SGLang that any of its logs changed with, and the fleets that run them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

VERSIONS = (
    *("0.4.6", "0.4.10", "0.5.3", "0.5.6", "0.5.8", "0.5.9", "0.5.10", "0.5.11", "0.5.12"),
    *("0.5.13", "0.5.15", "0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22"),
    "0.5.23",
)
NOON = 1_788_264_000
"""2026-09-01T12:00:00Z; the nodes log in UTC."""
POOLS = {"prefill": 681_280, "decode": 1_146_880}
LIMIT = POOLS["prefill"] - 6
CONTEXT, PAGE = 1_048_576, 64


@dataclass(frozen=True)
class Handoff:
    """One request as both sides counted it; ``at`` is seconds since 1970."""

    name: str
    room: int
    prefill: int
    decode: int
    at: float
    cached: int = 0
    refused: bool = False
    out: int = 60

    def rid(self, side: str) -> str:
        return f"{'a' if side == 'prefill' else 'b'}{self.room:031x}"

    def tokens(self, side: str) -> int:
        return self.prefill if side == "prefill" else self.decode


@dataclass(frozen=True)
class Fleet:
    """A prefill and a decode node of one version, with hours and rooms of their own."""

    version: str
    number: int = 0

    def since(self, first: str) -> bool:
        return VERSIONS.index(self.version) >= VERSIONS.index(first)

    def node(self, side: str) -> str:
        return f"{side}-{self.number:02}"

    @property
    def begun(self) -> int:
        return NOON + 600 * self.number

    def handoff(
        self, name: str, number: int, prefill: int, decode: int, *, cached: int = 0
    ) -> Handoff:
        room = 6_066_694_201_313_984_000 + 100 * self.number + number
        refused = prefill < decode
        return Handoff(name, room, prefill, decode, self.begun + 20.0 * number, cached, refused)

    @property
    def handoffs(self) -> list[Handoff]:
        """Five sound ones, one real prompt of one token, one cached and one handed on refused."""
        sound = [
            self.handoff(f"sound-{tokens}", number, tokens, tokens)
            for number, tokens in enumerate((912, 1_830, 25_000, 52_000, 118_000), 1)
        ]
        return [
            *sound,
            self.handoff("single", 6, 1, 1),
            self.handoff("cached", 7, 33_000, 33_000, cached=16_384),
            self.handoff("leak", 8, 1, 701_234 + self.number),
        ]


def stamp(at: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.fromtimestamp(at, UTC).strftime(form)


def line(fleet: Fleet, at: float, text: str, *, ranked: bool = True) -> str:
    """One line of a node with data-parallel attention; expert ranks came after 0.4."""
    ranks = " DP0 TP0 EP0" if fleet.since("0.5.3") else " DP0 TP0"
    return f"[{stamp(at)}{ranks if ranked else ''}] {text}"
