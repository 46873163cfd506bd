"""Decode found the metadata of another hand-off in the slot of this one."""

from __future__ import annotations

import polars as pl

from forensics.findings.base import Finding

METADATA_COLLISION = Finding(
    code="metadata_collision",
    weight="circumstantial",
    needs=("metadata_collision",),
    expression=pl.col("metadata_collision"),
    meaning=(
        "named in a line about colliding metadata: as the hand-off that was stopped for it, or as "
        "the one whose metadata was found"
    ),
    does_not_prove=(
        "that any page was read that this request had not written: metadata is not the KV cache, "
        "and before a fix of the engine most of these lines were false alarms"
    ),
)
