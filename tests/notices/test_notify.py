"""``forensics notify``: what a finished report becomes, and what stops it."""

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.errors import Exit, UsageError, VerificationError
from forensics.notices.facts import told
from forensics.notices.finished import finished
from forensics.notices.write import Asked


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def facts(notices: Path) -> list[dict]:
    return [json.loads(path.read_bytes()) for path in sorted(notices.glob("packets/*/facts.json"))]


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_one_packet_for_each_tenant_and_population(report, tmp_path):
    notices = tmp_path / "notices"
    assert run(["notify", str(report), "-o", str(notices)]) == Exit.COMPLETE
    told = Counter((fact["account"], fact["population"]) for fact in facts(notices))
    listed = pl.read_parquet(report / "affected_tenants.parquet")
    assert told == Counter(listed.select("tenant_id", "population").iter_rows())
    assert set(told) >= {("acct-000001", "recipient"), ("acct-000001", "source")}
    files = {path.name for path in next((notices / "packets").iterdir()).iterdir()}
    assert files == {
        *("notice.md", "notice.html", "facts.json", "requests.csv", "requests.jsonl"),
        *("SHA256SUMS", "check_my_logs.py"),
    }


def test_verify_holds_and_names_what_was_touched(report, tmp_path):
    notices = tmp_path / "notices"
    run(["notify", str(report), "-o", str(notices)])
    stated = json.loads((notices / "manifest.json").read_bytes())["inputs"][0]["sha256"]
    line = f"{stated}  manifest.json\n"
    assert line in (report / "SHA256SUMS").read_text()
    assert run(["verify", str(notices)]) == Exit.COMPLETE
    packet = next((notices / "packets").iterdir())
    (packet / "notice.md").write_text("another text\n")
    assert run(["verify", str(notices)]) == Exit.MISMATCH


def test_the_same_report_and_key_give_the_same_bytes(report, tmp_path):
    made = []
    for name in ("one", "two"):
        key = str(tmp_path / "case.key")
        run(["notify", str(report), "-o", str(tmp_path / name), "--key", key])
        made.append(all_files(tmp_path / name))
    assert made[0] == made[1]
    run(["notify", str(report), "-o", str(tmp_path / "three"), "--key", str(tmp_path / "other")])
    assert not made[0].keys() >= {n for n in all_files(tmp_path / "three") if "packets/" in n}


def test_only_its_owner_can_read_it(report, tmp_path):
    notices = tmp_path / "notices"
    run(["notify", str(report), "-o", str(notices)])
    paths = [notices, notices.with_name("notices.key"), *notices.rglob("*")]
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in paths}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_the_key_is_nowhere_and_names_are_no_tenants(report, tmp_path, capsys):
    notices, key = tmp_path / "notices", tmp_path / "case.key"
    run(["notify", str(report), "-o", str(notices), "--key", str(key)])
    secret = key.read_text().strip()
    out, err = capsys.readouterr()
    assert secret not in out + err
    files = all_files(notices)
    assert not any(secret.encode() in data for data in files.values())
    with_tenants = {name for name, data in files.items() if b"acct-000001" in data}
    inside = {name for name in with_tenants if name.startswith("packets/")}
    assert with_tenants - inside == {"recipients.csv"}
    assert not any("acct" in name for name in files)


@pytest.mark.parametrize("place", ["out", "notices"])
def test_the_key_may_not_lie_where_others_look(place, report, tmp_path):
    key = tmp_path / place / "k.key"
    call = ["notify", str(report), "-o", str(tmp_path / "notices"), "--key", str(key)]
    assert run(call) == Exit.USAGE
    assert not (tmp_path / "notices").exists()
    assert not key.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_key_that_others_can_read_is_refused(report, tmp_path):
    key = tmp_path / "k.key"
    key.write_text("0" * 64)
    key.chmod(0o644)
    call = ["notify", str(report), "-o", str(tmp_path / "notices"), "--key", str(key)]
    assert run(call) == Exit.USAGE


@pytest.mark.parametrize("name", ["report.json", "notifications.csv", "affected_requests.parquet"])
def test_a_damaged_report_makes_no_notice(name, report, tmp_path):
    with (report / name).open("ab") as file:
        file.write(b" ")
    assert run(["notify", str(report), "-o", str(tmp_path / "notices")]) == Exit.MISMATCH
    assert not (tmp_path / "notices").exists()


def test_it_replaces_nothing_unless_told(report, tmp_path):
    notices = tmp_path / "notices"
    notices.mkdir()
    assert run(["notify", str(report), "-o", str(notices)]) == Exit.OUTPUT_EXISTS
    assert run(["notify", str(report), "-o", str(notices), "--force"]) == Exit.COMPLETE
    assert run(["notify", str(report), "-o", str(report / "notices")]) == Exit.USAGE


def test_an_unknown_tenant_is_counted_and_gets_no_packet(report_of, tmp_path, capsys):
    report = report_of(["acct-000001", None])
    notices = tmp_path / "notices"
    assert run(["notify", str(report), "-o", str(notices), "--json"]) == Exit.INCOMPLETE
    assert json.loads(capsys.readouterr().out)["rows_without_tenant"] == 2
    unknown = [row for row in rows(notices / "recipients.csv") if not row["tenant_id"]]
    assert {row["state"] for row in unknown} == {"no packet: tenant not known"}
    assert {row["population"] for row in unknown} == {"recipient", "source"}
    named = sum(fact["n_probable"] for fact in facts(notices))
    assert named + sum(int(row["n_probable"]) for row in unknown) == 4


def test_contacts_are_joined_and_in_no_packet(report, tmp_path):
    contacts, notices = tmp_path / "contacts.csv", tmp_path / "notices"
    contacts.write_text(
        "tenant_id,contact,role,notes\nacct-000001,=cmd@one.example,security,CANARY-1\n"
        "acct-000001,two@one.example,legal,\n"
    )
    run(["notify", str(report), "-o", str(notices), "--contacts", str(contacts)])
    merged = rows(notices / "notifications.csv")
    with_contact = [row for row in merged if row["contact_state"] == "contact"]
    assert {row["contact"] for row in with_contact} == {"'=cmd@one.example", "two@one.example"}
    assert {row["contact_role"] for row in with_contact} == {"security", "legal"}
    files = all_files(notices)
    assert [n for n, data in files.items() if b"one.example" in data] == ["notifications.csv"]
    assert not any(b"CANARY-1" in data for data in files.values())
    stated = {row["packet"]: row["packet_sha256"] for row in merged}
    assert len(stated) == 6


@pytest.mark.parametrize(
    "text", ["tenant_id\nx\n", 'tenant_id,contact\nx,"a\nb"\n', "tenant_id,contact\n,a\n"]
)
def test_odd_contacts_are_refused(text, report, tmp_path):
    contacts = tmp_path / "contacts.csv"
    contacts.write_text(text)
    call = ["notify", str(report), "-o", str(tmp_path / "n"), "--contacts", str(contacts)]
    assert run(call) == Exit.USAGE


def test_a_statement_for_a_tenant_in_neither_list(report, tmp_path):
    notices = tmp_path / "notices"
    call = ["notify", str(report), "-o", str(notices), "--also-unaffected", "acct-000009"]
    assert run(call) == Exit.COMPLETE
    (fact,) = (fact for fact in facts(notices) if fact["population"] == "unaffected")
    assert (fact["account"], fact["tier"], fact["listed"]) == ("acct-000009", None, 0)


@pytest.mark.parametrize(
    "name", ["", " ", "acct-000001", "ACCT-000001", " acct-000001\u00a0", "\uff41cct-000001"]
)
def test_no_statement_for_the_name_of_a_listed_tenant_however_it_is_spelt(name, report, tmp_path):
    call = ["notify", str(report), "-o", str(tmp_path / "n"), "--also-unaffected", name]
    assert run(call) == Exit.USAGE
    assert not (tmp_path / "n").exists()


def test_an_incident_of_another_case_is_refused(report, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text('[case]\nid = "C-2"\n')
    call = ["notify", str(report), "-o", str(tmp_path / "n"), "-i", str(other)]
    assert run(call) == Exit.USAGE


def test_the_same_from_python(report, tmp_path):
    case = forensics.read_logs(tmp_path / "logs.ndjson", incident=tmp_path / "incident.toml")
    with pytest.raises(UsageError):
        case.notify(tmp_path / "early")
    case.report(tmp_path / "own")
    made = case.notify(tmp_path / "notices", asked=Asked(key=tmp_path / "k.key"))
    assert made.packets == len(list((tmp_path / "notices" / "packets").iterdir())) == 6


def test_ledger_and_variants_are_for_review(report, tmp_path):
    notices = tmp_path / "notices"
    run(["notify", str(report), "-o", str(notices)])
    (header,) = (notices / "send_ledger.jsonl").read_text().splitlines()
    assert {"notice", "packet_sha256", "sent_at", "delivered_at"} <= set(
        json.loads(header)["fields"]
    )
    variants = json.loads((notices / "variants.json").read_bytes())
    counted = Counter(fact["variant"] for fact in facts(notices))
    assert {v["id"]: v["notices"] for v in variants["variants"]} == counted
    assert variants["notices"] == 6 > len(variants["variants"])
    page = (notices / "variants.md").read_text()
    assert all(f"## {name}: " in page for name in counted)


def test_a_packet_can_be_checked_by_the_usual_tool(report, tmp_path):
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    for packet in (tmp_path / "notices" / "packets").iterdir():
        subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=packet, check=True)


# --- the checker that goes with a packet ---------------------------------------------


@pytest.fixture
def packet(report, tmp_path) -> Path:
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    return next((tmp_path / "notices" / "packets").glob("*-recipient"))


def check(packet: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", packet / "check_my_logs.py", *arguments]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def own_ids(packet: Path) -> list[str]:
    return [row["request_id"] for row in rows(packet / "requests.csv")]


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_the_checker_finds_ids_and_gives_none_away(kind, packet, tmp_path):
    one, two = own_ids(packet)
    log = tmp_path / f"CANARY-name.{kind}"
    if kind == "csv":
        log.write_text(f"note,rid\nCANARY-text,{one}\nx,{two}\nx,else\n")
    else:
        text = [{"rid": i, "text": "CANARY-text"} for i in (one, two, "else")]
        log.write_text("".join(json.dumps(item) + "\n" for item in text) + "no json\n")
    found = tmp_path / "found.txt"
    done = check(packet, log, "--field", "rid", "--found", found)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["ids_listed"], said["ids_found"], said["ids_not_found"]) == (2, 2, 0)
    assert said["ids_found_sha256"] == said["ids_listed_sha256"]
    assert said["logs"]["records"] == 3
    assert said["logs"]["unreadable_records"] == (kind == "ndjson")
    assert not any(word in done.stdout + done.stderr for word in ("CANARY", one, two))
    assert found.read_text().split() == sorted([one, two])


def test_the_checker_says_what_it_did_not_find(packet, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(f"request_id\n{own_ids(packet)[0]}\n")
    done = check(packet, log)
    assert done.returncode == 1
    assert json.loads(done.stdout)["ids_not_found"] == 1
    log.write_text("name\nx\n")
    assert check(packet, log).returncode == 2


def test_the_checker_refuses_a_damaged_packet(packet, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(f"request_id\n{own_ids(packet)[0]}\n")
    with (packet / "requests.jsonl").open("a") as file:
        file.write('{"request_id": "planted"}\n')
    assert check(packet, log).returncode == 7


def test_pages_of_a_source_that_no_listed_request_has_make_no_notice(three):
    report = finished(three / "out")
    source = msgspec.structs.replace(report.exposure.sources[0], pages=5)
    exposure = msgspec.structs.replace(report.exposure, sources=[source])
    with pytest.raises(VerificationError, match="pages"):
        told(replace(report, exposure=exposure), lambda tenant: f"t-{'_abc'[int(tenant[-1])] * 20}")
