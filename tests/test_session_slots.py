"""The fault in a pool of session slots: the sample, its truth, and the page that shows it."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import lab, schema
from forensics.cli import run

PAGE = (Path(__file__).parents[1] / "docs" / "session-slots.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("slots") / "sample"
    lab.write_sample("session-slots", folder)
    return folder


@pytest.fixture(scope="module")
def truth(sample) -> pl.DataFrame:
    rows = pl.read_csv(sample / "truth.csv", infer_schema=False)
    assert set(rows["affected"]) == {"true", "false"}
    return rows


@pytest.fixture(scope="module")
def case(sample) -> forensics.Case:
    return forensics.read_logs(sample / "logs", incident=sample / "incident.toml")


def test_exactly_the_lobbies_that_showed_stale_slots_are_found(case, truth):
    affected = case.affected.polars()
    true = truth.filter(pl.col("affected") == "true")
    assert set(affected["request_id"]) == set(true["lobby_id"])
    assert set(affected["tier"]) == {"probable"}
    ruled_out = set(case.ruled_out.polars()["request_id"])
    assert ruled_out == set(truth["lobby_id"]) - set(true["lobby_id"])


def test_every_studio_that_a_stale_slot_was_of_is_a_possible_source(case, truth):
    true = (
        truth.filter(pl.col("affected") == "true")
        .select("lobby_id", pl.col("owners").str.split(";"))
        .explode("owners")
        .drop_nulls()
    )
    named = set(case.sources.polars().select("request_id", "source_tenant_id").iter_rows())
    assert true.height > 100
    assert set(true.iter_rows()) <= named


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (("handleGeneration", "foundGeneration", "foundOwner"), "short_transfer"),
        (("slotsReserved", "slotsFilled"), "owner_mismatch"),
    ],
)
def test_either_evidence_alone_finds_them(sample, truth, tmp_path, left_out, reason):
    text = (sample / "incident.toml").read_text()
    kept = [line for line in text.splitlines() if line.split(" = ")[0] not in left_out]
    asked = tmp_path / "incident.toml"
    asked.write_text("\n".join(kept))
    affected = forensics.read_logs(sample / "logs", incident=asked).affected.polars()
    true = truth.filter(pl.col("affected") == "true")
    assert set(affected["request_id"]) == set(true["lobby_id"])
    assert {tuple(reasons) for reasons in affected["reasons"]} == {(reason,)}


def test_a_host_that_logs_neither_clears_nobody(sample, truth, tmp_path):
    text = (sample / "incident.toml").read_text()
    gone = ("slots", "handle", "found")
    asked = tmp_path / "incident.toml"
    asked.write_text("\n".join(line for line in text.splitlines() if not line.startswith(gone)))
    case = forensics.read_logs(sample / "logs", incident=asked)
    undelivered = set(truth.filter(pl.col("affected") == "false")["lobby_id"])
    unknown = set(case.not_assessable.polars()["request_id"])
    assert unknown >= set(truth["lobby_id"]) - undelivered


def test_the_page_does_what_it_says(sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in commands.splitlines():
        name, *arguments = shlex.split(line)
        assert name == "forensics"
        assert run(arguments) == 0
    (mapping,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    stated = tomllib.loads((sample / "incident.toml").read_text())
    assert tomllib.loads(mapping).items() <= stated.items()


LOBBY = {
    "hop": "decode", "request_id": "r", "tenant_id": "s1", "received_at": "2026-09-11T18:00:29Z",
    "reserved_pages": 6, "transferred_pages": 6, "completion_tokens": 728, "http_status": 200,
    "owner_generation": 1, "read_generation": 1, "slot_owner": "s1",
}  # fmt: skip
KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1m" * 2
NOBODYS, UNKNOWN = ("probable", "owner_mismatch"), ("not_assessable", "slot_unread")


def judged(log: Path) -> list[tuple[str, str, set[str]]]:
    """Return tier, reasons other than the full count, and what of a slot was missing."""
    case = forensics.read_logs(log)
    slots = {"owner_generation", "read_generation", "slot_owner"}
    return [
        (row["tier"], ";".join(r for r in row["reasons"] if r != "full_transfer"),
         slots & set(row["missing"]))
        for frame in (case.affected, case.not_assessable)
        for row in frame.polars().iter_rows(named=True)
    ]  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("odd", "told", "missing"),
    [
        ({"slot_owner": None}, NOBODYS, set()),
        ({"slot_owner": ...}, UNKNOWN, {"slot_owner"}),
        *(({"slot_owner": odd}, UNKNOWN, {"slot_owner"}) for odd in ({"id": "s1"}, True, 5.5, KEY)),
        *(
            ({"read_generation": odd}, UNKNOWN, {"read_generation"})
            for odd in (None, ..., "none", "stale")
        ),
        ({"owner_generation": "x", "read_generation": "y"}, UNKNOWN, {*schema.GENERATIONS}),
        ({"slot_owner": {}, "read_generation": 2}, ("probable", "owner_mismatch;slot_unread"), {
            "slot_owner"}),
    ],
)  # fmt: skip
def test_a_value_that_is_not_known_neither_convicts_nor_clears(tmp_path, odd, told, missing):
    row = {name: value for name, value in (LOBBY | odd).items() if value is not ...}
    log = tmp_path / "log.ndjson"
    log.write_text(json.dumps(row) + "\n")
    assert judged(log) == [(*told, missing)]
    # Beside records that have the value, and after blocks of them, it is told all the same.
    rows = [LOBBY | {"request_id": f"q{at}"} for at in range(2_000)]
    log.write_text("".join(json.dumps(one) + "\n" for one in (*rows, row, *rows[:3])))
    assert judged(log) == [(*told, missing)]


def test_a_table_without_a_column_of_owners_logs_nobody_as_one(tmp_path):
    rows = pl.DataFrame([LOBBY | {"slot_owner": None}], schema_overrides={"slot_owner": pl.String})
    for write, name in ((pl.DataFrame.write_csv, "l.csv"), (pl.DataFrame.write_parquet, "l.pq")):
        log = tmp_path / name.replace(".pq", ".parquet")
        write(rows, log)
        assert judged(log) == [(*NOBODYS, set())]
        write(rows.drop("slot_owner"), log)
        assert judged(log) == [(*UNKNOWN, {"slot_owner"})]


def test_an_evidence_set_keeps_what_could_not_be_read(tmp_path):
    rows = [LOBBY | {"slot_owner": owner} for owner in (None, {})]
    log = tmp_path / "log.ndjson"
    log.write_text(
        "".join(json.dumps(r | {"request_id": str(n)}) + "\n" for n, r in enumerate(rows))
    )
    assert run(["ingest", str(log), "-o", str(tmp_path / "set")]) in (0, 3)
    assert (
        judged(tmp_path / "set") == judged(log) == [(*NOBODYS, set()), (*UNKNOWN, {"slot_owner"})]
    )
