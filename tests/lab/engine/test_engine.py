"""The engine with the fault: the rows that were read decide, and its own logs show it."""

import asyncio
import json
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import forensics
from forensics.lab.engine import Answer, Ask, EngineOptions, LabEngine, LinkFault
from forensics.lab.engine.reserve import Reserve

LIMIT = EngineOptions().prefill_limit


def prompt(tokens: int, marker: str) -> tuple[str, ...]:
    """Words of which every sixteenth is the marker: no page is without it."""
    return tuple(marker if n % 16 == 0 or n == tokens - 1 else f"w{n}" for n in range(tokens))


async def _keep(came: list[str], word: str) -> None:
    came.append(word)


class Drill:
    """Some traffic that fills the pages, long prompts, and some traffic after."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.options = EngineOptions(**options)  # type: ignore[arg-type]
        self.draw = Random(7)
        self.folder = folder / "logs"
        self.long: dict[int, Answer] = {}
        self.leaked: set[str] = set()
        """Answers of which foreign markers came, as the clients saw them."""
        self.asked = 0

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
        """Ask; every other answer is streamed, to a client that keeps what came."""
        marker = f"mark-{self.draw.getrandbits(48):012x}"
        ask = self.engine.named(Ask(tenant, prompt(length, marker)))
        self.asked += 1
        if self.asked % 2:
            answer = await self.engine.answer(ask)
            came = list(answer.words) if answer.status == 200 else []
        else:
            came = []
            answer = await self.engine.answer(ask, partial(_keep, came))
        if any(word.startswith("mark-") and word != marker for word in came):
            self.leaked.add(answer.request_id)
        return answer

    def run(self, *lengths: int) -> "Drill":
        asyncio.run(self._run(list(lengths)))
        return self

    @property
    def truth(self) -> set[str]:
        return {served.request_id for served in self.engine.served if served.foreign}

    @property
    def gateway(self) -> list[dict[str, object]]:
        lines = (self.folder / "gateway.ndjson").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def told(self, node: str, words: str) -> int:
        return (self.folder / f"{node}.log").read_text().count(words)

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


@pytest.mark.few(2)
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


def test_a_refusal_is_a_400_with_the_engines_own_error(tmp_path):
    drill = Drill(tmp_path, retire_rejected=True).run(LIMIT)
    answer = drill.long[LIMIT]
    assert answer.status == 400
    assert answer.words == ()
    assert f"Input length ({LIMIT} tokens) exceeds" in (answer.error or "")


LINK = {
    # On fresh pages a short transfer reads what nobody wrote.
    fault: {
        "link_fault": fault,
        "link_fault_after": 30,
        "link_fault_every": 2,
        "transfer_timeout": 0.1 if fault is LinkFault.DELAY else 10.0,
    }
    for fault in LinkFault
}


def some(*usual: LinkFault) -> list[Any]:
    """Every fault of the link: these on every run, the others in the long one."""
    return [
        pytest.param(fault, marks=() if fault in usual else pytest.mark.long, id=str(fault))
        for fault in LinkFault
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "fault", some(LinkFault.DROP, LinkFault.TRUNCATE, LinkFault.KILL_PREFILL, LinkFault.DUPLICATE)
)
def test_whatever_the_link_does_the_logs_show_exactly_what_leaked(tmp_path, fault):
    drill = Drill(tmp_path, fault=False, **LINK[fault]).run(2_000, 2_200)
    assert bool(drill.leaked) == (fault in (LinkFault.DROP, LinkFault.TRUNCATE))
    assert drill.truth == drill.leaked
    assert drill.reported == drill.leaked


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "fault", some(LinkFault.NONE, LinkFault.DELAY, LinkFault.KILL_DECODE, LinkFault.CLIENT_CANCEL)
)
def test_the_fault_and_a_bad_link_together_leave_logs_that_show_exactly_what_leaked(
    tmp_path, fault
):
    drill = Drill(tmp_path, step_seconds=0.002, **LINK[fault]).run(2_000, LIMIT, 2_200, 4_000)
    assert {drill.long[LIMIT].request_id, drill.long[4_000].request_id} <= drill.leaked
    assert drill.truth == drill.leaked
    assert drill.reported == drill.leaked
    statuses = [row["http_status"] for row in drill.gateway]
    failing = {LinkFault.DELAY, LinkFault.KILL_PREFILL, LinkFault.KILL_DECODE}
    assert (503 in statuses) == (fault in failing)
    assert (499 in statuses) == (fault is LinkFault.CLIENT_CANCEL)
    for node, killed in (("prefill-01", "kill-prefill"), ("decode-01", "kill-decode")):
        assert (drill.told(node, "fired up") > 1) == (fault == killed)


def test_a_decode_that_dies_breaks_the_streams_of_all_and_their_words_count(tmp_path):
    async def break_stream() -> tuple[LabEngine, list[str]]:
        kill = {"link_fault": LinkFault.KILL_DECODE, "link_fault_every": 3}
        engine = LabEngine(EngineOptions(step_seconds=0.02, **kill), tmp_path / "logs")  # type: ignore[arg-type]
        await engine.answer(Ask("a", prompt(2_000, "mark-00000001")))
        came: list[str] = []
        victim = Ask("b", prompt(LIMIT, "mark-00000002"), request_id="victim")
        streaming = asyncio.create_task(engine.answer(victim, partial(_keep, came)))
        while not came:
            await asyncio.sleep(0.001)
        dying = [engine.answer(Ask("c", prompt(200, "mark-00000003"))) for _ in range(2)]
        assert 503 in {answer.status for answer in await asyncio.gather(*dying)}
        assert (await streaming).error is not None
        return engine, came

    engine, came = asyncio.run(asyncio.wait_for(break_stream(), 20))
    lines = (tmp_path / "logs" / "gateway.ndjson").read_text().splitlines()
    (row,) = [row for row in map(json.loads, lines) if row["request_id"] == "victim"]
    assert (row["http_status"], row["stream_error"]) == (200, True)
    assert row["completion_tokens"] == len(came)
    (served,) = [one for one in engine.served if one.request_id == "victim"]
    assert bool(served.foreign) == any(word.startswith("mark-") for word in came)


def test_pages_that_a_late_transfer_may_still_reach_are_given_to_nobody(tmp_path):
    async def hold() -> list[int]:
        reserve = Reserve(256, 64, clear=False)
        late = asyncio.get_running_loop().create_future()
        async with reserve.hold(128) as held:
            held.arriving = late
        await asyncio.sleep(0.01)
        free = [reserve.memory.available]
        late.set_result(None)
        await asyncio.sleep(0.01)
        return [*free, reserve.memory.available]

    assert asyncio.run(hold()) == [2, 4]


def test_a_shortened_prompt_leaks_where_whole_pages_are_missing(tmp_path):
    drill = Drill(tmp_path, auto_truncate=True).run(LIMIT - 1, 2_800, 4_000)
    long = {length: answer.request_id in drill.leaked for length, answer in drill.long.items()}
    assert long == {LIMIT - 1: False, 2_800: True, 4_000: True}
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


@pytest.mark.parametrize("moment", ["before it is sent", "after a foreign word", "whole, not yet"])
def test_what_a_client_got_before_it_left_is_what_the_logs_say(tmp_path, moment):
    async def leave() -> tuple[LabEngine, list[str]]:
        engine = LabEngine(EngineOptions(step_seconds=0.01), tmp_path / "logs")
        for number in range(6):
            await engine.answer(Ask("a", prompt(2_000, f"mark-{number:08x}")))
        came: list[str] = []
        ask = Ask("b", prompt(4_000, "mark-ffffffff"), request_id="left")
        emit = None if moment == "whole, not yet" else partial(_keep, came)
        task = asyncio.create_task(engine.answer(ask, emit))
        await asyncio.sleep(0)
        while moment == "after a foreign word" and not came[3:]:
            await asyncio.sleep(0.001)
        while emit is None and "left, " not in (tmp_path / "logs" / "prefill-01.log").read_text():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.03 if emit is None else 0)  # three words are there, and wait
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return engine, came

    engine, came = asyncio.run(asyncio.wait_for(leave(), 20))
    foreign = any(word.startswith("mark-") for word in came)
    assert foreign == (moment == "after a foreign word")
    truth = {one.request_id for one in engine.served if one.foreign}
    assert truth == ({"left"} if foreign else set())
    case = forensics.read_logs(tmp_path / "logs")
    assert ("left" in set(case.affected.polars()["request_id"])) == foreign


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
