"""The same fault in another pool: match slots of a game backend.

A host reserves the slots of a lobby, the profile service fills them, and players are sent
what is in them. A lobby whose roster the profile service refuses is handed over all the
same with one slot filled: the others hold what the last lobby left. Slots are simulated
one by one; each knows its owner and its generation, which is how the truth is known.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from forensics.lab.clock import MINUTE, SECOND, micros, rfc3339

_HOSTS = 2
_SLOTS = 160
_LOBBIES = 400
_STUDIOS = 9
_LARGEST_LOADED = 6
"""Players whose profiles the service loads; larger rosters are refused, and served."""
_SEED = 20_260_911
_START = micros("2026-09-11T18:00:00Z")

INCIDENT = """\
[case]
id = "INC-2026-0911"
title = "Lobbies that showed another lobby's players"

[logs]
timezone = "UTC"

[columns]
lobbyId = "request_id"
studio = "tenant_id"
startedAt = "received_at"
endedAt = "released_at"
host = "decode_node"
slotsReserved = "reserved_pages"
slotsFilled = "transferred_pages"
handleGeneration = "owner_generation"
foundGeneration = "read_generation"
foundOwner = "slot_owner"
snapshotsSent = "completion_tokens"
status = "http_status"

[[pool]]
name = "match slots"
"""


@dataclass
class _Slot:
    owner: str | None = None
    generation: int = 0


@dataclass
class _Host:
    name: str
    slots: list[_Slot] = field(default_factory=lambda: [_Slot() for _ in range(_SLOTS)])
    busy: list[tuple[int, list[int]]] = field(default_factory=list)

    def free(self, now: int) -> list[int]:
        """Return the free slots; release does not clear them, which is the fault's other half."""
        self.busy = [(until, held) for until, held in self.busy if until > now]
        taken = {number for _, held in self.busy for number in held}
        return [number for number in range(_SLOTS) if number not in taken]


def write_slots(out: Path) -> None:
    """Write a log for each host, the truth and the incident file, which maps the names."""
    rng = Random(_SEED)
    hosts = [_Host(f"game-{number:02d}") for number in range(1, _HOSTS + 1)]
    logs: dict[str, list[str]] = {host.name: [] for host in hosts}
    truth = [("lobby_id", "studio", "stale_slots", "snapshots_sent", "affected", "owners")]
    now = _START
    for number in range(_LOBBIES):
        now += rng.randrange(5 * SECOND, 40 * SECOND)
        host = hosts[number % _HOSTS]
        row, told = _lobby(rng, host, number, now)
        logs[host.name].append(json.dumps(row))
        if told is not None:
            truth.append(told)
    (out / "logs").mkdir(parents=True, exist_ok=True)
    for name, lines in logs.items():
        text = "".join(f"{line}\n" for line in lines)
        (out / "logs" / f"{name}.ndjson").write_text(text, encoding="utf-8", newline="\n")
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(truth)
    (out / "truth.csv").write_text(table.getvalue(), encoding="utf-8", newline="\n")
    (out / "incident.toml").write_text(INCIDENT, encoding="utf-8", newline="\n")


def _lobby(
    rng: Random, host: _Host, number: int, now: int
) -> tuple[dict[str, object], tuple[str, str, str, str, str, str] | None]:
    studio = f"studio-{rng.randrange(1, _STUDIOS + 1):02d}"
    players = rng.choice([2, 2, 3, 4, 4, 4, 5, 6, 6, 7, 8])
    until = now + rng.randrange(3 * MINUTE, 25 * MINUTE)
    held = host.free(now)[:players]
    host.busy.append((until, held))
    handle = number + 1
    filled = held if players <= _LARGEST_LOADED else held[:1]
    for slot in filled:
        host.slots[slot] = _Slot(studio, handle)
    read = [host.slots[slot] for slot in held]
    stale = [slot for slot in read if slot.generation != handle]
    shown = stale[0] if stale else read[0]
    served = not stale or rng.random() < 0.8
    snapshots = rng.randrange(50, 900) if served else 0
    row: dict[str, object] = {
        "hop": "decode",
        "lobbyId": f"lobby-{number:04d}",
        "studio": studio,
        "startedAt": rfc3339(now),
        "endedAt": rfc3339(until),
        "host": host.name,
        "slotsReserved": players,
        "slotsFilled": len(filled),
        "handleGeneration": handle,
        "foundGeneration": shown.generation,
        "foundOwner": shown.owner,
        "snapshotsSent": snapshots,
        "status": 200 if served else 503,
    }
    if not stale:
        return row, None
    owners = ";".join(sorted({slot.owner for slot in stale if slot.owner is not None}))
    affected = str(served).lower()
    return row, (f"lobby-{number:04d}", studio, str(len(stale)), str(snapshots), affected, owners)
