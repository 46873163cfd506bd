"""Which requests are affected, of more than memory holds: only rows that matter are kept.

Most requests of a large log are whole and short: each is ruled out by its own record, whatever
the others say. Such rows are counted where they lie, a partition at a time; what is left, and
every row whose identifiers occur twice, goes through the same analysis as any log does. A set
whose rows are joined to others in more ways is not taken on (:mod:`forensics.triage.gate`).
"""
