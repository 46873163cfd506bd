"""`read == kept + ignored + duplicate + unreadable`, whatever is done to the files.

Whole reports over one small incident whose files are cut, flipped, shuffled, split, doubled
and packed. Nothing stops the run, and no line is dropped without a count.
"""

import csv
import gzip
import io
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from forensics import lab
from forensics.cli import run
from forensics.lab.plain import encode, plain_files

Files = dict[str, bytes]


def settings_text(value: Any) -> Any:
    """Flat formats hold settings as text."""
    return ";".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else value


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: settings_text(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    frame = pl.DataFrame({name: [settings_text(row.get(name)) for row in rows] for name in names})
    buffer = io.BytesIO()
    frame.write_parquet(buffer, row_group_size=20)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One incident in each form: file name to content."""
    base = lab.small(requests=70)
    few = replace(
        base.long, served=4, cut_after_tokens=1, stream_errors=1, retried=1, aborted=1,
        failed=1, over_context=1, decode_refused=1, near_limit=2,
    )  # fmt: skip
    incident = lab.simulate(replace(base, long=few))
    rows = plain_files(incident)
    folder = tmp_path_factory.mktemp("sglang")
    lab.write_sglang(incident, folder)
    return {
        "ndjson": {f"{n.replace('/', '-')}.ndjson": encode(r) for n, r in rows.items()},
        "csv": {f"{n.replace('/', '-')}.csv": as_csv(r) for n, r in rows.items()},
        "parquet": {f"{n.replace('/', '-')}.parquet": as_parquet(r) for n, r in rows.items()},
        "sglang": {path.name: path.read_bytes() for path in sorted(folder.iterdir())},
    }


PACK = {"plain": bytes, "gz": gzip.compress, "zst": zstandard.compress}
CHANGES = st.fixed_dictionaries(
    {
        "pack": st.sampled_from(sorted(PACK)),
        "cut": st.none() | st.floats(0, 1),
        "flips": st.lists(st.tuples(st.floats(0, 0.9999), st.integers(0, 7)), max_size=6),
        "shuffle": st.none() | st.integers(0, 9),
        "split": st.integers(1, 3),
        "double": st.booleans(),
    }
)


def changed(files: Files, change: dict[str, Any], form: str) -> Files:
    found: Files = {}
    for name, data in files.items():
        text = form in ("ndjson", "sglang")
        lines = data.splitlines(keepends=True) if text else [data]
        if change["shuffle"] is not None:
            random.Random(change["shuffle"]).shuffle(lines)
        parts = change["split"] if text else 1
        for part in range(parts):
            piece = bytearray(PACK[change["pack"]](b"".join(lines[part::parts])))
            for at, bit in change["flips"]:
                if piece:
                    piece[int(at * len(piece))] ^= 1 << bit
            if change["cut"] is not None:
                piece = piece[: int(change["cut"] * len(piece))]
            found[f"{part}-{name}"] = bytes(piece)
    if change["double"]:
        name, data = next(iter(found.items()))
        found[f"again-{name}"] = data
    return found


def total(counts: Any) -> int:
    return sum(counts.values()) if isinstance(counts, dict) else counts


def balanced(count: dict[str, Any]) -> bool:
    parts = (count["kept"], total(count["ignored"]), count["duplicate"], total(count["unreadable"]))
    return min(parts) >= 0 and count["read"] == sum(parts)


def check(files: Files, pack: str = "plain") -> tuple[int, dict[str, Any] | None]:
    """Write and report the files; return the exit code and the manifest."""
    root = Path(tempfile.mkdtemp(prefix="accounting-"))
    try:
        logs, out = root / "logs", root / "out"
        logs.mkdir()
        for name, data in files.items():
            (logs / name).write_bytes(data)
        code = run(["report", str(logs), "-o", str(out), "-q"])
        assert out.exists() == (code in (0, 3))
        if code not in (0, 3):
            return code, None
        document = json.loads((out / "report.json").read_text())
        manifest = json.loads((out / "manifest.json").read_text())
        unread = pl.read_csv(out / "unreadable.csv").height
    finally:
        shutil.rmtree(root)
    assert all(balanced(count) for count in document["read"])
    assert all(balanced(count) for count in manifest["inputs"])
    assert [item["bytes"] for item in manifest["inputs"]] == [len(files[n]) for n in sorted(files)]
    assert all(len(item["sha256"]) == 64 for item in manifest["inputs"])
    per_format: Counter[str] = Counter()
    for item in manifest["inputs"]:
        per_format[item["format"] or "not recognised"] += item["read"]
    assert per_format == {count["format"]: count["read"] for count in document["read"]}
    assert unread == sum(total(count["unreadable"]) for count in document["read"])
    assert (code == 3) >= bool(unread), "an unread record makes the evidence incomplete"
    for item in manifest["inputs"]:
        data = files[Path(item["name"]).name]
        if item["format"] is None:
            assert (item["read"], item["unreadable"]) == (1, 1)
        elif item["format"] == "plain-ndjson" and pack == "plain":
            assert item["read"] == sum(bool(line.strip()) for line in data.split(b"\n"))
        elif item["format"] == "sglang" and pack == "plain":
            assert item["read"] == data.count(b"\n") + (not data.endswith(b"\n"))
        elif item["format"] == "plain-csv" and pack == "plain" and not set(data) & set(b'"\r'):
            assert item["read"] == sum(bool(line) for line in data.split(b"\n")) - 1
    return code, manifest


@pytest.mark.few(2)
@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet", "sglang"])
@settings(max_examples=2, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # whole reports
@given(change=CHANGES)
def test_every_record_is_in_exactly_one_count(forms, form, change):
    code, _ = check(changed(forms[form], change, form), change["pack"])
    assert code in (0, 3, 4)


@pytest.fixture(scope="module")
def clean(forms: dict[str, Files]) -> Callable[[str], tuple[int, dict[str, Any] | None]]:
    """The exit code and the manifest of one form's files as they are."""
    return cache(lambda form: check(forms[form]))


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet", "sglang"])
def test_clean_files_are_kept_whole(clean, form):
    code, manifest = clean(form)
    assert code == (3 if form == "sglang" else 0)
    assert manifest is not None
    for item in manifest["inputs"]:
        assert item["unreadable"] == item["duplicate"] == 0
        assert item["kept"] > 0
        if item["name"].endswith((".ndjson", ".csv", ".parquet")):
            assert set(item["ignored"]) <= {"probe or warm-up"}


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_a_file_given_twice_is_all_duplicates(forms, clean, form):
    files = forms[form]
    name = next(name for name in sorted(files) if "decode" in name)
    _, once = clean(form)
    _, twice = check(files | {f"z-{name}": files[name]})
    assert once is not None
    assert twice is not None
    first = next(item for item in once["inputs"] if item["name"].endswith(name))
    again = next(item for item in twice["inputs"] if item["name"].endswith(f"z-{name}"))
    capacity = sum(
        b'"pool_tokens"' in line
        for line in forms["ndjson"][name.rsplit(".", 1)[0] + ".ndjson"].splitlines()
    )
    assert again["duplicate"] == first["kept"] - capacity
    assert again["kept"] == capacity, "capacity records are settled by their epochs"


def test_a_damaged_file_among_good_ones_is_the_only_loss(forms):
    files = dict(forms["ndjson"])
    name = next(iter(files))
    files["a-text.log"] = b"dear diary\n"
    files[name] = gzip.compress(files[name])[:-40]
    code, manifest = check(files, "gz")
    assert code == 3
    assert manifest is not None
    assert [
        item["name"].rsplit("/", 1)[1] for item in manifest["inputs"] if item["unreadable"]
    ] == [
        "a-text.log",
        name,
    ]


def test_files_of_which_the_first_has_no_hand_off(tmp_path):
    """An empty chunk in front of the others once ended the run in a panic."""
    at = "2026-02-03T04:05:06Z"
    gateway = [{"hop": "gateway", "request_id": f"r{n}", "received_at": at} for n in range(9)]
    decode = [
        {"hop": "decode", "request_id": f"r{n}", "transfer_id": str(900 + n), "received_at": at}
        for n in range(5)
    ]
    code, manifest = check({"a.ndjson": encode(gateway), "b.ndjson": encode(decode)})
    assert code == 3
    assert manifest is not None
    assert [item["kept"] for item in manifest["inputs"]] == [9, 5]
