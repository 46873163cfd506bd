"""Statistics every ten seconds: no line names a request."""

from __future__ import annotations

from forensics.sources.forms import Form
from forensics.sources.vllm.message import counted

_RATES = r"Avg prompt throughput: [0-9.]{1,20} tokens/s, Avg generation throughput: [0-9.]{1,20} "
MESSAGES = (
    counted(
        Form(
            "statistics",
            "statistics line",
            "0.6-0.33",
            "nothing: rates and use of the pool, of no named request",
        ),
        "Avg prompt throughput: ",
        patterns=(rf"^(?:Engine [0-9]{{1,4}}: )?{_RATES}",),
        inside=(": Avg prompt throughput: ",),
    ),
    counted(
        Form(
            "iteration",
            "iteration line",
            "0.14-0.33, where iterations are logged",
            "nothing: requests and tokens of one step",
        ),
        "Iteration(",
        patterns=(r"^Iteration\([0-9]{1,15}\): [0-9]{1,9} context requests, ",),
    ),
    counted(
        Form(
            "transfer-metrics",
            "transfer metrics line",
            "0.11-0.33",
            "nothing: transfers and expiries of ten seconds, of no named request",
        ),
        "KV Transfer metrics: ",
    ),
)
