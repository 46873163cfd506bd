"""The engine with the fault: the rows that were read decide, and its own logs show it."""

import asyncio
from pathlib import Path
from random import Random

import pytest

import forensics
from forensics.lab.engine import Answer, Ask, EngineOptions, LabEngine, LinkFault

LIMIT = EngineOptions().prefill_limit


def prompt(tokens: int, marker: str) -> tuple[str, ...]:
    """Words of which every sixteenth is the marker: no page is without it."""
    return tuple(marker if n % 16 == 0 or n == tokens - 1 else f"w{n}" for n in range(tokens))


class Drill:
    """Some traffic that fills the pages, long prompts, and some traffic after."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.options = EngineOptions(**options)  # type: ignore[arg-type]
        self.draw = Random(7)
        self.folder = folder / "logs"
        self.long: dict[int, Answer] = {}

    async def _run(self, lengths: list[int]) -> None:
        self.engine = LabEngine(self.options, self.folder)
        for _ in range(12):
            await self._background()
        for length in lengths:
            self.long[length] = await self._ask("tenant-long", length)
        await self._background()

    async def _background(self) -> None:
        asks = [self._ask(f"tenant-{n}", self.draw.randrange(100, 1_500)) for n in range(4)]
        await asyncio.gather(*asks)

    async def _ask(self, tenant: str, length: int) -> Answer:
        marker = f"mark-{self.draw.getrandbits(48):012x}"
        return await self.engine.answer(Ask(tenant, prompt(length, marker)))

    def run(self, *lengths: int) -> "Drill":
        asyncio.run(self._run(list(lengths)))
        return self

    @property
    def leaked(self) -> set[str]:
        return {served.request_id for served in self.engine.served if served.foreign}

    @property
    def reported(self) -> set[str]:
        case = forensics.read_logs(self.folder)
        return set(case.affected.polars()["request_id"])


def test_the_fault_leaks_from_the_limit_on_and_not_below_it(tmp_path):
    drill = Drill(tmp_path).run(LIMIT - 1, LIMIT, LIMIT + 1)
    foreign = {
        length: bool({answer.request_id} & drill.leaked) for length, answer in drill.long.items()
    }
    assert foreign == {LIMIT - 1: False, LIMIT: True, LIMIT + 1: True}
    assert [answer.status for answer in drill.long.values()] == [200, 200, 200]
    assert drill.reported == drill.leaked


@pytest.mark.parametrize(
    "fix",
    [
        {"fault": False},
        {"edge_reject": True},
        {"retire_rejected": True},
        {"check_length": True},
        {"prefill_pool_tokens": 8_192},
    ],
    ids=lambda fix: next(iter(fix)),
)
def test_each_fix_alone_is_enough_and_the_report_says_so(tmp_path, fix):
    drill = Drill(tmp_path, **fix).run(LIMIT - 1, LIMIT, LIMIT + 1, 4_000)
    assert drill.leaked == set()
    assert drill.reported == set()


def test_cleared_pages_leak_nothing_though_no_log_can_show_it(tmp_path):
    drill = Drill(tmp_path, clear_pages=True).run(LIMIT, 4_000)
    assert drill.leaked == set()
    assert len(drill.reported) == 2


def test_a_refusal_is_a_400_with_the_engines_own_error(tmp_path):
    drill = Drill(tmp_path, retire_rejected=True).run(LIMIT)
    answer = drill.long[LIMIT]
    assert answer.status == 400
    assert answer.words == ()
    assert f"Input length ({LIMIT} tokens) exceeds" in (answer.error or "")


@pytest.mark.parametrize("fault", list(LinkFault), ids=str)
def test_whatever_the_link_does_the_logs_show_exactly_what_leaked(tmp_path, fault):
    # On fresh pages a short transfer reads what nobody wrote.
    sound = {"fault": False, "link_fault_after": 36}
    drill = Drill(tmp_path, link_fault=fault, **sound).run(2_000, 2_200)
    assert bool(drill.leaked) == (fault in (LinkFault.DROP, LinkFault.TRUNCATE))
    assert drill.reported == drill.leaked


def test_the_length_check_stops_what_the_link_loses(tmp_path):
    drill = Drill(tmp_path, link_fault=LinkFault.TRUNCATE, check_length=True).run(2_000)
    assert drill.leaked == set()
    assert drill.reported == set()


def test_no_word_of_a_prompt_or_an_answer_is_logged(tmp_path):
    drill = Drill(tmp_path).run(LIMIT)
    logged = b"".join(path.read_bytes() for path in drill.folder.iterdir())
    assert b"mark-" not in logged
    assert b"mentions" not in logged


def test_a_client_that_leaves_gives_its_pages_back(tmp_path):
    async def leave() -> None:
        engine = LabEngine(EngineOptions(step_seconds=0.05), tmp_path / "logs")
        whole = 4_000
        task = asyncio.create_task(engine.answer(Ask("a", prompt(2_000, "mark-00000001"))))
        await asyncio.sleep(0.12)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(3):  # together they need more than the pool holds
            answer = await engine.answer(Ask("b", prompt(2_000, "mark-00000002")))
            assert answer.status == 200
        assert whole < engine.options.decode_pool_tokens

    asyncio.run(asyncio.wait_for(leave(), 20))
