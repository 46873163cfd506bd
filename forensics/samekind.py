"""The kinds of frame that a caller may have: what is read of them, and how results come back."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Protocol

import narwhals as nw
import polars as pl

from forensics.anyframe import as_polars, eager, unknown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_NUMPY_BACKED: dict[Any, Any] = {pl.String: "str", pl.Int64: "Int64", pl.Float64: "float64"}


class Given(Protocol):
    """A caller's frame, which stays as it is; results are new ones of its kind."""

    def known(self, names: Container[str]) -> pl.DataFrame:
        """Return as Polars the columns of these names and no other, the rows in order.

        What is left out may be text of prompts, or hold objects that no other library has.
        """

    def beside(self, added: pl.DataFrame) -> Any:
        """Return the caller's rows with columns put beside their own, or in place of them."""

    def alone(self, table: pl.DataFrame) -> Any:
        """Return a table of other rows as the kind that the caller's frame is of."""


def given(native: Any) -> Given:
    """Take a caller's frame.

    Raises:
        TypeError: it is no frame, or of a kind that nothing could come back as.
    """
    import pyarrow as pa

    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return _Wrapped(given(native.to_native()))
    if nw.dependencies.is_duckdb_relation(native):
        return _Relation(native)
    if nw.dependencies.is_dask_dataframe(native):
        return _Rows(eager(native.compute()), _dask(native))
    frame = eager(native)
    if isinstance(native, pl.LazyFrame):
        return _Rows(frame, pl.DataFrame.lazy)
    if isinstance(native, pa.RecordBatch):
        return _Rows(frame, _batch)
    if frame.to_native() is native and _made_here(frame):
        return _Rows(frame)
    raise unknown(native)


def _made_here(frame: nw.DataFrame[Any]) -> bool:
    made = {nw.Implementation.POLARS, nw.Implementation.PANDAS, nw.Implementation.PYARROW}
    return frame.implementation in made


class _Rows:
    """A frame with its rows at hand: of Polars, pandas or Arrow, or made one of them."""

    def __init__(self, frame: nw.DataFrame[Any], back: Callable[[Any], Any] | None = None) -> None:
        self._frame = frame
        self._back = back or (lambda native: native)

    def known(self, names: Container[str]) -> pl.DataFrame:
        known = [name for name in self._frame.columns if name in names]
        if not known:
            return pl.DataFrame(height=self._frame.shape[0])
        return as_polars(self._frame.select(known))

    def beside(self, added: pl.DataFrame) -> Any:
        native = self._frame.drop(*added.columns, strict=False).to_native()
        columns = _native(added, native)
        if isinstance(native, pl.DataFrame):
            return self._back(native.hstack(columns))
        if self._frame.implementation.is_pandas():
            columns.index = native.index
            return self._back(native.assign(**{name: columns[name] for name in columns.columns}))
        for name in added.columns:
            native = native.append_column(name, columns[name])
        return self._back(native)

    def alone(self, table: pl.DataFrame) -> Any:
        return self._back(_native(table, self._frame.to_native()))


class _Relation:
    """A relation of DuckDB, run once: what a second run gives may be other rows, or their order.

    Its own columns stay in DuckDB, some of whose types Arrow has not, and what is added is held by
    the new relation: nothing is put into the catalogue of the caller's connection.
    """

    def __init__(self, native: Any) -> None:
        self._held = native.materialize()

    def known(self, names: Container[str]) -> pl.DataFrame:
        known = [name for name in self._held.columns if name in names]
        if not known:
            return pl.DataFrame(height=self._held.shape[0])
        return as_polars(eager(self._of(known).to_arrow_table()))

    def beside(self, added: pl.DataFrame) -> Any:
        # To DuckDB, names that differ in the case of letters alone are one.
        own = {name.casefold() for name in added.columns}
        kept = [name for name in self._held.columns if name.casefold() not in own]
        if not kept:
            return self.alone(added)
        return _asked(
            self._of(kept),
            "SELECT * FROM given POSITIONAL JOIN _forensics_table",
            added.to_arrow(),
        )

    def alone(self, table: pl.DataFrame) -> Any:
        return _asked(self._held, "SELECT * FROM _forensics_table", table.to_arrow())

    def _of(self, names: list[str]) -> Any:
        import duckdb

        return self._held.select(*map(duckdb.ColumnExpression, names))


def _asked(relation: Any, query: str, _forensics_table: pa.Table) -> Any:
    """Return what a query gives on a relation's connection, which finds the table by its name."""
    return relation.query("given", query)


class _Wrapped:
    """A frame of narwhals around one of these kinds."""

    def __init__(self, inner: Given) -> None:
        self._inner = inner

    def known(self, names: Container[str]) -> pl.DataFrame:
        return self._inner.known(names)

    def beside(self, added: pl.DataFrame) -> Any:
        return nw.from_native(self._inner.beside(added))

    def alone(self, table: pl.DataFrame) -> Any:
        return nw.from_native(self._inner.alone(table))


def _native(table: pl.DataFrame, like: Any) -> Any:
    """Return a Polars frame as the kind of another eager one."""
    if isinstance(like, pl.DataFrame):
        return table
    if nw.dependencies.is_pandas_dataframe(like):
        return _pandas(table, like)
    return table.to_arrow()


def _pandas(table: pl.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Return a pandas frame backed as the other one is; whole numbers stay whole beside nulls."""
    import pandas as pd

    if any(isinstance(dtype, pd.ArrowDtype) for dtype in like.dtypes):
        arrow: pd.DataFrame = table.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
        return arrow
    # By way of Python: through numpy a null would turn whole numbers to floats.
    columns = {
        name: pd.Series(table[name].to_list(), dtype=_NUMPY_BACKED[type(dtype)])
        for name, dtype in table.schema.items()
    }
    return pd.DataFrame(columns)


def _batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table as the one batch that it was."""
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _dask(native: Any) -> Callable[[pd.DataFrame], Any]:
    """Return what parts a pandas frame into as many as a frame of Dask has, its index as it is."""
    import dask.dataframe as dd

    return lambda frame: dd.from_pandas(frame, npartitions=native.npartitions, sort=False)
