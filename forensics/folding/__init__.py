"""From records to requests, in buckets, so that memory does not grow with all records.

    spread    records that share an identifier, over whatever others, lie in one bucket
    linked    a bucket's records, joined by their identifiers alone
    open      what is left: a client's records or engines' alone are held against all others
    settled   one row per hand-off of a bucket, and of what was left
    held      where the records of hand-offs lie       slim    what later stages may ask of records
    kept      what they ask is read from files

Which requests are settled by identifiers alone hangs on these alone, not on buckets: so the
result is the same whatever their number. A small input is one bucket.
"""

from forensics.folding.stages import fold

__all__ = ["fold"]
