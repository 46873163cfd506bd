"""Records that others prove, marked at the node and hour that lost them, and held by verify."""

import io
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import declared, tables
from forensics.activity import HOUR
from forensics.coverage.heat import heat
from forensics.coverage.proved import with_proved
from forensics.coverage.quiet import quiet
from forensics.encode import csv_bytes
from forensics.evidence import twins

Row = dict[str, Any]
START = 1_772_445_600_000_000  # 2026-03-02T10:00:00Z
AT = {"hour": pl.Int64, "hop": pl.String, "node": pl.String}


def hours(counts: dict[str, list[int]], hop: str = "decode") -> pl.DataFrame:
    rows = [
        {"node": node, "hop": hop, "hour": START + number * HOUR, "records": records}
        for node, each in counts.items()
        for number, records in enumerate(each)
    ]
    none = dict.fromkeys(("gap", "unlogged", "thin"), False)
    return pl.DataFrame([row | none | {"batches": 0} for row in rows])


def lacking(hour: int, number: int, node: str | None = None) -> pl.DataFrame:
    rows = [(START + hour * HOUR, "decode", node)] * number
    return pl.DataFrame(rows, schema=AT, orient="row")


def marks(rows: pl.DataFrame) -> list[tuple[str | None, int, str]]:
    found = [cell for cell in heat(rows).cells if cell.missing]
    return [(cell.node, int(cell.at[11:13]) - 10, cell.state) for cell in found]


def test_an_hour_that_a_node_may_have_lost_is_not_called_none_due() -> None:
    """Neighbours prove that its hop lost some: each node without a record there may be the one."""
    seen = with_proved(hours({"a": [40, 40, 40], "b": [9, 0, 9], "c": [9, 9, 0]}), lacking(1, 4))
    cells = heat(seen.filter((pl.col("records") > 0) | pl.col("node").is_null())).cells
    states = {(cell.node, int(cell.at[11:13]) - 10): (cell.state, cell.due) for cell in cells}
    assert states["a", 1] == states["c", 1] == ("records", 1)
    assert states["b", 1] == ("perhaps missing", 1)
    assert states["c", 2] == ("none due", 0)
    early = with_proved(hours({"a": [40, 40], "b": [0, 9]}), lacking(0, 4))
    cells = heat(early.filter((pl.col("records") > 0) | pl.col("node").is_null())).cells
    assert [c.state for c in cells if c.node == "b"] == ["perhaps missing", "records"]


@pytest.mark.parametrize(
    ("counts", "lost", "marked"),
    [
        ([40, 40, 12], lacking(2, 28), ["b", None]),
        ([40, 40, 36], lacking(2, 4), [None]),
        ([40, 40, 40], lacking(2, 4, "b"), ["b"]),
        ([40, 40, 40], lacking(2, 0), []),
    ],
    ids=["far below its share", "not told", "named by another hop", "none"],
)
def test_a_partial_loss_is_marked_at_its_node_where_that_is_told(
    counts: list[int], lost: pl.DataFrame, marked: list[str | None]
) -> None:
    rows = with_proved(hours({"a": [40, 42, 40], "b": counts}), lost)
    assert sorted(marks(rows), key=str) == sorted(
        ((node, 2, "partly missing") for node in marked), key=str
    )
    assert rows["proved_elsewhere"].sum() == lost.height


@pytest.mark.parametrize(
    ("each", "gone", "found"),
    [(30, 12, (1, 0)), (6, 12, (0, 1)), (30, None, (0, 0))],
    ids=["busy together", "too few to tell", "none empty"],
)
def test_an_hour_that_no_log_holds_is_missing_or_not_told(
    case_of: Callable[..., forensics.Case], each: int, gone: int | None, found: tuple[int, int]
) -> None:
    """Nodes that are quiet each: together they tell whether an empty hour is a chance."""
    rows = [
        {"request_id": f"{hour}-{n}", "hop": "decode", "decode_node": f"d{n % 5}"}
        | {"received_at": f"2026-03-02T{hour}:{n * 60 // each:02}:00Z"}
        for hour in range(10, 15)
        if hour != gone
        for n in range(each)
    ]
    seen = quiet(case_of(*rows).analysis.coverage)
    assert (seen.missing, seen.untold) == found


def requests(hour: int, lost: range) -> list[Row]:
    """Thirty requests of an hour; the only decode node's log lacks some of them."""
    rows: list[Row] = []
    for number in range(30):
        shared = {"request_id": f"r{hour}-{number}", "http_status": 200}
        shared["received_at"] = f"2026-03-02T{hour:02}:{2 * number:02}:00Z"
        rows.append(shared | {"hop": "gateway", "prompt_tokens": 900})
        if number not in lost:
            rows.append(shared | {"hop": "decode", "decode_node": "d1", "completion_tokens": 3})
    return rows


class Held:
    """The table of a report, as verify reads it."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._text = csv_bytes(table, declared.COVERAGE)

    def table(self, _: str) -> pl.DataFrame:
        return pl.read_csv(io.BytesIO(self._text), infer_schema=False)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> forensics.Case:
    """One decode node that lost a third of one hour, and another hour whole."""
    lost = {9: range(0), 10: range(0, 30, 3), 11: range(30), 12: range(0)}
    rows = [row for hour, gone in lost.items() for row in requests(hour, gone)]
    path = tmp_path_factory.mktemp("logs") / "case.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return forensics.read_logs(path)


def test_the_only_node_of_a_hop_is_the_one_that_lost_them(case: forensics.Case) -> None:
    cells = [cell for cell in case.exposure().heat.cells if cell.missing]
    assert [(cell.node, cell.at[11:13], cell.state) for cell in cells] == [
        ("d1", "10", "partly missing"),
        ("d1", "11", "missing"),
    ]
    table = case.coverage.polars().filter(pl.col("proved_elsewhere") > 0)
    assert table.select("node", "proved_elsewhere").rows() == [("d1", 10), ("d1", 30)]


def faults(case: forensics.Case, change: Callable[[pl.DataFrame], pl.DataFrame]) -> set[str]:
    held: Any = Held(change(tables.coverage(case.analysis)))
    return {fault.what for fault in twins.coverage(held, case.exposure()) if fault.found}


def test_verify_holds_the_hours_of_lines_without_records(case: forensics.Case) -> None:
    assert faults(case, lambda table: table) == set()
    later = pl.when("gap").then(pl.col("hour").dt.offset_by("3h")).otherwise("hour")
    found = faults(case, lambda table: table.with_columns(later.alias("hour")))
    said = "that are not those of report.json"
    assert found >= {f"cells of the map {said}", f"holes {said}"}
    assert "hours of gaps that hold records elsewhere" in found
