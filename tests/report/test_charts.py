import json

import msgspec
import plotly.graph_objects as go
import pytest

from forensics.report import charts, lengths, theme
from forensics.report.html import PICTURES

CHARTS = {row[0]: row[1] for row in PICTURES}


@pytest.fixture(params=list(CHARTS))
def chart(request):
    return CHARTS[request.param]


def strings(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def test_plotly_knows_every_setting(chart, incident):
    go.Figure(chart(incident))


def test_nothing_is_drawn_of_nothing(chart, empty):
    assert chart(empty) is None


def test_the_document_alone_decides(chart, incident):
    first, second = (json.dumps(chart(incident)) for _ in range(2))
    assert first == second


def test_no_label_holds_markup(chart, hostile):
    figure = chart(hostile)
    texts = strings({"data": figure["data"], "layout": figure["layout"]})
    # `<extra></extra>` is plotly's own, in a template of ours.
    assert not [text for text in texts if "<" in text.replace("<extra></extra>", "")]
    assert not [text for text in texts if "\u202e" in text or "\x00" in text]


def test_days_are_stacked_as_they_stand(incident):
    bars = charts.days(incident)["data"]
    for bar, tier in zip(
        bars, ("confirmed", "probable", "possible", "not_assessable"), strict=True
    ):
        assert bar["x"] == [day.day for day in incident.days]
        assert bar["y"] == [getattr(day, tier) for day in incident.days]
        assert bar["marker"]["color"] == theme.TIERS[tier].colour


def test_one_colour_and_symbol_per_tier():
    styles = theme.TIERS.values()
    for field in ("colour", "symbol", "glyph", "word"):
        assert len({getattr(style, field) for style in styles}) == 5


def test_each_point_with_a_time_and_a_length_is_drawn(incident):
    drawn = [t for t in lengths.draw(incident)["data"] if t.get("mode") == "markers"]
    known = [p for p in incident.points if p.at and p.prompt_tokens]
    assert sum(len(trace["x"]) for trace in drawn) == len(known)
    assert {trace["name"] for trace in drawn} == {theme.tier(p.tier).word for p in known}


def test_limit_lines_are_of_prefill_nodes_and_stand_until_the_next_epoch(incident):
    lines = [
        trace
        for trace in lengths.draw(incident)["data"]
        if trace.get("name", "").startswith("input limit") and trace["yaxis"] == "y2"
    ]
    nodes = [e for e in incident.epochs if e.node == "prefill-01"]
    assert len(lines) == 8
    assert lines[0]["y"] == [n for e in nodes for n in [e.input_limit_tokens] * 2]
    assert lines[0]["x"][1] == lines[0]["x"][2] == nodes[0].until


def test_every_cell_is_in_the_grid(incident):
    grid = lengths.draw(incident)["data"][0]
    assert (len(grid["x"]), len(grid["y"])) == (len(grid["z"][0]) + 1, len(grid["z"]) + 1)
    texts = [text for row in grid["text"] for text in row if text]
    assert sorted(texts) == sorted(f"{cell.requests:,}" for cell in incident.lengths)


def test_a_stated_threshold_is_marked(incident):
    scope = msgspec.structs.replace(incident.scope, threshold_tokens=681_280)
    layout = lengths.draw(msgspec.structs.replace(incident, scope=scope))["layout"]
    assert [shape["y0"] for shape in layout["shapes"]] == [681_280]
    assert layout["annotations"][0]["text"] == "threshold 681,280"


def test_lengths_without_capacity_or_points(incident):
    bare = msgspec.structs.replace(incident, epochs=[], points=[])
    figure = lengths.draw(bare)
    go.Figure(figure)
    assert [trace["type"] for trace in figure["data"]] == ["heatmap"]


def test_points_without_lengths(incident):
    figure = lengths.draw(msgspec.structs.replace(incident, lengths=[]))
    go.Figure(figure)
    assert "heatmap" not in [trace["type"] for trace in figure["data"]]


def test_long_context_is_marked_by_more_than_colour(incident):
    lines = charts.prefill(incident)["data"]
    marked = [line for line in lines if line["marker"]["symbol"].startswith("star")]
    assert [line["name"] for line in marked] == [
        "★ 262,144 to 524,288 tokens",
        "★ 524,288 to 1,048,576 tokens",
    ]
    for look in ("color", "dash"):
        assert len({line["line"][look] for line in marked}) == len(marked)
    assert len({line["marker"]["symbol"] for line in marked}) == len(marked)


def test_one_entry_of_the_legend_stands_for_all_lines_of_shorter_prompts(incident):
    lines = charts.prefill(incident)["data"]
    grey = [line for line in lines if not line["name"].startswith("★")]
    assert len(grey) > 2
    assert {line["legendgroup"] for line in grey} == {"shorter"}
    assert [line["name"] for line in grey if line["showlegend"]] == [
        "shorter prompts, one line per length"
    ]
    assert all(line["name"] in line["hovertemplate"] for line in grey if line["x"] != [None])
