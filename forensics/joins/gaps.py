"""How far apart in time records of one request may lie, and whose records those are."""

from __future__ import annotations

SESSION_GAP = 3_600_000_000
"""Two uses of one transfer id this far apart are two hand-offs, microseconds."""
FAR_GAP = 15 * SESSION_GAP
"""Two records of one transfer id, one a side, this far apart are of no one hand-off: more than
clocks in any two zones can differ by, and the hour."""
INFERRED_GAP = 120_000_000
"""How far apart a rejection and the hand-off of the same size may be, microseconds."""
UNPAIRED_GAP = 60_000_000
"""How far apart a gateway record and an engine's of the same size may be, microseconds."""
NEAR_GAP = 2_000_000
"""The same, once it is known how long a request usually takes from one to the other."""
UNKNOWN_GAP = 600_000_000
"""The same, where no request that both logged says how far apart their clocks are: it joins
nothing, but a tenant of that time may be the one."""

CLIENT = ("gateway", "joined")
ENGINE = ("prefill", "decode", "engine")
