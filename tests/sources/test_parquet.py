"""Parquet that is damaged or made by hand: values or one reason, never a panic."""

import io
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forensics.cli import run

ROWS = 60
BROKEN = b"\xff\xfe"
DAMAGED = {"damaged Parquet file": 1}


def table(**more: pa.Array) -> pa.Table:
    return pa.table({"request_id": pa.array([f"r-{n}" for n in range(2)]), **more})


def parquet(frame: pa.Table, **options) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(frame, buffer, **options)
    return buffer.getvalue()


def whole() -> list[bytes]:
    """Files of some shapes, with text that no column of ours holds."""
    at = pa.array([datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)] * ROWS, pa.timestamp("ms", "UTC"))
    frame = pa.table(
        {
            "request_id": [f"r-{n}" for n in range(ROWS)],
            "tenant_id": pa.array(["tenant-1", "tenant-2"] * (ROWS // 2)).dictionary_encode(),
            "received_at": at,
            "prompt_tokens": list(range(ROWS)),
            "prompt": [f"CANARY-words {n}" for n in range(ROWS)],
        }
    ).replace_schema_metadata({"made by": "nobody"})
    return [
        parquet(frame, row_group_size=20, compression="none"),
        parquet(frame, compression="zstd", use_dictionary=False, data_page_version="2.0"),
        parquet(frame, store_schema=False, write_page_checksum=True),
    ]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes, most of them in the footer, where names and metadata are."""
    damaged = bytearray(data)
    first = rng.choice([4, max(4, len(data) - 2_500)])
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(first, len(data))
        damaged[at] = rng.choice([damaged[at] ^ (1 << rng.randrange(8)), 0xFF, 0x80, 0])
    return bytes(damaged)


def test_flipped_bytes_give_records_or_a_reason(read, capfd):
    files = whole()
    outcomes = set()
    for seed in range(250):
        rng = random.Random(seed)
        seen = read(flipped(rng.choice(files), rng), "x.parquet")
        assert seen.reasons.keys() <= {
            *DAMAGED, "binary file of no known format", "no value under a known column name"
        }  # fmt: skip
        assert seen.facts.read > 0, "not one record and no reason"
        outcomes.add(bool(seen.facts.kept))
    assert outcomes == {True, False}, "some are read in spite of it, some are not"
    assert capfd.readouterr().err == "", "a panic prints before it can be caught"


@pytest.mark.long
def test_flipped_bytes_end_in_the_codes_of_a_report(tmp_path, capfd):
    good = tmp_path / "good.ndjson"
    good.write_text(json.dumps({"request_id": "r", "received_at": "2026-02-03T04:05:06Z"}) + "\n")
    files = whole()
    for seed in range(500, 512):
        rng = random.Random(seed)
        bad = tmp_path / "bad.parquet"
        bad.write_bytes(flipped(rng.choice(files), rng))
        logs = [str(bad)] + [str(good)] * rng.randrange(2)
        out = tmp_path / f"out-{seed}"
        assert run(["report", *logs, "-o", str(out), "-q"]) in (0, 3, 4)
        err = capfd.readouterr().err
        assert "panicked" not in err
        assert "Traceback" not in err
        assert "CANARY" not in err
        if out.exists():
            manifest = json.loads((out / "manifest.json").read_text())
            for item in manifest["inputs"]:
                ended = item["kept"] + item["duplicate"] + item["unreadable"]
                assert item["read"] == ended + sum(item["ignored"].values())


# --- names and metadata --------------------------------------------------------------


def replaced(data: bytes, old: bytes) -> bytes:
    """Put bytes that are no UTF-8 in place of a name of the same length."""
    assert old in data
    return data.replace(old, BROKEN + old[len(BROKEN) :])


@pytest.mark.parametrize("name", [b"request_id", b"tenant_nm", b"inner_nm", b"meta_key", b"Tenant"])
@pytest.mark.parametrize("store_schema", [True, False])
def test_names_and_metadata_that_are_no_utf8(read, capfd, name, store_schema):
    inner = pa.array([{"inner_nm": 1}] * 2)
    plain = table(tenant_nm=pa.array(["a", "b"]), decode_node=inner)
    plain = plain.replace_schema_metadata({"meta_key": "Tenant"})
    data = parquet(plain, store_schema=store_schema, compression="none")
    if name not in data:
        pytest.skip("not written")
    seen = read(replaced(data, name), "x.parquet")
    assert seen.facts.read > 0
    assert seen.reasons in ({}, DAMAGED) or seen.facts.kept == 0
    assert capfd.readouterr().err == ""


# --- values --------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Nowhere/At_All"])
@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**62 + 5])
def test_times_out_of_every_range_are_none(read, capfd, unit, zone, number):
    good = 1_770_091_506 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    at = pa.array([number, good], pa.int64()).view(pa.timestamp(unit, zone))
    seen = read(parquet(table(received_at=at)), "x.parquet", logs={"timezone": "UTC"})
    in_range = unit == "ns"
    assert seen.column("received_at")[1] == 1_770_091_506_000_000
    assert seen.column("received_at")[0] == (number // 1_000 if in_range else None)
    assert seen.facts.bad_values == ({} if in_range else {"received_at": 1})
    assert capfd.readouterr().err == ""


def test_types_that_are_none_of_ours_fit_nothing_where_there_is_a_value(read):
    texts = pa.array(["r-0", None])
    columns = {
        "tenant_id": pa.array([[1], None]),
        "model": pa.array([{"a": 1}, None]),
        "transfer_id": pa.array([5, None], pa.duration("s")),
        "prompt_tokens": pa.array([1, None], pa.date32()),
        "prefill_ms": pa.array([1, None], pa.time64("us")),
        "decode_node": texts.cast(pa.string_view()),
        "prefill_node": texts.cast(pa.binary_view()),
    }
    seen = read(parquet(table(**columns)), "x.parquet")
    missing = ["tenant_id", "model", "transfer_id", "prompt_tokens", "prefill_ms"]
    assert [seen.column(name) for name in missing] == [[None, None]] * len(missing)
    assert seen.column("decode_node") == seen.column("prefill_node") == ["r-0", None]
    assert seen.facts.bad_values == dict.fromkeys(missing, 1)


def test_identifiers_as_uuid_and_numbers_as_decimal(read):
    own = UUID("550e8400-e29b-41d4-a716-446655440000")
    columns = {
        "transfer_id": pa.array([own.bytes, None], pa.uuid()),
        "prompt_tokens": pa.array([Decimal(7), None], pa.decimal128(20, 0)),
        "prefill_ms": pa.array([1.5, None], pa.float16()),
    }
    seen = read(parquet(table(**columns)), "x.parquet")
    assert seen.column("transfer_id") == [str(own), None]
    assert seen.column("prompt_tokens") == [7, None]
    assert seen.column("prefill_ms") == [1.5, None]
    assert not seen.facts.bad_values


def test_two_columns_of_one_name_count_where_both_agree(read):
    twice = pa.Table.from_arrays(
        [pa.array(["a", "b", "c"]), pa.array([1, 2, 3]), pa.array([1, None, 4])],
        ["request_id", "prompt_tokens", "prompt_tokens"],
    )
    seen = read(parquet(twice), "x.parquet")
    assert seen.column("prompt_tokens") == [1, None, None]
    assert seen.facts.bad_values == {"prompt_tokens": 2}
