"""The page about formats is what the readers say of themselves."""

from pathlib import Path

from forensics.commands.formatsdoc import markdown
from forensics.sources.notread import NOT_READ
from forensics.sources.registry import FORMATS
from forensics.sources.wrappers.kinds import WRAPPERS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == markdown(FORMATS, WRAPPERS, NOT_READ), "run `make docs`"


def test_it_has_every_format_with_what_it_shows_and_whether_it_is_verified():
    text = markdown(FORMATS, WRAPPERS, NOT_READ)
    for known in FORMATS:
        (section,) = [part for part in text.split("\n## ") if f"\n`{known.name}`" in part]
        assert section.startswith(known.title)
        assert f"* Shows: {known.shows}." in section
        assert f"* Never shows: {known.never_shows}." in section
        assert known.versions in section
        assert ("never clears a request" in section) != known.verified
    assert all(f"* {wrapper.title}\n" in text for wrapper in WRAPPERS)
