"""The rule that decided, from reason codes alone, is the one that gave the tier."""

import itertools

import polars as pl
import pytest

import forensics
from forensics.evidence.rules import decided_by, rule_of
from forensics.findings import FINDINGS
from forensics.schema import TIERS
from forensics.verdicts import ORDER

CODES = [finding.code for finding in FINDINGS]


def test_every_row_of_an_incident_has_the_tier_of_its_rule(case):
    rows = forensics.read_logs(case / "logs", incident=case / "incident.toml").requests.polars()
    decided = decided_by(rows["reasons"])
    assert [ORDER[at].tier for at in decided] == rows["tier"].to_list()
    assert decided.n_unique() >= 4, "too few rules fired to mean anything"


@pytest.fixture(scope="module")
def deciding() -> dict[int, list[str]]:
    """Codes, as few as possible, under which each rule decides."""
    sets = [list(codes) for n in range(3) for codes in itertools.combinations(CODES, n)]
    found = decided_by(pl.Series(sets, dtype=pl.List(pl.String))).to_list()
    return {at: sets[found.index(at)] for at in range(len(ORDER)) if at in found}


def test_every_rule_can_be_the_one_that_decides(deciding):
    assert list(deciding) == list(range(len(ORDER)))
    assert deciding[len(ORDER) - 1] == []


def test_more_codes_never_bring_a_later_rule_to_decide(deciding):
    pairs = list(itertools.combinations(deciding, 2))
    joined = [deciding[one] + deciding[other] for one, other in pairs]
    decided = decided_by(pl.Series(joined, dtype=pl.List(pl.String))).to_list()
    caps = {at for at, rule in enumerate(ORDER) if "doubt" in rule.name}
    assert caps
    for at, (one, other) in zip(decided, pairs, strict=True):
        # What puts a doubt on direct evidence may come from the other set, and a surer tier may
        # win over one that only bounds; nothing else may.
        surer = TIERS.index(ORDER[at].tier) < TIERS.index(ORDER[one].tier)
        assert at == one or at in caps or surer, (ORDER[one].name, ORDER[other].name)


def test_a_code_of_another_version_counts_for_nothing():
    assert rule_of(["over_limit", "zz_new"], "possible") == rule_of(["over_limit"], "possible")


def test_a_tier_that_these_rules_would_not_give_has_no_rule_here():
    assert rule_of(["below_limit"], "probable") is None


def test_no_reason_at_all_is_the_last_rule():
    assert rule_of([], "not_assessable") == (len(ORDER), ORDER[-1])
