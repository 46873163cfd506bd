"""Texts of the package that packets hold whosever they are: a word of them is no identifier.

Nothing of a case is among them: not its title, no model, no template or sentence of its own.
"""

from __future__ import annotations

from typing import Final

from forensics import declared
from forensics.bounds.arithmetic import METHOD
from forensics.findings import FINDINGS
from forensics.notices.templating import HTML_FILE, MARKDOWN_FILE, built_in
from forensics.notices.wording import texts_of, wording
from forensics.schema import REQUEST_COLUMNS

CASE_FACTS: Final = (
    *("schema_version", "case_id", "case_title", "revision", "revision_day", "as_of"),
    *("direction", "exact"),
    *("models", "window_start", "window_end", "gaps_in_evidence", "unreadable_records"),
    *("sampling_rate", "variant", "wording_revision", "tool_version", "report_manifest_sha256"),
)
"""Names in ``facts.json`` besides those of the declared facts."""
FACTS: Final = frozenset({*declared.NOTICE_FACTS.dtypes, *CASE_FACTS})


def fixed_texts() -> list[str]:
    """Return templates, sentences, reasons and names of values, as the package has them."""
    return [
        *(built_in(name) for name in (MARKDOWN_FILE, HTML_FILE)),
        *texts_of(wording()),
        *(text for finding in FINDINGS for text in (finding.code, finding.meaning)),
        *(*declared.TOLD, declared.LIMIT),
        *(column.name for column in REQUEST_COLUMNS),
        METHOD,
    ]
