"""Between two reports nobody comes or goes without a recorded reason."""

import csv
import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.cli import run
from forensics.evidence.diff import Diff, diff

Rows = list[dict[str, Any]]
AT = "2026-03-02T00:10:00Z"
DECODE = {"hop": "decode", "received_at": AT, "decode_node": "d1", "http_status": 200}
SHORT = DECODE | {"reserved_pages": 500, "transferred_pages": 1, "completion_tokens": 9}
POOL = {"node": "p1", "role": "prefill", "effective_at": "2026-03-01T00:00:00Z"}
POOL |= {"pool_tokens": 4_096, "page_tokens": 64, "context_tokens": 8_192}
LONG = {"hop": "gateway", "received_at": AT, "prompt_tokens": 5_000, "http_status": 200}
SCOPE = '[scope]\nmodels = ["m"]\nwindow = ["2026-03-01T00:00:00Z", "2026-03-09T00:00:00Z"]\n'


@pytest.fixture
def made(tmp_path) -> Callable[..., Path]:
    """Write some files of records and return the folder of their report."""

    def write(name: str, files: dict[str, Rows], incident: str = "") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "incident.toml").write_text(incident)
        for file, rows in files.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{file}.ndjson").write_text(text)
        logs = [folder / f"{file}.ndjson" for file in files]
        case = forensics.read_logs(*logs, incident=folder / "incident.toml")
        return case.report(folder / "out").folder

    return write


def requests(found: Diff) -> list[tuple[str, str, str | None, str | None]]:
    return [(r.change, r.request_id, r.before, r.after) for r in found.requests]


def test_a_report_and_itself(made):
    out = made("a", {"f": [SHORT | {"request_id": "r"}, POOL]})
    found = diff(out, out)
    assert (found.requests, found.others) == ([], [])
    assert str(found).endswith("requests: none differs; nothing else differs")


def test_a_log_that_shows_more_moves_a_request_and_says_by_which_rule(made):
    gateway = [POOL, LONG | {"request_id": "r", "tenant_id": "t"}]
    old = made("a", {"g": gateway})
    new = made("b", {"g": gateway, "d": [SHORT | {"request_id": "r"}]})
    found = diff(old, new)
    (change,) = found.requests
    assert (change.change, change.before, change.after) == ("moved", "possible", "probable")
    assert change.added == ["short_transfer"]
    assert "missing reserved_pages" in change.removed
    assert change.why == ["decided by: over the limit -> direct evidence"]
    assert [c.name for c in found.others if c.kind == "input"] == [str(new.parent / "d.ndjson")]


def test_a_file_that_was_not_read_has_no_records(made):
    old = made("a", {"f": [POOL, LONG | {"request_id": "r"}]})
    new = made("b", {"f": [POOL, LONG | {"request_id": "r"}], "other": [{"x": 1}]})
    added = [c for c in diff(old, new).others if (c.kind, c.change) == ("input", "added")]
    assert [(Path(c.name).stem, c.after) for c in added] == [("other", "not read")]


def test_who_left_for_another_table_is_found_there_with_the_reason(made):
    gateway = [POOL, LONG | {"request_id": "r", "tenant_id": "t"}]
    whole = DECODE | {"request_id": "r", "reserved_pages": 79, "transferred_pages": 79}
    found = diff(made("a", {"g": gateway}), made("b", {"g": gateway, "d": [whole]}))
    (change,) = found.requests
    assert (change.change, change.before, change.after) == ("left", "possible", "ruled_out")
    assert change.added == ["full_transfer"]
    assert change.why == ["decided by: over the limit -> complete hand-off"]


OUT = "out of the listed rows: ruled out, and not over, rejected, short or mismatched"


def test_who_is_not_over_a_higher_threshold_is_not_listed_and_that_is_said(made):
    rows = [LONG | {"request_id": "r", "decode_node": "d1"}]
    old = made("a", {"g": rows}, "[trigger]\nthreshold_tokens = 4000\n")
    found = diff(old, made("b", {"g": rows}, "[trigger]\nthreshold_tokens = 5000\n"))
    (change,) = found.requests
    assert (change.change, change.before, change.after) == ("left", "possible", "not listed")
    decided = "decided by: over the limit -> below the limit"
    assert change.why == [decided, "not longer than the threshold as it is now", OUT]
    (setting,) = [c for c in found.others if c.kind == "setting"]
    assert (setting.name, setting.before, setting.after) == (
        "trigger.threshold_tokens",
        "4000",
        "5000",
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("narrower", "why"),
    [
        (SCOPE.replace('"m"', '"other"'), "of a model that is not in scope any more"),
        (SCOPE.replace("03-01T", "03-03T"), "outside the window as it is now"),
    ],
)
def test_what_a_narrower_scope_leaves_out_is_said(made, narrower, why):
    """One that is over the limit stays listed as out of scope, one that lacks all is not."""
    rows = [DECODE | {"request_id": "r1", "model": "m"}, SHORT | {"request_id": "r2", "model": "m"}]
    found = diff(made("a", {"d": rows}, SCOPE), made("b", {"d": rows}, narrower))
    assert requests(found) == [
        ("left", "r2", "probable", "ruled_out"),
        ("unlisted", "r1", "not_assessable", "not listed"),
    ]
    left, unlisted = found.requests
    assert left.added == ["out_of_scope"]
    assert unlisted.why == ["decided by: cannot be judged -> out of scope", why, OUT]


def test_whoever_leaves_the_lists_has_a_reason_and_nothing_prints_none(made, capsys):
    """Gone, out of scope, cleared by records that changed: each says what decides now."""
    pool = {name: value for name, value in POOL.items() if name != "effective_at"}
    whole = DECODE | {"request_id": "r3", "prefill_prompt_tokens": 9, "decode_prompt_tokens": 9}
    old = made(
        "a",
        {
            "x": [SHORT | {"request_id": "r1"}, pool],
            "y": [DECODE | {"request_id": "r2", "received_at": "2026-03-05T00:00:00Z"}],
            "z": [DECODE | {"request_id": "r3"}],
        },
        SCOPE,
    )
    new = made(
        "b",
        {"y": [DECODE | {"request_id": "r2", "received_at": "2026-03-05T00:00:00Z"}], "z": [whole]},
        SCOPE.replace("03-09T", "03-03T"),
    )
    found = {change.request_id: change for change in diff(old, new).requests}
    assert found["r1"].why == [
        "not in the logs any more: every input that it was read from is gone"
    ]
    assert found["r2"].why[0] == "decided by: cannot be judged -> out of scope"
    assert all(change.why and change.after == "not listed" for change in found.values())
    for options in ([], ["--json"]):
        assert run(["diff", str(old), str(new), *options]) == 0
        told = capsys.readouterr()
        assert "None" not in told.out + told.err


def test_who_is_in_no_log_any_more_is_said_to_be(made):
    one, other = [SHORT | {"request_id": "r1"}], [SHORT | {"request_id": "r2"}]
    old = made("a", {"x": one, "y": other})
    found = diff(old, made("b", {"y": other}))
    (change,) = found.requests
    assert (change.change, change.request_id, change.after) == ("left", "r1", "not listed")
    assert change.why == ["not in the logs any more: every input that it was read from is gone"]
    (back,) = diff(old.parent.parent / "b" / "out", old).requests
    assert (back.change, back.why) == ("entered", ["read from inputs that are new or changed"])


@pytest.mark.long
def test_an_input_is_the_same_by_its_bytes_and_changed_by_its_name(made, tmp_path, monkeypatch):
    rows = [SHORT | {"request_id": "r"}, POOL]
    moved = diff(made("a", {"x": rows}), made("b", {"renamed": rows}))
    assert [c for c in moved.others if c.kind == "input"] == []
    monkeypatch.chdir(tmp_path)
    Path("log.ndjson").write_text(json.dumps(rows[0]))
    forensics.read_logs("log.ndjson").report("one")
    Path("log.ndjson").write_text(json.dumps(rows[0] | {"tenant_id": "t"}))
    forensics.read_logs("log.ndjson").report("two")
    found = diff(Path("one"), Path("two"))
    (change,) = [c for c in found.others if c.kind == "input"]
    assert (change.change, change.name) == ("changed", "log.ndjson")
    Path("log.ndjson").write_text(json.dumps(POOL))
    forensics.read_logs("log.ndjson").report("three")
    (left,) = diff(Path("two"), Path("three")).requests
    assert left.why == [
        "1 of 1 inputs that it was read from changed",
        "decided by: direct evidence -> what decides now cannot be told",
        "not in them as they are now, or ruled out and not listed: this cannot be told",
    ]


def test_attempts_that_shift_are_still_the_same_requests(made):
    later = SHORT | {"request_id": "r", "tenant_id": "t", "transfer_id": "8"}
    earlier = later | {"received_at": "2026-03-02T00:09:00Z", "transfer_id": "7"}
    found = diff(made("a", {"x": [later]}), made("b", {"x": [later], "y": [earlier]}))
    (change,) = found.requests
    assert (change.change, change.attempt, change.transfer_id) == ("entered", 0, "7")


def test_a_tenant_that_becomes_known_is_no_new_request(made):
    short = SHORT | {"request_id": "r"}
    named = LONG | {"request_id": "r", "tenant_id": "t", "prompt_tokens": 9}
    found = diff(made("a", {"x": [short]}), made("b", {"x": [short], "y": [named]}))
    assert requests(found) == [("changed", "r", "probable", "probable")]
    assert found.requests[0].tenant_id == "t"
    tenants = [(c.change, c.name, c.population) for c in found.others if c.kind == "tenant"]
    assert tenants == [("left", "unknown", "recipient"), ("entered", "t", "recipient")]


def test_two_tenants_under_one_id_are_never_paired(made):
    one, other = (SHORT | {"request_id": "r", "tenant_id": name} for name in ("t1", "t2"))
    found = diff(made("a", {"x": [one]}), made("b", {"x": [other]}))
    assert {(r.change, r.tenant_id) for r in found.requests} == {("left", "t1"), ("entered", "t2")}


def test_a_request_that_turns_out_to_be_part_of_another_is_joined(made):
    prefill = {"hop": "prefill", "received_at": AT, "request_id": "p", "transfer_id": "5"}
    prefill |= {"prefill_node": "p1", "prefill_prompt_tokens": 1, "transferred_pages": 1}
    gateway = LONG | {"request_id": "r", "tenant_id": "t"}
    decode = DECODE | {"request_id": "r", "transfer_id": "5", "decode_prompt_tokens": 5_000}
    before = {"p": [prefill, POOL], "g": [gateway]}
    found = diff(made("a", before), made("b", before | {"d": [decode | {"reserved_pages": 79}]}))
    joined = [r for r in found.requests if r.change == "joined"]
    assert [(r.request_id, r.why) for r in joined] == [
        ("p", ["is now part of r, attempt 0, probable"])
    ]


def test_headline_epochs_and_settings(made):
    rows = [SHORT | {"request_id": "r", "tenant_id": "t"}]
    old = made("a", {"x": [*rows, POOL]}, '[case]\nid = "A"\n')
    larger = POOL | {"pool_tokens": 5_000}
    new = made("b", {"x": [*rows, larger]}, '[case]\nid = "B"\n[trigger]\nmechanism = "unknown"\n')
    changes = {(c.kind, c.name): (c.before, c.after) for c in diff(old, new).others}
    assert changes["setting", "case.id"] == ("A", "B")
    assert changes["setting", "trigger.mechanism"] == ("read", "unknown")
    (epoch,) = [key for key in changes if key[0] == "epoch"]
    assert "pool_tokens 4096" in changes[epoch][0]
    assert "pool_tokens 5000" in changes[epoch][1]
    more = made("c", {"x": [*rows, POOL, SHORT | {"request_id": "r2"}]}, '[case]\nid = "A"\n')
    changes = {(c.kind, c.name): (c.before, c.after) for c in diff(old, more).others}
    assert changes["headline", "requests probable"] == ("1", "2")


HOPS = ("gateway", "prefill", "decode")


@pytest.fixture(scope="module")
def parts(case, tmp_path_factory) -> dict[tuple[str, ...], Path]:
    """A report on each choice of hops whose logs are there."""
    folder = tmp_path_factory.mktemp("parts")
    found = {}
    for n in range(1, len(HOPS) + 1):
        for hops in itertools.combinations(HOPS, n):
            logs = [case / "logs" / hop for hop in hops]
            read = forensics.read_logs(*logs, incident=case / "incident.toml")
            found[hops] = read.report(folder / "-".join(hops)).folder
    return found


@pytest.mark.long
def test_adding_logs_removes_nobody_without_a_recorded_reason(parts):
    gone = 0
    for fewer, more in itertools.permutations(parts, 2):
        if not set(fewer) < set(more):
            continue
        for change in diff(parts[fewer], parts[more]).requests:
            assert change.why, change
            assert change.before != change.after or change.added or change.removed, change
            gone += change.change in ("left", "joined")
            if change.change == "left":
                assert change.after is not None or change.why[-1] == OUT, change
    assert gone > 20, "too few left to mean anything"


def test_the_table_and_json_hold_the_same(made, capsys):
    old = made("a", {"x": [SHORT | {"request_id": "r", "tenant_id": "=1+1"}]})
    new = made("b", {"x": [SHORT | {"request_id": "r2", "tenant_id": "t"}]})
    assert run(["diff", str(old), str(new)]) == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert [(r["change"], r["name"], r["tenant_id"]) for r in rows if r["kind"] == "request"] == [
        ("entered", "r2", "t"),
        ("left", "r", "'=1+1"),
    ]
    assert printed.err.startswith(f"{old} -> {new}: requests: 1 entered, 1 left; ")
    assert run(["diff", str(old), str(new), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["requests"]) + len(document["others"]) == len(rows)
    assert document["requests"][1]["tenant_id"] == "=1+1"


def test_a_folder_that_does_not_hold_is_warned_about(out, case, capsys):
    (out / "report.html").write_text("changed")
    assert run(["diff", str(out), str(case / "out")]) == 0
    err = capsys.readouterr().err
    assert f"warning: {out}: report.html: has other bytes than were written" in err


def test_what_is_no_report_is_no_input(out, tmp_path, reseal, capsys):
    assert run(["diff", str(out), str(tmp_path / "gone")]) == 4
    for name in ("evidence.parquet", "report.json", "affected_tenants.parquet"):
        held = (out / name).read_bytes()
        (out / name).write_bytes(b"{}")
        assert run(["diff", str(out), str(out)]) == 4
        (out / name).unlink()
        assert run(["diff", str(out), str(out)]) == 4
        (out / name).write_bytes(held)
    assert run(["diff", str(out), str(out)]) == 0
