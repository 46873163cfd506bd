"""The engine's logs: SGLang's lines per server, the gateway's records, and transfers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from forensics.lab import sglanglines as text
from forensics.lab.clock import Micros, local_second
from forensics.lab.engine.options import EngineOptions
from forensics.lab.plain import line
from forensics.lab.plainrows import Row, decode_row, gateway_row
from forensics.lab.records import Epoch, GatewayEntry, Handoff, NodeHistory

PREFILL, DECODE = "prefill-01", "decode-01"
MODEL = "glm-5.3"
_TRUNCATE = "'allow_auto_truncate'"


def now() -> Micros:
    """Return the present in microseconds of UTC."""
    moment = datetime.now(UTC)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


class Journal:
    """Appends to the files of one folder; no line ever holds a word of a prompt or answer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def started(self, node: NodeHistory, epoch: Epoch, options: EngineOptions) -> None:
        """Write a server's start-up lines."""
        context, page = options.context_tokens, options.page_tokens
        settings = text.server_args(node, epoch, context, page)
        if options.auto_truncate and node.role == "prefill":
            settings = settings.replace(f"{_TRUNCATE}: False", f"{_TRUNCATE}: True")
        self.say(node.name, settings)
        self.say(node.name, text.kv_allocated(epoch), rank=" TP0")
        self.say(node.name, text.pool_summary(epoch, context), rank=" TP0")
        self.say(node.name, "The server is fired up and ready to roll!")

    def say(self, node: str, words: str, rank: str = "") -> None:
        """Append one line of a server, with its prefix."""
        self._append(f"{node}.log", f"[{local_second(now(), 0)}{rank}] {words}\n".encode())

    def transfer(self, handoff: Handoff) -> None:
        """Append what decode reserved and what arrived, as a plain record."""
        row: Row = {**decode_row(handoff), "decode_node": handoff.decode_node}
        row["transferred_pages"] = handoff.transferred_pages
        row["transfer_status"] = handoff.transfer_status
        self._append("transfers.ndjson", line(row) + b"\n")

    def gateway(self, entry: GatewayEntry) -> None:
        """Append the router's record of one request."""
        self._append("gateway.ndjson", line(gateway_row(entry, MODEL)) + b"\n")

    def _append(self, name: str, data: bytes) -> None:
        with (self._folder / name).open("ab") as file:
            file.write(data)
