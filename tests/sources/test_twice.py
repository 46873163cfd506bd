"""A count of tokens that comes twice in a record, with different values, says nothing."""

import json

import pytest

from forensics.sources.blocks import Block
from forensics.sources.jsonkeys import BlockKeys
from forensics.sources.jsonlines import JsonColumns
from forensics.sources.twice import Twice

GOOD = '{"request_id": "r-1", "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": 10}'
TWICE = GOOD[:-1] + ', "prompt_tokens": 900000}'


@pytest.mark.parametrize("others", [0, 1, 400])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_count_that_comes_twice_is_unknown_and_counted(read, others, end):
    seen = read("\n".join([*[GOOD] * others, TWICE, *[GOOD] * others]) + end)
    prompts = seen.rows.sort("line")["prompt_tokens"].to_list()
    assert prompts == [*[10] * others, None, *[10] * others]
    assert seen.facts.bad_values["prompt_tokens"] == 1


@pytest.mark.parametrize("key", ["transferred_pages", "promptLen"])
def test_so_is_one_of_pages_and_one_under_a_name_of_the_operators(read, key):
    row = {"request_id": "r-1", "received_at": "2026-02-03T04:05:06Z", key: 1}
    text = json.dumps(row)[:-1] + f', "{key}": 500}}\n' + json.dumps(row)
    columns = {"promptLen": "prompt_tokens"}
    seen = read(text, columns=columns)
    name = columns.get(key, key)
    assert seen.rows.sort("line")[name].to_list() == [None, 1]


OTHERS = {
    "request_id": ("r-1", "r-2"),
    "transfer_id": ("7", "8"),
    "tenant_id": ("acme", "umbrella"),
    "received_at": ("2026-02-03T04:05:06Z", "2026-02-03T04:05:07Z"),
    "finished_at": ("2026-02-03T04:05:06Z", "2026-02-03T04:05:07Z"),
    "http_status": (200, 400),
    "stream_error": (True, False),
    "finish_reason": ("stop", "error"),
    "rejection_code": ("timeout", "input_too_long"),
    "prefill_node": ("prefill-1", "prefill-2"),
    "prefill_ms": (1.5, 2.5),
    "prompt_tokens": (1, 2),
}
SPELLINGS = ['"{}":', '"{}"  :', '"{}"\t:', '"{}" :', '"{}"      \t :', "first", "late"]


@pytest.mark.parametrize(
    ("key", "spelling"),
    [
        *((key, SPELLINGS[0]) for key in OTHERS),
        *(
            (key, spelling)
            for key in ("http_status", "prompt_tokens")
            for spelling in SPELLINGS[1:]
        ),
    ],
)
def test_so_is_any_value_that_is_read_however_its_key_is_written(read, key, spelling):
    one, other = OTHERS[key]
    usual = {"request_id": "r-1", "transfer_id": "7", "received_at": "2026-02-03T04:05:06Z"}
    line = json.dumps(usual | {key: one})
    at = {"first": 0, "late": len(key) - 1}.get(spelling)
    if at is not None:
        spelling = f'"{key[:at]}\\u{ord(key[at]):04x}{key[at + 1 :]}":'
    again = spelling.format(key) + " " + json.dumps(other)
    seen = read(f"{line}\n{line[:-1]}, {again}}}")
    assert seen.facts.kept == 2
    assert seen.column(key)[1] in (None, "redacted:node-07.ndjson:2")
    assert seen.facts.bad_values == {key: 1}


@pytest.mark.parametrize("again", ["10", "10.0", '"10"'])
def test_equal_numbers_are_no_contradiction(read, again):
    seen = read(f'{GOOD}\n{GOOD[:-1]}, "prompt_tokens": {again}}}')
    assert not seen.facts.bad_values
    assert set(seen.column("prompt_tokens")) == {10}


USUAL = '{"a_tokens": 1, "x": {"b_tokens": 2, "c_tokens": 3}}'


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        (USUAL, []),
        (USUAL[:-1] + ', "a_tokens": 1}', []),
        (USUAL[:-1] + ', "a_tokens": 2}', ["a"]),
        (USUAL[:-1] + ', "a_tokens": null}', ["a"]),
        (USUAL[:-1] + ', "a_tokens" : 2}', ["a"]),
        (USUAL[:-1] + ', "\\u0061_tokens": 2}', ["a"]),
        (USUAL[:-1] + ', "y": {"a_tokens": 7, "d_tokens": 7}}', []),
        (USUAL[:-1] + ', "y": [{"a_tokens": 7}], "a_tokens": 2}', ["a"]),
        (USUAL[:-1] + ', "y": "a_tokens", "z": "\\"a_tokens\\": 5"}', []),
        (USUAL[:-1] + ', "x": {"b_tokens": 2, "c_tokens": 4}}', ["b", "c"]),
        (USUAL[:-2] + ', "b_tokens": 5}}', ["b"]),
        ('{"x":{"b_tokens":2},"a_tokens":1,"a_tokens":2}', ["a"]),
    ],
    ids=range(12),
)
def test_what_is_unknown_of_a_line_does_not_hang_on_the_lines_beside_it(line, unknown):
    paths = {"a": ("a_tokens",), "b": ("x", "b_tokens"), "c": ("x", "c_tokens")}
    for lines, place in [([line], 0), ([USUAL, line, "{"], 1), ([line, USUAL, "{}"], 0)]:
        columns = JsonColumns(paths, dict.fromkeys(paths, "count"))
        found = columns.read(Block("\n".join(lines).encode(), 0, 0))
        odd = {
            name
            for batch in found.batches
            for name, values in batch.columns.items()
            if batch.odd and values[batch.lines.to_list().index(place)] == "\0\0"
        }
        assert odd == set(unknown)
        assert sum(len(batch.lines) for batch in found.batches) + len(found.unread) == len(lines)


NAMES = ("id", "prompt_tokens", "decode_prompt_tokens", "prefill_prompt_tokens", "node")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("instead", [*NAMES, "other_prompt_tokens", "tokens", None])
def test_one_line_among_many_alike_is_found(name, instead):
    usual = dict.fromkeys([*NAMES, "other_prompt_tokens", "tokens"], "x" * 9)
    pairs = [(name if key == instead else key, value) for key, value in usual.items()]
    pairs += [(name, "z")] if instead is None else []
    text = "{" + ", ".join(f'"{key}": "{value}"' for key, value in pairs) + "}"
    lines = [json.dumps(usual)] * 40
    lines[17] = text
    found = Twice(NAMES).lines(BlockKeys(Block("\n".join(lines).encode(), 1, 0)))
    assert list(found) == ([] if instead == name else [17])


@pytest.mark.parametrize(("again", "told"), [("10.0", 10), ("11", None)])
def test_a_column_that_a_table_has_twice_is_held_to_the_same_rule(read, again, told):
    head = "request_id,received_at,prompt_tokens,prompt_tokens"
    seen = read(f"{head}\nr-1,2026-02-03T04:05:06Z,10,{again}\n", name="x.csv")
    assert seen.column("prompt_tokens") == [told]
    assert seen.facts.bad_values["prompt_tokens"] == (told is None)
