"""What Ray and vLLM put before each line: the process that printed it.

vLLM's own lines keep it, as it tells engines apart; so does a log that is SGLang's alone,
whose reader knows it. It is taken off what has none of its own: records, and other wrappers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from forensics.sources.processes import OF_VLLM, PROCESS, REPEATED
from forensics.sources.wrappers.inner import Inner

TITLE = "process prefixes"
_PREFIX = re.compile(rb"(?:" + PROCESS.encode() + rb")+")
_TIMES = re.compile(REPEATED.encode())
_OF_VLLM = re.compile(rb"[A-Z]{4,8} \d\d-\d\d \d\d:|\[[^\]]{19},\d{3}\] LMCache |" + OF_VLLM)
_OF_SGLANG = re.compile(rb"\[?\d{4}-\d\d-\d\d \d\d:")


def parse(line: bytes) -> Inner:
    """Return a line without its processes; as it is if it has none or needs them.

    How often Ray saw it stays behind it, where Ray puts that now: the reader counts it.
    """
    found = _PREFIX.match(line)
    if found is None or _OF_VLLM.match(line, found.end()):
        return Inner(line)
    return Inner(b" ".join([line[found.end() :], *_TIMES.findall(found[0])]))


def behind(line: bytes) -> bytes | None:
    """Return what stands behind the processes; None where there are none."""
    found = _PREFIX.match(line)
    return None if found is None else line[found.end() :]


def foreign(lines: Sequence[bytes]) -> list[bytes]:
    """Return what stands behind processes where no engine's reader knows them; empty if one does.

    Args:
        lines: the first lines of a file.
    """
    found = [rest for rest in map(behind, lines) if rest is not None]
    if any(map(_OF_VLLM.match, found)):
        return []
    return [rest for rest in found if not _OF_SGLANG.match(rest)]
