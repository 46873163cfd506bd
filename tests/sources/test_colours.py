"""Colours of a terminal are taken out wherever they stand, and however they are written."""

import json

import pytest

from forensics.sources.colours import plain

GREEN, OFF = "\x1b[32m", "\x1b[0m"
RECORD = {
    "request_id": f"{GREEN}r-1{OFF}",
    "tenant_id": f"{GREEN}t{OFF}",
    "received_at": f"{GREEN}2026-02-03T04:05:06Z{OFF}",
    "prompt_tokens": f"{GREEN}60000{OFF}",
}
PAIRS = " ".join(f'{name}="{value}"' for name, value in RECORD.items())
ADDED = f"INFO 02-03 04:00:00 [async_llm.py:316] {GREEN}Added request over-1.{OFF}"
WRITTEN = ["\\u001b", "\\u001B", "\\x1b", "\\033", "\\e", "\x1b"]


@pytest.mark.parametrize("written", WRITTEN)
def test_of_pairs(read, written):
    seen = read(PAIRS.replace("\x1b", written), "gateway.log")
    assert seen.column("request_id") == ["r-1"]
    assert seen.column("prompt_tokens") == [60_000]


@pytest.mark.parametrize("written", WRITTEN)
def test_of_a_message_in_a_pair(read, written):
    message = ADDED.replace("\x1b", written)
    seen = read(f'ts=2026-02-03T04:05:06Z level=info msg="{message}"', "engine.log")
    assert seen.column("request_id") == ["over-1"]


def test_of_values_in_json(read):
    seen = read(json.dumps(RECORD))
    assert seen.column("tenant_id") == ["t"]
    assert seen.column("prompt_tokens") == [60_000]


@pytest.mark.parametrize("plain_ones", [0, 900])
def test_of_a_message_in_json_however_late_it_comes(read, plain_ones):
    own = {"asctime": "2026-02-03 04:00:00,123", "levelname": "INFO", "name": "vllm.x"}
    lines = [own | {"message": "nothing of use"}] * plain_ones
    lines.append(own | {"message": f"{GREEN}Added request over-1.{OFF}"})
    seen = read("\n".join(map(json.dumps, lines)), "engine.log")
    assert seen.column("request_id") == ["over-1"]


def test_pairs_keep_what_other_escapes_mean(read):
    seen = read('request_id="r\\u002d1" tenant_id="a\\x2db" prompt_tokens=5 model="\\ud800"')
    assert (seen.column("request_id"), seen.column("tenant_id")) == (["r-1"], ["a-b"])


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (rb"a\u001b[1;32mb", rb"ab"),
        (rb"a\\u001b[32mb", rb"a\\u001b[32mb"),
        (rb"a\\\u001b[32mb", rb"a\\b"),
        (b"a\x1b[mb", b"ab"),
        (rb"\u001b]0;title", rb"\u001b]0;title"),
    ],
)
def test_a_backslash_that_was_written_as_one_stays(line, left):
    assert plain(line) == left


SPELLED = {"": "\x1b", "as JSON": "\\u001b", "as a shell": "\\e"}
GREP = "{0}[01;31m{0}[Kchat{0}[m{0}[K"
OTHERS = {
    "what grep erases": (GREP, "chat"),
    "true colour with colons": ("{0}[38:2::255:0:0mchat{0}[0m", "chat"),
    "a hidden cursor": ("{0}[?25lchat{0}[?25h", "chat"),
    "a set of characters": ("{0}(B{0}[mchat", "chat"),
}


@pytest.mark.parametrize("spelled", SPELLED.values(), ids=SPELLED)
@pytest.mark.parametrize(("text", "left"), OTHERS.values(), ids=OTHERS)
def test_all_that_a_terminal_is_told_is_taken_out(spelled, text, left):
    assert plain(text.format(spelled).encode()) == left.encode()


@pytest.mark.parametrize("ends", ["\x1b]8;;{0}\x07", "\x1b]8;;{0}\x1b\\", "\\u001b]8;;{0}\\u0007"])
def test_a_link_leaves_its_text(ends):
    line = ends.format("http://a/b") + "chat" + ends.format("")
    assert plain(line.encode()) == b"chat"


@pytest.mark.parametrize("before", [0, 500])
def test_a_log_that_grep_has_coloured_is_read_like_its_own(read, before):
    nothing = "[2026-02-03 04:00:00] nothing of use\n" * before
    batch = "[2026-02-03 04:00:01] Request {}over-1{} exceeds the maximum number of tokens: 9 > 5\n"
    own = read(nothing + batch.format("", ""), "a/node-1.log")
    marked = batch.format("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K")
    assert own.column("request_id")
    assert read(nothing + marked, "b/node-1.log").column("request_id") == own.column("request_id")
