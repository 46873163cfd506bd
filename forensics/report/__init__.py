"""Renderings of the exposure document for people."""

from forensics.report.html import render

__all__ = ["render"]
