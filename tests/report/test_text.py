import json

import pytest
from jinja2 import StrictUndefined
from markupsafe import Markup

from forensics.report import text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("acme-42", "acme-42"),
        ("Ünïcode 客户 مستأجر", "Ünïcode 客户 مستأجر"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"),
        ("a\tb\nc\x00\x1b[0m", "a⟨U+0009⟩b⟨U+000A⟩c⟨U+0000⟩⟨U+001B⟩[0m"),
        ("a\u00a0b\u3000c", "a⟨U+00A0⟩b⟨U+3000⟩c"),
        ("a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"),
        ("\u3164", "⟨U+3164⟩"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_what_cannot_be_seen_is_written_out(raw, shown):
    assert text.visible(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("2026-08-27T14:03:22.123456Z", "2026-08-27 14:03:22 UTC"),
        ("2026-08-27T14:03:22Z", "2026-08-27 14:03:22 UTC"),
        ("yesterday\u202e", "yesterday⟨U+202E⟩"),
        (None, "not known"),
    ],
)
def test_times_say_that_they_are_utc(raw, shown):
    assert text.utc(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (1_234_567, "1,234,567"),
        (0, "0"),
        (-52, "-52"),
        (1234.56, "1,234.6"),
        (True, "yes"),
        (None, "not known"),
        ("<b>", "<b>"),
        (Markup("<b>"), Markup("<b>")),
    ],
)
def test_values_are_shown(raw, shown):
    assert text.show(raw) == shown


def test_an_undefined_name_is_not_swallowed():
    undefined = StrictUndefined(name="gone")
    assert text.show(undefined) is undefined


def test_labels_hold_no_markup_and_stay_short():
    assert text.label("<b>a&b</b>") == "&lt;b&gt;a&amp;b&lt;/b&gt;"
    assert text.label(None) == "not known"
    assert len(text.label("x" * 300)) == 48


def test_json_cannot_end_its_script_element():
    value = {"a": "</script><!-- & \u2028", "b": 1.5}
    block = text.json_block(value)
    assert not set("<>&\u2028") & set(block)
    assert json.loads(block) == value


def test_json_has_no_number_that_json_lacks():
    with pytest.raises(ValueError, match="Out of range"):
        text.json_block(float("nan"))


def test_a_range_of_one_number_is_that_number():
    assert text.span(1_155, 1_208) == "1,155 to 1,208"
    assert text.span(1_155, 1_155) == "1,155"
