"""Records of others are seen by the decoding that reads a log's own ones."""

import json

import pytest

from forensics.sources.blocks import Block
from forensics.sources.jsonlines import JsonColumns
from forensics.sources.mixed import Mixed
from forensics.sources.ownkeys import OwnKeys

OWN = {"category": "A", "id": "r-1", "tokens": 5}
OTHERS = [
    {**OWN, "category": "B"},
    {"id": "r-1", "tokens": 5},
    {"category": "A", "tokens": 5},
    {**OWN, "stranger": None},
    {**OWN, "stranger": {"a": 1}},
]
PATHS = {"kind": ("category",), "tokens": ("tokens",), "strange": ("stranger",)}
KINDS = {"kind": "code", "tokens": "count", "strange": "name"}


def _sifted(records):
    columns, sifted = JsonColumns(PATHS, KINDS), []
    keys = OwnKeys({"category": ("A",), "id": ()}, {"stranger"})

    def own(block):
        sifted.append(block.line)
        return block

    blocks = [
        Block(json.dumps(record).encode(), number, None) for number, record in enumerate(records)
    ]
    found = columns.together([columns.take(one, Mixed(iter(()), keys, own)) for one in blocks])
    return sifted, found


def test_blocks_of_own_records_are_not_sifted_once_their_keys_were_met():
    sifted, found = _sifted([OWN, OWN, {**OWN, "tokens": 6}])
    assert sifted == [0]
    assert found.batches[0].columns["tokens"].to_list() == [5, 5, 6]


@pytest.mark.parametrize("other", OTHERS, ids=range(len(OTHERS)))
def test_a_block_with_a_record_of_another_is_sifted(other):
    assert _sifted([OWN, other, OWN])[0] == [0, 1]
