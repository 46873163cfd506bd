"""Against the engine with the fault: whose markers surfaced, from logs of its own."""

import asyncio
from random import Random

import polars as pl
import pytest

import forensics
from forensics.lab.engine import Ask, EngineOptions, LabEngine


def words(tokens: int, marker: str) -> tuple[str, ...]:
    return tuple(marker if n % 16 == 0 else f"w{n}" for n in range(tokens))


@pytest.fixture(scope="module")
def drill(tmp_path_factory):
    """Traffic of eight accounts that fills the pages, then long prompts: answers with markers."""
    folder = tmp_path_factory.mktemp("drill") / "logs"
    options = EngineOptions(step_seconds=0.0)
    engine, draw, owner = LabEngine(options, folder), Random(3), {}

    async def ask(account: str, length: int) -> None:
        marker = f"mark-{draw.getrandbits(48):012x}"
        owner[marker] = account
        await engine.answer(engine.named(Ask(account, words(length, marker))))

    async def run() -> None:
        for _ in range(10):
            await asyncio.gather(*(ask(f"acct-{n}", draw.randrange(80, 800)) for n in range(8)))
        for length in (options.prefill_limit, 3_000, 3_900):
            await ask("acct-long", length)

    asyncio.run(asyncio.wait_for(run(), 60))
    return engine, owner, forensics.read_logs(folder)


def test_accounts_whose_markers_surfaced_are_all_named(drill):
    engine, owner, case = drill
    surfaced = {(one.request_id, owner[marker]) for one in engine.served for marker in one.foreign}
    assert len(surfaced) > 5
    pairs = case.sources.polars().select("request_id", "source_tenant_id")
    assert surfaced - set(pairs.iter_rows()) == set()


def test_they_are_among_those_that_the_replay_names(drill):
    engine, owner, case = drill
    replayed = case.sources.polars().filter(
        pl.col("probability").is_not_null() | (pl.col("origin") == "prefill")
    )
    assert replayed["probability"].count() > 0
    pairs = set(replayed.select("request_id", "source_tenant_id").iter_rows())
    surfaced = {(one.request_id, owner[marker]) for one in engine.served for marker in one.foreign}
    assert surfaced <= pairs
