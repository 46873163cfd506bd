"""Rows of late: none is lost however files are merged, and none is let go too early."""

import msgspec
import polars as pl
import pytest

from forensics.live.watch.rows import Rows

KEEP = 64.0


@pytest.fixture
def looks(tmp_path):
    """Return rows of 100 looks, one a second, of two logs each; every tenth gave none."""
    rows = Rows(tmp_path / "rows")
    for look in range(1, 101):
        read = []
        for log in range(2 if look % 10 else 0):
            part = tmp_path / f"{look}-{log}.parquet"
            pl.DataFrame({"line": [look * 10 + log]}).write_parquet(part)
            read.append((float(look), part))
        rows.add(read, float(look))
        rows.merge(KEEP)
        rows.sweep()
    return rows


def held(rows: Rows) -> dict[int, float]:
    found = pl.concat([frame.collect() for frame in rows.scan()])
    return dict(found.select("line", "_at").iter_rows())


EVERY = {look * 10 + log: float(look) for look in range(1, 101) if look % 10 for log in range(2)}


def test_every_row_is_held_once_with_its_time_in_few_files(looks, tmp_path):
    assert held(looks) == EVERY
    assert len(looks.scan()) < 40
    assert len(list((tmp_path / "rows").iterdir())) == len(looks.scan())


def test_what_is_let_go_is_old_and_what_is_left_is_the_rest(looks, tmp_path):
    gone = looks.drop(41.0)
    looks.sweep()
    let_go = dict(pl.concat(gone).select("line", "_at").iter_rows())
    assert max(let_go.values()) < 41.0
    assert min(held(looks).values()) >= 41.0 - KEEP / 16
    assert held(looks) | let_go == EVERY
    assert len(list((tmp_path / "rows").iterdir())) == len(looks.scan())


def test_no_file_that_a_state_may_name_is_removed_before_another_state_is_saved(looks, tmp_path):
    before, held_before = looks.kept, held(looks)
    looks.drop(41.0)
    looks.merge(KEEP * 100)
    again = Rows(tmp_path / "rows", before)
    assert held(again) == held_before


def test_what_no_state_names_is_removed_and_what_is_broken_is_said(looks, tmp_path):
    kept = looks.kept
    named = [one for one in kept if one.name]
    (tmp_path / "rows" / named[0].name).write_bytes(b"broken")
    again = Rows(tmp_path / "rows", kept[:-1])
    assert again.missing == [named[0]]
    again.sweep()
    left = {path.name for path in (tmp_path / "rows").iterdir()}
    assert left == {one.name for one in kept[:-1] if one.name} - {named[0].name}


def test_rows_are_as_old_as_the_clock_allows_where_it_began_anew(looks, tmp_path):
    late = [msgspec.structs.replace(one, at=7.0) for one in looks.kept]
    assert set(held(Rows(tmp_path / "rows", late)).values()) == {7.0}
