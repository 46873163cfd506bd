"""All wrappers of a file, one inside the other, taken off in turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from forensics.sources.blocks import Source
from forensics.sources.parsed import Parsed
from forensics.sources.wrappers.kinds import WRAPPERS, Head, Names, Wrapper
from forensics.sources.wrappers.layer import Layer

DEEPEST = 8
INSIDE = ", in "
"""What stands before the name of each wrapper that was taken off."""


@dataclass
class Stack:
    """What is left to read, the layers that were taken off, and whose lines are read.

    ``stream`` names the pod or host whose lines are read; None where no layer names any.
    """

    source: Source
    layers: list[Layer] = field(default_factory=list)
    stream: str | None = None
    _chosen: Layer | None = None

    @property
    def titles(self) -> str:
        """Name the layers, the outermost last, for the ledger."""
        return "".join(f"{INSIDE}{layer.wrapper.title}" for layer in reversed(self.layers))

    def others(self) -> dict[str, int]:
        """Return how many lines each other pod or host has, as far as the file was read."""
        met = self._chosen.streams if self._chosen is not None else {}
        return {name: count for name, count in sorted(met.items()) if name != self.stream}

    def aside(self) -> list[Parsed]:
        """Return, for each layer, what its records were that gave no line."""
        return [layer.parsed for layer in self.layers]

    def peel(self, names: Names, wanted: str | None = None, *, weak: bool = False) -> bool:
        """Take off what wrappers there are, and say whether there was any.

        Args:
            names: names of known columns, which records of ``key=value`` may have.
            wanted: the pod or host whose lines are read; else the first by name.
            weak: whether to take off those that other logs look like as well.
        """
        before = len(self.layers)
        while len(self.layers) < DEEPEST:
            head = Head(self.source.head())
            kinds = (kind for kind in WRAPPERS if kind.weak <= weak and kind.tells(head, names))
            kind = next(kinds, None)
            if kind is None:
                break
            self.take_off(kind, names, wanted)
        return len(self.layers) > before

    def take_off(self, kind: Wrapper, names: Names, wanted: str | None = None) -> None:
        """Take off one wrapper that is known to be there."""
        layer = Layer(self.source, kind, names)
        self._choose(layer, wanted)
        self.layers.append(layer)
        self.source = layer

    def _choose(self, layer: Layer, wanted: str | None) -> None:
        layer.head()
        if self._chosen is None and any(layer.streams):
            self._chosen, self.stream = layer, min(layer.streams) if wanted is None else wanted
            layer.only(self.stream)
