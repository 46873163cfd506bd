"""Why a request is not as it was, from what both reports recorded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from forensics.evidence.inputdiff import states
from forensics.evidence.reporttables import ReportTables
from forensics.evidence.rules import rule_of
from forensics.verdicts import ORDER


class Why:
    """Says why a request is not as it was, from what both reports recorded."""

    def __init__(self, old: ReportTables, new: ReportTables) -> None:
        self._became = states(old.record, new.record)
        self._came = states(new.record, old.record)
        self._scope = new.document["scope"]

    def of(self, row: dict[str, Any]) -> list[str]:
        """Return the reasons in words: the rules that decided, or why a side lacks the row."""
        if row["kin_tier"] is not None:
            which = "is now part of" if row["new_tier"] is None else "was part of"
            return [
                f"{which} {row['kin_request_id']}, attempt {row['kin_attempt']}, {row['kin_tier']}"
            ]
        if row["new_tier"] is None:
            return list(self._gone(row))
        if row["old_tier"] is None:
            return list(self._new(row["new_files"] or []))
        before, after = (ORDER[row[f"{side}_rule"]].name for side in ("old", "new"))
        return [f"decided by: {before} -> {after}" if before != after else f"decided by: {after}"]

    def _gone(self, row: dict[str, Any]) -> Iterator[str]:
        """Say which rule decides now, as far as the records of the new run can tell."""
        found = [self._became.get(file, "gone") for file in row["old_files"] or ()]
        if found and set(found) == {"gone"}:
            yield "not in the logs any more: every input that it was read from is gone"
            return
        if "gone" in found:
            yield f"{found.count('gone')} of {len(found)} inputs that it was read from are gone"
        if "changed" in found:
            yield f"{found.count('changed')} of {len(found)} inputs that it was read from changed"
        before = ORDER[row["old_rule"]].name
        if "same" not in found:
            yield f"decided by: {before} -> what decides now cannot be told"
            yield "not in them as they are now, or ruled out and not listed: this cannot be told"
            return
        outside, shorter = list(self._out_of_scope(row)), list(self._below(row))
        yield f"decided by: {before} -> {_now(row, outside=bool(outside), below=bool(shorter))}"
        yield from outside
        yield from shorter
        yield "out of the listed rows: ruled out, and not over, rejected, short or mismatched"

    def _out_of_scope(self, row: dict[str, Any]) -> Iterator[str]:
        start, end = (_time(self._scope[name]) for name in ("window_start", "window_end"))
        at, models = row["old_received_at"], self._scope["models"]
        if at is not None and ((start and at < start) or (end and at >= end)):
            yield "outside the window as it is now"
        if models and row["old_model"] is not None and row["old_model"] not in models:
            yield "of a model that is not in scope any more"

    def _below(self, row: dict[str, Any]) -> Iterator[str]:
        threshold, tokens = self._scope["threshold_tokens"], row["old_prompt_tokens"]
        if threshold is not None and tokens is not None and tokens <= threshold:
            yield "not longer than the threshold as it is now"

    def _new(self, files: list[str]) -> Iterator[str]:
        came = [file for file in files if self._came.get(file) != "same"]
        if came and len(came) == len(files):
            yield "read from inputs that are new or changed"
        elif came:
            yield f"{len(came)} of {len(files)} inputs that it was read from are new or changed"
        else:
            yield "was read before and not listed"


_BY_LIMIT = {"over_limit", "limit_uncertain", "near_limit"}
_RULES_OUT = "a rule that rules out; which one is in no table"


def _now(row: dict[str, Any], *, outside: bool, below: bool) -> str:
    """Name the rule that decides of a row that is not listed any more: it was ruled out."""
    codes = set(row["old_reasons"])
    if outside:
        codes.add("out_of_scope")
    elif below:
        codes = codes - _BY_LIMIT | {"below_limit"}
    found = rule_of(sorted(codes), "ruled_out")
    return _RULES_OUT if found is None else found[1].name


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
