"""Which hop is believed first, by what a column is about."""

from __future__ import annotations

from forensics.schema import ENGINE_HOP, Belief

JOINED = "joined"
"""Hop of a plain record that speaks for the whole request."""

BELIEVED: dict[Belief, tuple[str, ...]] = {
    "client": ("gateway", JOINED, "decode", ENGINE_HOP, "prefill"),
    "decode": ("decode", JOINED, "gateway", ENGINE_HOP, "prefill"),
    "prefill": ("prefill", JOINED, ENGINE_HOP, "decode", "gateway"),
    "delivery": ("decode", JOINED, "gateway"),
}
"""Hops in the order in which they are believed, by what a column is about."""
