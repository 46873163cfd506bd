"""Archives of logs: read where they lie, member by member, and never crashed by one."""

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import zstandard

from forensics import read_logs
from forensics.cli import run
from forensics.incident import parse
from forensics.sources import packing
from forensics.sources.archives import listing, members, zips
from forensics.sources.archives.tar import Tar
from forensics.sources.files import expand, reading_order
from forensics.sources.reading import FileFacts, Reading, Shard, read_shard

CANARY = "CANARY-a7c4"
AT = "2026-02-03T04:05:06Z"
PACK = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.ZstdCompressor().compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": lambda data: bz2.compress(data, 1),
}


def log(node: str, count: int = 3) -> bytes:
    """Plain records of one node, each with content that must not be kept."""
    rows = (
        {
            "request_id": f"{node}-{n}", "hop": "decode", "received_at": AT,
            "decode_node": f"{node}/dp0", "http_status": 200, "prompt": CANARY,
        }
        for n in range(count)
    )  # fmt: skip
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


LOGS = {"z/decode-1.log": log("decode-1"), "a/decode-2.log.gz": gzip.compress(log("decode-2"))}


def entry(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE) -> tuple:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    if kind in (tarfile.LNKTYPE, tarfile.SYMTYPE):
        info.linkname = "/etc/passwd"
    return info, data


def tar(*entries: tuple, pax: bool = False) -> bytes:
    out = io.BytesIO()
    form = tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for info, data in entries:
            made.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_of(files: dict[str, bytes]) -> bytes:
    return tar(*(entry(name, data) for name, data in files.items()))


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, data in files.items():
            made.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def facts(*logs: str) -> dict[str, FileFacts]:
    """Read inputs as a run does, and return what is known of each by its name."""
    return {item.name: item for item in sorted(reading(*logs).files, key=lambda f: f.number)}


def reading(*logs: str) -> Reading:
    folder = Path("parts")
    folder.mkdir(exist_ok=True)
    inputs = tuple(sorted(expand(*logs), key=reading_order))
    read = read_shard(Shard(inputs, parse({}), folder))
    for item in read.files:
        assert item.read == item.kept + sum(item.ignored.values()) + len(item.unread)
    return read


def reasons(*logs: str) -> dict[str, str]:
    """Return why what was not read was not, by name."""
    return {n: ", ".join(u.reason for u in f.unread) for n, f in facts(*logs).items() if f.unread}


@pytest.mark.parametrize("packing_", PACK)
def test_a_tar_is_told_by_its_content_and_read_member_by_member(place, packing_):
    Path("any.name").write_bytes(PACK[packing_](tar_of(LOGS)))
    found = facts("any.name")
    assert list(found) == ["any.name", "any.name/a/decode-2.log.gz", "any.name/z/decode-1.log"]
    assert [(item.format, item.kept) for item in found.values()] == [
        ("archive", 0), ("plain-ndjson", 3), ("plain-ndjson", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_zip_is_told_by_its_content_and_read_member_by_member(place, method):
    Path("any.name").write_bytes(zip_of(LOGS, method))
    assert [item.kept for item in facts("any.name").values()] == [0, 3, 3]


def test_nothing_is_told_by_a_name(place):
    Path("x.tar.gz").write_bytes(log("decode-1"))
    Path("x.zip").write_bytes(log("decode-2"))
    assert [item.kept for item in facts(".").values()] == [3, 3]


def test_records_are_those_of_the_same_files_unpacked(place):
    Path("logs").mkdir()
    for name, data in LOGS.items():
        Path("logs", Path(name).name).write_bytes(data)
    Path("bundle.tar").write_bytes(tar_of(LOGS))
    order = ["request_id"]
    left, right = (read_logs(name).requests.polars().sort(order) for name in ("logs", "bundle.tar"))
    assert left.drop("file", strict=False).equals(right.drop("file", strict=False))


def test_hashes_are_those_of_the_bytes_on_disk_and_of_each_member(place):
    import hashlib

    data = tar_of(LOGS)
    Path("b.tar").write_bytes(data)
    wanted = {"b.tar": data} | {f"b.tar/{name}": item for name, item in LOGS.items()}
    found = facts("b.tar")
    for name, item in wanted.items():
        assert found[name].sha256 == hashlib.sha256(item).hexdigest()
        assert found[name].size == len(item)


def test_a_tar_is_gone_through_once_whatever_its_members_are_called(place, monkeypatch):
    files = {f"{n:03d}.log": log(f"decode-{n}", 1) for n in range(30)}
    Path("b.tar.gz").write_bytes(gzip.compress(tar_of(dict(reversed(files.items())))))
    inputs = sorted(expand("b.tar.gz"), key=reading_order)
    opened = []
    start = members._TarWalk.__init__
    monkeypatch.setattr(
        members._TarWalk, "__init__", lambda self, file: (opened.append(1), start(self, file))[1]
    )
    Path("parts").mkdir()
    read = read_shard(Shard(tuple(inputs), parse({}), Path("parts")))
    assert sum(item.kept for item in read.files) == 30
    assert len(opened) == 1


def test_members_read_out_of_order_hold_the_same(place):
    Path("b.tar.gz").write_bytes(gzip.compress(tar_of(LOGS)))
    inputs = sorted(expand("b.tar.gz"), key=reading_order)
    Path("parts").mkdir()
    one, other = (
        read_shard(Shard(tuple(order), parse({}), Path("parts")))
        for order in (inputs, inputs[::-1])
    )
    key = lambda item: item.number  # noqa: E731
    assert sorted(one.files, key=key) == sorted(other.files, key=key)


LINKS = {
    "hard.log": tarfile.LNKTYPE, "soft.log": tarfile.SYMTYPE, "dev.log": tarfile.CHRTYPE,
    "disk.log": tarfile.BLKTYPE, "pipe.log": tarfile.FIFOTYPE,
}  # fmt: skip


def test_links_and_devices_are_named_and_not_followed(place):
    Path("b.tar").write_bytes(
        tar(*(entry(n, b"", k) for n, k in LINKS.items()), entry("x.log", log("d")))
    )
    assert reasons("b.tar") == {
        "b.tar/hard.log": "hard link: not followed",
        "b.tar/soft.log": "symbolic link: not followed",
        "b.tar/dev.log": "device: not read",
        "b.tar/disk.log": "device: not read",
        "b.tar/pipe.log": "pipe: not read",
    }


def test_folders_and_hidden_files_are_counted(place):
    more = (
        entry("logs/", b"", tarfile.DIRTYPE),
        entry("logs/._x.log", b"x"),
        entry("a.log", log("a")),
    )
    Path("b.tar").write_bytes(tar(*more))
    found = facts("b.tar")
    assert found["b.tar"].ignored == {"folder": 1, "hidden file": 1}
    assert list(found) == ["b.tar", "b.tar/a.log"]


def test_no_name_leads_out_of_the_archive(place):
    names = ("../../etc/passwd", "/abs/x.log", "./a/./b.log", "a/../c.log")
    Path("b.tar").write_bytes(tar(*(entry(name, log("d")) for name in names)))
    assert set(facts("b.tar")) == {
        "b.tar", "b.tar/(up)/(up)/etc/passwd", "b.tar/abs/x.log", "b.tar/a/b.log",
        "b.tar/a/(up)/c.log",
    }  # fmt: skip
    assert set(reasons("b.tar").values()) == {"its path leads out of the archive: not read"}


@pytest.mark.parametrize("pax", [False, True])
def test_long_names_are_read_and_over_long_ones_named(place, pax):
    long, too_long = "/".join(["folder" * 10] * 5) + "/x.log", "/".join(["y" * 200] * 9)
    Path("b.tar").write_bytes(tar(entry(long, log("d")), entry(too_long, log("e")), pax=pax))
    assert facts("b.tar")[f"b.tar/{long}"].kept == 3
    assert reasons("b.tar") == {"b.tar/member 2": "its name is longer than 1,024 bytes: not read"}


def test_odd_names_are_written_as_text_and_told_apart(place, capsys):
    odd = "bad\udcff\x1b[31m\nname.log"
    Path("b.tar").write_bytes(
        tar(
            entry(odd, log("d")),
            entry(
                "x.log",
                log("e"),
            ),
            entry("x.log", log("f")),
        )
    )
    assert list(facts("b.tar")) == [
        "b.tar",
        "b.tar/bad\N{REPLACEMENT CHARACTER}⟨U+001B⟩[31m⟨U+000A⟩name.log",
        "b.tar/x.log",
        "b.tar/x.log#2",
    ]
    run(["check", "b.tar"])
    assert "\x1b[31m" not in capsys.readouterr().out


def test_an_archive_within_an_archive_is_named(place):
    inner = {"in.zip": zip_of(LOGS), "in.tar": tar_of(LOGS), "in.tgz": gzip.compress(tar_of(LOGS))}
    Path("b.tar").write_bytes(tar_of(inner | LOGS))
    wanted = "archive within an archive or from a pipe: unpack it first"
    assert reasons("b.tar") == {f"b.tar/{name}": wanted for name in inner}


def test_an_archive_on_standard_input_is_named(place, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(tar_of(LOGS))))
    assert reasons("-") == {"-": "archive within an archive or from a pipe: unpack it first"}


def test_encrypted_linked_and_strangely_packed_members_of_a_zip_are_named(place):
    data = bytearray(
        zip_of({"a.log": log("a"), "b.log": log("b"), "c.log": log("c"), "d.log": log("d")})
    )
    heads = [at for at in range(len(data)) if data[at : at + 4] == b"PK\1\2"]
    data[heads[0] + 8] |= 1
    struct.pack_into("<H", data, heads[1] + 10, 93)
    data[heads[2] + 5] = 3
    struct.pack_into("<L", data, heads[2] + 38, (stat.S_IFLNK | 0o777) << 16)
    Path("b.zip").write_bytes(data)
    assert reasons("b.zip") == {
        "b.zip/a.log": "encrypted member",
        "b.zip/b.log": "member packed by an unknown method",
        "b.zip/c.log": "symbolic link: not followed",
    }
    assert facts("b.zip")["b.zip/d.log"].kept == 3


def test_members_of_a_zip_that_share_their_bytes_are_named(place):
    data = bytearray(zip_of({"a.log": log("a"), "b.log": log("b")}))
    heads = [at for at in range(len(data)) if data[at : at + 4] == b"PK\1\2"]
    struct.pack_into("<L", data, heads[1] + 42, 0)
    Path("b.zip").write_bytes(data)
    assert zips.SHARED in reasons("b.zip").values()


@pytest.mark.few(2)
@pytest.mark.parametrize("packing_", PACK)
def test_a_cut_tar_gives_what_it_holds_and_says_that_it_is_cut(place, packing_):
    filling = {f"{n}.log": os.urandom(100_000).hex().encode() for n in range(6)}
    whole = PACK[packing_](tar_of(filling | LOGS))
    Path("b.tar").write_bytes(whole[: len(whole) // 2])
    found = facts("b.tar")
    assert "b.tar/0.log" in found
    assert "b.tar/a/decode-2.log.gz" not in found
    assert found["b.tar"].unread


def test_a_damaged_header_ends_the_reading(place):
    data = bytearray(tar_of({"a.log": log("a"), "b.log": log("b"), "c.log": log("c")}))
    data[data.index(b"b.log")] ^= 1
    Path("b.tar").write_bytes(data)
    assert list(facts("b.tar")) == ["b.tar", "b.tar/a.log"]
    assert reasons("b.tar") == {"b.tar": "damaged header: what follows in the archive is not read"}


def test_damage_within_a_member_keeps_what_stands_before(place):
    data = bytearray(gzip.compress(tar_of({"a.log": log("a", 9_000)})))
    data[len(data) // 2] ^= 0xFF
    Path("b.tgz").write_bytes(data)
    found = facts("b.tgz")["b.tgz/a.log"]
    assert found.kept > 0
    assert found.unread[-1].reason == "corrupt compressed data"


def test_a_damaged_zip_is_named(place):
    data = zip_of(LOGS)
    for name, damaged in {
        "cut.zip": data[:-30],
        "dir.zip": data.replace(b"PK\1\2", b"PK\1\3"),
    }.items():
        Path(name).write_bytes(damaged)
        assert reasons(name)[name].startswith("damaged zip: its directory")
    wrong = bytearray(zip_of({"a.log": log("a")}, zipfile.ZIP_STORED))
    wrong[wrong.index(b"decode")] ^= 1
    Path("crc.zip").write_bytes(wrong)
    assert reasons("crc.zip") == {"crc.zip/a.log": "damaged member of a zip"}


def test_a_zip_with_a_huge_directory_is_not_listed(place):
    data = bytearray(zip_of(LOGS))
    struct.pack_into("<L", data, data.rindex(b"PK\5\6") + 12, zips.LONGEST_DIRECTORY + 1)
    Path("b.zip").write_bytes(data)
    assert reasons("b.zip") == {"b.zip": "damaged zip: its directory is too long"}


def test_an_office_document_is_no_archive(place):
    Path("x.xlsx").write_bytes(zip_of({"[Content_Types].xml": b"<x/>", "xl/a.xml": b"<a/>"}))
    assert list(facts("x.xlsx")) == ["x.xlsx"]
    assert reasons("x.xlsx") == {"x.xlsx": "binary file of no known format"}


@pytest.mark.parametrize(
    ("kind", "most_mib"), [(".gz", 150), pytest.param(".zst", 700, marks=pytest.mark.long)]
)
def test_a_bomb_is_given_up_in_bounded_memory(place, monkeypatch, kind, most_mib):
    monkeypatch.setattr(packing, "FREE", 8 << 20)
    monkeypatch.setattr(packing, "MOST_FOLD", 500)
    Path("b.tar").write_bytes(PACK[kind](tar_of({"a.log": bytes(200 << 20)})))
    tracemalloc.start()
    found = facts("b.tar")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert packing.BOMB in {u.reason for f in found.values() for u in f.unread}
    assert most < most_mib << 20


def test_a_header_that_states_a_huge_extension_is_not_held(place):
    info, _ = entry("x")
    info.type, info.size = b"L", 1 << 33
    Path("b.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    assert reasons("b.tar") == {"b.tar": "damaged header: what follows in the archive is not read"}


def test_the_number_of_members_is_bounded(place, monkeypatch):
    monkeypatch.setattr(listing, "MOST_MEMBERS", 5)
    for name, data in {"b.tar": tar_of, "b.zip": zip_of}.items():
        Path(name).write_bytes(data({f"{n}.log": log("d") for n in range(9)}))
        assert len(facts(name)) == 6
        assert "the rest is not read" in reasons(name)[name]


def test_parts_of_an_evidence_set_are_refused(place):
    files = {f"set/inputs/{'0' * 16}-{'a' * 8}.json": b"{}", "set/records/x.parquet": b"PAR1"}
    Path("b.tar").write_bytes(tar_of(files | LOGS))
    assert set(reasons("b.tar")) == {f"b.tar/{name}" for name in files}


def test_an_archive_of_nothing_readable_is_no_input(place, capsys):
    Path("b.tar").write_bytes(tar(entry("soft.log", b"", tarfile.SYMTYPE)))
    assert run(["report", "b.tar", "-o", "out", "-q"]) == 4


def test_content_stays_where_it_is(place, capsys):
    Path("b.tar.gz").write_bytes(gzip.compress(tar_of(LOGS)))
    assert run(["report", "b.tar.gz", "-o", "out", "-q"]) in (0, 3)
    printed = capsys.readouterr()
    written = [path.read_bytes() for path in Path("out").rglob("*") if path.is_file()]
    assert len(written) > 5
    assert CANARY not in f"{printed}{b''.join(written)!r}"
    assert sorted(path.name for path in Path().iterdir()) == ["b.tar.gz", "out"]


def test_a_tar_of_gnu_and_one_joined_of_two_are_read_whole(place):
    big = entry("big.log", log("d", 2))
    Path("b.tar").write_bytes(tar(big) + tar_of({"more.log": log("e")}))
    assert [item.kept for item in facts("b.tar").values()] == [0, 2, 3]


def test_a_size_beyond_octal_is_understood():
    info, _ = entry("x")
    info.size = 1 << 40

    class Zeros:
        at = 0

        def __init__(self) -> None:
            self.skipped = 0
            self.header = info.tobuf(tarfile.GNU_FORMAT)

        def read(self, _size):
            found, self.header = self.header, b""
            return found

        def skip(self, size):
            self.skipped += size

    stream = Zeros()
    opened = Tar(stream)
    assert opened.next().size == 1 << 40
    assert opened.next() is None
    assert stream.skipped == 1 << 40


def test_a_bomb_within_a_bomb_is_given_up_by_what_lies_on_disk(read, monkeypatch):
    monkeypatch.setattr(packing, "FREE", 1 << 20)
    # Neither packing unfolds too far by itself.
    line = b'{"request_id": "a", "tenant_id": "t"}\n'
    seen = read(gzip.compress(gzip.compress(line * (1 << 18))), "x.log.gz")
    assert seen.reasons == {packing.BOMB: 1}
