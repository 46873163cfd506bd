"""The samples in the repository: their numbers, their hashes, and that they can be made again."""

import csv
import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import zstandard

from forensics.lab import SAMPLES, plain, write_sample

ROOT = Path(__file__).parents[2] / "data" / "samples"
POOL = 681_280
INCIDENT = ("glm53", "glm53-dirty")
"""The samples of one incident; the others have tests of their own."""


def unpack(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompress(content)
    return gzip.decompress(content) if path.suffix == ".gz" else content


def files(folder: Path) -> dict[str, Path]:
    return {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }


def table(name: str, stem: str = "truth") -> list[dict[str, str]]:
    with (ROOT / name / f"{stem}.csv").open(newline="") as source:
        return list(csv.DictReader(source))


def records(name: str) -> list[tuple[str, dict]]:
    found = []
    for relative, path in files(ROOT / name / "logs").items():
        if relative.startswith("misc/"):
            continue
        for text in unpack(path).removeprefix(b"\xef\xbb\xbf").splitlines():
            try:
                row = json.loads(text)
            except ValueError:
                continue
            if isinstance(row, dict):
                found.append((relative, row))
    return found


@pytest.mark.parametrize("name", INCIDENT)
def test_155_affected_responses_all_longer_than_the_pool(name):
    affected = [row for row in table(name) if row["affected"] == "true"]
    assert len(affected) == len({row["request_id"] for row in affected}) == 155
    lengths = [int(row["prompt_tokens"]) for row in affected]
    assert min(lengths) == POOL + 1
    assert max(lengths) < 1_048_576
    assert all(row["transferred_pages"] == "1" for row in affected)
    assert len({row["tenant_id"] for row in affected}) > 20
    assert len({row["decode_node"] for row in affected}) == 8
    assert len({row["received_at"][:10] for row in affected}) == 14


@pytest.mark.parametrize("name", INCIDENT)
def test_over_limit_hand_offs_that_are_not_affected(name):
    others = [
        row
        for row in table(name)
        if row["affected"] == "false" and int(row["prompt_tokens"]) > POOL - 7
    ]
    assert all(row["delivered"] == "false" for row in others)
    reserved = Counter(bool(row["reserved_pages"]) for row in others)
    assert reserved[False] == 3, "refused by decode as well"
    assert Counter(row["transferred_pages"] for row in others)["1"] == 12, "left early"


@pytest.mark.parametrize("name", INCIDENT)
def test_no_prompt_lies_in_the_band_below_the_published_threshold(name):
    lengths = [
        row[column]
        for _, row in records(name)
        for column in ("prompt_tokens", "decode_prompt_tokens")
        if isinstance(row.get(column), int)
    ]
    assert not [n for n in lengths if POOL - 128 <= n <= POOL]
    assert [n for n in lengths if 600_000 < n < POOL - 128], "long ones below are there"


def test_both_samples_tell_of_the_same_answers():
    keys = ("request_id", "transfer_id", "tenant_id", "received_at", "decode_node")
    first, second = (
        {tuple(row[k] for k in keys) for row in table(name) if row["affected"] == "true"}
        for name in INCIDENT
    )
    assert first == second


def test_sources_fit_into_what_was_read():
    truth = {r["request_id"]: r for r in table("glm53") if r["affected"] == "true"}
    pages = Counter()
    for row in table("glm53", "truth_sources"):
        assert int(row["pages"]) > 0
        pages[row["request_id"]] += int(row["pages"])
    assert pages.keys() <= truth.keys()
    for request, row in truth.items():
        assert pages[request] <= int(row["reserved_pages"]) - int(row["transferred_pages"])
    nobody = truth.keys() - pages.keys()
    assert 0 < len(nobody) < 15, "some read pages that nobody had written"


def test_the_clean_sample_is_the_incident():
    rows = [row for _, row in records("glm53")]
    assert not {"prompt", "messages", "output", "error"} & {key for row in rows for key in row}
    gateway = [r for r in rows if r.get("hop") == "gateway"]
    assert 30_000 <= len(gateway) <= 40_000
    assert {r["model"] for r in gateway} == {"glm-5.3"}
    assert min(r["received_at"] for r in gateway) >= "2026-08-27T00:00:00"
    assert max(r["received_at"] for r in gateway) < "2026-09-10T00:00:00"
    assert 55 <= len({r["tenant_id"] for r in gateway}) <= 60
    pools = Counter(r["pool_tokens"] for r in rows if r.get("role") == "prefill")
    assert pools.keys() == {POOL, 2_040_000}
    by_id = {r["request_id"]: r for r in rows if r.get("hop") == "decode"}
    restored = [
        r
        for r in gateway
        if r["received_at"] > "2026-09-09T12:30" and r.get("prompt_tokens", 0) > POOL
    ]
    assert len(restored) == 11
    assert all(by_id[r["request_id"]]["http_status"] == 200 for r in restored)
    busiest, quietest = Counter(), Counter()
    for r in gateway:
        busiest[r["received_at"][11:13]] += 1
    assert len(busiest) == 24
    assert min(busiest.values()) * 2 < max(busiest.values()), quietest


def test_dirt_is_what_dirt_json_says():
    counts = json.loads((ROOT / "glm53-dirty" / "dirt.json").read_text())["counts"]
    seen = Counter()
    for relative, path in files(ROOT / "glm53-dirty" / "logs").items():
        content = unpack(path)
        if relative.startswith("misc/"):
            seen["unknown_binary_files"] += 1
            continue
        seen["files_bom"] += content.startswith(b"\xef\xbb\xbf")
        seen["files_crlf"] += b"\r\n" in content
        seen["files_gz"] += path.suffix == ".gz"
        lines = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
        for number, text in enumerate(lines):
            try:
                row = json.loads(text.decode())
            except UnicodeDecodeError:
                seen["invalid_utf8_lines"] += 1
                continue
            except ValueError:
                last = number == len(lines) - 1
                seen["truncated_last_lines" if last else "broken_json_lines"] += 1
                continue
            if not isinstance(row, dict):
                seen["lines_that_are_no_record"] += 1
                continue
            seen["ids_with_white_space"] += " " in row.get("request_id", "")
            naive = "received_at" in row and not row["received_at"].endswith("Z")
            seen["naive_time_records"] += naive
            numbers = [v for k, v in row.items() if k.endswith("_tokens")]
            seen["numbers_as_strings"] += sum(isinstance(v, str) and v.isdigit() for v in numbers)
            seen["impossible_numbers"] += sum(v in ("abc", 7.5, 2**70) for v in numbers)
            seen["content_fields"] += sum(
                name in row for name in ("prompt", "messages", "output", "error")
            )
    compared = set(seen) - {"content_fields"}
    assert {k: seen[k] for k in compared} == {k: counts[k] for k in compared}
    assert seen["content_fields"] > counts["content_fields"] * 0.95
    assert all(seen[k] for k in seen)


def test_duplicates_are_exact_and_stand_in_another_file():
    counts = json.loads((ROOT / "glm53-dirty" / "dirt.json").read_text())["counts"]
    places = {}
    for relative, row in records("glm53-dirty"):
        places.setdefault(json.dumps(row, sort_keys=True), []).append(relative)
    repeated = [where for where in places.values() if len(where) > 1]
    assert len(repeated) == counts["exact_duplicates"]
    assert all(len(where) == len(set(where)) == 2 for where in repeated)


def test_dirt_leaves_decisive_records_as_they_were():
    def decisive(name):
        rooms = {r["transfer_id"] for r in table(name) if r["affected"] == "true"}
        ids = {r["request_id"] for r in table(name) if r["affected"] == "true"}
        own = {"prompt", "messages", "output", "error", "prefill_ms", "released_at", "reserved_at"}
        # Times inside an engine follow the load, which is another one there.
        loose = own | {"finished_at"}
        return {
            json.dumps({k: v for k, v in row.items() if k not in loose}, sort_keys=True)
            for _, row in records(name)
            if row.get("transfer_id") in rooms
            or (row.get("hop") == "gateway" and row["request_id"] in ids)
        }

    clean, dirty = decisive("glm53"), decisive("glm53-dirty")
    assert len(clean) == 3 * 155
    assert dirty == clean


def test_every_content_value_holds_the_canary():
    for _, row in records("glm53-dirty"):
        for name in ("prompt", "messages", "output", "error"):
            assert "SYNTHETIC-CANARY" in json.dumps(row.get(name, "SYNTHETIC-CANARY"))


def test_an_unknown_sample_is_a_key_error(tmp_path):
    with pytest.raises(KeyError):
        write_sample("nothing-of-that-name", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_readme_lists_every_file_with_its_hash():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = {
        path: (int(size), digest)
        for path, size, digest in re.findall(r"\| `(\S+)` \| (\d+) \| `([0-9a-f]{64})` \|", text)
    }
    found = {
        f"{folder.name}/{relative}": (
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for folder in ROOT.iterdir()
        if folder.is_dir()
        for relative, path in files(folder).items()
    }
    assert {folder.split("/")[0] for folder in found} == set(SAMPLES)
    assert listed == found


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long) if n.startswith("glm53") else n for n in SAMPLES],
)
def test_made_again_a_sample_has_the_same_content(name, tmp_path, monkeypatch):
    # The level changes the bytes of the frame, not the records, and saves most of the time.
    monkeypatch.setattr(plain, "ZSTD_LEVEL", 1)
    write_sample(name, tmp_path)
    again, here = files(tmp_path), files(ROOT / name)
    assert again.keys() == here.keys()
    assert [key for key in here if unpack(again[key]) != unpack(here[key])] == []


@pytest.mark.long
@pytest.mark.skipif(zstandard.ZSTD_VERSION != (1, 5, 7), reason="frames of another zstd differ")
@pytest.mark.parametrize("name", list(SAMPLES))
def test_made_again_a_sample_has_the_same_bytes(name, tmp_path):
    write_sample(name, tmp_path)
    again, here = files(tmp_path), files(ROOT / name)
    assert {key: path.read_bytes() for key, path in again.items()} == {
        key: path.read_bytes() for key, path in here.items()
    }
