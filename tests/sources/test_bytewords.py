"""Lines as numbers: what stands at a place, up to the end of the bytes, and kinds of lines."""

from __future__ import annotations

import numpy as np
import pytest

from forensics.sources.blocks import Block
from forensics.sources.bytewords import ByteLines, before, kinds
from forensics.sources.sglang.figures import Template

_TEMPLATE = Template("a #n: {count:d}, {:d}, use {share:s} of ")


def _lines(data: bytes) -> ByteLines:
    return ByteLines(data, Block(data, 1, 0).starts)


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("data", [b"a", b"abcdefgh", b"abcdefghijklm\nopqrstuvwxyz"])
def test_a_window_ends_in_zeros_where_the_bytes_do(data: bytes, size: int) -> None:
    at = np.arange(len(data) + 20)
    found = _lines(data).windows(at, size)
    assert [bytes(one) for one in found] == [(data + bytes(99))[n : n + size] for n in at.tolist()]


def test_a_word_is_kept_up_to_a_byte() -> None:
    words = _lines(b"ab]]efgh\n]bcdefgh\nabcdefgh\n").words(np.array([0, 9, 18]))
    kept, size = before(words, b"]")
    assert [one.tobytes().rstrip(b"\0") for one in kept] == [b"ab", b"", b"abcdefgh"]
    assert size.tolist() == [2, 0, 8]


def test_lines_of_one_kind_are_alike_wherever_they_stand() -> None:
    first = np.array([1, 2, 1, 1, 2], np.uint64)
    one, kind = kinds([first, np.array([5, 5, 5, 6, 5], np.uint64)])
    assert len(one) == 3
    assert kind[0] == kind[2] != kind[3]
    assert kind[one].tolist() == [0, 1, 2]


def test_words_that_mix_to_one_key_are_told_apart() -> None:
    mix = 0x9E3779B97F4A7C15
    one, kind = kinds([np.array([0, 1], np.uint64), np.array([mix, 0], np.uint64)])
    assert len(one) == 2
    assert kind[0] != kind[1]


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("a #n: 7, 0, use 0.25 of", True),
        ("a #n: 1234567, 12, use 100.5 of", True),
        ("a #n: 12345678, 0, use 0.25 of", False),
        ("a #n: , 0, use 0.25 of", False),
        ("a #n: 7, 0, use .25 of", False),
        ("a #n: 7, 0, use 0.25", True),
        ("a #n: 7, 0, use 0.", False),
        ("a #n: 7, 0, use 0.12345 of", False),
        ("b #n: 7, 0, use 0.25 of", False),
        ("", False),
    ],
)
def test_figures_are_read_of_lines_just_in_the_form(line: str, *, fits: bool) -> None:
    data = _lines(f"{line}\n0.25 of\n".encode())
    found, figures = _TEMPLATE.read(data, data.starts[:1])
    assert found.tolist() == [fits]
    if fits:
        assert figures["count"].tolist() == [int(line[6 : line.index(",")])]
        assert figures["share"].tolist() == [float(line[line.index("use") :].split(" ")[1])]
