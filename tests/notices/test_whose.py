"""Whose an identifier is: found wherever it stands, and no good packet is stopped."""

import json

import pytest

from forensics.errors import PrivacyError
from forensics.notices.fixed import FACTS, fixed_texts
from forensics.notices.isolation import Isolation

OWN, OTHER, LONGER = "acct-000001", "acct-000002", "acct-000002-eu"
OTHERS = [OTHER, LONGER, "acme-corporation", "20260901123456", "Müller GmbH 2024", "x(prod-7)9"]
REQUEST = "req-000001-canary"
FIXED = fixed_texts()


def isolation(
    *tenants: str,
    contacts: dict[str, list[str]] | None = None,
    requests: dict[str, str] | None = None,
    title: str = "",
    models: str = "",
) -> Isolation:
    names = {tenant: f"t-{at:020d}" for at, tenant in enumerate([OWN, *tenants])}
    owners = {name: frozenset({tenant}) for name, tenant in (requests or {}).items()}
    return Isolation(owners, names, contacts or {}, FIXED, {"the title of the case": title}, models)


def check(whose: Isolation, text: str = "", **facts: object) -> None:
    document = json.dumps({"account": OWN, **facts}).encode()
    whose.check("t-0", OWN, {"notice.md": text.encode(), "facts.json": document})


@pytest.fixture(scope="module")
def whose() -> Isolation:
    return isolation(*OTHERS, requests={REQUEST: OTHER})


@pytest.mark.parametrize(
    "around",
    [
        *("{}", "{}.", "account:{}", "user={}", "x/{}/y", "#{}", "“{}”", "«{}»", "{}—", "{}…"),
        *(
            "see\u200b{}",
            "—{}—",
            "~{}~",
            "_{}_",
            "-{}-",
            "{}&c",
            "{}/2",
            "{}\u200b",
            "`{}`",
            "\\#{}",
            "{}'s",
            "\n{}\n",
        ),
    ],
)
@pytest.mark.parametrize("planted", [*OTHERS, REQUEST])
def test_an_id_is_found_whatever_stands_around_it(planted, around, whose):
    for text in (planted, planted.upper()):
        with pytest.raises(PrivacyError):
            check(whose, f"see {around.format(text)} there")


def test_blanks_of_a_phrase_may_be_any(whose):
    with pytest.raises(PrivacyError):
        check(whose, "of Müller\n  GmbH 2024 alone")


@pytest.mark.parametrize("text", ["acct-0000021", "xacct-000002", "acct-000002-x", "acme", "2024"])
def test_a_part_of_a_longer_word_is_none(text, whose):
    check(whose, f"see {text} there")


def test_what_is_in_the_own_id_is_not_anothers():
    whose = Isolation({}, {"ops@acme-group.eu": "t-0", "acme-group.eu": "t-1"}, {}, FIXED)
    facts = {"facts.json": b'{"account": "ops@acme-group.eu"}'}
    whose.check("t-0", "ops@acme-group.eu", {"notice.md": b"to ops@acme-group.eu", **facts})
    with pytest.raises(PrivacyError):
        whose.check("t-0", "ops@acme-group.eu", {"notice.md": b"to acme-group.eu", **facts})


@pytest.mark.parametrize("model", [OTHER, REQUEST, f"org/{OTHER}"])
def test_a_model_named_like_another_tenant_is_found(model, whose):
    with pytest.raises(PrivacyError):
        check(whose, models=[model])


def test_a_title_is_named_as_the_place_and_not_shown():
    title = f"Raised by {OTHER}"
    with pytest.raises(PrivacyError, match="the title of the case holds") as stopped:
        check(isolation(OTHER, title=title), f"# C-1: {title}", case_title=title)
    assert OTHER not in str(stopped.value)


@pytest.mark.parametrize(
    ("tenant", "title"),
    [
        ("acme", "As acme told us"),
        ("acme", "of ac\u00adme alone"),
        ("t-0042", "of T-0042"),
        ("2026", "of 2026"),
        ("4711-ü", "of 4711\u2011Ü"),
        ("1-555", "call +1-555 please"),
        ("+1.555", "of 1.555"),
        ("1-55-55-1", "of 1-55-55-1"),
    ],
)
def test_in_a_text_of_the_senders_own_any_id_is_a_word(tenant, title):
    with pytest.raises(PrivacyError, match=r"the title of the case holds .* a word that is the"):
        check(isolation(tenant, title=title))
    title = "This notice, yes, of 7, 1-5 and 12:30:00 of 2026-09-01"
    check(isolation("notice", "yes", "7", "1-5", "12:30:00", "2026-09-01", title=title))


@pytest.mark.parametrize("tenant", ["t-0042", "Z-100", "acc042"])
def test_a_letter_makes_no_number_of_an_id(tenant):
    check(isolation(tenant), f"see {tenant} there")
    with pytest.raises(PrivacyError):
        check(isolation(tenant), f"| a | {tenant} |")


@pytest.mark.parametrize(
    "name",
    ["T12345678", "2026-09-01-bigcust", "12:30-acme-llc", "70000003", "Z-2026-09-01"],
)
def test_what_only_begins_like_a_time_or_a_number_is_looked_for_in_all_text(name):
    with pytest.raises(PrivacyError):
        check(isolation(requests={name: OTHER}), f"see {name} there")
    check(isolation("2026-09-01", "2026-09-01T12:00:00.000000Z", "12:00:00"), "at 12:00:00")


@pytest.mark.parametrize(
    "text",
    [
        *("acct\u2011000002", "ac\u200bct-000002", "acct&shy;-000002", "ac**ct**-000002"),
        *("\uff41cct\uff0d00000\uff12", "acct\u2013000002", "ac<b>ct</b>-000002"),
    ],
)
def test_what_a_reader_takes_for_an_id_is_one(text, whose):
    with pytest.raises(PrivacyError):
        check(whose, f"see {text} there")


def test_names_of_fields_and_words_of_the_package_are_nobodys():
    names = [*FACTS, "recipient", "not assessable", "2026-09-01", "the"]
    whose = isolation(*names, requests=dict.fromkeys(names, OTHER))
    stated = dict.fromkeys(FACTS - {"account"}, "2026-09-01T00:00:00Z")
    check(whose, "\n".join(FIXED), **stated)


def test_contacts_are_found_in_the_packets_of_others():
    contacts = {OTHER: ["Legal Notice Team <legal@acme.example>", "+49 170 1234567"]}
    for planted in ("legal@acme.example", "LEGAL@acme.example", "+49 170 1234567"):
        with pytest.raises(PrivacyError):
            check(isolation(OTHER, contacts=contacts), f"ask {planted}.")


def test_words_of_contacts_that_a_notice_has_anyway_stop_nothing():
    contacts = {OTHER: ["Legal Notice Team <legal@acme.example>", "Customer data team", "data"]}
    check(isolation(OTHER, contacts=contacts), "\n".join(FIXED))


def test_a_tenant_may_be_its_own_address():
    mail = "ops1@acme.example"
    whose = Isolation({}, {mail: "t-0", OTHER: "t-1"}, {mail: [mail]}, FIXED)
    facts = {"facts.json": json.dumps({"account": mail}).encode()}
    whose.check("t-0", mail, {"notice.md": f"Account {mail}".encode(), **facts})
    with pytest.raises(PrivacyError):
        check(isolation(mail, contacts={mail: [mail]}), f"Account {mail}")


def test_the_longest_of_several_at_one_place_counts():
    whose = Isolation({}, {"acme-group.eu/berlin": "t-0", "acme-group.eu": "t-1"}, {}, FIXED)
    facts = {"facts.json": b'{"account": "acme-group.eu/berlin"}'}
    whose.check("t-0", "acme-group.eu/berlin", {"notice.md": b"to acme-group.eu/berlin", **facts})


def test_tenants_without_a_packet_are_looked_for_as_well():
    with pytest.raises(PrivacyError):
        check(isolation(requests={"1": "acme-corporation"}), "see acme-corporation")


def test_a_phrase_does_not_go_on_from_one_field_to_the_next(whose):
    check(whose, models=["Müller", "GmbH 2024"])


@pytest.mark.parametrize("text", ["acct&#45;000002", "acct\\-000002"])
def test_a_text_is_searched_as_its_reader_sees_it(text, whose):
    with pytest.raises(PrivacyError):
        check(whose, f"see {text} there")


def test_a_short_word_or_an_own_contact_stops_nothing():
    contacts = {OTHER: ["Team"], OWN: ["me@own.example"]}
    check(isolation(OTHER, contacts=contacts), "our team asks me@own.example")
