"""What is kept of an answer: figures, and the markers it held; never its text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from forensics.live.document import LARGEST_COUNT
from forensics.live.marker import PlacedSearch, Search, markers_in

_ID = re.compile(r"[\x21-\x7e]{1,128}")
_REFUSALS = {400, 413, 422}
_LONGEST_ERROR = 2_000
_SIZE = "(?:token|length|context|input|prompt)"
_OVER = "(?:exceed|longer|larger|maximum)"
_TOO_LONG = re.compile(
    f"too (?:long|large)|{_SIZE}.{{0,200}}?{_OVER}|{_OVER}.{{0,200}}?{_SIZE}",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Reply:
    """What is kept of an answer."""

    at: str
    status: int | None
    request_id: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    markers: frozenset[str] = field(default=frozenset(), repr=False)
    fault: str | None = None
    error_frame: bool = False
    """An error was sent under a 200: inside a stream that had begun well."""
    said_too_long: bool = False
    """An error said that the prompt is too long: the engine's own, not a proxy's."""
    words: bool = False
    """Something generated was sent."""
    ended: str | None = None
    """When the last of it had come."""

    @property
    def served(self) -> bool:
        """An answer without an error in it."""
        return self.status == 200 and not self.error_frame and self.fault is None

    @property
    def refused(self) -> bool:
        """A clear refusal of a prompt that is too long, before any word was sent."""
        clear = self.status in _REFUSALS or (self.status == 200 and self.error_frame)
        return clear and self.said_too_long and not self.words and self.fault is None


def stamped() -> str:
    """Return the present in UTC, as records have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Taking:
    """Takes figures out of a body or of frames, and searches every text in them."""

    def __init__(self, at: str) -> None:
        self.fault: str | None = None
        self.status: int | None = None
        self._at = at
        self._id: str | None = None
        self._prompt: int | None = None
        self._completion: int | None = None
        self._errors = self._too_long = self._words = False
        self._raw, self._placed = Search(), PlacedSearch()

    def raw(self, text: str) -> None:
        """Search the next piece of the body as it came."""
        self._raw.feed(text)

    def take(self, data: bytes) -> None:
        """Take a whole body, or the data of one frame."""
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            return
        self._placed.feed(body)
        if isinstance(body, dict):
            self._take_figures(body)
            self._take_error(body)

    def reply(self) -> Reply:
        """Return what there is by now."""
        return Reply(
            self._at,
            self.status,
            self._id,
            self._prompt,
            self._completion,
            frozenset(self._raw.found | self._placed.found),
            self.fault,
            self._errors and self.status == 200,
            self._too_long,
            self._words,
            stamped(),
        )

    def _take_figures(self, body: dict[str, Any]) -> None:
        rid = body.get("id")
        # An id that is no plain word, or holds a marker, is text.
        if isinstance(rid, str) and _ID.fullmatch(rid) and not markers_in(rid):
            self._id = rid
        usage = body.get("usage")
        if isinstance(usage, dict):
            self._prompt = _count(usage.get("prompt_tokens"), self._prompt)
            self._completion = _count(usage.get("completion_tokens"), self._completion)
        choices = body.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            self._words |= isinstance(choice, dict) and _speaks(choice)

    def _take_error(self, body: dict[str, Any]) -> None:
        error = body.get("error")
        if body.get("object") != "error" and error is None and self.status == 200:
            return
        self._errors = True
        inner = error if isinstance(error, dict) else {"message": error}
        told = (inner.get("message"), body.get("message"), body.get("detail"))
        texts = [text[:_LONGEST_ERROR] for text in told if isinstance(text, str)]
        self._too_long |= any(_TOO_LONG.search(text) for text in texts)


def _speaks(choice: dict[str, Any]) -> bool:
    parts = (choice.get("delta"), choice.get("message"), choice)
    names = ("content", "text", "reasoning_content", "reasoning", "tool_calls")
    return any(part.get(name) for part in parts if isinstance(part, dict) for name in names)


def _count(value: Any, before: int | None) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT
    return value if fits else before
