"""Lines as each version of SGLang writes them: every one is read, or passed over by its kind."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "_data" / "sources" / "sglang" / "versions.tsv"
START = "[2026-08-28 03:14:06] server_args=ServerArgs(model_path='m', disaggregation_mode='decode')"


def surfaces() -> dict[str, list[tuple[str, str]]]:
    """Lines of each surface, with the count that each is in; it is empty where a line is read."""
    found: dict[str, list[tuple[str, str]]] = {}
    lines: list[tuple[str, str]] = []
    for text in DATA.read_text().splitlines():
        if text.startswith("# "):
            lines = found.setdefault(text[2:], [])
        elif text:
            line, kind = text.split("\t")
            lines.append((line, kind))
    return {name: lines for name, lines in found.items() if lines}


SURFACES = surfaces()


@pytest.mark.parametrize("surface", SURFACES)
def test_lines_of_every_version_are_told(read, surface):
    for line, kind in SURFACES[surface]:
        seen = read(f"{START}\n{line}\n", "decode-01.log", form="sglang")
        assert not seen.facts.unread, line
        assert not seen.facts.bad_values, line
        assert dict(seen.facts.ignored) == ({kind: 1} if kind else {}), line
        assert "CANARY" not in seen.rows.write_csv() + repr(seen.facts)
