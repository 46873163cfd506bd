"""How ``forensics canary`` prints what a run found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from forensics.commands.say import say

if TYPE_CHECKING:
    from forensics.live.verdict import Asked, Canary


def show(found: Canary, *, as_json: bool) -> None:
    """Print one line a request (or all as JSON), and the verdict on stderr."""
    from forensics.live.verdict import sentence

    rows = [_row(one) for one in found.asked]
    if as_json:
        told = {"passed": found.passed, "sentence": sentence(found), "asked": rows}
        click.echo(json.dumps(told, indent=2))
    for row in () if as_json else rows:
        way = "streamed" if row["stream"] else "whole"
        say(
            f"{row['step']}: {row['tokens']:,} tokens, {way}, {row['account']}: "
            f"HTTP {row['status']}, {row['verdict']}"
        )
    say(f"canary: {sentence(found)}", err=True)


def _row(one: Asked) -> dict[str, Any]:
    return {
        "step": one.step.name,
        "tokens": one.step.tokens,
        "stream": one.step.stream,
        "account": one.account,
        "request_id": one.reply.request_id,
        "status": one.reply.status,
        "prompt_tokens": one.reply.prompt_tokens,
        "verdict": one.verdict,
        "foreign_markers": [hit.marker for hit in one.hits],
    }
