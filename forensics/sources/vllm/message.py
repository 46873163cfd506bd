"""One kind of line of vLLM: how it is told, what is taken from it, what it becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.sglang import message

COUNT = message.COUNT
GROUPED = r"[0-9]{1,3}(?:,[0-9]{3}){0,4}|[0-9]{1,15}"
"""A count with or without separators of thousands."""
ID = r"\S+|[^:]+"
"""An id ends at white space, or at the first colon if it holds some: then it is none."""
ENGINE = "vllm"


@dataclass(frozen=True)
class Rows(message.Rows):
    """Lines of one message: its fields, beside the columns of their prefix."""

    @property
    def kept(self) -> Rows:
        """The rows that are not only counted."""
        if "aside" not in self.frame.columns:
            return self
        return self.where(pl.col("aside").is_null())

    def where(self, condition: pl.Expr) -> Rows:
        """Return some of the rows."""
        return Rows(self.frame.filter(condition), self.context, self.parsed)

    def fact(self, event: str, *, ranked: bool = True, **columns: pl.Expr) -> None:
        """Add one fact of capacity a row, of the rank or of the whole server."""
        node = pl.col("identity") if ranked else pl.lit(self.context.node)
        named = [expr.alias(name) for name, expr in columns.items()]
        told = (pl.lit(ENGINE).alias("engine"), pl.lit(event).alias("event"))
        at = (node.alias("node"), pl.col("local").alias("effective_at"))
        self._add(self.parsed.capacity, (*at, *told, *named))


Build = Callable[[Rows], None]


@dataclass(frozen=True)
class Message:
    """A message of the engine.

    Attributes:
        form: what it is called and shows.
        literals: texts that it begins with.
        patterns: forms that it may have; the first that fits a line gives its fields.
        build: makes observations or facts of the lines; None: they are counted.
        aside: names the kind that a line is only counted under, or is null: it is kept.
        whole: what a line must be from end to end where its fields stand at its beginning.
        inside: texts that only it holds, further on in the line.
        front: the API server may print it; what only engines print is not believed of it.
        bare: it may stand without a prefix.
        ids: fields that are identifiers.
        prepare: takes fields apart before identifiers are judged, into several rows a line
            if need be; a line without a row is not in the form.
    """

    form: Form
    literals: tuple[str, ...]
    patterns: tuple[str, ...]
    build: Build | None = None
    aside: pl.Expr | None = None
    whole: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    front: bool = True
    bare: bool = False
    ids: tuple[str, ...] = ("rid",)
    prepare: Callable[[pl.DataFrame], pl.DataFrame] | None = None


def number(name: str) -> pl.Expr:
    """A field as a whole number, with or without separators of thousands."""
    return pl.col(name).str.replace_all(",", "", literal=True).cast(pl.Int64, strict=False)


def counted(
    form: Form, *literals: str, patterns: tuple[str, ...] = (), inside: tuple[str, ...] = ()
) -> Message:
    """Return a message of which only the number of lines is kept, under its title."""
    return Message(form, literals, patterns, inside=inside)
