"""For notebooks: tables, pictures and filters to look around in a case, and a drill.

Nothing here decides anything. What is shown comes from the case's tables and its document, and
each choice says the line of code that shows the same. Text that others chose is shown as text.
"""

from __future__ import annotations

from forensics.explore.choice import Choice
from forensics.explore.filters import Filters, filters
from forensics.explore.framed import Framed, framed
from forensics.explore.one import OneRequest, OneTenant, request, tenant
from forensics.explore.pictures import SYMBOLS, TIERS, Picture, picture
from forensics.explore.sentence import Sentence, sentence
from forensics.explore.start import start
from forensics.explore.tabling import Shown, table
from forensics.explore.walk import Walk, walk

__all__ = [
    "SYMBOLS",
    "TIERS",
    "Choice",
    "Filters",
    "Framed",
    "OneRequest",
    "OneTenant",
    "Picture",
    "Sentence",
    "Shown",
    "Walk",
    "filters",
    "framed",
    "picture",
    "request",
    "sentence",
    "start",
    "table",
    "tenant",
    "walk",
]
