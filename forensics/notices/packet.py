"""The files of one packet: the notice twice, its facts, its requests, and the checker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import msgspec

from forensics.evidence.hashes import digest_of_bytes
from forensics.evidence.seal import SUMS, sums
from forensics.exposure import Exposure
from forensics.notices import sentences
from forensics.notices.markdown import Markdown
from forensics.notices.sentences import Setting, Variant
from forensics.notices.templating import Templates, render
from forensics.notices.wording import Wording
from forensics.report import text, theme

CHECKER: Final = "check_my_logs.py"
_PRIVATE: Final = ("pseudonym", "notice_id")
"""Facts that are the sender's alone."""
Own = Callable[[str], str]


@dataclass(frozen=True)
class Rows:
    """The requests of one packet, as bytes and as records."""

    csv: bytes
    jsonl: bytes

    def records(self) -> list[dict[str, Any]]:
        """Return the records."""
        return [msgspec.json.decode(line) for line in self.jsonl.splitlines()]


class Packets:
    """Makes the files of each packet from what is the same in all of them."""

    def __init__(
        self, exposure: Exposure, report_sha256: str, said: Wording, look: Templates
    ) -> None:
        self._exposure, self._said, self._look = exposure, said, look
        self._setting = Setting.of(exposure)
        self._sha256 = report_sha256
        self.checker = (files("forensics.notices") / CHECKER).read_bytes()
        self._meaning = {reason.reason: reason.meaning for reason in exposure.reasons}

    def files(self, fact: Mapping[str, Any], rows: Rows) -> tuple[Variant, dict[str, bytes]]:
        """Return the wording of a packet and its files but for the sums."""
        wording = sentences.variant(fact, self._setting, self._said)
        records = rows.records()
        made = {
            "notice.md": render(
                self._look.markdown, self._values(fact, wording, records, Markdown)
            ),
            "notice.html": render(self._look.html, self._values(fact, wording, records, str)),
            "facts.json": self._facts(fact, wording),
            "requests.csv": rows.csv,
            "requests.jsonl": rows.jsonl,
            CHECKER: self.checker,
        }
        return wording, made

    def _values(
        self,
        fact: Mapping[str, Any],
        wording: Variant,
        records: list[dict[str, Any]],
        own: Own,
    ) -> dict[str, Any]:
        """Return all placeholders; ``own`` marks text that is the program's, not a record's."""
        scope, source = self._exposure.scope, fact["population"] == "source"
        numbers = sentences.numbers(fact, self._setting)
        tier = fact["tier"]
        return {
            **wording.filled(numbers, lambda said, values: own(said.format_map(values))),
            **self._case(own),
            "notice": own(fact["notice"]),
            "variant": own(wording.id),
            "account": fact["account"],
            "population": own(fact["population"]),
            "tier": own(theme.tier(tier).word if tier else "not listed"),
            "window_start": own(_edge(scope.window_start, "the first record")),
            "window_end": own(_edge(scope.window_end, "the last record")),
            "models": ", ".join(scope.models) or "all in the logs",
            "first_at": own(text.utc(fact["first_at"])) if fact["first_at"] else "",
            "last_at": own(text.utc(fact["last_at"])),
            "rounded": source,
            "modelled": any(record["pages"] is not None for record in records),
            "rows": [_row(record, own) for record in records],
            "legend": self._legend(records, own),
            **{name: fact[name] for name in ("listed", "total", "without_id")},
        }

    def _case(self, own: Own) -> dict[str, Any]:
        exposure = self._exposure
        return {
            "case_id": exposure.case.id,
            "case_title": exposure.case.title,
            "as_of": own(text.utc(exposure.headline.ongoing.last_record_at)),
            "revision_day": own(exposure.case.as_of or "not stated"),
            "revision": own(str(exposure.case.revision)),
            "timeline": [
                {"name": own(moment.name.replace("_", " ")), "at": own(text.utc(moment.at))}
                for moment in exposure.timeline
                if moment.basis == "stated"  # what was found are times of others' requests
            ],
            "tool_version": own(exposure.tool.version),
            "report_sha256": own(self._sha256),
        }

    def _legend(self, records: list[dict[str, Any]], own: Own) -> list[dict[str, str]]:
        codes = sorted({code for record in records for code in record["reasons"] or ()})
        return [{"name": own(code), "meaning": own(self._meaning.get(code, ""))} for code in codes]

    def _facts(self, fact: Mapping[str, Any], wording: Variant) -> bytes:
        """Return ``facts.json``: the declared facts, and those of the case."""
        exposure = self._exposure
        numbers = sentences.numbers(fact, self._setting)
        direction = wording.filled(numbers, lambda said, values: said.format_map(values))
        stated = {
            **{name: value for name, value in fact.items() if name not in _PRIVATE},
            "schema_version": 1,
            "case_id": exposure.case.id,
            "case_title": exposure.case.title,
            "revision": exposure.case.revision,
            "revision_day": exposure.case.as_of,
            "as_of": exposure.headline.ongoing.last_record_at,
            "direction": direction["direction"],
            "exact": sentences.exact(fact, self._setting),
            "models": exposure.scope.models,
            "window_start": exposure.scope.window_start,
            "window_end": exposure.scope.window_end,
            "gaps_in_evidence": self._setting.gaps,
            "unreadable_records": self._setting.unreadable,
            "sampling_rate": exposure.scope.sampling_rate,
            "variant": wording.id,
            "wording_revision": self._said.revision,
            "tool_version": exposure.tool.version,
            "report_manifest_sha256": self._sha256,
        }
        data = msgspec.json.encode(stated, order="sorted")
        return msgspec.json.format(data, indent=2) + b"\n"


def sums_of(made: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Return name and bytes of the sums of some files."""
    return SUMS, sums({name: digest_of_bytes(data) for name, data in made.items()})


def _edge(stated: str | None, otherwise: str) -> str:
    """Return an end of the period as it was stated, or what it is where none was."""
    return otherwise if stated is None else text.utc(stated)


def _share(probability: float | None) -> str:
    return text.ABSENT if probability is None else f"{probability:.2f}"


def _row(record: Mapping[str, Any], own: Own) -> dict[str, Any]:
    """Return a request as a reader is shown it."""
    tier = record["tier"]
    return {
        **record,
        "received_at": own(text.utc(record["received_at"])),
        "tier": own(theme.tier(tier).word),
        "probability": own(_share(record["probability"])),
        "delivered": own("yes" if record["delivered"] else "not shown"),
        "reasons": own(", ".join(record["reasons"] or ())),
        "missing": own(", ".join(record["missing"] or ())),
    }
