"""Bytes to lines: compression, damage, line ends, long lines, and what is no line of a format."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import random
import zlib
from functools import partial

import polars as pl
import pytest
import zstandard

from forensics.sources import blocks

ROW = {"request_id": "r", "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": 5}


def line(number: int, **more: object) -> bytes:
    return json.dumps(ROW | {"request_id": f"r-{number}"} | more).encode() + b"\n"


TEN = b"".join(line(n) for n in range(10))
PACK = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "gz-members": lambda data: gzip.compress(data[:300]) + gzip.compress(data[300:]),
    "zst-frames": lambda data: zstandard.compress(data[:300]) + zstandard.compress(data[300:]),
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "xz-streams": lambda data: lzma.compress(data[:300]) + lzma.compress(data[300:]),
    "bz2-streams": lambda data: bz2.compress(data[:300]) + bz2.compress(data[300:]),
    "gz-padded": lambda data: gzip.compress(data) + b"\0" * 512,
    "zst-unsized": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
}


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("name", ["a.ndjson", "a.gz", "a.bin"])
def test_compression_is_found_by_the_bytes_not_the_name(read, kind, name):
    data = PACK[kind](TEN)
    seen = read(data, name)
    assert seen.facts.kept == 10
    assert seen.column("line") == list(range(1, 11))
    assert seen.facts.sha256 == hashlib.sha256(data).hexdigest()
    assert seen.facts.size == len(data)


def test_compressed_parquet_is_read(read):
    buffer = io.BytesIO()
    pl.DataFrame([ROW] * 3).write_parquet(buffer)
    for pack in (gzip.compress, zstandard.compress, lzma.compress, bz2.compress):
        seen = read(pack(buffer.getvalue()), "x.parquet.gz")
        assert (seen.facts.format, seen.facts.kept) == ("plain-parquet", 3)


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        zstandard.compress,
        pytest.param(partial(lzma.compress, preset=0), marks=pytest.mark.long),
        pytest.param(bz2.compress, marks=pytest.mark.long),
    ],
)
def test_a_truncated_stream_gives_what_came_before_and_one_reason(read, pack):
    data = b"".join(line(n, noise=random.Random(n).randbytes(2_000).hex()) for n in range(3_000))
    packed = pack(data)
    seen = read(packed[: len(packed) * 2 // 3])
    assert seen.reasons == {"compressed data ends early": 1}
    assert 1_000 < seen.facts.kept < 3_000
    assert seen.facts.sha256 == hashlib.sha256(packed[: len(packed) * 2 // 3]).hexdigest()
    assert seen.facts.unread[0].offset is not None


def test_a_corrupt_stream_gives_what_came_before_and_one_reason(read):
    packed = bytearray(gzip.compress(TEN))
    packed[-6] ^= 0xFF
    seen = read(bytes(packed))
    assert seen.reasons == {"corrupt compressed data": 1}
    packed[12] ^= 0xFF
    assert read(bytes(packed)).reasons == {"corrupt compressed data": 1}


@pytest.mark.parametrize("size", range(1, 12))
def test_a_stream_cut_in_its_first_bytes(read, size):
    for pack in (gzip.compress, zstandard.compress):
        seen = read(pack(TEN)[:size])
        assert seen.facts.unread


@pytest.mark.parametrize("size", [700, 4_096])
@pytest.mark.parametrize("kind", ["plain", "gz", "zst"])
def test_the_same_whatever_the_size_of_blocks(read, monkeypatch, kind, size):
    data = b"".join(line(n, noise="x" * (n % 97)) for n in range(100)) + b"{broken\n\n" + line(101)
    whole = read(PACK[kind](data))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    cut = read(PACK[kind](data))
    assert cut.column("request_id") == whole.column("request_id")
    assert cut.column("line") == whole.column("line")
    assert cut.facts.unread == whole.facts.unread
    assert cut.facts.kept == 101
    assert whole.facts.unread[0].line == 101
    assert whole.facts.unread[0].offset == data.index(b"{broken")


@pytest.mark.parametrize("kind", ["plain", "gz", "zst"])
@pytest.mark.parametrize(("over", "last"), [(0, False), (1, False), (1, True), (5_000, False)])
def test_a_line_over_the_limit_is_skipped_alike(read, monkeypatch, kind, over, last):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 5_000)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 512)
    long = line(1, noise="")[:-1]
    long = line(1, noise="x" * (5_000 + over - len(long)))
    assert len(long) == 5_001 + over
    data = line(0) + (long.rstrip() if last else long + line(2) + line(3))
    seen = read(PACK[kind](data))
    first = ["r-0"] if over else ["r-0", "r-1"]
    assert seen.column("request_id") == first + ([] if last else ["r-2", "r-3"])
    if over:
        (unread,) = seen.facts.unread
        assert (unread.line, unread.offset) == (2, len(line(0)))
        assert "line longer than" in unread.reason


def test_a_bomb_is_one_long_line(read):
    # 256 MB of zeros in a few KB; the bytes are never held together.
    packed = b"".join(zstandard.compress(bytes(1 << 20)) for _ in range(256))
    seen = read(zstandard.compress(TEN) + packed)
    assert seen.facts.kept == 10
    assert set(seen.reasons) == {blocks.TOO_LONG}


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"\xef\xbb\xbf" + TEN, 10),
        (TEN.replace(b"\n", b"\r\n"), 10),
        (TEN.rstrip(), 10),
        (b"\n\n" + TEN.replace(b"\n", b"\n\n \n\t\r\n"), 10),
        (TEN.replace(b"{", b"  {"), 10),
    ],
    ids=["bom", "crlf", "no last end", "blank lines", "indented"],
)
def test_ways_to_end_and_begin_lines(read, data, kept):
    seen = read(data)
    assert seen.facts.kept == kept
    assert not seen.facts.unread
    assert seen.facts.read == kept, "blank lines are no records"


WRONG = {
    "truncated": (b'{"request_id": "secret', "truncated JSON"),
    "no json": (b"secret words", "not valid JSON"),
    "array": (b'["secret"]', "not a JSON object"),
    "number": (b"12", "not a JSON object"),
    "two objects": (line(7).strip() + line(8).strip(), "not valid JSON"),
    "text after": (line(7).strip() + b" secret", "not valid JSON"),
    "utf8": (b'{"request_id": "\xff\xfe", "prompt_tokens": 1', "truncated JSON"),
    "no json and utf8": (b'{"request_id": \xff\xfe}', "invalid UTF-8"),
    "nul": (b'{"request_id": "a\0b"}', "not valid JSON"),
    "deep": (
        b'{"request_id": "a", "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        "nested too deeply",
    ),
    "deep known": (b'{"request_id": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested too deeply"),
    "nothing": (b"{}", "no value under a known column name"),
    "two lines": (b'{"request_id":\n"r-7"}', "not valid JSON"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_line_that_is_no_record_costs_itself_alone(read, kind):
    wrong, reason = WRONG[kind]
    data = line(0) + wrong + b"\n" + line(1)
    seen = read(data)
    assert seen.column("request_id") == ["r-0", "r-1"]
    lines = [2 + n for n in range(wrong.count(b"\n") + 1)]
    assert [unread.line for unread in seen.facts.unread] == lines * (wrong.count(b"}{") + 1)
    assert seen.facts.unread[-1].reason in (reason, "not a JSON object")
    assert seen.facts.unread[0].offset in (len(line(0)), None)


def test_two_objects_on_a_line_are_not_hidden_by_a_blank_one(read):
    """The numbers of lines and of objects agree here; the records do not."""
    data = line(0) + b" \n" + line(1).strip() + line(2) + line(3)
    seen = read(data)
    assert seen.column("request_id") == ["r-0", "r-3"]
    assert seen.column("line") == [1, 4]
    spread = b'{"request_id":\n"r-7","prompt_tokens":1}\n'
    seen = read(spread + line(1).strip() + line(2))
    assert seen.facts.kept == 0
    assert len(seen.facts.unread) == 4


def test_a_value_that_comes_twice_is_not_known(read):
    seen = read(b'{"request_id": "a", "request_id": "b", "prompt_tokens": 1, "prompt_tokens": 2}\n')
    assert seen.column("prompt_tokens") == [None]
    assert seen.column("request_id") == ["redacted:node-07.ndjson:1"]
    assert seen.facts.bad_values == {"request_id": 1, "prompt_tokens": 1}


@pytest.mark.parametrize(
    "text", [rb"\ud83d", rb"x\uD83D y", rb"\udc00", rb"\ud83d\u0041", rb"\ud83d\ud83d\ude00"]
)
def test_half_a_surrogate_pair_in_a_text_that_is_not_read_costs_nothing(read, text):
    seen = read(b'{"prompt": "%s", "request_id": "a", "prompt_tokens": 1}\n' % text + line(0))
    assert seen.column("request_id") == ["a", "r-0"]
    assert not seen.facts.unread


def test_pairs_and_escaped_backslashes_stay(read):
    rows = [
        rb'{"request_id": "a", "tenant_id": "\ud83d\ude00\ud83d", "prompt_tokens": 1}',
        rb'{"request_id": "b", "tenant_id": "\\ud83d", "prompt": "\ud83d", "prompt_tokens": 1}',
    ]
    seen = read(b"\n".join(rows))
    assert seen.column("tenant_id") == ["\U0001f600\ufffd", "\\ud83d"]


def test_bytes_that_are_no_utf8_cost_the_value_alone(read):
    bad = b'{"tenant_id": "\xff", "request_id": "a", "prompt_tokens": 1, "prompt": "\xff\xfe"}\n'
    seen = read(bad + line(0))
    assert seen.column("request_id") == ["a", "r-0"]
    assert seen.facts.bad_values == {"tenant_id": 1}


# --- CSV -----------------------------------------------------------------------------

HEAD = b"request_id,received_at,prompt_tokens,prompt\n"


def row(number: int, prompt: str = "x") -> bytes:
    return f"r-{number},2026-02-03T04:05:06Z,5,{prompt}\n".encode()


def ids(seen) -> list[str]:
    return seen.column("request_id")


def test_quoted_line_ends_and_quotes_are_one_row(read):
    seen = read(HEAD + row(0, '"a\n""b"", c\r\nd"') + row(1), "x.csv")
    assert ids(seen) == ["r-0", "r-1"]
    assert seen.column("line") == [2, 5]
    assert not seen.facts.unread


@pytest.mark.parametrize(
    ("wrong", "lines"),
    [
        (b"r-7,2026-02-03T04:05:06Z,5\n", 1),
        (b"r-7,2026-02-03T04:05:06Z,5,x,secret\n", 1),
        (b'r-7,2026-02-03T04:05:06Z,5,"a"b\n', 1),
        # A quote that is never closed takes the next row along, up to that row's quote.
        (b'r-7,2026-02-03T04:05:06Z,5,"secret\n' + row(8, '"y"'), 2),
    ],
    ids=["too few", "too many", "text after quote", "open quote"],
)
def test_a_row_that_is_none_costs_its_lines_alone(read, wrong, lines):
    seen = read(HEAD + row(0) + wrong + row(1), "x.csv")
    assert ids(seen) == ["r-0", "r-1"]
    assert [unread.line for unread in seen.facts.unread] == [3 + n for n in range(lines)]
    assert seen.column("line") == [2, 3 + lines]


def test_a_quote_open_to_the_end_counts_every_line_that_it_took(read):
    seen = read(HEAD + row(0) + b'r-7,2026-02-03T04:05:06Z,5,"secret\n' + row(1) + row(2), "x.csv")
    assert ids(seen) == ["r-0"]
    assert [unread.line for unread in seen.facts.unread] == [3, 4, 5]


def test_an_open_quote_cannot_fill_the_memory(read, monkeypatch):
    from forensics.sources import csvcolumns

    monkeypatch.setattr(csvcolumns, "LONGEST_LINE", 5_000)
    many = b"".join(row(n) for n in range(1_000))
    seen = read(HEAD + row(0) + b'r-7,2026-02-03T04:05:06Z,5,"secret\n' + many, "x.csv")
    assert seen.facts.read == 1_002
    assert seen.facts.kept > 700, "reading goes on behind the limit"


def test_lines_keep_their_number_behind_one_that_is_too_long(read, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 500)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    seen = read(HEAD + row(0) + row(7, "x" * 600) + row(1) + b"\n" + row(2), "x.csv")
    assert seen.column("line") == [2, 4, 6]
    assert [unread.line for unread in seen.facts.unread] == [3]
    assert seen.facts.notes == {"blank line": 1}


def test_a_column_named_twice_counts_where_both_agree(read):
    data = b"request_id,prompt_tokens,received_at,prompt_tokens\n"
    data += b"a,5,2026-02-03T04:05:06Z,5\nb,5,2026-02-03T04:05:06Z,6\n"
    seen = read(data, "x.csv")
    assert seen.column("prompt_tokens") == [5, None]
    assert seen.facts.bad_values == {"prompt_tokens": 1}


def test_cells_that_are_no_utf8(read):
    data = HEAD + b"r-\xff,2026-02-03T04:05:06Z,5,\xff\n" + row(1, "\u00e9")
    seen = read(data, "x.csv")
    assert ids(seen) == ["redacted:x.csv:2", "r-1"]
    assert seen.facts.bad_values == {"request_id": 1}


def test_a_file_with_old_line_ends_is_read(read):
    seen = read((HEAD + row(0) + row(1)).replace(b"\n", b"\r"), "x.csv")
    assert ids(seen) == ["r-0", "r-1"]
    assert not seen.facts.unread


def test_header_with_quotes_blanks_and_a_byte_order_mark(read):
    data = b'\xef\xbb\xbf"request_id", received_at ,prompt_tokens,prompt\r\n' + row(0)
    assert ids(read(data, "x.csv")) == ["r-0"]


def test_a_header_alone_holds_no_record(read):
    seen = read(HEAD, "x.csv")
    assert (seen.facts.format, seen.facts.read) == ("plain-csv", 0)


def test_a_stated_csv_without_known_header_gives_reasons(read):
    seen = read(b"a,b\n1,2\n3,4\n", "x.csv", form="plain-csv")
    assert seen.reasons == {"no value under a known column name": 2}


# --- Parquet -------------------------------------------------------------------------


def some_parquet() -> bytes:
    buffer = io.BytesIO()
    rows = [ROW | {"request_id": f"r-{n}", "prompt": f"secret {n}"} for n in range(200)]
    pl.DataFrame(rows).write_parquet(buffer, row_group_size=50, use_pyarrow=True)
    return buffer.getvalue()


def test_damaged_parquet_is_one_unreadable_file(read):
    data = some_parquet()
    for cut in (4, 8, 100, len(data) // 2, len(data) - 1):
        seen = read(data[:cut], "x.parquet")
        assert seen.reasons == {"damaged Parquet file": 1}, cut


def test_flipped_bytes_never_stop_the_run(read):
    data = some_parquet()
    for seed in range(60):
        rng = random.Random(seed)
        flipped = bytearray(data)
        for _ in range(3):
            flipped[rng.randrange(4, len(data))] ^= 1 << rng.randrange(8)
        seen = read(bytes(flipped), "x.parquet")
        assert seen.facts.kept + len(seen.facts.unread) > 0


def test_parquet_with_a_name_twice(read):
    import pyarrow as pa
    import pyarrow.parquet as pq

    array = pa.array(["a"])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([array, array], ["request_id", "request_id"]), buffer)
    seen = read(buffer.getvalue(), "x.parquet")
    assert seen.facts.kept + len(seen.facts.unread) == 1


# --- what a file is ------------------------------------------------------------------

KINDS = {
    "empty": (b"", "empty file"),
    "blank": (b"\n \n\t\n", "no record: only blank lines"),
    "bom": (b"\xef\xbb\xbf", "no record: only blank lines"),
    "empty gz": (gzip.compress(b""), "no record: only blank lines"),
    "text": (b"dear diary\n" * 9, "no known format"),
    "binary": (bytes(range(256)) * 9, "binary file of no known format"),
    "zlib": (zlib.compress(bytes(99)), "binary file of no known format"),
    "pickle": (b"\x80\x04\x95\x00", "pickle: never opened, it holds content and can run code"),
    "jaeger": (
        b'{"data": [{"traceID": "a1", "spans": [{"traceID": "a1", "operationName": "secret"}]}]}',
        "traces that are not OTLP/JSON: export them so",
    ),
    "zipkin": (
        b'[{"traceId": "a1", "id": "b2", "duration": 5, "localEndpoint": {"serviceName": "s"}}]\n',
        "traces that are not OTLP/JSON: export them so",
    ),
    "otlp by its protobuf": (
        b'{"resource_spans": [{"scope_spans": [{"spans": []}]}]}\n',
        "traces that are not OTLP/JSON: export them so",
    ),
    "utf-16 without a mark": (TEN.decode().encode("utf-16-le"), "binary file of no known format"),
    "chat": (
        b'{"model": "m", "messages": [{"role": "user", "content": "secret"}]}\n',
        "no known format",
    ),
    "billing": (
        b'{"id": "x", "model": "m", "prompt_tokens": 5, "completion_tokens": 6}\n',
        "no known format",
    ),
    "billing csv": (b"id,model,prompt_tokens,completion_tokens\nx,m,5,6\n", "no known format"),
    "json document": (b'{\n "id": "a",\n "tenant": "b"\n}\n', "no known format"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_is_instead(read, kind):
    data, reason = KINDS[kind]
    seen = read(data, "x.log")
    assert seen.facts.kept == 0
    assert seen.reasons == {reason: 1}
    assert seen.facts.format is None


@pytest.mark.parametrize(
    "wide", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_text_with_a_mark_is_read_in_any_encoding(read, wide, pack, ends):
    alone, text = read(TEN, "a.ndjson"), TEN.decode().replace("\n", ends)
    marked = text if wide in ("utf-8-sig", "utf-16", "utf-32") else "\ufeff" + text
    seen = read(pack(marked.encode(wide)), "b.ndjson")
    assert seen.facts.kept == 10
    assert not seen.facts.unread
    assert seen.rows.drop("file", "source_node").equals(alone.rows.drop("file", "source_node"))


def test_text_of_which_a_character_is_cut_off_loses_its_last_line_alone(read):
    seen = read(TEN.decode().encode("utf-16")[:-5], "b.ndjson")
    assert seen.facts.kept == 9
    assert len(seen.facts.unread) == 1


@pytest.mark.parametrize("times", [2, 3])
def test_what_was_packed_again_is_unpacked_again(read, times):
    packed = TEN
    for pack in (gzip.compress, zstandard.compress, lzma.compress)[:times]:
        packed = pack(packed)
    assert read(packed, "b.ndjson.gz").facts.kept == 10


def test_what_was_packed_again_and_breaks_off_says_so(read):
    seen = read(gzip.compress(gzip.compress(TEN)[:-9]), "b.ndjson.gz")
    assert seen.reasons == {"compressed data ends early": 1}


def test_a_format_is_found_behind_pages_of_other_output(read):
    noise = b"".join(b"NCCL INFO channel %d of 512 : 0 1 2 3\n" % n for n in range(3_000))
    pool = b"[2026-02-03 04:05:06 DP1 TP4] KV Cache is allocated. #tokens: 640, KV size: 1.0 GB\n"
    assert read(noise + pool, "p.log").facts.format == "sglang"
    assert read(noise + TEN, "x.ndjson").facts.kept == 10
    assert read(gzip.compress(noise + pool), "p.log").facts.format == "sglang"
