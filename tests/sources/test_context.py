"""Which node wrote a file, from its path."""

import pytest

import forensics
from forensics.sources.context import Context


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("logs/prefill-03.log", "prefill-03"),
        ("logs/prefill-03-requests.log", "prefill-03"),
        ("logs/prefill-03.log.1", "prefill-03"),
        ("logs/prefill-03.log.12.gz", "prefill-03"),
        ("logs/prefill-03.log-20260828.zst", "prefill-03"),
        ("logs/prefill-03-2026-08-28.log", "prefill-03"),
        ("logs/prefill-03.2026-08-28_07.jsonl", "prefill-03"),
        ("logs/prefill-03", "prefill-03"),
        ("logs/node_0.5.19", "node_0.5.19"),
        ("logs/node_0.5.19.log", "node_0.5.19"),
        ("logs/my node.log", "my_node"),
        ("prefill-03/stdout.log", "prefill-03"),
        ("prefill-03/server.log.1.gz", "prefill-03"),
        ("prefill-03/sglang-request-metrics-20260828_03.log", "prefill-03"),
        ("prefill-03/server_info.json", "prefill-03"),
        ("prefill-03/metrics-2026-08-28.txt", "prefill-03"),
        ("prefill-03/spans.jsonl.gz", "prefill-03"),
    ],
)
def test_the_stem_without_rotation_or_the_folder(path: str, node: str) -> None:
    assert Context(forensics.Incident(), 0, path).node == node
