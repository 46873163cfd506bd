"""The drill around its checks; what they find is tested where the notebook is."""

import re

import pytest

from forensics.errors import OutputExistsError
from forensics.explore import drill


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(OutputExistsError):
        drill.run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_drill_shows_no_marker_and_leaves_logs_and_records(tmp_path):
    sizes = {"context_tokens": 512, "prefill_pool_tokens": 320, "decode_pool_tokens": 1_024}
    done = drill.run(tmp_path / "drill", fill=1, **sizes)
    assert done.leaked
    assert repr(done).endswith(f": {len(done.leaked)} answers held foreign markers")
    assert {path.name for path in done.folder.iterdir()} == {"logs", "gate.ndjson", "canary.ndjson"}
    kept = [path for path in done.folder.rglob("*") if path.is_file()]
    assert any(path.parent == done.logs for path in kept)
    for text in (repr(done), *(path.read_text() for path in kept)):
        assert not re.search("canary-[0-9a-f]{32}|drill-key", text)


def test_after_the_fix_the_canary_counts_where_the_report_knows_where_the_fault_began(tmp_path):
    sizes = {"context_tokens": 512, "prefill_pool_tokens": 1_024, "decode_pool_tokens": 1_024}
    results = [
        [check.result for check in done.case.exposure().checklist]
        for done in (
            drill.run(tmp_path / str(known), fill=1, threshold_tokens=known, **sizes)
            for known in (None, 320)
        )
    ]
    first, second = ([one[0], one[1], one[3]] for one in results)
    assert first == ["pass", "pass", "not observable"]
    assert second == ["pass", "pass", "pass"]
