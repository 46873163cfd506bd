"""The name of a process before a line, ``(Actor pid=12, ip=10.0.0.1)``, and how often Ray saw it.

Ray adds ``[repeated 3x across cluster]``; vLLM names processes as well, and where one runs
within the other there is more than one name.
"""

from __future__ import annotations

REPEATED = r"\[repeated [0-9]{1,9}x across cluster\]"
PROCESS = rf"\([^()\n]{{1,100}} pid=[0-9]{{1,10}}(?:, ip=[^()\n]{{1,64}})?\) +(?:{REPEATED} +)?"
"""One of them, as a pattern of texts without colours; it needs no look around."""
