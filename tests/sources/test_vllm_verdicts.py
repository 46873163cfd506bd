"""What vLLM logs, alone and with a gateway's, decide about a request."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import poolmeaning

DATA = Path(__file__).parents[1] / "_data" / "sources"
Read = Callable[..., forensics.Case]
DAY = (
    '[scope]\nwindow = ["2026-02-03T00:00:00Z", "2026-02-04T00:00:00Z"]\n[logs]\ntimezone = "UTC"\n'
)
CORE = "(EngineCore_DP0 pid=61) INFO 02-03 04:00"


def boot(version: str | None = "0.11.0", window: int = 131_072, pool: str = "49,152") -> list[str]:
    start = f"{CORE}:00 [core.py:77] Initializing a V1 LLM engine (v{version}) with config: "
    times = f"Maximum concurrency for {window:,} tokens per request: 0.38x"
    return [
        *([f"{start}model='m', max_seq_len={window}, seed=0"] if version else []),
        f"{CORE}:30 [kv_cache_utils.py:1087] GPU KV cache size: {pool} tokens",
        f"{CORE}:30 [kv_cache_utils.py:1091] {times}",
    ]


def received(rid: str, *, sends: bool = True) -> str:
    parameters = {"do_remote_decode": sends, "do_remote_prefill": not sends}
    extra = {"kv_transfer_params": parameters}
    return (
        f"(APIServer pid=59) INFO 02-03 09:00:02 [logger.py:40] Received request chatcmpl-{rid}: "
        f"prompt: 'CANARY', params: SamplingParams(n=1, extra_args={extra}), "
        "prompt_token_ids: None, prompt_embeds shape: None, lora_request: None."
    )


def nixl(second: int, text: str) -> str:
    return f"(Worker_TP0 pid=64) ERROR 02-03 09:08:{second} [nixl_connector.py:{second}] {text}"


def released(rid: str) -> str:
    return nixl(
        10,
        f"Releasing expired KV blocks for request chatcmpl-{rid} which were retrieved by 0 decode "
        "worker(s) within 480 seconds.",
    )


def read_late(rid: str) -> str:
    return nixl(
        31,
        f"Potentially invalid KV blocks for unrecognized request chatcmpl-{rid} were retrieved by "
        "a decode worker. They may have expired.",
    )


def declined(rid: str) -> str:
    return nixl(32, f"Declining expired remote read for chatcmpl-{rid} from engine d0.")


def client(rid: str, tokens: int = 1_037, status: int = 200, made: int = 40) -> dict[str, object]:
    return {
        "hop": "gateway",
        "request_id": rid,
        "tenant_id": "tenant-c",
        "received_at": "2026-02-03T09:00:01Z",
        "prompt_tokens": tokens,
        "completion_tokens": made,
        "http_status": status,
    }


@pytest.fixture
def case(tmp_path: Path) -> Read:
    """Read logs by file name, each a list of lines, and a gateway's records."""

    def run(
        logs: dict[str, list[str]], *records: dict[str, object], incident: str = DAY
    ) -> forensics.Case:
        for name, lines in logs.items():
            path = tmp_path / f"{name}.log"
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join((*lines, "")))
        if records:
            (tmp_path / "gw.ndjson").write_text("".join(json.dumps(r) + "\n" for r in records))
        asked = tmp_path / "incident.toml"
        asked.write_text(incident)
        paths = sorted(p for p in tmp_path.rglob("*") if p.is_file() and p != asked)
        return forensics.read_logs(*paths, incident=asked)

    return run


def verdict(case: forensics.Case, rid: str) -> tuple[str, list[str]]:
    rows = case.requests.polars().filter(request_id=rid)
    assert rows.height == 1
    row = rows.row(0, named=True)
    reasons = row["reasons"]
    return row["tier"], reasons.split(";") if isinstance(reasons, str) else list(reasons or [])


def test_blocks_that_were_read_after_they_expired_are_direct_evidence(case):
    seen = case({"prefill-0": [*boot(), received("a"), released("a"), read_late("a")]}, client("a"))
    tier, reasons = verdict(seen, "a")
    assert tier == "probable"
    assert "expired_transfer" in reasons
    assert "expired_release" not in reasons


def test_without_a_client_record_it_is_possible(case):
    seen = case({"prefill-0": [received("a"), released("a"), read_late("a")]})
    assert verdict(seen, "a") == ("possible", ["delivery_unknown", "expired_transfer"])


def test_a_late_read_whose_release_was_lost_counts_as_well(case):
    seen = case({"prefill-0": [read_late("a")]}, client("a"))
    assert verdict(seen, "a")[0] == "probable"


def test_blocks_that_expired_and_were_not_seen_read_stay_possible(case):
    seen = case({"prefill-0": [*boot(), received("a"), released("a")]}, client("a"))
    tier, reasons = verdict(seen, "a")
    assert tier == "possible"
    assert "expired_release" in reasons


def test_a_late_read_that_was_refused_is_none(case):
    logs = {"prefill-0": [*boot(), received("a"), released("a"), declined("a")]}
    tier, reasons = verdict(case(logs, client("a")), "a")
    assert tier == "ruled_out"
    assert not {"expired_release", "expired_transfer"} & set(reasons)


def test_an_answer_that_never_left_exposes_nobody(case):
    logs = {"prefill-0": [received("a"), released("a"), read_late("a")]}
    assert verdict(case(logs, client("a", status=500, made=0)), "a")[0] == "ruled_out"


def test_engine_logs_alone_clear_nobody(case):
    added = "(APIServer pid=5) INFO 02-03 09:00:02 [async_llm.py:316] Added request chatcmpl-b."
    seen = case({"prefill-0": [*boot(), received("a"), added], "decode-0": [*boot(), added]})
    assert set(seen.requests.polars()["tier"]) == {"not_assessable"}


def test_both_sides_of_a_hand_off_are_one_request(case):
    logs = {"prefill-0": [received("a")], "decode-0": [received("a", sends=False)]}
    seen = case(logs)
    row = seen.requests.polars().row(0, named=True)
    assert (row["prefill_node"], row["decode_node"]) == ("prefill-0", "decode-0")
    assert seen.requests.polars().height == 1
    roles = seen.capacity.polars().select("node", "role").rows()
    assert set(roles) == {("prefill-0", "prefill"), ("decode-0", "decode")}


def test_a_log_says_the_same_however_it_is_cut(case, tmp_path):
    lines = (DATA / "vllm.log").read_text().splitlines()

    def tables(logs: dict[str, list[str]]) -> list[list[tuple[object, ...]]]:
        for old in tmp_path.glob("prefill-0/*"):
            old.unlink()
        seen = case(logs, incident=DAY + NODE)
        return [t.polars().rows() for t in (seen.requests, seen.capacity, seen.affected)]

    whole = tables({"prefill-0/1": lines})
    assert whole[0]
    for cut in (1, 6, 17):
        assert tables({"prefill-0/1": lines[:cut], "prefill-0/2": lines[cut:]}) == whole, cut


def test_too_few_blocks_are_a_short_transfer(case):
    short = (
        "req chatcmpl-a-0115baf0: local blocks(1) < remote blocks(1900) in a KV cache group "
        "(is_mamba_group=False)"
    )
    tier, reasons = verdict(case({"prefill-0": [nixl(33, short)]}, client("a")), "a")
    assert tier == "probable"
    assert "short_transfer" in reasons


def test_two_requests_with_one_block_are_both_exposed(case):
    def new(rid: str, blocks: str) -> str:
        return (
            f"NewRequestData(req_id=chatcmpl-{rid},prompt_token_ids_len=40,sampling_params="
            f"SamplingParams(n=1),block_ids=([{blocks}],),num_computed_tokens=0,lora_request=None)"
        )

    dump = (
        "ERROR 02-03 09:00:06 [dump_input.py:76] Dumping scheduler output for model execution: "
        f"SchedulerOutput(scheduled_new_reqs=[{new('a', '1, 2')}, {new('b', '2, 3')}, "
        f"{new('c', '4')}], scheduled_cached_reqs=CachedRequestData(req_ids=[], new_block_ids=[], "
        "num_computed_tokens=[]))"
    )
    seen = case({"decode-0": [dump]}, *(client(rid, 40) for rid in "abc"))
    assert [verdict(seen, rid)[0] for rid in "abc"] == ["probable", "probable", "not_assessable"]
    assert "block_overlap" in verdict(seen, "a")[1]


# --- what a pool counts ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "meant"),
    [
        ("0.6.6.post1", "blocks"),
        ("0.8.5", "blocks"),
        ("0.20.2", "blocks"),
        ("0.21.0", None),
        ("0.22.0", None),
        ("0.22.1rc1", None),
        ("0.22.1", "concurrency_x_len"),
        ("0.33.0+cu129", "concurrency_x_len"),
        ("1.0.0", "concurrency_x_len"),
        ("0.1.dev1+gdeadbee", None),
        ("main", None),
        (None, None),
    ],
)
def test_the_version_says_what_a_pool_counts(version, meant):
    assert poolmeaning.basis(version) == meant


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("version", "basis", "limit"),
    [
        ("0.11.0", "blocks", 49_153),
        ("0.26.0", "concurrency_x_len", 49_153),
        ("0.21.0", None, None),
        (None, None, None),
    ],
)
def test_a_pool_of_unknown_meaning_is_no_pool(case, version, basis, limit):
    logs = {"prefill-0": [*boot(version), received("a"), received("b").replace(":02 ", ":03 ")]}
    seen = case(logs, client("a", 1_000), client("b", 60_000))
    epoch = seen.capacity.polars().filter(node="prefill-0").row(0, named=True)
    assert (epoch["pool_basis"], epoch["pool_tokens"]) == (basis, limit and limit - 1)
    assert (epoch["context_tokens"], epoch["engine"]) == (131_072, "vllm")
    tiers = [verdict(seen, rid)[0] for rid in "ab"]
    assert tiers == (["ruled_out", "possible"] if limit else ["not_assessable"] * 2)


def test_the_version_holds_across_rotated_files(case):
    start, *pool = boot()
    seen = case({"prefill-0/1": [start], "prefill-0/2": pool}, incident=DAY + NODE)
    (epoch,) = seen.capacity.polars().filter(pl.col("pool_tokens").is_not_null()).to_dicts()
    assert (epoch["pool_basis"], epoch["pool_tokens"]) == ("blocks", 49_152)


NODE = 'node_from = "(?P<node>prefill-[0-9]+)/"\n'


def test_an_upgrade_changes_the_meaning_and_not_before(case):
    later = [line.replace("04:00:", "06:00:") for line in boot("0.26.0")]
    ready = (
        "INFO 02-03 04:01:00 [api_server.py:5] Starting vLLM API server 0 on http://0.0.0.0:8000"
    )
    seen = case({"prefill-0": [*boot("0.11.0", pool="40,960"), ready, *later]})
    epochs = seen.capacity.polars().drop_nulls("pool_tokens").sort("effective_at")
    assert epochs["pool_basis"].to_list() == ["blocks", "concurrency_x_len"]
    assert set(epochs["allocator"]) == {"fifo"}


def test_a_stated_pool_of_the_same_engine_stands_as_it_is(case):
    record = {"node": "prefill-0", "role": "prefill", "engine": "vllm", "pool_tokens": 20_000}
    seen = case({"prefill-0": boot()}, record | {"effective_at": "2026-02-03T05:00:00Z"})
    pools = seen.capacity.polars().sort("effective_at")["pool_tokens"].to_list()
    assert pools == [49_152, 20_000]


def test_of_several_workers_the_smallest_pool_counts(case):
    second = [line for line in boot(pool="40,960") if "KV cache size" in line]
    seen = case({"prefill-0": [*boot(), *second]})
    assert seen.capacity.polars()["pool_tokens"].to_list() == [40_960]


def test_ranks_with_different_pools_have_their_own(case):
    other = [line.replace("_DP0", "_DP1") for line in boot(pool="40,960")]
    seen = case({"prefill-0": [*boot(), *other]})
    pools = seen.capacity.polars().drop_nulls("pool_tokens")
    found = dict(zip(pools["node"], pools["pool_tokens"], strict=True))
    assert {node: found[node] for node in ("prefill-0/dp0", "prefill-0/dp1")} == {
        "prefill-0/dp0": 49_152,
        "prefill-0/dp1": 40_960,
    }


def test_a_prompt_that_the_pool_refused_is_not_below_the_pool(case):
    lines = [
        "INFO 02-03 08:59:38 gpu_executor.py:76] # GPU blocks: 3072, # CPU blocks: 2048",
        "INFO 02-03 08:59:38 x.py:80] Maximum concurrency for 49152 tokens per request: 1.00x",
    ]
    refused = (
        "WARNING 02-03 09:00:41 scheduler.py:964] Input prompt (48900 tokens) + lookahead slots "
        "(0) is too long and exceeds the capacity of block_manager"
    )
    (found,) = case({"n0": [*lines, refused]}).requests.polars().to_dicts()
    assert (found["tier"], found["prompt_tokens"]) == ("possible", 48_900)
    assert "over_limit" in found["reasons"]
