"""What launchers of many processes put before each line: the rank that printed it.

Ranks are of one engine: their lines are one log.
"""

from __future__ import annotations

from forensics.sources.wrappers.textforms import STAMPED, form

FORMS = tuple(
    form(name, title, before + rb"(?P<line>.*)", sure=STAMPED)
    for name, title, before in (
        ("mpirun", "mpirun --tag-output", rb"\[\d+,\d+\](?:<std(?:out|err|diag)>)?: ?"),
        ("torchrun", "torchrun", rb"\[[a-z]+\d+\]: ?"),
        ("srun", "srun --label", rb" {0,6}\d{1,6}: "),
        ("pm2", "pm2 logs", rb"\d+\|[\w.-]{1,80}\s+\| "),
    )
)
