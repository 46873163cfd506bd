"""A small serving engine that really has the fault: for tests, training and drills only.

A router, prefill and decode with pools of pages that hold the tokens last written to them,
one by one. Whether an answer leaks is decided by the rows that decode read, never by a flag:
the toy model repeats the markers it finds in its KV pages.
"""

from forensics.lab.engine.engine import LabEngine
from forensics.lab.engine.options import EngineOptions, LinkFault
from forensics.lab.engine.requests import Answer, Ask

__all__ = ["Answer", "Ask", "EngineOptions", "LabEngine", "LinkFault"]
