"""A drill: the engine with the fault, checked as a real one is, before a fix and after it.

The engine runs in this process at free ports of this machine, with pools of a few thousand
tokens, and is gone when its checks are done. Its logs, and the records of the checks, stay.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING

import polars as pl

from forensics.case import Case, read_logs
from forensics.errors import OutputExistsError, UsageError
from forensics.explore.green import verdicts
from forensics.incident import Incident, Trigger
from forensics.live.watch.asked import Asked, Counts
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch
from forensics.scratch import scratch_folder
from forensics.wording import count

if TYPE_CHECKING:
    from forensics.lab.engine import LabEngine
    from forensics.lab.engine.service import Addresses
    from forensics.live.gate import Gate
    from forensics.live.verdict import Canary

_KEYS = {"drill-key-a": "drill-a", "drill-key-b": "drill-b"}
_PREFILL, _DECODE = "prefill-01", "decode-01"


@dataclass(frozen=True)
class Drilled:
    """One engine after its checks: what each saw, what was logged, and what really left.

    Attributes:
        folder: holds ``logs``, and the records of gate and canary beside them.
        gate: what the pools of the engine said.
        canary: what came back for the markers of two accounts.
        leaked: ids of the answers that held markers of the other account. The engine knows
            this, and no log shows it.
        incident: what the report is asked.
    """

    folder: Path
    gate: Gate
    canary: Canary
    leaked: frozenset[str]
    incident: Incident

    def __repr__(self) -> str:
        # Not the fields: answers hold the markers that were planted.
        return f"drill in {self.folder}: {count(len(self.leaked), 'answer')} held foreign markers"

    @property
    def logs(self) -> Path:
        """The logs that a fleet of this kind would have left."""
        return self.folder / "logs"

    @cached_property
    def case(self) -> Case:
        """What a report finds in these logs and records."""
        return read_logs(self.folder, incident=self.incident)

    @cached_property
    def watched(self) -> Counts:
        """What a watch over these logs reads and finds."""
        with scratch_folder() as scratch:
            told = Output(scratch / "findings.jsonl", ())
            watch = Watch([str(self.logs)], Incident(), scratch, told, None, Asked(once=True))
            try:
                watch.step(last=True)
            finally:
                watch.close()
        return watch.counts

    def pools(self) -> pl.DataFrame:
        """Return what the gate says of each engine."""
        rows = [(row.label, row.passed, row.sentence) for row in self.gate.rows]
        return pl.DataFrame(rows, schema=["engine", "passed", "sentence"], orient="row")

    def answers(self) -> pl.DataFrame:
        """Return what the canary says of its prompts, by their length: one row a verdict."""
        rows = [(one.step.name, one.step.tokens, one.verdict) for one in self.canary.asked]
        frame = pl.DataFrame(rows, schema=["prompt", "tokens", "verdict"], orient="row")
        return frame.group_by("tokens", "prompt", "verdict").len("answers").sort("tokens", "prompt")

    def truth(self) -> pl.DataFrame:
        """Hold the report against the engine's own truth: found, missed, and found in excess."""
        found = set(self.case.affected.polars()["request_id"])
        counts = {
            "found": len(found & self.leaked),
            "missed": len(self.leaked - found),
            "in excess": len(found - self.leaked),
        }
        return pl.DataFrame(list(counts.items()), schema=["answers", "number"], orient="row")

    def checks(self) -> pl.DataFrame:
        """Return the four checks after a fix, each with its verdict in a sentence."""
        return verdicts(self.gate, self.canary, self.case, self.watched)


def run(
    folder: str | Path, fill: int = 3, threshold_tokens: int | None = None, **options: object
) -> Drilled:
    """Start an engine, ask its gate, send it a canary, and end it.

    Args:
        folder: a new folder, for logs and records.
        fill: prompts of each account that fill the pages first.
        threshold_tokens: the fault was met by longer prompts; after a fix no log tells this, and
            a canary has to reach it. None leaves it to the logs.
        options: of the engine, as in ``forensics lab serve``: ``prefill_pool_tokens=8_192``,
            ``edge_reject=True``, ...

    Raises:
        OutputExistsError: the folder is there already.
        UsageError: the `live` extra is not installed.
    """
    try:
        from forensics.lab.engine import EngineOptions, LabEngine
        from forensics.lab.engine.service import served
    except ImportError:
        raise UsageError("a drill needs aiohttp: install the `live` extra") from None

    place = Path(folder)
    if place.exists():
        raise OutputExistsError(
            f"{place} exists; the logs of a drill go into a folder of their own"
        )
    place.mkdir(parents=True)
    incident = Incident(trigger=Trigger(threshold_tokens=threshold_tokens))
    asked = EngineOptions(**{"step_seconds": 0.0, **options})  # type: ignore[arg-type]

    async def whole() -> Drilled:
        engine = LabEngine(asked, place / "logs", seed=randbits(64))
        async with served(engine, _KEYS) as at:
            return await _checked(engine, at, place, fill, incident)

    # A notebook has a loop of its own that runs already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, whole()).result()


async def _checked(
    engine: LabEngine, at: Addresses, folder: Path, fill: int, incident: Incident
) -> Drilled:
    """Ask the gate and the canary, as their commands do, and keep their records."""
    from forensics.live import canary, gate
    from forensics.live.aim import Stated
    from forensics.live.canaryrecord import records
    from forensics.live.chat import Account, Server
    from forensics.live.record import capacity_records
    from forensics.live.target import Target

    targets = [Target.of(f"{_PREFILL}={at.prefill}"), Target.of(f"{_DECODE}={at.decode}")]
    pools = await gate.ask(targets, gate.Asked())
    (folder / "gate.ndjson").write_bytes(capacity_records(pools))
    first, second = (Account(name, key) for key, name in _KEYS.items())
    server = Server(f"{at.router}/v1/chat/completions", "default")
    sizes = await Stated(targets[0]).sizes()
    answers = await canary.run(canary.Plan(server, (first, second), sizes, fill))
    (folder / "canary.ndjson").write_bytes(b"".join(map(records, answers.asked)))
    leaked = frozenset(one.request_id for one in engine.served if one.foreign)
    return Drilled(folder, pools, answers, leaked, incident)
