"""What notices say: by tier and direction from data, in words that may be used."""

import json
from pathlib import Path

import pytest

from forensics.cli import run
from forensics.errors import Exit, UsageError
from forensics.exposure import Exposure
from forensics.notices.inert import POLICY_TAG
from forensics.notices.sentences import Setting, Variant
from forensics.notices.sentences import variant as wording_of
from forensics.notices.templating import HTML_FILE, MARKDOWN_FILE, built_in, templates
from forensics.notices.wording import FILE, Wording, refuse_phrases, texts_of, wording

SAID = wording()


def variant(fact: dict, document: Exposure, said: Wording) -> Variant:
    return wording_of(fact, Setting.of(document), said)


def notes(notices: Path) -> dict[tuple[str, str], str]:
    found = {}
    for path in notices.glob("packets/*/facts.json"):
        fact = json.loads(path.read_bytes())
        found[fact["account"], fact["population"]] = (path.parent / "notice.md").read_text()
    return found


def test_no_text_of_the_package_holds_a_banned_phrase():
    for text in (*texts_of(SAID), built_in(MARKDOWN_FILE), built_in(HTML_FILE)):
        refuse_phrases(text, set(SAID.banned), "package")


@pytest.mark.parametrize(
    "text",
    [
        "Out of an Abundance  of\ncaution",
        *("It is saf<b></b>e", "sa<!-- -->fe", "s&#97;fe", "saf&shy;e", "sa\u200bfe", "sa\u00adfe"),
        *("sa**f**e", "s\uff41fe", "sa{# #}fe", "{% if x %}sa{% endif %}fe", "sa<b title='>'>fe"),
        *("may<br>have be<i></i>en", "may&nbsp;have been", "<p>may</p><p>have been"),
    ],
)
def test_a_banned_phrase_is_found_however_it_is_marked_up(text):
    with pytest.raises(UsageError):
        refuse_phrases(text, set(SAID.banned), "x")


@pytest.mark.parametrize("text", ["<p>unsafe</p>", "sa<br>fe", "safer", "safe2"])
def test_a_part_of_another_word_is_no_phrase(text):
    refuse_phrases(text, set(SAID.banned), "x")


@pytest.mark.parametrize("tier", ["confirmed", "probable", "possible", "not_assessable"])
@pytest.mark.parametrize("population", ["recipient", "source"])
def test_each_tier_has_its_own_sentence_and_no_other(tier, population, exposure, fact):
    counts = {f"n_{name}": 0 for name in ("confirmed", "probable", "possible", "not_assessable")}
    row = {**fact, **counts, f"n_{tier}": 2, "population": population, "tier": tier}
    said = getattr(SAID, population)
    known = variant(row, exposure, SAID).sections[1]
    told = {name for name, text in said.items() if text in known}
    tiers = told & {"confirmed", "probable", "possible", "not_assessable"}
    assert tiers == {tier}
    assert ("integrity" in told) == (population == "recipient" and tier != "not_assessable")


@pytest.mark.parametrize("tier", ["confirmed", "probable", "possible", "not_assessable"])
@pytest.mark.parametrize("mechanism", ["read", "write", "unknown"])
def test_a_source_is_told_what_its_requests_did(tier, mechanism, exposure, fact, with_scope):
    counts = {f"n_{name}": 0 for name in ("confirmed", "probable", "possible", "not_assessable")}
    row = {**fact, **counts, f"n_{tier}": 2, "population": "source", "tier": tier}
    known = variant(row, with_scope(exposure, mechanism=mechanism), SAID).sections[1]
    group = {"read": SAID.source, "write": SAID.source_write, "unknown": SAID.source_unknown}
    assert known == (group[mechanism][tier], group[mechanism]["resident"])


@pytest.mark.parametrize(
    ("listed", "sentence"),
    [(0, SAID.unknown["no_list"]), (2, SAID.unknown["part_list"]), (9, None)],
)
def test_a_source_is_told_which_of_its_requests_are_not_listed(listed, sentence, exposure, fact):
    row = {**fact, "population": "source", "listed": listed, "total": 9}
    unknown = variant(row, exposure, SAID).sections[3]
    assert [text for text in unknown if text.startswith("Which of your")] == [
        *filter(None, [sentence])
    ]


def test_who_had_data_of_whom_follows_population_and_mechanism(exposure, fact, with_scope):
    def parties(population: str, mechanism: str, **more: object) -> dict[str, str]:
        row = {**fact, "population": population, **more}
        found = variant(row, with_scope(exposure, mechanism=mechanism), SAID)
        return dict(found.parties)

    to_you = {"giver": SAID.party["others"], "receiver": SAID.party["own"]}
    from_you = {"giver": SAID.party["own"], "receiver": SAID.party["others"]}
    assert parties("recipient", "read") == parties("recipient", "write") == to_you
    assert parties("source", "read") == parties("source", "write") == from_you
    own = parties("source", "read", same_tenant_only=True)
    assert own == {"giver": SAID.party["own_earlier"], "receiver": SAID.party["own"]}
    unsettled = variant(fact, with_scope(exposure, mechanism="unknown"), SAID)
    assert unsettled.sections[0] == (SAID.direction["unsettled"],)


def test_a_count_is_exact_only_where_nothing_is_open(exposure, fact, with_head, with_scope):
    def exact(row: dict, document: object) -> bool:
        return SAID.bounds["exact"] in variant(row, document, SAID).sections[2]

    whole = with_scope(with_head(exposure, incomplete=[]), sampling_rate=1.0)
    assert exact(fact, whole)
    assert not exact({**fact, "bound_high": 3}, whole)
    assert not exact({**fact, "coverage_pct": 99.9}, whole)
    assert not exact(fact, with_head(whole, incomplete=["24 node hours without a record"]))
    assert not exact(fact, with_scope(whole, sampling_rate=0.1))


def test_two_numbers_that_are_the_same_are_no_range(exposure, fact, with_head, with_scope):
    whole = with_scope(with_head(exposure, incomplete=["one gap"]), sampling_rate=1.0)
    for high, name in ((fact["bound_low"], "equal"), (fact["bound_low"] + 1, "between")):
        row = {**fact, "bound_high": high, "coverage_pct": 99.0}
        assert SAID.bounds[name] == variant(row, whole, SAID).sections[2][0]
    assert "{bound_high}" not in SAID.bounds["equal"] + SAID.bounds["exact"]


def test_the_letters_say_it(report, tmp_path):
    run(["notify", str(report), "-o", str(tmp_path / "notices")])
    told = notes(tmp_path / "notices")
    to_you = "**Data of other customers could appear in responses to your account.**"
    from_you = "**Data of your account could appear in responses to other customers"
    assert to_you in told["acct-000001", "recipient"]
    assert from_you in told["acct-000001", "source"]
    assert "| Day of this revision | 2026-09-10 |" in told["acct-000001", "recipient"]
    assert "Probable: 2." in told["acct-000001", "recipient"]
    assert "Probable" not in told["acct-000001", "source"]


# --- texts of one's own --------------------------------------------------------------


def test_own_templates_replace_the_packages(report, tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / MARKDOWN_FILE).write_text("Dear {{ account }}: {{ direction }}\n")
    call = ["notify", str(report), "-o", str(tmp_path / "notices"), "--templates"]
    assert run([*call, str(tmp_path / "t")]) == Exit.COMPLETE
    told = notes(tmp_path / "notices")["acct-000001", "recipient"]
    assert told.startswith("Dear acct-000001: Data of other customers")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ secret }}", "unknown placeholder 'secret'"),
        ("{{ account.__class__ }}", "unknown placeholder '__class__'"),
        ("{{ account | upper }}", "may not use filter"),
        ("{{ account.upper() }}", "may not use call"),
        ("{% include 'x' %}", "may not use include"),
        ("{% autoescape false %}{{ account }}{% endautoescape %}", "may not use"),
        ("{% for x in rows %}{{ x.tenant }}{% endfor %}", "unknown placeholder 'tenant'"),
        ('be{{ "en" }}', "may not show a text of its own"),
        ("{% if", "line 1"),
        ("Out of an abundance of caution", "banned phrase"),
    ],
)
def test_a_template_can_show_values_and_nothing_else(text, why, tmp_path):
    (tmp_path / HTML_FILE).write_text(f"{POLICY_TAG}\n{text}" if why != "line 1" else text)
    with pytest.raises(UsageError, match=why):
        templates(tmp_path, SAID)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("{bound_low}", "{tenant}", "unknown placeholder"),
        ("{bound_low}", "{bound_low.real}", "unknown placeholder"),
        ("{bound_low}", "{", "expected|Single"),
        ("This is arithmetic", "This is safe", "banned phrase 'safe'"),
        ("This is arithmetic", "![](https://c.example/a.png)", "may not hold a picture"),
        ("This is arithmetic", "<img src='https://c.example'>", "may not hold HTML"),
        ("gaps = ", "gap = ", "lacks or adds"),
        ("[bounds]", "[bound]", "unknown field|missing"),
    ],
)
def test_sentences_of_ones_own_are_held_to_the_same_rules(old, new, why, tmp_path):
    source = built_in(FILE)
    assert old in source
    (tmp_path / FILE).write_text(source.replace(old, new))
    with pytest.raises(UsageError, match=why):
        wording(tmp_path)


def test_a_variant_changes_its_name_with_any_word(exposure, fact, tmp_path):
    (tmp_path / FILE).write_text(built_in(FILE).replace("Do not open", "Do never open"))
    before, after = variant(fact, exposure, SAID), variant(fact, exposure, wording(tmp_path))
    assert before.id != after.id
    assert before.id == variant({**fact, "n_probable": 9, "delivered": 9}, exposure, SAID).id
