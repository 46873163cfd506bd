"""``verify`` on notices: hashes that hold prove nothing of what a packet says of another tenant."""

import json
import shutil
from pathlib import Path

import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.evidence.seal import MANIFEST, SUMS, seal

OTHERS = {"account": "acct-000002", "request": "req-000001-canary", "address": "dpo@example.org"}


@pytest.fixture(scope="module")
def made(three, tmp_path_factory) -> Path:
    """The folder of a report and its notices, made once."""
    folder = tmp_path_factory.mktemp("recheck")
    shutil.copytree(three / "out", folder / "out")
    contacts = folder / "contacts.csv"
    contacts.write_text(f"tenant_id,contact\nacct-000002,{OTHERS['address']}\n")
    asked = ["notify", str(folder / "out"), "-o", str(folder / "notices")]
    assert run([*asked, "--contacts", str(contacts)]) == Exit.COMPLETE
    return folder


@pytest.fixture
def notices(made, tmp_path) -> Path:
    return shutil.copytree(made / "notices", tmp_path / "notices")


def packet(notices: Path, account: str = "acct-000001") -> Path:
    found = [
        path.parent
        for path in notices.glob("packets/*-recipient/facts.json")
        if json.loads(path.read_bytes())["account"] == account
    ]
    return found[0]


def resealed(notices: Path) -> None:
    """Make every hash hold again, as whoever changes a packet on purpose would."""
    document = json.loads((notices / MANIFEST).read_bytes())
    del document["outputs"]
    for name in (MANIFEST, SUMS):
        (notices / name).unlink()
    seal(notices, document)


def test_packets_are_searched(notices, capsys):
    assert run(["verify", str(notices)]) == Exit.COMPLETE
    assert "6 packets searched" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("what", "file"),
    [
        ("account", "notice.md"),
        ("request", "notice.html"),
        ("address", "notice.md"),
        ("account", "facts.json"),
    ],
)
def test_what_is_anothers_is_found_though_every_hash_holds(what, file, notices, capsys):
    place = packet(notices) / file
    text = place.read_text()
    planted = OTHERS[what]
    place.write_text(
        json.dumps(json.loads(text) | {"models": [planted]})
        if file == "facts.json"
        else text.replace("What to do", f"What to do {planted} .", 1)
    )
    resealed(notices)
    assert run(["verify", str(notices)]) == Exit.MISMATCH
    said = capsys.readouterr()
    assert f"packets/{place.parent.name}/{file}: holds an identifier" in said.out
    assert planted not in said.out + said.err


def test_a_listed_request_of_another_is_found_by_the_report(notices, capsys):
    place = packet(notices) / "requests.jsonl"
    place.write_text(place.read_text().replace("req-000000-canary", OTHERS["request"]))
    resealed(notices)
    assert run(["verify", str(notices)]) == Exit.MISMATCH
    assert "requests.jsonl: holds an identifier" in capsys.readouterr().out


def test_without_the_report_that_is_said(notices, capsys):
    document = json.loads((notices / MANIFEST).read_bytes())
    document["inputs"][0]["path"] = str(notices.parent / "gone" / MANIFEST)
    (notices / MANIFEST).write_text(json.dumps(document))
    resealed(notices)
    assert run(["verify", str(notices)]) == Exit.INCOMPLETE
    assert "packets are held against each other alone" in capsys.readouterr().out


def test_a_packet_too_few_is_found(notices, capsys):
    shutil.rmtree(packet(notices))
    resealed(notices)
    assert run(["verify", str(notices)]) == Exit.MISMATCH
    assert "packets: packets: 5, not 6" in capsys.readouterr().out
