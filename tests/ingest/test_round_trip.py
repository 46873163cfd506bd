"""A report from an evidence set is the report from the raw logs, byte for byte."""

import gzip
import json
from pathlib import Path

import pytest

import forensics
from forensics.cli import run

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        pytest.param("glm53", 0, marks=pytest.mark.long),
        pytest.param("glm53-dirty", 3, marks=pytest.mark.long),
    ],
)
def test_the_samples(sample, code, tmp_path, kit):
    logs, options = SAMPLES / sample / "logs", ("-i", str(SAMPLES / sample / "incident.toml"))
    assert kit.ingest(logs, out=tmp_path / "set", options=options) == code
    raw = kit.report(logs, out=tmp_path / "raw", options=options)
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again", options=options), raw)
    assert len(raw) > 15


@pytest.mark.long
def test_engine_logs_with_damage(small_logs, tmp_path, kit):
    """Times without a zone, two formats, unread lines, redacted ids, a file of no format."""
    assert kit.ingest(small_logs, out=tmp_path / "set") == 3
    raw = kit.report(small_logs, out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again"), raw)
    document = json.loads(raw["report.json"])
    assert {read["format"] for read in document["read"]} >= {"plain-ndjson", "sglang"}
    assert b"truncated JSON" in raw["unreadable.csv"]
    assert b"redacted:gateway.ndjson:21" in raw["affected_requests.csv"]


def test_places_in_a_file_are_told_as_the_reading_run_knows_the_file(tmp_path, kit):
    """Two files of one name need more of their paths, though they came one after the other."""
    for folder in ("a", "b"):
        path = tmp_path / folder / "one.ndjson"
        path.parent.mkdir()
        path.write_bytes(kit.lines(kit.record(1, request_id=f"an odd id of {folder}")))
        assert kit.ingest(path, out=tmp_path / "set") == 3
    ids = forensics.read_logs(tmp_path / "set").affected.polars()["request_id"]
    assert sorted(ids) == ["redacted:a/one.ndjson:1", "redacted:b/one.ndjson:1"]
    stored = kit.rows(tmp_path / "set")["request_id"]
    assert stored.str.contains(r"^redacted:[0-9a-f]{16}-[0-9a-f]{8}:1$").all()


def test_packed_logs_keep_their_own_hash(tmp_path, kit):
    path = tmp_path / "one.ndjson.gz"
    path.write_bytes(gzip.compress(kit.lines(*(kit.record(n) for n in range(9)))))
    assert kit.ingest(path, out=tmp_path / "set") == 0
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "a"), kit.report(path, out=tmp_path / "b"))
    inputs = [json.loads((tmp_path / x / "manifest.json").read_bytes())["inputs"] for x in "ab"]
    for key in ("name", "sha256", "bytes", "kept", "format"):
        assert inputs[0][0][key] == inputs[1][0][key]


def test_a_set_stands_beside_raw_logs(tmp_path, kit):
    first, second = tmp_path / "one.ndjson", tmp_path / "two.ndjson"
    first.write_bytes(kit.lines(*(kit.record(n) for n in range(5))))
    second.write_bytes(kit.lines(*(kit.record(n) for n in range(3, 9))))
    kit.ingest(first, out=tmp_path / "set")
    both = kit.report(first, second, out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", second, out=tmp_path / "mixed"), both)
    kit.same(kit.report(second, tmp_path / "set", out=tmp_path / "turned"), both)


def test_a_log_beside_the_set_that_holds_it_counts_once(tmp_path, kit, capsys):
    """Records without an id would count twice: nothing tells them from their doubles."""
    path = tmp_path / "logs" / "one.ndjson"
    path.parent.mkdir()
    path.write_bytes(kit.lines(*(kit.record(n, request_id=None) for n in range(5))))
    kit.ingest(path, out=tmp_path / "logs" / "set")
    alone = kit.report(path, out=tmp_path / "raw")
    capsys.readouterr()
    kit.same(kit.report(tmp_path / "logs", out=tmp_path / "both"), alone)
    assert f"left out: {path}: an evidence set holds it" in capsys.readouterr().err
    left = json.loads((tmp_path / "both" / "manifest.json").read_bytes())["left_out"]
    assert [item["name"] for item in left] == [str(path)]


def test_a_log_that_has_grown_stands_for_what_the_set_holds_of_it(tmp_path, kit):
    path = tmp_path / "one.ndjson"
    path.write_bytes(kit.lines(*(kit.record(n, request_id=None) for n in range(5))))
    kit.ingest(path, out=tmp_path / "set")
    with path.open("ab") as file:
        file.write(kit.lines(kit.record(7)))
    grown = kit.report(path, out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", path, out=tmp_path / "both"), grown)


def test_a_log_and_its_start_are_both_read_where_both_are_named(tmp_path, kit):
    path, longer = tmp_path / "one.ndjson", tmp_path / "one.ndjson.1"
    path.write_bytes(kit.lines(*(kit.record(n) for n in range(5))))
    longer.write_bytes(path.read_bytes() + kit.lines(kit.record(7)))
    kit.ingest(path, out=tmp_path / "set")
    both = kit.report(path, longer, out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", path, longer, out=tmp_path / "again"), both)


def test_other_commands_take_a_set(tmp_path, kit, capsys):
    path = tmp_path / "one.ndjson"
    path.write_bytes(kit.lines(*(kit.record(n) for n in range(5))))
    kit.ingest(path, out=tmp_path / "set")
    shown = []
    for logs in (path, tmp_path / "set"):
        capsys.readouterr()
        assert run(["scope", str(logs), "--json", "-q"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert len(json.loads(shown[0])["affected"]) == 5


@pytest.mark.long
@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.long), "2"])
def test_the_number_of_processes_does_not_matter(workers, small_logs, tmp_path, kit):
    kit.ingest(small_logs, out=tmp_path / "set")
    raw = kit.report(small_logs, out=tmp_path / "raw")
    options = ("--workers", workers)
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again", options=options), raw)


def test_rows_lie_by_day_and_node_with_the_true_name_in_the_row(tmp_path, kit):
    nodes = ["decode/7", "de code", "dé=code", "d" * 128, None, "decode-1/dp3"]
    records = [kit.record(n, decode_node=node) for n, node in enumerate(nodes)]
    records[0]["received_at"] = "2026-02-04T00:00:00Z"
    records[1] |= {"received_at": None, "decode_node": "no-time"}
    path = tmp_path / "one.ndjson"
    path.write_bytes(kit.lines(*records))
    kit.ingest(path, out=tmp_path / "set")
    folders = {p.parent.relative_to(tmp_path / "set").as_posix()
               for p in (tmp_path / "set").rglob("*.parquet")}  # fmt: skip
    day = "observations/day=2026-02-03"
    assert folders >= {
        "observations/day=2026-02-04/node=decode",
        "observations/day=unknown/node=no-time",
        f"{day}/node=d%C3%A9%3Dcode",
        f"{day}/node=unknown",
        f"{day}/node=decode-1",
    }
    assert len(folders) == 6
    assert max(len(name.rpartition("/")[2]) for name in folders) < 120
    assert set(kit.rows(tmp_path / "set")["decode_node"]) == {*nodes, "no-time"} - {"de code"}


@pytest.mark.long
def test_a_log_with_a_node_for_every_request_makes_few_files(tmp_path, kit):
    path = tmp_path / "one.ndjson"
    path.write_bytes(kit.lines(*(kit.record(n, decode_node=f"pod-{n}") for n in range(600))))
    kit.ingest(path, out=tmp_path / "set")
    (made,) = (tmp_path / "set" / "observations").rglob("*.parquet")
    assert made.parent.name == "node=mixed"
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "a"), kit.report(path, out=tmp_path / "b"))
