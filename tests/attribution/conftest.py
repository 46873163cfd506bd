"""Runs of the laboratory as cases, with their logs changed as a test wants them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.lab.plain import encode, plain_files
from forensics.lab.plainrows import Row

Change = Callable[[str, list[Row]], list[Row]]
Pair = tuple[str, str]


def write(run: lab.LabRun, folder: Path, change: Change | None = None) -> Path:
    """Write a run as plain records; ``change`` gets each file's name and rows."""
    for name, rows in plain_files(run).items():
        path = folder / f"{name}.ndjson"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(rows if change is None else change(name, rows)))
    return folder


def true_pages(run: lab.LabRun) -> dict[Pair, int]:
    """Pages by response and source request: what really was read."""
    pages: dict[Pair, int] = {}
    for handoff in run.affected:
        for stale in handoff.stale:
            key = (handoff.intent.request_id, stale.request_id)
            pages[key] = pages.get(key, 0) + stale.pages
    return pages


def true_tenants(run: lab.LabRun) -> set[Pair]:
    """Response and source tenant, by pages of decode and by the tail of prefill."""
    found = set()
    for handoff in run.affected:
        owners = [*handoff.stale, *([handoff.prefill_tail] if handoff.prefill_tail else [])]
        found |= {(handoff.intent.request_id, owner.tenant_id) for owner in owners}
    return found


def named(case: forensics.Case) -> pl.DataFrame:
    """Pairs that the replay names."""
    return case.sources.polars().filter(pl.col("probability").is_not_null())


def score(rows: pl.DataFrame, true: dict[Pair, int]) -> tuple[float, float]:
    """Page-weighted recall, and precision of the pairs of a probability of half and more."""
    pages = {(r[0], r[1]): r[2] for r in _pairs(rows, "pages")}
    likely = {(r[0], r[1]) for r in _pairs(rows, "probability") if r[2] >= 0.5}
    hit = sum(min(count, pages.get(pair, 0)) for pair, count in true.items())
    return hit / sum(true.values()), len(likely & true.keys()) / len(likely)


def _pairs(rows: pl.DataFrame, value: str) -> Iterator[tuple[str, str, float]]:
    return rows.select("request_id", "source_request_id", value).iter_rows()


def reliability(rows: Iterable[tuple[float, bool]]) -> float:
    """Mean distance of a stated probability from the share that is true, in tenths."""
    frame = pl.DataFrame(list(rows), {"stated": pl.Float64, "true": pl.Boolean}, orient="row")
    bins = frame.group_by((pl.col("stated") * 10).round()).agg(
        pl.col("true").mean(), pl.len(), mean=pl.col("stated").mean()
    )
    off = ((bins["mean"] - bins["true"]).abs() * bins["len"]).sum()
    return float(off) / frame.height


def node_lines(run: lab.LabRun, keep: str) -> dict[str, bytes]:
    """Engine logs of decode nodes: start-up lines, and those with some word."""
    from forensics.lab.clock import local_second
    from forensics.lab.sglang import node_lines as lines_of

    files = {}
    for node in run.nodes:
        if node.role == "decode":
            lines = sorted(lines_of(run, node), key=lambda line: line[0])
            kept = [line for line in lines if keep in line[2]]
            text = "".join(f"[{local_second(at, 0)}{rank}] {said}\n" for at, rank, said in kept)
            files[f"{node.name}.log"] = text.encode()
    return files


@pytest.fixture(scope="session")
def idle() -> lab.LabRun:
    """Few requests on ranks with room."""
    return lab.simulate(lab.small(seed=4))


@pytest.fixture(scope="session")
def busy() -> lab.LabRun:
    """Six times as many on the same ranks: many answers grow at once."""
    return lab.simulate(lab.small(seed=4, requests=2_400))


@pytest.fixture(scope="session")
def usual() -> lab.LabRun:
    """As many as a rank can take without waiting."""
    return lab.simulate(lab.small(seed=4, requests=900))


@pytest.fixture(scope="session")
def idle_case(idle: lab.LabRun, tmp_path_factory: pytest.TempPathFactory) -> forensics.Case:
    """The idle run, from complete logs."""
    return forensics.read_logs(write(idle, tmp_path_factory.mktemp("idle")))


@pytest.fixture(scope="session")
def tools() -> SimpleNamespace:
    """What the tests share."""
    shared = (write, true_pages, true_tenants, named, score, reliability, node_lines)
    return SimpleNamespace(**{one.__name__: one for one in shared})
