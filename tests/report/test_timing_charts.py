"""Pictures of prefill times: counts as they stand, and no two kinds that look alike."""

import msgspec
import pytest

from forensics.exposure.timing import WORDS
from forensics.report import timingchart


def marks(figure):
    return [trace for trace in figure["data"] if "markers" in trace.get("mode", "")]


def test_the_grid_holds_every_request_and_lies_on_half_octaves(incident):
    grid, *_ = timingchart.density(incident)["data"]
    drawn = sum(int(n.replace(",", "")) for row in grid["text"] for n in row if n)
    assert drawn == sum(cell.requests for cell in incident.timing_cells)
    assert (len(grid["x"]), len(grid["y"])) == (len(grid["z"][0]) + 1, len(grid["z"]) + 1)
    assert {cell.tokens for cell in incident.timing_cells} <= set(grid["x"])


def test_flagged_cells_differ_by_shape_and_colour(incident):
    found = marks(timingchart.density(incident))
    assert [trace["name"] for trace in found] == list(WORDS.values())
    for name in ("color", "symbol"):
        assert len({trace["marker"][name] for trace in found}) == len(WORDS)


def test_the_band_is_where_the_document_says(incident):
    least, most = (t for t in timingchart.density(incident)["data"] if t.get("mode") == "lines")
    assert least["y"][::2] == [row.least_ms for row in incident.timing_band]
    assert most["y"][1::2] == [row.most_ms for row in incident.timing_band]


def test_alarms_of_long_prompts_are_marked_on_their_day(incident):
    *_, alarms = timingchart.prefill(incident)["data"]
    wanted = [row for row in incident.timing_alarms if row.long_context]
    assert alarms["x"] == [row.day for row in wanted]
    assert alarms["y"] == [row.lowest_p5_ms for row in wanted]
    assert alarms["marker"]["symbol"] == "x"


def test_each_cluster_is_a_line_on_the_row_of_its_server(incident):
    found = marks(timingchart.clusters(incident))
    assert sum(len(trace["x"]) for trace in found) == 3 * len(incident.timing_clusters)
    assert {row for trace in found for row in trace["y"]} == {f"prefill-{n}" for n in range(7)}


def test_p5_of_a_single_day_is_drawn_by_prompt_length(incident) -> None:
    """A line over days would be one mark above the other."""
    day = incident.prefill_times[0].day
    rows = [row for row in incident.prefill_times if row.day == day]
    alarms = [msgspec.structs.replace(row, day=day) for row in incident.timing_alarms]
    one = msgspec.structs.replace(incident, prefill_times=rows, timing_alarms=alarms)
    line, marks_ = timingchart.prefill(one)["data"]
    lengths = sorted(row.low_tokens for row in rows)
    assert line["x"] == lengths
    assert set(marks_["x"]) == {row.low_tokens for row in alarms if row.long_context}


@pytest.mark.parametrize("size", [timingchart.MOST_CLUSTERS + 50])
def test_only_the_largest_clusters_are_drawn(incident, size):
    first = incident.timing_clusters[0]
    many = [msgspec.structs.replace(first, cluster=n, requests=n) for n in range(1, size + 1)]
    found = marks(timingchart.clusters(msgspec.structs.replace(incident, timing_clusters=many)))
    texts = [text for trace in found for text in trace["text"][::3]]
    assert len(texts) == timingchart.MOST_CLUSTERS
    assert texts[0].endswith(f": {size:,} requests")


def test_a_warning_without_a_time_says_why(incident):
    said = {row.signal: row.first for row in incident.early_warnings}
    assert said["pool against context"] == "before the first record"
    assert (said["canary"], said["transfer mismatch"]) == ("not known", "did not fire")
