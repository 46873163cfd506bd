"""Head, tail and slices: whole lines, no more bytes than the share, from any kind of file."""

import gzip
import io
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from forensics.checking.sample import Sample, cut, merged, spread, take
from forensics.sources.files import Input

Counting = Callable[..., tuple[Input, Any]]


def lines(number: int, width: int = 100) -> bytes:
    return b"".join(b"%08d " % n + b"x" * (width - 10) + b"\n" for n in range(number))


def sampled(source: Input, share: int, **more: Any) -> tuple[Sample, int]:
    told: list[int] = []
    sample = take(source, share, told.append, **more)
    return sample, sum(told)


def test_slices_are_whole_lines_in_order_with_head_and_tail(
    tmp_path: Path, counted: Counting
) -> None:
    data = lines(50_000)
    path = tmp_path / "node.log"
    path.write_bytes(data)
    source, counter = counted(path)
    sample, told = sampled(source, 400_000)
    assert sample.how == "slices"
    assert sample.read == told == counter.read <= 400_000
    assert len(sample.pieces) >= 8
    end = 0
    for piece in sample.pieces:
        assert piece.offset >= end, "pieces do not overlap"
        assert data[piece.offset : piece.offset + len(piece.data)] == piece.data
        assert (piece.offset % 100, len(piece.data) % 100) == (0, 0), "whole lines"
        end = piece.offset + len(piece.data)
    assert sample.pieces[0].offset == 0
    assert end == len(data)
    assert sample.factor == pytest.approx(len(data) / len(sample.data))


def test_a_huge_file_is_not_read(tmp_path: Path, counted: Counting) -> None:
    path = tmp_path / "node.log"
    path.write_bytes(lines(2_000))
    os.truncate(path, 20 << 30)
    with path.open("ab") as file:
        file.write(b"\n" + lines(2_000))
    source, counter = counted(path)
    sample, _ = sampled(source, 1 << 20)
    assert counter.read <= 1 << 20
    assert sample.pieces[0].data.startswith(b"00000000 ")
    assert sample.pieces[-1].data.endswith(b"x\n")


def test_a_file_within_its_share_is_read_whole(tmp_path: Path, counted: Counting) -> None:
    data = lines(50) + b"no line end"
    (tmp_path / "a").write_bytes(data)
    source, counter = counted(tmp_path / "a")
    sample, told = sampled(source, len(data))
    assert (sample.how, sample.factor, sample.data) == ("whole", 1.0, data)
    assert counter.read == told == len(data)


@given(
    st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=30), st.data()
)
def test_a_cut_never_splits_a_line(parts: list[bytes], draw: st.DataObject) -> None:
    data = b"\n".join(parts)
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    piece = cut(start, data[start:end], last=end == len(data))
    if piece is None:
        return
    assert data[piece.offset : piece.offset + len(piece.data)] == piece.data
    assert piece.offset == 0 or data[piece.offset - 1 : piece.offset] == b"\n"
    after = piece.offset + len(piece.data)
    assert after == len(data) or data[after - 1 : after] == b"\n"


@given(st.integers(8_192, 1 << 22), st.integers(0, 1 << 40))
def test_places_come_to_the_share_and_do_not_overlap(share: int, more: int) -> None:
    size = 2 * share + more
    places = merged(spread(size, share), size)
    assert sum(end - start for start, end in places) <= share
    assert places[0][0] == 0
    assert places[-1][1] == size
    assert all(a[1] < b[0] for a, b in itertools.pairwise(places))


def packed(data: bytes, how: str) -> bytes:
    return gzip.compress(data) if how == "gz" else zstandard.compress(data)


@pytest.mark.parametrize("how", ["gz", "zst"])
def test_a_small_packed_file_is_unpacked_whole(tmp_path: Path, counted: Counting, how: str) -> None:
    data = lines(1_000)
    (tmp_path / f"a.{how}").write_bytes(packed(data, how))
    source, counter = counted(tmp_path / f"a.{how}")
    sample, _ = sampled(source, 1 << 20)
    assert (sample.how, sample.data, sample.factor) == ("whole", data, 1.0)
    assert counter.read == sample.read == source.size


@pytest.mark.parametrize("how", ["gz", "zst"])
def test_of_a_large_packed_file_the_head_is_unpacked(
    tmp_path: Path, counted: Counting, how: str
) -> None:
    noise = os.urandom(3 << 20).hex().encode()
    data = b"".join(noise[n : n + 99] + b"\n" for n in range(0, len(noise), 99))
    (tmp_path / "a").write_bytes(packed(data, how))
    source, counter = counted(tmp_path / "a")
    sample, _ = sampled(source, 1 << 20)
    assert sample.how == "head"
    assert counter.read <= 1 << 20
    assert data.startswith(sample.data)
    assert sample.data.endswith(b"\n")
    assert sample.factor == pytest.approx(len(data) / len(sample.data), rel=0.3)
    assert sample.damage is None, "that we stopped reading is no damage"


def test_a_packed_bomb_is_not_unfolded(tmp_path: Path, counted: Counting) -> None:
    bomb = zstandard.compress(b"\n".join([b"a" * 99] * 1_000_000) + b"\n")
    (tmp_path / "a").write_bytes(bomb)
    source, _ = counted(tmp_path / "a")
    sample, _ = sampled(source, 1 << 20)
    assert len(sample.data) <= 16 << 20
    assert sample.how == "head"


def test_a_packed_file_that_ends_early_says_so(tmp_path: Path, counted: Counting) -> None:
    whole = gzip.compress(os.urandom(200_000).hex().encode())
    (tmp_path / "a.gz").write_bytes(whole[: len(whole) // 2])
    source, _ = counted(tmp_path / "a.gz")
    sample, _ = sampled(source, 1 << 20)
    assert (sample.how, sample.damage) == ("whole", "compressed data ends early")


def test_one_long_line_is_a_document_that_is_not_sampled(tmp_path: Path, counted: Counting) -> None:
    (tmp_path / "a.json").write_bytes(b'{"data": [' + b"1," * 1_000_000 + b"1]}")
    source, _ = counted(tmp_path / "a.json")
    sample, told = sampled(source, 100_000)
    assert sample.how == "document"
    assert told <= 100_000


def test_of_a_binary_file_only_the_beginning_is_looked_at(
    tmp_path: Path, counted: Counting
) -> None:
    (tmp_path / "core").write_bytes(bytes(range(256)) * 8_000)
    source, counter = counted(tmp_path / "core")
    sample, _ = sampled(source, 1 << 20)
    assert sample.how == "head"
    assert counter.read <= 16 << 10


def test_rows_of_parquet_hold_named_columns_only(tmp_path: Path, counted: Counting) -> None:
    rows = 60_000
    frame = pl.DataFrame(
        {
            "request_id": [f"r{n}" for n in range(rows)],
            "prompt": ["CANARY-PROMPT" + os.urandom(20).hex() for n in range(rows)],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=6_000)
    source, counter = counted(tmp_path / "a.parquet")
    assert source.size > 1 << 20
    sample, told = sampled(source, 400_000, names=["request_id"])
    assert sample.how == "rows"
    assert told == counter.read <= 600_000
    found = pl.read_parquet(io.BytesIO(sample.data))
    assert found.columns == ["request_id"]
    assert sample.factor == pytest.approx(rows / found.height)
    assert b"CANARY" not in sample.data


def test_a_row_group_larger_than_the_share_is_not_read_whole(
    tmp_path: Path, counted: Counting
) -> None:
    rows = 150_000
    ids = [os.urandom(16).hex() for _ in range(rows)]
    pl.DataFrame({"request_id": ids}).write_parquet(tmp_path / "a", row_group_size=rows)
    source, counter = counted(tmp_path / "a")
    sample, _ = sampled(source, 300_000, names=["request_id"])
    assert counter.read < source.size // 2
    assert sample.factor > 4


def test_standard_input_is_read_up_to_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO(lines(10_000))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    sample, told = sampled(Input(0, None, "-"), 50_050)
    assert (sample.how, told) == ("head", 50_050)
    assert sample.data.endswith(b"x\n")


def test_nothing_is_read_of_a_file_without_a_share(tmp_path: Path, counted: Counting) -> None:
    (tmp_path / "a").write_bytes(b"x\n")
    source, counter = counted(tmp_path / "a")
    assert take(source, 0, lambda _: None).how == "nothing"
    assert counter.read == 0


def test_bytes_of_a_file_are_in_no_repr(tmp_path: Path, counted: Counting) -> None:
    (tmp_path / "a").write_bytes(b"CANARY-LINE\n")
    source, _ = counted(tmp_path / "a")
    sample, _ = sampled(source, 100)
    assert "CANARY" not in repr(sample)
