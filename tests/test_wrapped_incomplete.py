"""What readers note of files that they could read makes the evidence incomplete."""

import json

import forensics

AT = 1_772_000_000_000_000_000
LINE = "(APIServer pid=5) INFO 02-03 09:00:02 [async_llm.py:316] Added request chatcmpl-b."


def flags(tmp_path, *lines: str) -> list[str]:
    values = [[str(AT + at), line] for at, line in enumerate(lines)]
    streams = {"resultType": "streams", "result": [{"stream": {"pod": "d"}, "values": values}]}
    (tmp_path / "loki.json").write_text(json.dumps({"status": "success", "data": streams}))
    return forensics.read_logs(tmp_path).exposure().headline.incomplete


def test_an_answer_of_as_many_entries_as_a_query_returns(tmp_path):
    assert any("may have been cut" in flag for flag in flags(tmp_path, *[LINE] * 100))


def test_a_record_of_several_lines(tmp_path):
    found = flags(tmp_path, f"{LINE}\n{LINE}", LINE)
    assert "1 record of several lines: the first one was read" in found
    assert not any("may have been cut" in flag for flag in found)
