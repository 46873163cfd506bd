"""A count of tokens that comes twice in a record, with different values, says nothing."""

import json

import pytest

from forensics.sources.blocks import Block
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
            if batch.odd and values[batch.lines.to_list().index(place)] == "\0"
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
    found = Twice(NAMES).lines(Block("\n".join(lines).encode(), 1, 0))
    assert found == ([] if instead == name else [17])
