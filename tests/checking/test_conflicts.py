"""Files that say they are one node and contradict each other."""

from pathlib import Path

import pytest

from forensics.checking.checked import check_logs

START = (
    "[2026-08-28 {at}] server_args={{'disaggregation_mode': '{role}', 'page_size': 64, "
    "'context_length': 1048576}}\n"
    "[2026-08-28 {at}] max_total_num_tokens={pool}, chunked_prefill_size=16384, "
    "max_prefill_tokens=16384, max_running_requests=32, context_len=1048576, "
    "available_gpu_mem=12.31 GB\n"
)


def start(at: str, pool: int, role: str = "prefill") -> str:
    return START.format(at=at, pool=pool, role=role)


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        (start("01:00:00", 681_280), start("02:00:00", 681_280, "decode"), {"one_node_roles"}),
        (
            start("01:00:00", 681_280) + start("03:00:00", 681_280),
            start("02:00:00", 2_000_000),
            {"one_node_pools"},
        ),
        (start("01:00:00", 681_280), start("02:00:00", 2_000_000), set()),
        (start("01:00:00", 681_280), start("02:00:00", 681_280), set()),
    ],
    ids=["roles", "pools", "another pool since", "the same"],
)
def test_two_files_of_one_node_contradict_each_other(
    first: str, second: str, codes: set[str], tmp_path: Path
) -> None:
    for name, text in (("p.log.1", first), ("p.log", second)):
        (tmp_path / name).write_text(text)
    told = [gap for gap in check_logs(tmp_path).gaps if gap.code.startswith("one_node")]
    assert {gap.code for gap in told} == codes
    assert all(gap.nodes == ["p"] and "node_from" in gap.sentence for gap in told)
