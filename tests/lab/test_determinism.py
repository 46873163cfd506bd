"""The same configuration gives the same run and the same bytes, in any process."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from forensics.lab import simulate, small, write_plain, write_sglang, write_truth

PROGRAM = """
import sys
from pathlib import Path
from forensics.lab import simulate, small, write_plain, write_sglang, write_truth
out = Path(sys.argv[1])
run = simulate(small(seed=7))
write_plain(run, out); write_truth(run, out); write_sglang(run, out / "sglang")
"""


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def written(folder: Path, seed: int) -> dict[str, str]:
    run = simulate(small(seed=seed))
    write_plain(run, folder)
    write_truth(run, folder)
    write_sglang(run, folder / "sglang")
    return digest(folder)


def test_another_process_with_another_hash_seed_writes_the_same_bytes(tmp_path):
    here = written(tmp_path / "here", 7)
    environment = os.environ | {"PYTHONHASHSEED": "4242", "TZ": "Asia/Tokyo"}
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "there")],
        env=environment,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert len(here) > 10
    assert digest(tmp_path / "there") == here


def test_another_seed_writes_other_bytes(tmp_path):
    first, second = written(tmp_path / "a", 7), written(tmp_path / "b", 8)
    assert first.keys() == second.keys()
    assert all(first[name] != second[name] for name in first)


def test_less_background_leaves_the_long_prompts_as_they_are():
    few, many = (simulate(small(seed=3, requests=count)) for count in (60, 400))

    def long_ones(run):
        return {
            (h.intent.request_id, h.transfer_id, h.decode_node, h.intent.prompt_tokens)
            for h in run.affected
        }

    assert long_ones(few) == long_ones(many)
    assert len(few.handoffs) < len(many.handoffs)


def test_the_zone_of_a_node_moves_its_wall_clock_only(tmp_path):
    run = simulate(small(seed=7))
    write_sglang(run, tmp_path / "utc")
    config = replace(run.config, zone_offset_hours=5.5)
    write_sglang(replace(run, config=config), tmp_path / "east")
    utc = (tmp_path / "utc" / "decode-01.log").read_text().splitlines()
    east = (tmp_path / "east" / "decode-01.log").read_text().splitlines()
    assert utc[0].startswith("[2026-03-02 08:01:30] server_args=")
    assert east[0].startswith("[2026-03-02 13:31:30] server_args=")
    assert [text[20:] for text in utc] == [text[20:] for text in east]
