"""What all packets state adds up to the report, and nobody with a name is left without one."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.exposure import Exposure, decode
from forensics.lab import simulate, small, write_sglang
from tests.notices.conftest import request

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
TIERS = ("confirmed", "probable", "possible", "not_assessable")
STATED = (*(f"n_{tier}" for tier in TIERS), "requests", "responses")


def test_a_name_that_stands_for_no_id_is_in_no_packet(report_of, tmp_path):
    """A record without an id is named by its values: counted, but no id that a tenant knows."""
    bare = request(7, "acct-000001", request_id=None, prompt_tokens=700_001)
    unfit = request(8, "acct-000001", request_id="a b", prompt_tokens=700_002)
    report = report_of(["acct-000001", "acct-000002"], bare, unfit)
    assert run(["notify", str(report), "-o", str(tmp_path / "notices")]) == Exit.COMPLETE
    both = Both(report, tmp_path / "notices")
    own = both.requests.filter(tenant_id="acct-000001")
    ids = own["request_id"].str.extract("^(unnamed|redacted):").drop_nulls()
    assert sorted(ids) == ["redacted", "unnamed"]
    ((facts, listed),) = [p for p in both.of("recipient") if p[0]["account"] == "acct-000001"]
    assert (facts["listed"], facts["without_id"]) == (4, 2)
    assert sorted(row["request_id"] for row in listed)[:2] == ["", ""]
    for path in (tmp_path / "notices").rglob("*"):
        assert path.is_dir() or b"unnamed:" not in path.read_bytes()


class Both:
    """A report and the notices made from it, side by side."""

    def __init__(self, report: Path, notices: Path) -> None:
        self.document: Exposure = decode((report / "report.json").read_bytes())
        self.tenants = pl.read_parquet(report / "affected_tenants.parquet")
        judged = ("affected_requests.parquet", "not_assessable.parquet")
        self.requests = pl.concat(
            [pl.read_parquet(report / name) for name in judged], how="diagonal_relaxed"
        )
        self.packets = {
            path.parent: json.loads(path.read_bytes()) for path in notices.glob("*/*/facts.json")
        }
        self.public = json.loads((notices / "public_summary.json").read_bytes())

    def of(self, population: str) -> list[tuple[dict, list[dict[str, str]]]]:
        """The facts and the listed requests of each packet of a population."""
        return [
            (facts, list(csv.DictReader((folder / "requests.csv").open(newline=""))))
            for folder, facts in self.packets.items()
            if facts["population"] == population
        ]


def sums_hold(both: Both) -> None:
    for population in ("recipient", "source"):
        rows = both.tenants.filter(pl.col("population") == population)
        named = rows.filter(pl.col("tenant_id").is_not_null())
        packets = both.of(population)
        assert {facts["account"] for facts, _ in packets} == set(named["tenant_id"])
        assert len(packets) == named.height
        for name in STATED:
            assert sum(facts[name] for facts, _ in packets) == named[name].sum(), name
        for facts, listed in packets:
            assert facts["listed"] == len(listed) <= facts["total"]
    recipients_hold(both)
    head = both.document.headline
    answered = [facts for facts, _ in both.of("recipient") if facts["tier"] != "not_assessable"]
    beyond = [facts for facts, _ in both.of("source") if not facts["same_tenant_only"]]
    assert (head.recipients, head.sources) == (len(answered), len(beyond))


def recipients_hold(both: Both) -> None:
    """Every judged request with a tenant is listed in one packet, with its tier."""
    packets = both.of("recipient")
    nameless = both.requests.filter(pl.col("tenant_id").is_null())
    for tier in both.document.headline.tiers:
        if tier.tier in TIERS:
            listed = sum(row["tier"] == tier.tier for _, rows in packets for row in rows)
            unnamed = nameless.filter(pl.col("tier") == tier.tier).height
            stated = sum(facts[f"n_{tier.tier}"] for facts, _ in packets)
            assert listed == stated == tier.requests - unnamed
    unknown = both.public["requests_without_tenant"]
    assert unknown == nameless.height or unknown is None or isinstance(unknown, str)


@pytest.fixture
def both(tmp_path):
    def made(report: Path) -> Both:
        code = run(["notify", str(report), "-o", str(tmp_path / "notices")])
        assert code in (Exit.COMPLETE, Exit.INCOMPLETE)
        return Both(report, tmp_path / "notices")

    return made


def test_of_a_few_tenants_and_one_unknown(report_of, both):
    found = both(report_of(["acct-000001", None]))
    sums_hold(found)
    assert [len(found.of(name)) for name in ("recipient", "source")] == [1, 1]


@pytest.mark.long
@pytest.mark.parametrize("name", ["glm53", "session-slots"])
def test_of_the_samples(name, both, tmp_path):
    folder, out = SAMPLES / name, tmp_path / "out"
    asked = ["-i", str(folder / "incident.toml")] if (folder / "incident.toml").exists() else []
    run(["report", str(folder / "logs"), *asked, "-o", str(out), "-q"])
    found = both(out)
    sums_hold(found)
    assert found.of("recipient")
    assert found.of("source")


@pytest.mark.long
def test_of_a_seeded_incident_from_the_logs_of_its_engines(both, tmp_path):
    write_sglang(simulate(small(seed=5, requests=2_000)), tmp_path / "logs")
    run(["report", str(tmp_path / "logs"), "-o", str(tmp_path / "out"), "-q"])
    found = both(tmp_path / "out")
    sums_hold(found)
    assert found.of("recipient")
    assert found.of("source")
