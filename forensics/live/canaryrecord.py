"""What a canary run leaves behind: ids, hashes, counts, statuses, times; never a text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from forensics.live.plan import MEASURE
from forensics.live.verdict import Asked, Hit


def records(one: Asked) -> bytes:
    """Return the records of one request, as NDJSON in the plain format."""
    lines = (_known(row) for row in (_request(one), *_markers(one)))
    return b"".join(json.dumps(row).encode() + b"\n" for row in lines if len(row) > 1)


def _request(one: Asked) -> dict[str, object]:
    reply = one.reply
    # Without an id a report would take it for one more request than the logs hold: only the
    # failure that ended a run stands by itself.
    ended = one.step.name == MEASURE and (reply.status or 0) >= 400
    if reply.request_id is None and not ended:
        return {}
    return {
        "hop": "gateway",
        "request_id": reply.request_id,
        "tenant_id": one.account,
        "received_at": reply.at,
        "finished_at": reply.ended,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "http_status": reply.status,
        "stream_error": reply.error_frame or None,
    }


def _markers(one: Asked) -> Iterator[dict[str, object]]:
    for hit in (*one.hits, *_control(one)):
        yield {
            "marker": hit.marker,
            "planted_request_id": hit.planted.request_id,
            "planted_tenant": hit.planted.account,
            "seen_request_id": hit.seen_request_id,
            "seen_at": hit.seen_at,
        }


def _control(one: Asked) -> Iterator[Hit]:
    """Yield the own last word that came back: without it no answer clears anything.

    Of an answer without an id it would read as a word of nobody knows whom.
    """
    if one.control is not None and one.control.seen_request_id is not None:
        yield one.control


def _known(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}
