"""Logs in several wrappers, one inside the other, go into a set as they are."""

import json


def test_a_log_in_three_wrappers(tmp_path, kit):
    rows = [json.dumps(kit.record(n)) for n in range(5)]
    lines = (f"\x1b[0m2026-02-03T04:05:06.123456789Z stdout F {row}\n" for row in rows)
    docker = ({"log": line, "stream": "stdout", "time": "2026-02-03T04:05:06.1Z"} for line in lines)
    path = tmp_path / "pod.log"
    path.write_text("".join(json.dumps(record) + "\n" for record in docker))
    assert kit.ingest(path, out=tmp_path / "set") == 0
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "a"), kit.report(path, out=tmp_path / "b"))
