"""Damaged files of every format and every wrapper, each the same on every run.

Whatever is done to a file, its reading ends soon, raises nothing, accounts for every record,
and hands on nothing of a text that was planted into it.
"""

import bz2
import gzip
import importlib.util
import io
import os
import re
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType

import polars as pl
import pytest
import zstandard

import forensics
from forensics.errors import NoInputError
from forensics.incident import parse
from forensics.sources.files import expand, reading_order
from forensics.sources.reading import Reading, Shard, read_shard

pytestmark = pytest.mark.long

RUNS = int(os.environ.get("FUZZ_RUNS", "30"))
"""Damaged files of each sample."""
WHOLE_EVERY = 10
"""One of so many goes through the whole analysis."""
LONGEST = 20.0
"""Seconds of work that one file may take; the machine may have other things to do."""
PLANTED = "my näme is “CANÄRY”; I live, "
SEEN = ("CANÄRY", "näme is")
"""What no output may hold: no identifier and no name can be made of it."""
SOURCES = Path(__file__).parents[1] / "sources"
Mutation = Callable[[Random, bytes], bytes]


def module(name: str) -> ModuleType:
    """Return a test module: it holds the samples."""
    spec = importlib.util.spec_from_file_location(f"fuzzed_{name}", SOURCES / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def samples() -> dict[str, tuple[str, bytes]]:
    """Return name and bytes of a sample of each format and of each wrapper."""
    contract, wrappers = module("test_contract"), module("test_wrappers")
    objects, tables = module("test_objects"), module("test_delimiters")
    forms = module("wrapforms")
    laid = {
        name: ("node-1.json", lay(objects.DYNAMO).encode()) for name, lay in objects.LAID.items()
    }
    found = {name: (file, make()) for name, (file, make) in contract.POSITIVE.items()}
    near = {f"near {name}": ("near.log", data) for name, data in contract.NEGATIVE.items()}
    wrapped = {name: ("node-1.log", data.encode()) for name, data in wrappers.WRAPPED.items()}
    inner = {
        f"{name} in cri": ("node-1.log", in_cri(data))
        for name, (_, data) in found.items()
        if b"\0" not in data
    }
    laid |= {
        f"laid {name}": ("node-1.log", lay(wrappers.LINES)) for name, lay in forms.LAID.items()
    }
    laid |= {"delimited": ("node-1.csv", b"sep=;\n" + tables.laid(";").encode())}
    return found | near | wrapped | inner | laid


def in_cri(data: bytes) -> bytes:
    """Put each line of a log where Kubernetes puts it."""
    return b"".join(b"2026-08-27T03:14:06.1Z stdout F %s\n" % line for line in data.splitlines())


SAMPLES = samples()


# --- what can happen to a file -------------------------------------------------------


def flip(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 20)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def cut(random: Random, data: bytes) -> bytes:
    start, end = sorted(random.choices(range(len(data) + 1), k=2))
    return random.choice((data[:start], data[start:], data[:start] + data[end:]))


def lines(random: Random, data: bytes) -> bytes:
    parts = data.splitlines(keepends=True)
    chosen = random.choice(("swap", "repeat", "drop", "join"))
    if chosen == "swap":
        random.shuffle(parts)
    elif chosen == "repeat":
        parts += random.choices(parts, k=random.randint(1, 40))
    elif chosen == "drop":
        parts = [part for part in parts if random.random() < 0.7]
    else:
        parts = [part.rstrip(b"\r\n") if random.random() < 0.3 else part for part in parts]
    return b"".join(parts)


VALUES = (
    *(b"9" * 40, b"-1", b"1e999", b"-1e-999", b"NaN", b"Infinity", b"9223372036854775808"),
    *(b"18446744073709551616", b"1" * 5_000, b"0", b"-0.0", b"1e400", b"00012", b"0x1f", b"1_0"),
    *(b"4294967296", b"253402300800", b"-62135596801", b"1.7976931348623157e308", b"2026-13-45"),
)
ODD = (b"null", b"true", b'""', b"[]", b"{}", b'"x"', b"[[1]]", b'{"a":{"b":[1]}}', b'"\\ud800"')


def numbers(random: Random, data: bytes) -> bytes:
    return replaced(random, rb"-?\d+(?:\.\d+)?", data, lambda _: random.choice(VALUES))


def values(random: Random, data: bytes) -> bytes:
    pattern = rb'(?<=[:\[,=])\s*(?:"[^"\n]{0,80}"|-?[\d.]+|null|true|false)'
    return replaced(random, pattern, data, lambda _: random.choice(ODD))


def keys(random: Random, data: bytes) -> bytes:
    """State a key twice, with another value, or with none of its own name."""
    pattern = rb'"[^"\n]{1,40}"\s*:\s*'
    other = (b'%b%b,"x":1,%b', b'"":%.0b%b,%b', b"%b%b,%b")
    return replaced(
        random, pattern, data, lambda m: random.choice(other) % (m[0], random.choice(ODD), m[0])
    )


def nesting(random: Random, data: bytes) -> bytes:
    depth = random.choice((30, 200, 1_100, 20_000))
    opening, closing = random.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b'"\\"', b'"'))
    )
    value = opening * depth + b"1" + closing * random.choice((0, depth, depth - 1))
    return replaced(random, rb'(?<=[:=\[,])\s*[\w"]', data, lambda _: value, most=2)


BYTES = (
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xfe\xff", b"\xef\xbb\xbf"),
    *(b"\0", b"\x1b[31m", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xc2\x85"),
    *("\u2028".encode(), "\u202e".encode(), b"\n", b"\n\n", b'"', b"\\", b",", b"{", b"}", b"\t"),
)


def stray(random: Random, data: bytes) -> bytes:
    for _ in range(random.randint(1, 12)):
        at = random.randrange(len(data) + 1)
        data = data[:at] + random.choice(BYTES) * random.choice((1, 1, 1, 300)) + data[at:]
    return data


def joined(random: Random, data: bytes) -> bytes:
    other = random.choice(list(SAMPLES.values()))[1]
    mixed = data.splitlines(keepends=True) + other.splitlines(keepends=True)
    random.shuffle(mixed)
    return random.choice((data + other, other + data, b"".join(mixed)))


def planted(random: Random, data: bytes) -> bytes:
    """Put the text where values, keys, words and lines stand."""
    text = (PLANTED * random.choice((1, 3, 40))).encode()
    pattern = random.choice((rb'(?<=")[^"\n]{1,60}(?=")', rb"[A-Za-z_]{3,}", rb"\n", rb"\d+"))
    return replaced(random, pattern, data, lambda _: text)


def packed(random: Random, data: bytes) -> bytes:
    kind = random.choice(("gz", "zst", "bz2", "tar", "tgz", "zip"))
    if kind == "zst":
        whole = zstandard.ZstdCompressor().compress(data)
    elif kind == "bz2":
        whole = bz2.compress(data)
    elif kind == "gz":
        whole = gzip.compress(data, mtime=0)
    elif kind == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(3):
                archive.writestr(zipfile.ZipInfo(f"logs/{number}.log"), data)
        whole = out.getvalue()
    else:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for number in range(3):
                info = tarfile.TarInfo(f"logs/{number}.log" if number else "x" * 150)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        whole = out.getvalue() if kind == "tar" else gzip.compress(out.getvalue(), mtime=0)
    return random.choice((whole, flip(random, whole), cut(random, whole)))


def replaced(
    random: Random,
    pattern: bytes,
    data: bytes,
    change: Callable[[re.Match[bytes]], bytes],
    most: int = 6,
) -> bytes:
    """Replace some of what matches."""
    found = list(re.finditer(pattern, data))
    chosen = random.sample(found, min(len(found), random.randint(1, most)))
    for match in sorted(chosen, key=lambda match: -match.start()):
        data = data[: match.start()] + change(match) + data[match.end() :]
    return data


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, cut, lines, numbers, values, keys, nesting, stray, joined, planted),
)


def damaged(random: Random, data: bytes) -> bytes:
    """Do a few things to a file, plant a text into it, and sometimes pack it."""
    for mutate in random.choices(MUTATIONS, k=random.randint(1, 3)):
        data = mutate(random, data or b"\n")
    data = planted(random, data)
    return packed(random, data or b"\n") if random.random() < 0.15 else data


# --- what has to hold ----------------------------------------------------------------


def said(read: Reading, parts: list[Path]) -> str:
    """Return all that outlives the reading, as text."""
    frames = [*read.capacity, *read.markers, *read.traces, *read.activity]
    held = [str(frame.to_dicts()) for frame in (*frames, *map(pl.read_parquet, parts))]
    return "\n".join([*map(repr, read.files), repr(read.clock), *held])


def judge(path: Path) -> str:
    """Take a file through everything, and return the document and what an error says."""
    try:
        case = forensics.read_logs(path)
        return repr(case.exposure()) + str(case.unreadable.polars().to_dicts())
    except NoInputError as error:
        return str(error)


def holds(path: Path, folder: Path) -> str:
    inputs = tuple(sorted(expand(path), key=reading_order))
    read = read_shard(Shard(inputs, parse({}), folder))
    for facts in read.files:
        assert facts.read == facts.kept + sum(facts.ignored.values()) + len(facts.unread), (
            facts.name
        )
    return said(read, read.parts)


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_that_is_done_to_a_file_breaks_its_reading(name, tmp_path, capfd):
    file, data = SAMPLES[name]
    for run in range(RUNS):
        random = Random(f"{name}-{run}")
        folder = tmp_path / str(run)
        (folder / "parts").mkdir(parents=True)
        path = folder / file
        path.write_bytes(damaged(random, data))
        begun = time.process_time()
        try:
            found = holds(path, folder / "parts")
            if run % WHOLE_EVERY == 0:
                found += judge(path)
        except BaseException as error:  # noqa: BLE001 -- a panic of Polars is no Exception
            pytest.fail(f"run {run} of {name}: {type(error).__name__}: {str(error)[:200]!r}")
        assert time.process_time() - begun < LONGEST, f"run {run} of {name}: took too long"
        for text in SEEN:
            assert text not in found, f"run {run} of {name}: {text}"
    printed = capfd.readouterr()
    assert not [text for text in SEEN if text in printed.out + printed.err]
