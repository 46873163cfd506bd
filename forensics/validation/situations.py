"""What is left of the logs of a seeded incident: whole, or as one really gets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Files = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Kept:
    """One way in which logs are kept; ``rate`` is the share of requests that was logged."""

    name: str
    of: Callable[[Files, Random], Files]
    rate: float = 1.0


def _whole(files: Files, _: Random) -> Files:
    return files


def _without_prefill(files: Files, _: Random) -> Files:
    """All but what prefill logged of requests; its pools are known all the same."""
    return {
        name: [row for row in rows if "request_id" not in row] if "prefill/" in name else rows
        for name, rows in files.items()
    }


def _without_an_hour(files: Files, rng: Random) -> Files:
    """One hour of one engine's log is gone."""
    name = rng.choice([name for name in sorted(files) if not name.startswith("gateway/")])
    hours = sorted({_hour(row) for row in files[name] if "request_id" in row})
    gone = rng.choice(hours)
    kept = [row for row in files[name] if "request_id" not in row or _hour(row) != gone]
    return {**files, name: kept}


def _hour(row: dict[str, Any]) -> str:
    return str(row["received_at"])[:13]


def _gateway_alone(files: Files, _: Random) -> Files:
    """The gateway's log, and the pools of the engines."""
    return {
        name: rows if name.startswith("gateway/") else [r for r in rows if "request_id" not in r]
        for name, rows in files.items()
    }


SAMPLED = 0.5


def _sampled(files: Files, rng: Random) -> Files:
    """Half of the requests, each with all of its records."""
    clients: dict[str, bool] = {}
    rooms: dict[str, bool] = {}
    for name in sorted(files):
        for row in files[name]:
            if "request_id" in row and not name.startswith("prefill/"):
                keep = clients.setdefault(row["request_id"], rng.random() < SAMPLED)
                rooms[str(row.get("transfer_id"))] = keep
    return {
        name: [row for row in rows if "request_id" not in row or _in(row, clients, rooms)]
        for name, rows in files.items()
    }


def _in(row: dict[str, Any], clients: dict[str, bool], rooms: dict[str, bool]) -> bool:
    if row.get("hop") == "prefill":
        return rooms.get(str(row.get("transfer_id")), True)
    return clients[row["request_id"]]


SITUATIONS = (
    Kept("all logs", _whole),
    Kept("one hour of one engine missing", _without_an_hour),
    Kept("no request records of prefill", _without_prefill),
    Kept("gateway and pools alone", _gateway_alone),
    Kept("half of the requests logged", _sampled, SAMPLED),
)
