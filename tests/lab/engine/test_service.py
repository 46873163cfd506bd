"""The engine over HTTP: the shapes that clients and checks speak, streamed and not."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.request import Request, urlopen

import aiohttp
import pytest

from forensics.cli import run
from forensics.lab.engine import EngineOptions, LabEngine, LinkFault
from forensics.lab.engine.service import Addresses, served

KEYS = {"lab-key-a": "lab-a", "lab-key-b": "lab-b"}
HEADERS = {"Authorization": "Bearer lab-key-a"}
Use = Callable[[aiohttp.ClientSession, Addresses], Awaitable[None]]


def drill(folder: Path, use: Use, **options: object) -> LabEngine:
    async def run() -> LabEngine:
        engine = LabEngine(EngineOptions(**options), folder / "logs")  # type: ignore[arg-type]
        async with served(engine, KEYS) as at, aiohttp.ClientSession(headers=HEADERS) as client:
            await use(client, at)
        return engine

    return asyncio.run(asyncio.wait_for(run(), 60))


def chat(*words: str, **more: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": " ".join(words)}], **more}


def test_each_address_answers_in_its_own_shape(tmp_path):
    async def use(client, at):
        async with client.post(
            f"{at.router}/v1/chat/completions", json=chat("my", "mark-00000001")
        ) as got:
            body = await got.json()
        assert got.status == 200
        assert "mark-00000001" in body["choices"][0]["message"]["content"].split()
        assert body["usage"] == {"prompt_tokens": 2, "completion_tokens": 7, "total_tokens": 9}
        async with client.post(
            f"{at.router}/v1/completions", json={"prompt": "one two three"}
        ) as got:
            assert (await got.json())["choices"][0]["text"] == "The text mentions and ends there."
        ask = {"text": "one mark-0000000a", "sampling_params": {"max_new_tokens": 3}, "rid": "mine"}
        async with client.post(f"{at.router}/generate", json=ask) as got:
            meta = (await got.json())["meta_info"]
        assert (meta["id"], meta["prompt_tokens"], meta["completion_tokens"]) == ("mine", 2, 3)

    drill(tmp_path, use)


def test_a_streamed_answer_has_the_same_words_and_ends(tmp_path):
    async def use(client, at):
        asked = chat("my", "mark-00000001", stream=True)
        async with client.post(f"{at.router}/v1/chat/completions", json=asked) as got:
            frames = [line async for line in got.content if line.startswith(b"data: ")]
        assert frames[-1] == b"data: [DONE]\n"
        deltas = [json.loads(frame[6:])["choices"][0]["delta"]["content"] for frame in frames[:-2]]
        assert json.loads(frames[-2][6:])["usage"]["completion_tokens"] == len(deltas)
        assert "".join(deltas).split() == [
            "The",
            "text",
            "mentions",
            "mark-00000001",
            "and",
            "ends",
            "there.",
        ]

    engine = drill(tmp_path, use)
    assert [one.tenant for one in engine.served] == ["lab-a"]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/v1/completions", {"prompt": "x mark-0000000c"}),
        ("/generate", {"text": "x mark-0000000c"}),
    ],
)
def test_the_other_addresses_stream_too(tmp_path, path, asked):
    async def use(client, at):
        async with client.post(at.router + path, json={**asked, "stream": True}) as got:
            frames = [line[6:] async for line in got.content if line.startswith(b"data: {")]
        bodies = [json.loads(frame) for frame in frames[:-1]]
        words = [body["text"] if "text" in body else body["choices"][0]["text"] for body in bodies]
        assert "".join(words).split()[3] == "mark-0000000c"

    drill(tmp_path, use)


@pytest.mark.parametrize("stream", [True, False])
def test_what_cannot_fit_is_a_400_with_the_engines_error_when_retired(tmp_path, stream):
    async def use(client, at):
        asked = chat(*["w"] * 3_000, stream=stream)
        async with client.post(f"{at.router}/v1/chat/completions", json=asked) as got:
            assert got.status == 400
            assert (
                "exceeds the maximum allowed length (2554 tokens)" in (await got.json())["message"]
            )

    drill(tmp_path, use, retire_rejected=True)


def test_who_has_no_account_or_sends_nonsense_is_told_so(tmp_path):
    async def use(client, at):
        url = f"{at.router}/v1/chat/completions"
        async with client.post(url, json=chat("x"), headers={"Authorization": "Bearer no"}) as got:
            assert got.status == 401
        for body in (
            {"messages": "x"},
            {"messages": [1]},
            [],
            "x",
            {"messages": [], "max_tokens": "y"},
            chat("x", max_tokens=True),
            chat("x", max_tokens=-1),
            chat("x", rid="a\n[2030-01-01 00:00:00] b"),
            chat("x", rid="said in words"),
            chat(),
        ):
            async with client.post(url, json=body) as got:
                assert got.status == 400

    assert drill(tmp_path, use).served == []


def test_the_servers_say_what_pool_they_have(tmp_path):
    async def use(client, at):
        for url, pool, limit in ((at.prefill, 2_560, 2_554), (at.decode, 8_192, 4_090)):
            for path in ("/server_info", "/get_server_info"):
                async with client.get(url + path) as got:
                    info = await got.json()
                assert info["max_total_num_tokens"] == pool
                assert info["max_req_input_len"] == limit
                assert info["internal_states"][0]["memory_usage"]["token_capacity"] == pool
            async with client.get(f"{url}/metrics") as got:
                assert f'tp_rank="0"}} {pool}.0' in await got.text()

    drill(tmp_path, use)


def test_a_client_that_hangs_up_leaves_an_abort_in_the_gateways_record(tmp_path):
    async def use(client, at):
        limit = aiohttp.ClientTimeout(total=0.4)
        asked = client.post(f"{at.router}/v1/completions", json={"prompt": "a b"}, timeout=limit)
        with pytest.raises(asyncio.TimeoutError):
            await asked
        await asyncio.sleep(0.3)

    drill(tmp_path, use, step_seconds=0.2)
    (record,) = (tmp_path / "logs" / "gateway.ndjson").read_text().splitlines()
    assert json.loads(record)["http_status"] == 499


def test_the_command_serves_until_it_is_told_to_stop_and_writes_the_truth(tmp_path):
    logs = tmp_path / "logs"
    command = [sys.executable, "-c", "from forensics.cli import main; main()", "lab", "serve"]
    child = subprocess.Popen(
        [*command, "--logs", str(logs), "--port", "0", "--account", "one=k-1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        at = json.loads(child.stdout.readline())
        body = json.dumps({"prompt": "x mark-0000000b"}).encode()
        headers = {"Authorization": "Bearer k-1", "Content-Type": "application/json"}
        with urlopen(Request(f"{at['router']}/v1/completions", body, headers)) as got:  # noqa: S310
            assert got.status == 200
    finally:
        child.send_signal(signal.SIGTERM)
        _, told = child.communicate(timeout=20)
    assert child.returncode == 0
    assert b"1 answers, 0 held markers of others" in told
    assert (tmp_path / "logs-truth.csv").read_text().splitlines()[1].endswith(",one,2,0")


def test_a_link_that_loses_the_client_hangs_up_on_it(tmp_path):
    async def use(client, at):
        with pytest.raises(aiohttp.ClientError):
            await client.post(f"{at.router}/v1/completions", json={"prompt": "w " * 200})

    assert drill(tmp_path, use, link_fault=LinkFault.CLIENT_CANCEL, link_fault_every=1).served == []
    (record,) = (tmp_path / "logs" / "gateway.ndjson").read_text().splitlines()
    assert json.loads(record)["http_status"] == 499


def test_sizes_that_no_engine_can_have_are_refused(tmp_path):
    for odd in (("--page", "0"), ("--prefill-pool", "100"), ("--context", "6")):
        assert run(["lab", "serve", "--logs", str(tmp_path / "logs"), *odd]) == 2
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(("after", "leaks"), [(0, False), (8, True)])
def test_a_link_fault_leaks_once_pages_are_filled(tmp_path, after, leaks):
    async def use(client, at):
        for number in range(12):
            prompt = f"mark-{number:08x} " * 1_900
            async with client.post(f"{at.router}/v1/completions", json={"prompt": prompt}) as got:
                assert got.status == 200

    # The first to meet the fault is the third hand-off, or the third after those that fill.
    faults = {"fault": False, "link_fault": LinkFault.TRUNCATE, "link_fault_after": after}
    served = drill(tmp_path, use, step_seconds=0, **faults).served
    first = after + 2
    assert not any(one.foreign for one in served[:first])
    assert bool(served[first].foreign) == leaks


def test_the_command_takes_when_and_how_often_the_link_fails(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr("forensics.commands.lab._check", made.append)

    async def no_server(*_):
        return 0

    monkeypatch.setattr("forensics.commands.lab._serve", no_server)
    more = ("--link-fault", "drop", "--link-fault-after", "20", "--link-fault-every", "2")
    assert run(["lab", "serve", "--logs", str(tmp_path / "logs"), *more]) == 0
    (options,) = made
    assert (options.link_fault, options.link_fault_after) == (LinkFault.DROP, 20)
    assert options.link_fault_every == 2
    for odd in (("--link-fault-after", "-1"), ("--link-fault-every", "0")):
        assert run(["lab", "serve", "--logs", str(tmp_path / "logs"), *odd]) == 2
