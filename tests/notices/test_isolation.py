"""A packet that holds what is another tenant's stops the export, and nothing appears."""

import html
import json
from dataclasses import replace

import polars as pl
import pytest
from msgspec import structs

from forensics.cli import run
from forensics.errors import Exit, PrivacyError
from forensics.notices import facts, write
from forensics.notices.inert import POLICY_TAG
from forensics.notices.isolation import Isolation
from forensics.notices.markdown import escaped

OWN, OTHER = "acct-000001", "acct-000002"
OF_OTHER = "req-000001-canary"


def stopped(report, tmp_path, capsys, *more: str) -> None:
    notices = tmp_path / "notices"
    assert run(["notify", str(report), "-o", str(notices), *more]) == Exit.PRIVACY
    err = capsys.readouterr().err
    assert "t-" in err
    assert not any(text in err for text in (OWN, OTHER, OF_OTHER))
    assert not notices.exists()
    assert not [path for path in tmp_path.iterdir() if "forensics-new" in path.name]


@pytest.mark.few(4)
@pytest.mark.parametrize("planted", [OTHER, OF_OTHER, f"<!-- {OF_OTHER} -->", f'"{OTHER}",'])
@pytest.mark.parametrize("name", ["notice.md.j2", "notice.html.j2"])
def test_an_id_in_a_text_is_found(planted, name, report, tmp_path, capsys):
    templates = tmp_path / "templates"
    templates.mkdir()
    head = POLICY_TAG if "html" in name else ""
    (templates / name).write_text(f"{head} {{{{ title }}}} see {planted} there")
    stopped(report, tmp_path, capsys, "--templates", str(templates))


def test_a_request_of_somebody_else_is_found(report, tmp_path, capsys, monkeypatch):
    real = facts._recipients

    def mixed(requests: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
        rows = real(requests, names)
        swapped = {"req-000000-canary": "req-000001-canary"}
        return rows.with_columns(pl.col("request_id").replace(swapped))

    monkeypatch.setattr(facts, "_recipients", mixed)
    stopped(report, tmp_path, capsys)


def test_a_short_id_is_found_where_only_ids_stand(report_of, tmp_path, capsys, monkeypatch):
    report = report_of([OWN, OTHER], {**_request("7"), "tenant_id": OTHER})
    real = facts._recipients
    swapped = {"req-000000-canary": "7"}
    monkeypatch.setattr(
        facts,
        "_recipients",
        lambda *of: real(*of).with_columns(pl.col("request_id").replace(swapped)),
    )
    stopped(report, tmp_path, capsys)


@pytest.mark.parametrize("place", ["<b>{}</b>", "| {} |", "\n{}\n"])
def test_a_short_id_with_a_letter_is_found_where_it_stands_alone(place):
    searched = Isolation({"r-1": frozenset({"acme"})}, {"acme": "t-a", "1": "t-b"}, {}, ["a note"])
    facts_of = {"facts.json": b'{"account":"1"}'}
    searched.check("t-b-recipient", "1", facts_of | {"notice.html": b"ask acme or r-1x of 7"})
    name = "notice.html" if "<" in place else "notice.md"
    planted = facts_of | {name: place.format("Acme").encode()}
    with pytest.raises(PrivacyError):
        searched.check("t-b-recipient", "1", planted)
    assert searched.in_id_fields == 1


def test_an_id_that_tags_split_is_found():
    searched = Isolation({OF_OTHER: frozenset({OTHER})}, {OTHER: "t-a", OWN: "t-b"}, {}, [])
    facts_of = {"facts.json": f'{{"account":"{OWN}"}}'.encode()}
    split = OF_OTHER.replace("-", "<i></i>-")
    with pytest.raises(PrivacyError):
        searched.check("t-b-recipient", OWN, facts_of | {"notice.html": split.encode()})


LONGER = [
    "Acme Holdings (EU)",
    "org:acme-holdings",
    "eu_acme-holdings",
    "<b>acme-holdings</b>",
    "&lt;acme-holdings&gt;",
    "eu*acme-holdings",
]


@pytest.mark.parametrize("own", LONGER)
def test_an_id_within_a_tenants_own_longer_one_is_its_own_in_every_file(own):
    """Escapes are no part of it, and what is escaped is no sign that acts."""
    other = "Acme Holdings" if " " in own else "acme-holdings"
    searched = Isolation({}, {own: "t-a", other: "t-b"}, {}, [])
    files = {"facts.json": json.dumps({"account": own}).encode()}
    shown = {
        "notice.md": f"for {escaped(own)}, today".encode(),
        "notice.html": f"<p>for {html.escape(own)}</p>".encode(),
    }
    searched.check("t-a-recipient", own, files | shown)
    for name, text in shown.items():
        planted = {name: text + f" and <i>{other[:3]}</i>{other[3:]}".encode()}
        with pytest.raises(PrivacyError):
            searched.check("t-a-recipient", own, files | planted)


def test_emphasis_splits_an_id_only_where_it_acts():
    searched = Isolation({}, {"ac-holdings-1": "t-a", OWN: "t-b"}, {}, [])
    files = {"facts.json": f'{{"account":"{OWN}"}}'.encode()}
    searched.check("t-b-recipient", OWN, files | {"notice.md": rb"for ac\*-holdings-1"})
    with pytest.raises(PrivacyError):
        searched.check("t-b-recipient", OWN, files | {"notice.md": b"for **ac**-holdings-1"})


@pytest.mark.parametrize("name", ["2026-09-01 05:00:00 UTC", "2026-09-01T05:00:00Z", "05:00"])
def test_an_account_that_is_called_like_a_time_stops_no_notice_that_has_it(name):
    searched = Isolation({}, {name: "t-a", OWN: "t-b"}, {}, [])
    files = {"facts.json": f'{{"account":"{OWN}"}}'.encode()}
    searched.check("t-b-recipient", OWN, files | {"notice.md": f"from {name} on".encode()})


@pytest.mark.parametrize(
    "split",
    [
        "_ac_-holdings-1",
        "[ac](mailto:x@y.example)-holdings-1",
        "[ac-][r]holdings-1",
        "ac[](#a)-holdings-1",
        "ac-__holdings__-1",
    ],
)
def test_links_and_underscores_that_act_split_no_id(split):
    searched = Isolation({}, {"ac-holdings-1": "t-a", OWN: "t-b"}, {}, [])
    files = {"facts.json": f'{{"account":"{OWN}"}}'.encode()}
    with pytest.raises(PrivacyError):
        searched.check("t-b-recipient", OWN, files | {"notice.md": f"for {split}".encode()})


@pytest.mark.parametrize(
    "own", ["Acme \u2013 acme-holdings", "a\u202eacme-holdings", "Acme\u200bacme-holdings"]
)
def test_an_id_behind_what_shows_nothing_in_a_tenants_own_name_is_its_own(own):
    searched = Isolation({}, {own: "t-a", "acme-holdings": "t-b"}, {}, [])
    files = {"facts.json": json.dumps({"account": own}).encode()}
    searched.check("t-a-recipient", own, files | {"notice.md": f"for {escaped(own)}".encode()})
    planted = f"for {escaped(own)} and acme-holdings"
    with pytest.raises(PrivacyError):
        searched.check("t-a-recipient", own, files | {"notice.md": planted.encode()})


def test_contacts_are_no_ids_that_are_looked_for_in_fields_alone():
    contacts = {OWN: ["ciso@own.example", "Ann Other-Person"], OTHER: ["dpo@other.example"]}
    searched = Isolation({"1": frozenset({OWN})}, {OWN: "t-a", OTHER: "t-b"}, contacts, [])
    assert searched.in_id_fields == 1


def _request(name: str) -> dict[str, object]:
    return {
        "request_id": name,
        "received_at": "2026-09-01T05:00:00Z",
        "model": "glm-5.3",
        "prefill_node": "p-1",
        "decode_node": "d-1",
        "prompt_tokens": 700000,
        "prefill_prompt_tokens": 1,
        "decode_prompt_tokens": 700000,
        "completion_tokens": 20,
        "http_status": 200,
    }


def test_an_id_that_two_tenants_used_is_nobody_elses(report_of, tmp_path):
    report = report_of(
        [OWN, OTHER],
        {**_request("shared-00001"), "tenant_id": OWN},
        {**_request("shared-00001"), "tenant_id": OTHER},
    )
    assert run(["notify", str(report), "-o", str(tmp_path / "notices")]) == Exit.COMPLETE
    held = [p for p in tmp_path.glob("notices/packets/*/requests.csv") if "shared" in p.read_text()]
    assert len(held) == 2


def test_a_packet_of_another_account_is_found(report, tmp_path, capsys, monkeypatch):
    from forensics.notices.packet import Packets

    real = Packets.files

    def misdirected(self, fact, rows):
        variant, files = real(self, fact, rows)
        document = json.loads(files["facts.json"])
        files["facts.json"] = json.dumps(document | {"account": "1"}).encode()
        return variant, files

    monkeypatch.setattr(Packets, "files", misdirected)
    stopped(report, tmp_path, capsys)


def test_a_packet_that_lists_fewer_than_it_states_is_not_written(report, tmp_path, monkeypatch):
    real = facts._recipients
    monkeypatch.setattr(facts, "_recipients", lambda *of: real(*of).head(3))
    assert run(["notify", str(report), "-o", str(tmp_path / "notices")]) == Exit.MISMATCH
    assert not (tmp_path / "notices").exists()


def test_a_title_with_an_id_in_it_is_named(report, tmp_path, monkeypatch):
    known = write.finished(report)
    case = structs.replace(known.exposure.case, title=f"Raised by {OTHER}, request {OF_OTHER}")
    titled = replace(known, exposure=structs.replace(known.exposure, case=case))
    monkeypatch.setattr(write, "finished", lambda _: titled)
    with pytest.raises(PrivacyError, match="the title of the case holds") as found:
        write.write_notices(report, tmp_path / "notices")
    assert not any(text in str(found.value) for text in (OTHER, OF_OTHER))
    assert not (tmp_path / "notices").exists()
