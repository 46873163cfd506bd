"""A batch request's arrival in text form, as one line for each request in it."""

from __future__ import annotations

import polars as pl

from forensics.sources.sglang.skeleton import CLOSE, OPEN

_LISTED = r"^[A-Za-z]+\(rid=\["
_IDS = rf"{_LISTED}({OPEN}[^\[\]]*)\]"
_ROOMS = r", bootstrap_room=\[([^\[\]]*)\]"
_ROOM = r", bootstrap_room=[^,)]*"
_LIST = r"\[[^\[\]]*\]"
_MOST_BYTES = 16 << 20


def each(frame: pl.DataFrame) -> pl.DataFrame:
    """Return lines of one request as they are, and one for each request of the others.

    Left out are lines whose lists are not of one length, so that none tells which id has
    which room, and those that hold answers.

    Args:
        frame: with ``bare``, the skeleton of the line.
    """
    listed = frame["bare"].str.contains(_LISTED)
    if not listed.any():
        return frame
    parts = [frame.filter(~listed), _apart(frame.filter(listed))]
    return pl.concat([part for part in parts if part.height] or parts[:1], rechunk=True)


def _apart(frame: pl.DataFrame) -> pl.DataFrame:
    bare = pl.col("bare")
    ids = bare.str.extract(_IDS, 1).str.split(", ")
    rooms = bare.str.extract(_ROOMS, 1).str.split(", ")
    rest = bare.str.replace(_IDS, "").str.replace(_ROOMS, "").str.replace_all(_LIST, "[]")
    rows = frame.with_columns(_id=ids, _room=rooms, bare=rest)
    same = (pl.col("_room").list.len() == pl.col("_id").list.len()).fill_null(value=True)
    alone = pl.col("_room").is_null() & bare.str.contains(r", bootstrap_room=[^N]")
    small = pl.col("_id").list.len() * bare.str.len_bytes() <= _MOST_BYTES
    answer = bare.str.contains(rf"{OPEN}'meta_info'{CLOSE}")
    rows = rows.filter(pl.col("_id").is_not_null() & same & ~alone & small & ~answer)
    no_rooms = pl.col("_id").list.eval(pl.lit("None"))
    rows = rows.with_columns(pl.coalesce("_room", no_rooms)).explode("_id", "_room")
    one = pl.concat_str(pl.lit("R(rid="), "_id", pl.lit(", bootstrap_room="), "_room", "bare")
    return rows.with_columns(bare=one).drop("_id", "_room").select(frame.columns)
