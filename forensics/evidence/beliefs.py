"""Which of several logged values was believed, and why.

The order of belief is that of the fold; a value that the report's own tables state is
taken from there, so that what is explained is what was judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from forensics.believed import BELIEVED
from forensics.requests import ANY_HOP, FEWEST, MOST
from forensics.schema import ENGINE_COLUMNS, REQUEST_COLUMNS, Column, by_name

LOGGED = by_name((*REQUEST_COLUMNS, *ENGINE_COLUMNS))


class Seen(Struct, frozen=True):
    """One value as one record had it: where it was read, and on which hop."""

    value: str
    hop: str
    file: str
    line: int
    believed: bool = False


def believe(name: str, seen: Sequence[Seen], judged: str | None) -> tuple[list[Seen], str]:
    """Mark the value that was believed and say why.

    Args:
        name: of the column.
        seen: every logged value of it.
        judged: the value that the request was judged by, where a table states it.
    """
    column = LOGGED[name]
    picked, why = _pick(column, seen)
    if judged is not None and (picked is None or picked.value != judged):
        picked = next((item for item in seen if item.value == judged), None)
        why = "the one that was judged by" if picked else f"judged by {judged}, which no hop logged"
    return [_marked(item, picked) for item in seen], why


_STAND_INS = {
    "prefill_request_id": ("request_id",),
    "prompt_tokens": ("decode_prompt_tokens",),
    "received_at": ("reserved_at", "released_at", "finished_at"),
}
"""Columns that the fold fills from others where no hop logged them."""


def stand_in(name: str, judged: str, logged: Mapping[str, Sequence[Seen]]) -> str | None:
    """Say which logged value of another column a judged value is, or None."""
    for other in _STAND_INS.get(name, ()):
        for item in logged.get(other, ()):
            if item.value == judged:
                return f"{other} of {item.hop} ({item.file}:{item.line}) stands in"
    return None


def _marked(item: Seen, picked: Seen | None) -> Seen:
    if item is not picked:
        return item
    return Seen(item.value, item.hop, item.file, item.line, believed=True)


def _pick(column: Column, seen: Sequence[Seen]) -> tuple[Seen | None, str]:
    if not seen:
        return None, "logged by no hop; made of other values"
    if column.name in ANY_HOP:
        return _worst(seen, "max"), "said by any hop, it counts"
    if column.name in FEWEST:
        return _worst(seen, "min"), "of all hops' figures the smallest: it clears least"
    if column.name in MOST:
        return _worst(seen, "max"), "of all hops' figures the largest: it clears least"
    order = BELIEVED[column.belief]
    for hop in order:
        own = [item for item in seen if item.hop == hop]
        if own:
            return _worst(own, column.worst), _why(column, own, order)
    return None, f"logged by no hop that is believed about it ({', '.join(order)})"


def _why(column: Column, own: Sequence[Seen], order: Sequence[str]) -> str:
    why = f"{own[0].hop}: first in {' > '.join(order)}"
    if len({item.value for item in own}) > 1:
        least = "smallest" if column.worst == "min" else "largest"
        why += f"; of its values the {least}, which clears least"
    return why


def _worst(seen: Sequence[Seen], worst: str) -> Seen:
    return (min if worst == "min" else max)(seen, key=lambda item: _rank(item.value))


def _rank(value: str) -> tuple[float, str]:
    try:
        return float(value), ""
    except ValueError:
        return 0.0, value
