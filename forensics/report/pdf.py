"""``report.pdf``: the report on paper, by typst; the same document gives the same bytes.

Text is handed over as data and never becomes markup. Only the fonts that typst brings along
are used, so that the bytes do not depend on the machine.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from typing import Final

import msgspec

from forensics.errors import UsageError
from forensics.exposure import Exposure
from forensics.report.paper import paper
from forensics.report.plates import plates

TEMPLATE: Final = "report.typ"
SHOWN: Final = 60
"""Rows of a table at the most: on paper nobody reads more, and the files have all."""
INSTALL: Final = "pip install 'kv-exposure-forensics[pdf]'"


def require() -> None:
    """Make sure that a PDF can be made, before hours of reading.

    Raises:
        UsageError: typst is not installed.
    """
    try:
        import typst  # noqa: F401 -- whether it is there
    except ImportError:
        raise UsageError(f"a PDF needs typst: {INSTALL}") from None


def render(exposure: Exposure) -> bytes:
    """Return the report as PDF.

    Raises:
        UsageError: typst is not installed.
    """
    require()
    import typst

    footer = f"{exposure.case.id}, revision {exposure.case.revision}. All times are UTC."
    drawn = {part: [asdict(one) for one in some] for part, some in plates(exposure).items()}
    made_of = {**asdict(paper(exposure, SHOWN)), "footer": footer, "plates": drawn}
    data = msgspec.json.encode(made_of).decode()
    template = (files("forensics.report") / "templates" / TEMPLATE).read_bytes()
    made: bytes = typst.compile(
        template, format="pdf", ignore_system_fonts=True, sys_inputs={"paper": data}, timestamp=0
    )
    return made
