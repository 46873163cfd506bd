"""Why a request that is far too fast for its tokens is not called so."""

from __future__ import annotations

NO_TOKEN, MIXED, PEERS = "no token's time", "units are mixed", "as fast below the limit"

DOUBTS = {
    NO_TOKEN: "but no time that one token takes: faster hardware, a prefix hit counted in part or "
    "times in other units look so",
    MIXED: "but times of more than one unit are mixed there",
    PEERS: "but so did prompts nearly as long below the limit, and what made those fast may have "
    "made these so",
}
"""What is said of each kind of them."""
