"""Prompts of a wanted number of tokens: one marker throughout, another as their last word."""

from __future__ import annotations

from dataclasses import dataclass

_FILLER = " the"
_EVERY = 64
"""Words from one marker to the next: hardly a page of usual size is without one."""
_ASK = "Below is a list of words. Repeat every code word in it, the last one at the end.\n"


@dataclass(frozen=True)
class Measure:
    """Tokens of a prompt: ``base``, ``word`` for each filler, ``marker`` for each marker."""

    base: float
    word: float
    marker: float

    def tokens(self, words: int) -> float:
        """Return the tokens of a prompt of so many words."""
        markers = _markers(words)
        return self.base + self.word * (words - markers) + self.marker * markers

    def words(self, tokens: int) -> int:
        """Return the words of the longest prompt of at most so many tokens."""
        low, high = 2, max(2, int((tokens - self.base) / self.word) + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.tokens(middle) <= tokens else (low, middle - 1)
        return low


def prompt(marker: str, late: str, words: int) -> str:
    """Return a prompt of that many words, which ends with ``late``."""
    body = [f" {marker}" if number % _EVERY == 0 else _FILLER for number in range(words - 1)]
    return _ASK + "".join(body) + f" {late}"


def _markers(words: int) -> int:
    return (words - 2) // _EVERY + 2


def fillers(marker: str, words: int, markers: int) -> str:
    """Return a prompt of so many fillers and markers, to measure with."""
    return _ASK + _FILLER * words + f" {marker}" * markers


def measured(plain: int, longer: int, marked: int, words: int, markers: int) -> Measure:
    """Return the measure from the token counts of three prompts.

    Args:
        plain: tokens of ``words`` fillers and one marker.
        longer: of twice as many fillers and one marker.
        marked: of ``words`` fillers and ``1 + markers`` markers.
        words: fillers of the first.
        markers: further markers of the third.
    """
    word = (longer - plain) / words
    marker = (marked - plain) / markers
    return Measure(plain - word * words - marker, word, marker)
