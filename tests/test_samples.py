"""The samples against their truth, and the fault's two conditions against each other."""

from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import lab

SAMPLES = Path(__file__).parents[1] / "data" / "samples"


def _truth(folder: Path) -> set[tuple[str, str]]:
    rows = pl.read_csv(folder / "truth.csv", infer_schema=False)
    rows = rows.filter(pl.col("affected") == "true")
    return set(rows.select("request_id", "transfer_id").iter_rows())


def _found(case: forensics.Case) -> set[tuple[str, str]]:
    return set(case.affected.polars().select("request_id", "transfer_id").iter_rows())


@pytest.mark.parametrize("name", ["glm53", "glm53-dirty"])
def test_the_published_incident_is_found_exactly(name: str) -> None:
    folder = SAMPLES / name
    case = forensics.read_logs(folder / "logs", incident=folder / "incident.toml")
    truth, found = _truth(folder), _found(case)
    assert len(truth) == 155
    assert found == truth
    assert case.affected.polars()["tier"].unique().to_list() == ["probable"]
    assert case.affected.polars()["prompt_tokens"].min() > 681_280


def test_every_true_source_tenant_is_named() -> None:
    folder = SAMPLES / "glm53"
    case = forensics.read_logs(folder / "logs", incident=folder / "incident.toml")
    true = pl.read_csv(folder / "truth_sources.csv").select("request_id", "source_tenant_id")
    named = case.sources.polars().select("request_id", "source_tenant_id")
    assert true.height > 1_000
    assert true.join(named, on=["request_id", "source_tenant_id"], how="anti").is_empty()


@pytest.mark.few(4)
@pytest.mark.parametrize("writer", [lab.write_plain, lab.write_sglang], ids=["plain", "sglang"])
@pytest.mark.parametrize("small_pool", [True, False], ids=["small pool", "large pool"])
@pytest.mark.parametrize("faulty", [True, False], ids=["faulty rejection", "sound rejection"])
def test_exactly_one_cell_of_pool_and_rejection_leaks(
    tmp_path: Path, writer, small_pool: bool, faulty: bool
) -> None:
    run = lab.simulate(lab.small(small_prefill_pool=small_pool, faulty_rejection=faulty))
    writer(run, tmp_path / "logs")
    case = forensics.read_logs(tmp_path / "logs")
    truth = {handoff.transfer_id for handoff in run.affected}
    assert bool(truth) == (small_pool and faulty)
    affected = case.affected.polars()
    shown = affected.filter(pl.col("tier") == "probable")
    assert set(shown["transfer_id"]) == {str(room) for room in truth}
    # A rejection line names no hand-off: where nothing tells what became of it, it stays.
    rest = affected.filter(pl.col("tier") != "probable")
    assert rest["transfer_id"].null_count() == rest.height
    assert not rest.height or writer is lab.write_sglang
