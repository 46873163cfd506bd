"""What the columns of a table may hold: one rule for each kind of text that may leave.

Numbers, flags and times cannot hold content; a text can, so every text column has a
rule. ``fits`` is true for the values that may be written; null always may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from forensics import enginesettings, schema
from forensics.schema import CONFIG_KEYS, Column
from forensics.sources.phrases import own
from forensics.sources.secrets import label, looks_secret
from forensics.sources.shape import SHAPE
from forensics.sources.values import unfit_id, unfit_model, unfit_name

Rule = Callable[[pl.Expr], pl.Expr]

SETTING = r"[A-Za-z0-9_.:+-]{1,48}"
_PAIR = rf"(?:{'|'.join(CONFIG_KEYS)})={SETTING}"
LONGEST_PATH = 4096
LOGGED = (*schema.REQUEST_COLUMNS, *schema.ENGINE_COLUMNS)
"""What lineage names the values of."""
COLUMN_NAMES = sorted(
    {
        column.name
        for group in (
            schema.OBSERVATION_COLUMNS,
            schema.ENGINE_COLUMNS,
            schema.CAPACITY_COLUMNS,
            schema.MARKER_COLUMNS,
            schema.TRACE_COLUMNS,
            schema.ACTIVITY_COLUMNS,
        )
        for column in group
    }
)


@dataclass(frozen=True)
class Field:
    """One column: name, type, and which texts it may hold; None where it holds no text.

    The texts of a list column are held against the rule one by one. ``beside`` is another
    column that the rule looks at.
    """

    name: str
    dtype: pl.DataType
    fits: Rule | None = None
    beside: str | None = None


def identifier(text: pl.Expr) -> pl.Expr:
    """At most 128 characters, no white space, no control character, nothing like a secret."""
    return ~unfit_id(text)


def named(text: pl.Expr) -> pl.Expr:
    """A tenant: a label of one or a few words, nothing like a secret."""
    return ~unfit_name(text)


def model(text: pl.Expr) -> pl.Expr:
    """A model: one word, or a few that are written as a name is, nothing like a secret."""
    return ~unfit_model(text)


HARMLESS = r"^[0-9a-f-]{1,64}$"
"""Most identifiers; they fit :func:`identifier`, :func:`named`, :func:`model`, which cost more."""


def settings(text: pl.Expr) -> pl.Expr:
    """Settings that move a pool, and no other."""
    return text.str.contains(rf"^(?:{_PAIR}(?:;{_PAIR})*)?$") & ~looks_secret(text)


def place(text: pl.Expr) -> pl.Expr:
    """The name of a file that the user gave: bounded, otherwise theirs."""
    return text.str.len_chars() <= LONGEST_PATH


def sentence(text: pl.Expr) -> pl.Expr:
    """One line of the program's own words.

    Only columns whose texts come from constants of this package have this rule; what is
    filled into them are counts, identifiers and names, which have rules of their own.
    """
    return ~text.str.contains(r"[\p{Cc}\p{Zl}\p{Zp}]")


def phrase(text: pl.Expr) -> pl.Expr:
    """What a reader says of a line: held against the text constants of the readers' code."""
    return text.map_elements(own, return_dtype=pl.Boolean)


def shape(text: pl.Expr) -> pl.Expr:
    """What stands where in a line: signs for words and numbers, and no word."""
    return text.str.contains(f"^{SHAPE}$")


def column(text: pl.Expr) -> pl.Expr:
    """The name of a column, or what a reader calls a value that is none."""
    return text.is_in([*COLUMN_NAMES, *map(label, COLUMN_NAMES)]) | phrase(text)


def one_of(codes: Iterable[str]) -> Rule:
    """One of a closed list."""
    listed = sorted(codes)
    return lambda text: text.is_in(listed)


def matching(pattern: str) -> Rule:
    """The whole text has a form."""
    return lambda text: text.str.contains(rf"^(?:{pattern})$")


DAY = matching(r"\d{4}-\d\d-\d\d")
STAMP = matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def of(known: Column) -> Field:
    """Return the field of a column of the schema."""
    rules: dict[str, Rule] = {
        "id": identifier,
        "name": named,
        "model": model,
        "config": settings,
    }
    rule = one_of(known.codes) if known.kind == "code" else rules.get(known.kind)
    return Field(known.name, known.dtype, rule)


def text(name: str, rule: Rule) -> Field:
    """Return a text column with its rule."""
    return Field(name, pl.String(), rule)


def count(*names: str) -> list[Field]:
    """Return columns of whole numbers."""
    return [Field(name, pl.Int64()) for name in names]


def measure(*names: str) -> list[Field]:
    """Return columns of numbers with a fraction."""
    return [Field(name, pl.Float64()) for name in names]


def flag(*names: str) -> list[Field]:
    """Return columns that are true or false."""
    return [Field(name, pl.Boolean()) for name in names]


def moment(*names: str) -> list[Field]:
    """Return columns of times, as a report writes them."""
    return [Field(name, pl.Datetime("us", "UTC")) for name in names]


def logged(text: pl.Expr) -> pl.Expr:
    """A logged value as text, by the kind of the ``column`` that it was logged in."""
    by_column = pl.col("column")
    fits = pl.lit(value=False)
    for kinds, rule in _AS_TEXT:
        names = [c.name for c in LOGGED if c.kind in kinds]
        fits = pl.when(by_column.is_in(names)).then(rule(text)).otherwise(fits)
    for known in LOGGED:
        if known.kind == "code":
            listed = text.is_in(list(known.codes))
            fits = pl.when(by_column == known.name).then(listed).otherwise(fits)
    return fits


_AS_TEXT: tuple[tuple[tuple[str, ...], Rule], ...] = (
    (("id",), identifier),
    (("name",), named),
    (("model",), model),
    (("count",), matching(r"\d{1,19}")),
    (("measure",), matching(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")),
    (("flag",), one_of(("true", "false"))),
    (("time",), STAMP),
)


def parted(config: object) -> dict[str, str]:
    """Return the settings of a text as :func:`settings` takes it, by name; none of None."""
    return dict(enginesettings.pairs(config))
