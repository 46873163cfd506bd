"""What a page has to be copied: its commands, each with the exit code that the page states."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = re.compile(
    r"^```(sh|text)\n(.*?)^```$(?:\n+Exit codes?: (\d+(?:, \d+)*)\.$)?", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A block of commands or of what they print; without a line on exit codes, all are zero."""

    kind: str
    text: str
    codes: tuple[int, ...]

    @property
    def steps(self) -> list[tuple[str, int]]:
        """Each command with its exit code."""
        lines = self.text.splitlines()
        return list(zip(lines, self.codes or (0,) * len(lines), strict=True))


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page, from the top."""
    for kind, text, codes in _BLOCK.findall(page):
        yield Block(kind, text, tuple(map(int, codes.split(", "))) if codes else ())
