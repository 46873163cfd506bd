"""Rows of late: none is lost however files are merged, and none is let go too early."""

import polars as pl
import pytest

from forensics.live.watch.rows import Rows

KEEP = 64.0


@pytest.fixture
def looks(tmp_path):
    """Return rows of 100 looks, one a second, of two logs each; every tenth gave none."""
    rows = Rows()
    for look in range(1, 101):
        read = []
        for log in range(2 if look % 10 else 0):
            part = tmp_path / f"{look}-{log}.parquet"
            pl.DataFrame({"line": [look * 10 + log]}).write_parquet(part)
            read.append((float(look), part))
        rows.add(look, read, float(look))
        rows.merge(KEEP)
    return rows


def held(rows: Rows) -> dict[int, float]:
    found = pl.concat([frame.collect() for frame in rows.scan()])
    return dict(found.select("line", "_at").iter_rows())


EVERY = {look * 10 + log: float(look) for look in range(1, 101) if look % 10 for log in range(2)}


def test_every_row_is_held_once_with_its_time_in_few_files(looks, tmp_path):
    assert held(looks) == EVERY
    assert len(looks.scan()) < 40
    assert len(list(tmp_path.iterdir())) == len(looks.scan())


def test_what_is_let_go_is_old_and_what_is_left_is_the_rest(looks, tmp_path):
    look, gone = looks.drop(41.0)
    let_go = dict(pl.concat(gone).select("line", "_at").iter_rows())
    assert max(let_go.values()) < 41.0
    assert min(held(looks).values()) >= 41.0 - KEEP / 16
    assert held(looks) | let_go == EVERY
    assert look == max(let_go.values()) or look % 10 == 0
    assert len(list(tmp_path.iterdir())) == len(looks.scan())
