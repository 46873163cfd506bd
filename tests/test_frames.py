"""Frames in, frames out: every kind comes back as itself, with the same rows and verdicts."""

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from polars.testing import assert_frame_equal

import forensics
from forensics.errors import IncidentError

ADDED = ["input_limit_tokens", "rung", "tier", "reasons", "missing"]
ROOM = 2**63 - 1
"""A transfer id that no float can hold."""

CAPACITY = pl.DataFrame(
    {
        "node": ["prefill-01"],
        "role": ["prefill"],
        "effective_at": ["2026-08-27T00:00:00Z"],
        "pool_tokens": [681_280],
        "page_tokens": [64],
        "context_tokens": [1_048_576],
        "engine": ["sglang"],
        "disaggregated": [True],
    }
)


def requests() -> pl.DataFrame:
    """Rows whose verdicts differ, in no order, with ids that repeat, nulls and own columns."""
    return pl.DataFrame(
        {
            "note": ["z", None, "a", "a", "ü"],
            "request_id": ["r5", "r1", None, "r1", "r2"],
            "transfer_id": [ROOM, None, 7, 8, ROOM - 1],
            "received_at": [f"2026-08-2{day}T06:00:00Z" for day in (9, 8, 8, 7, 7)],
            "prefill_node": ["prefill-01"] * 5,
            "prompt_tokens": [700_000, 900, None, 700_000, 681_280],
            "prefill_prompt_tokens": [1, 900, None, None, 681_280],
            "prefill_ms": [4.0, 150.5, None, 90_000.0, 80_000.0],
            "completion_tokens": [12, 40, 1, 5, 0],
            "http_status": [200, 200, 200, 200, 400],
            "score": [0.5, None, 2.5, -1.0, 0.0],
        }
    )


TIERS = ["probable", "ruled_out", "not_assessable", "possible", "ruled_out"]


def judged(frame):
    return forensics.judge(frame, CAPACITY)


def test_judge_gives_back_the_kind_it_got(to_kind, from_kind):
    result = from_kind(judged(to_kind(requests())))
    assert result.columns == [*requests().columns, *ADDED]
    assert result["tier"].to_list() == TIERS


def test_rows_order_and_own_columns_stay(to_kind, from_kind):
    result = from_kind(judged(to_kind(requests())))
    assert_frame_equal(result.select(requests().columns), requests())


def test_verdicts_are_equal_among_kinds(to_kind, from_kind):
    assert_frame_equal(from_kind(judged(to_kind(requests()))), judged(requests()))


def test_capacity_may_be_of_any_kind(to_kind):
    assert_frame_equal(forensics.judge(requests(), to_kind(CAPACITY)), judged(requests()))


def test_the_callers_frame_is_not_changed(to_kind, from_kind):
    given = to_kind(requests())
    judged(given)
    assert_frame_equal(from_kind(given), requests())


def test_neither_function_changes_a_frame_it_was_given(to_kind, from_kind):
    given, pools = to_kind(requests()), to_kind(CAPACITY)
    forensics.judge(given, pools)
    forensics.prefill_p5(given)
    assert_frame_equal(from_kind(given), requests())
    assert_frame_equal(from_kind(pools), CAPACITY)


def test_numpy_backed_pandas_is_not_changed_either():
    given = requests().drop("transfer_id").to_pandas()
    given.index = pd.Index([3, 1, 2, 5, 4], name="row")
    given.attrs["from"] = "a ticket"
    before, held = given.copy(deep=True), {name: given[name].array for name in given}
    judged(given)
    forensics.prefill_p5(given)
    pd.testing.assert_frame_equal(given, before)
    assert given.attrs == {"from": "a ticket"}
    assert list(given.columns) == list(before.columns)
    assert all(given[name].array.dtype == array.dtype for name, array in held.items())


def offset() -> pd.DataFrame:
    """Times as pandas makes them of texts that end with an offset, which it takes for a zone."""
    given = requests().drop("transfer_id").to_pandas()
    local = given["received_at"].str.replace("06:00:00Z", "11:30:00+05:30")
    return given.assign(received_at=pd.to_datetime(local))


@pytest.mark.parametrize(
    "made",
    [
        offset,
        lambda: pa.Table.from_pandas(offset()),
        lambda: offset().convert_dtypes(dtype_backend="pyarrow"),
    ],
    ids=["pandas", "arrow", "pandas on arrow"],
)
def test_times_of_an_offset_are_judged_and_stay_as_they_are(made):
    given = made()
    result = judged(given)
    assert tiers(result) == TIERS
    assert forensics.prefill_p5(given).shape == forensics.prefill_p5(requests()).shape
    before, after = (nw.from_native(one).schema["received_at"] for one in (given, result))
    assert before == after
    assert "+05:30" in str(before)


def tiers(native) -> list[str]:
    frame = nw.from_native(native)
    return (frame.collect() if isinstance(frame, nw.LazyFrame) else frame)["tier"].to_list()


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7, 7, 7, 7]),
        pd.Index([1, 2, 3, 4, 5], name="request_id"),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (1, "a"), (2, "a"), (2, "b")]),
        pd.CategoricalIndex(list("qqrrs")),
    ],
    ids=["same", "named as a column", "levels", "categories"],
)
def test_any_index_of_pandas_stays(index):
    given = requests().drop("transfer_id").to_pandas()
    given.index = index
    result = judged(given)
    pd.testing.assert_index_equal(result.index, index)
    assert result["tier"].tolist() == TIERS


@pytest.mark.parametrize("made", ["clone", "lazy", "to_arrow", "to_pandas"])
def test_categories_and_decimals_are_judged_and_stay(made):
    exact = pl.col("prompt_tokens", "prefill_prompt_tokens").cast(pl.Decimal(20, 2))
    few = pl.col("prefill_node", "request_id").cast(pl.Categorical)
    given = getattr(requests().with_columns(few, exact), made)()
    result = judged(given)
    assert type(result) is type(given)
    assert tiers(result) == TIERS
    before, after = (nw.from_native(one).collect_schema() for one in (given, result))
    assert list(after.items())[: len(before)] == list(before.items())


def test_a_relation_stays_on_its_connection_with_its_own_types():
    """Among them are types that Arrow has not; what a second run would make anew is run once."""
    connection, mine = duckdb.connect(), requests().to_arrow()
    given = connection.sql(
        "SELECT *, uuid() AS ticket, 'a'::ENUM('a', 'b') AS kind, '101'::BIT AS bits,"
        ' 170141183460469231731687303715884105727::HUGEINT AS large, random() AS "Any ""one"'
        " FROM mine"
    )
    del mine
    result = judged(given)
    assert isinstance(result, duckdb.DuckDBPyRelation)
    assert result.types[: len(given.types)] == given.types
    assert result.columns == [*given.columns, *ADDED]
    assert result.fetchall() == result.fetchall()
    assert [row[0] for row in result.select("tier").fetchall()] == TIERS
    assert forensics.prefill_p5(result).columns == ["day", "low", "requests", "p5_ms"]
    kept = "SELECT count(*) FROM duckdb_tables() UNION ALL FROM duckdb_views() SELECT count(*)"
    assert connection.sql(kept + " WHERE NOT internal").fetchall() == [(0,), (0,)]
    connection.register("theirs", result.to_arrow_table())
    assert result.query("judged", "SELECT * FROM judged JOIN theirs USING (note)").shape[0] > 0


def test_a_frame_of_dask_keeps_its_parts_and_its_index():
    frame = pytest.importorskip("dask.dataframe")
    mine = requests().to_pandas(use_pyarrow_extension_array=True)
    mine.index = pd.Index([9, 7, 7, 8, 1], name="row")
    given = frame.from_pandas(mine, npartitions=2, sort=False)
    result = judged(given)
    assert type(result) is type(given)
    assert result.npartitions == given.npartitions
    whole = result.compute()
    pd.testing.assert_index_equal(whole.index, mine.index)
    assert whole["tier"].tolist() == TIERS


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (lambda table: table.to_reader(), "RecordBatchReader"),
        (pyarrow.dataset.dataset, "InMemoryDataset"),
        (lambda table: table.to_pylist(), "list"),
        (lambda table: pl.DataFrame(table)["note"], "Series"),
        (lambda _: None, "NoneType"),
    ],
    ids=["reader", "data set", "rows", "column", "nothing"],
)
def test_what_is_no_frame_is_refused_with_the_kinds_that_are(given, named):
    given = given(requests().to_arrow())
    for called in (judged, forensics.prefill_p5):
        with pytest.raises(TypeError, match="pandas, pyarrow Table and RecordBatch") as refused:
            called(given)
        assert named in str(refused.value)
        assert "r5" not in str(refused.value)


def test_nulls_stay_null(to_kind, from_kind):
    result = from_kind(judged(to_kind(requests())))
    nulls = dict(zip(result.columns, result.null_count().row(0), strict=True))
    expected = requests().null_count().row(0, named=True) | dict.fromkeys(ADDED, 0)
    # The request that nothing is known of has no reason: an empty text, not a null.
    assert nulls == expected
    assert result["reasons"][2] == ""


def test_no_capacity_leaves_the_limit_null(to_kind, from_kind):
    result = from_kind(forensics.judge(to_kind(requests())))
    assert result["input_limit_tokens"].null_count() == result.height


def test_no_row_gives_no_row(to_kind, from_kind):
    result = from_kind(judged(to_kind(requests().clear())))
    assert (result.height, result.columns) == (0, [*requests().columns, *ADDED])


def test_rows_without_any_known_column_cannot_be_judged(to_kind, from_kind):
    result = from_kind(judged(to_kind(pl.DataFrame({"note": ["a", "b"]}))))
    assert result["note"].to_list() == ["a", "b"]
    assert result["tier"].to_list() == ["not_assessable"] * 2


def test_judging_twice_replaces_the_verdict(to_kind, from_kind):
    once = judged(to_kind(requests()))
    assert_frame_equal(from_kind(judged(once)), from_kind(once))


def test_foreign_names_are_mapped(to_kind, from_kind, tmp_path):
    incident = tmp_path / "incident.toml"
    incident.write_text('[columns]\nlength = "prompt_tokens"\n', encoding="utf-8")
    renamed = requests().rename({"prompt_tokens": "length"})
    result = from_kind(forensics.judge(to_kind(renamed), CAPACITY, str(incident)))
    assert result["tier"].to_list() == TIERS


def test_prefill_p5_gives_back_the_kind_it_got(to_kind, from_kind):
    result = from_kind(forensics.prefill_p5(to_kind(requests())))
    assert_frame_equal(result, forensics.prefill_p5(requests()))
    assert result.columns == ["day", "low", "requests", "p5_ms"]
    assert result["requests"].sum() == 4


# --- pandas has more than one way to hold a column -------------------------------------


def test_numpy_backed_pandas_stays_numpy_backed():
    given = requests().drop("transfer_id").to_pandas()
    result = judged(given)
    assert result[given.columns].dtypes.to_dict() == given.dtypes.to_dict()
    assert result[ADDED].dtypes.astype(str).to_list() == ["Int64", "str", "str", "str", "str"]
    assert result["tier"].to_list() == TIERS


def test_numpy_backed_pandas_keeps_whole_numbers_beside_nulls():
    given = pd.DataFrame({"prompt_tokens": [700_000, 5], "prefill_node": ["prefill-01", "other"]})
    unlimited = CAPACITY.with_columns(node=pl.lit("other"), pool_tokens=pl.lit(None, pl.Int64))
    capacity = pl.concat([CAPACITY, unlimited])
    limit = forensics.judge(given, capacity)["input_limit_tokens"]
    assert str(limit.dtype) == "Int64"
    assert (limit[0], limit.isna().to_list()) == (681_274, [False, True])


@pytest.mark.parametrize("index", [[30, 10, 20, 10, 40], list("edcba")])
def test_pandas_keeps_its_index(index):
    given = requests().to_pandas()
    given.index = pd.Index(index, name="row")
    pd.testing.assert_index_equal(judged(given).index, given.index)
    assert judged(given)["tier"].to_list() == TIERS


def test_a_column_nobody_named_may_hold_anything():
    given = requests().to_pandas()
    given["body"] = [{"messages": ["secret"]}, ["secret"], object(), 1, None]
    result = judged(given)
    assert result["body"].to_list() == given["body"].to_list()
    assert result["tier"].to_list() == TIERS


def test_a_time_without_zone_is_never_certain_at_the_edge_of_the_window(tmp_path):
    incident = tmp_path / "incident.toml"
    window = '["2026-08-27T00:00:00Z", "2026-09-10T00:00:00Z"]'
    incident.write_text(f"[scope]\nwindow = {window}\n", encoding="utf-8")
    naive = requests().with_columns(pl.col("received_at").str.strip_chars_end("Z"))
    result = forensics.judge(
        naive.with_columns(received_at=pl.lit("2026-08-27T06:00:00")), CAPACITY, str(incident)
    )
    assert result["tier"][0] == "possible"
    assert "zone_assumed" in result["reasons"][0]


def test_an_incident_that_cannot_be_right_is_refused(tmp_path):
    with pytest.raises(IncidentError):
        forensics.judge(requests(), incident=str(tmp_path / "absent.toml"))
