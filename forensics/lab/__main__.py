"""`python -m forensics.lab data/samples` writes every sample anew, and the README's table."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from forensics.lab.listing import file_table, with_table
from forensics.lab.samples import SAMPLES, write_sample


def main(root: Path) -> None:
    """Replace each sample's folder under `root`, then the table of hashes."""
    for name in SAMPLES:
        shutil.rmtree(root / name, ignore_errors=True)
        write_sample(name, root / name)
    readme = root / "README.md"
    text = with_table(readme.read_text(encoding="utf-8"), file_table(root))
    readme.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
