"""One kind of line of a node log: how it is told, what is taken from it, what it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.parsed import Parsed
from forensics.sources.sglang.figures import Template
from forensics.sources.sglang.pieces import Shape

COUNT = r"[0-9]{1,12}"
ROOM = r"[0-9]{1,19}"
LONG_ID = r".{1,1024}?"
"""An id that may hold anything: what follows it in the pattern ends it."""
QUOTE = "['\"]"


@dataclass(frozen=True)
class Rows:
    """Lines of one message: its fields, beside the columns of their prefix.

    ``aside``, where it is there, is null in rows that are kept, else the kind that they
    are counted under.
    """

    frame: pl.DataFrame
    context: Context
    parsed: Parsed

    @property
    def kept(self) -> Rows:
        """The rows that are not only counted."""
        if "aside" not in self.frame.columns:
            return self
        return Rows(self.frame.filter(pl.col("aside").is_null()), self.context, self.parsed)

    def observe(self, *columns: pl.Expr, naive: pl.Expr | None = None) -> None:
        """Add one observation a row."""
        self._add(self.parsed.observations, columns, naive)

    def trace(self, kind: str, **columns: pl.Expr) -> None:
        """Add one trace a row: it befell some request, at that time, on that engine."""
        named = [expr.alias(name) for name, expr in columns.items()]
        place = (pl.col("identity").alias("node"), pl.col("local").alias("at"))
        self._add(self.parsed.traces, (*place, pl.lit(kind).alias("kind"), *named))

    def fact(self, event: str, *, ranked: bool = True, **columns: pl.Expr) -> None:
        """Add one fact of capacity a row, of the rank or of the whole server."""
        node = pl.col("identity") if ranked else pl.lit(self.context.node)
        named = [expr.alias(name) for name, expr in columns.items()]
        told = (pl.lit("sglang").alias("engine"), pl.lit(event).alias("event"))
        at = (node.alias("node"), pl.col("local").alias("effective_at"))
        self._add(self.parsed.capacity, (*at, *told, *named))

    def _add(
        self,
        sink: list[pl.DataFrame],
        columns: tuple[pl.Expr, ...],
        naive: pl.Expr | None = None,
    ) -> None:
        if self.frame.height:
            sink.append(self.frame.select(*columns, *self._origin(naive)))

    def _origin(self, naive: pl.Expr | None) -> list[pl.Expr]:
        return [
            pl.lit(self.context.number, dtype=pl.Int32).alias("file"),
            pl.col("line"),
            pl.col("naive") if naive is None else naive.alias("naive"),
            pl.lit(self.context.node).alias("source_node"),
        ]


Build = Callable[[Rows], None]


@dataclass(frozen=True)
class Message:
    """A message of the engine.

    Attributes:
        form: what it is called and shows.
        literals: texts that it begins with, or that only it holds.
        patterns: forms that it may have; the first that fits a line gives its fields.
        template: a form whose figures are read from the bytes.
        shapes: orders of pieces that are looked for before any pattern.
        build: makes observations, facts or traces of the lines; None: they are counted.
        aside: names the kind that a line is only counted under, or is null: it is kept.
        bare: it may stand without a prefix.
        refine: leaves out lines that have the pattern and are not in the form all the same.
    """

    form: Form
    literals: tuple[str, ...]
    patterns: tuple[str, ...]
    build: Build | None = None
    shapes: tuple[Shape, ...] = ()
    aside: pl.Expr | None = None
    bare: bool = False
    template: Template | None = None
    refine: Callable[[pl.DataFrame], pl.DataFrame] | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of all fields, of whatever pattern."""
        return tuple(dict.fromkeys(re.findall(r"\(\?<(\w+)>", "".join(self.patterns))))


def told_once(mark: str, *fields: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return what leaves out lines that hold a mark where only an imitation can have it.

    A client chooses its id: one that holds what stands after an id would end too early, and
    what really follows would then be in the rest of the line.

    Args:
        mark: pattern of what a line of the engine has once, after its id.
        fields: groups in which it would be another one.
    """

    def refine(frame: pl.DataFrame) -> pl.DataFrame:
        again = pl.any_horizontal(
            pl.col(f).str.contains(mark).fill_null(value=False) for f in fields
        )
        marked = frame.select(again).to_series()
        return frame.filter(~marked) if marked.any() else frame

    return refine


def number(name: str) -> pl.Expr:
    """A field as a whole number."""
    return pl.col(name).cast(pl.Int64, strict=False)


def counted(form: Form, *literals: str, pattern: str | None = None) -> Message:
    """Return a message of which only the number of lines is kept, under its title."""
    return Message(form, literals, () if pattern is None else (pattern,))
