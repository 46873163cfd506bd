"""Settings of any shape: nested, one for each rank, as arguments, in a text; and none of them."""

import json

import pytest

from forensics import enginesettings
from forensics.enginesettings import UNKNOWN
from forensics.sources.nestedsettings import of_text, told

RADIX, GUESS = "disaggregation_decode_enable_radix_cache", "speculative_algorithm"
ON, EAGLE = f"{RADIX}=True", f"{GUESS}=EAGLE"

SHAPES = {
    "under a key": ({"server_args": {RADIX: True, "api_key": "CANARY"}}, ON),
    "of each rank": ({RADIX: [True, True]}, ON),
    "of each rank by number": ({RADIX: {"0": True, "1": True}}, ON),
    "of ranks that differ": ({RADIX: [True, False]}, f"{RADIX}=False;{ON}"),
    "a list of settings": ([EAGLE, "tp_size=8"], f"{EAGLE};tp_size=8"),
    "arguments": (["--tp-size", "8", f"--{GUESS}", "EAGLE"], f"{EAGLE};tp_size=8"),
    "a flag among arguments": (
        [f"--{RADIX.replace('_', '-')}", "--tp-size", "8"],
        f"{ON};tp_size=8",
    ),
    "arguments in a text": ({"args": f"--{GUESS} EAGLE"}, EAGLE),
    "an object of each rank": ([{GUESS: "EAGLE"}, {GUESS: None}], EAGLE),
    "nothing in it": ({GUESS: {}}, f"{GUESS}=unreadable"),
    "no value of a setting": ({GUESS: "CANARY of a user"}, f"{GUESS}=unreadable"),
    "not set": ({RADIX: None, GUESS: ""}, None),
    "other settings alone": ({"replicas": 3}, None),
    "a text of other things": ({"chat_template": f"{EAGLE} CANARY"}, None),
    "a number": (5, UNKNOWN),
    "an empty list": ([], UNKNOWN),
    "nested without end": ({"a": {"a": {"a": {"a": {"a": {"a": [[[[{GUESS: 1}]]]]}}}}}}, UNKNOWN),
    "null": (None, None),
}


@pytest.mark.parametrize(("value", "expected"), SHAPES.values(), ids=SHAPES)
def test_settings_of_any_shape_are_read_or_said_to_be_unreadable(value, expected):
    assert told(json.dumps(value).encode()) == expected


TEXTS = {
    "a call": (f"ServerArgs({GUESS}='EAGLE', tp_size=8)", f"{EAGLE};tp_size=8"),
    "the end of a call": (f"ServerArgs(tp_size=8, {RADIX}=True)", f"{ON};tp_size=8"),
    "an inner dictionary": (f"{{'server_args': {{'{GUESS}': 'EAGLE'}}}}", EAGLE),
    "json": (json.dumps({"server_args": {GUESS: ["EAGLE"]}}), EAGLE),
    "a list of values": (f"{RADIX}=[True, False]", f"{RADIX}=unreadable"),
    "apart by spaces": (f"tp_size=8 {RADIX}=True", f"{ON};tp_size=8"),
    "a flag ahead of others": (f"--{RADIX.replace('_', '-')} tp_size=8", f"{ON};tp_size=8"),
    "switched off": (f"--no-{RADIX.replace('_', '-')}", None),
    "an object's repr": (f"{GUESS}=<Algorithm.EAGLE: 1>", f"{GUESS}=unreadable"),
    "more than a value": ("quantization=a CANARY", "quantization=unreadable"),
    "no settings": ("as in production", UNKNOWN),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_settings_in_a_text_are_found_wherever_they_stand(text, expected):
    assert of_text(text) == expected
    assert expected is None or of_text(expected) == expected


@pytest.mark.parametrize(
    ("config", "unsettled"),
    [
        (UNKNOWN, True),
        (f"{RADIX}=False;{ON}", True),
        (f"{GUESS}=None;{EAGLE}", True),
        (f"{ON};{EAGLE}", False),
        ("quantization=unreadable", False),
        (None, False),
    ],
)
def test_a_setting_that_decides_is_settled_where_it_says_one_thing(config, unsettled):
    assert enginesettings.unsettled(config) is unsettled
    if config == UNKNOWN:
        assert (enginesettings.keeps_prefixes(config), enginesettings.guesses(config)) == (
            None,
            False,
        )
