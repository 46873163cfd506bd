"""What an SGLang node logs with default flags: nothing of it names a finished request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from forensics.lab.clock import Micros, local_second
from forensics.lab.records import Handoff, LabRun, NodeHistory
from forensics.lab.sglang import Line, node_lines

_STATS = "ReqTimeStats("


def default_log(run: LabRun, node: NodeHistory) -> Mapping[str, bytes]:
    """Return the node's log without time stats."""
    return {f"{node.name}.log": log_bytes(run, default_lines(run, node))}


def default_lines(run: LabRun, node: NodeHistory) -> Iterator[Line]:
    """Yield the lines of the node's log without time stats."""
    return (line for line in node_lines(run, node) if not line[2].startswith(_STATS))


def log_bytes(run: LabRun, lines: Iterable[Line]) -> bytes:
    """Return lines in order of time, each with the engine's prefix."""
    offset = run.config.zone_offset_hours
    ordered = sorted(lines, key=lambda line: line[0])
    return "".join(f"[{local_second(at, offset)}{r}] {t}\n" for at, r, t in ordered).encode()


def answered(run: LabRun, node: NodeHistory) -> Iterator[tuple[Micros, Handoff]]:
    """Yield the hand-offs that the node finished with an answer, and when."""
    for handoff in run.handoffs:
        if node.role == "prefill" and handoff.prefill_node == node.name:
            if handoff.transfer_status == "complete":
                yield handoff.transferred_at or handoff.finished_at, handoff
        elif handoff.decode_node == node.name and handoff.first_token_at is not None:
            yield handoff.finished_at, handoff
