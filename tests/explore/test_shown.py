"""Tables and pictures: how much of what is shown, one look, no markup from data, no network."""

import html
import re
from datetime import UTC, datetime

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import polars as pl
import pytest

import forensics
from forensics import explore
from forensics.cards import _HELD_BY
from forensics.explore import pictures
from forensics.report import charts, theme

FETCHED = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=|import [^;]* from '?https?:")


def test_a_table_says_how_many_of_how_many_and_what_has_all(case):
    assert explore.table(case.affected).caption == (
        "affected requests: 3 of 3 rows; all of them: affected_requests.parquet"
    )
    rows = pl.DataFrame({"n": range(1_200)})
    cut = explore.table(rows, most=7, file="all.csv")
    assert cut.caption == "7 of 1,200 rows; all of them: all.csv"
    assert cut.frame.height == 7
    assert "7 of 1,200 rows" in cut._repr_html_()


def test_every_table_of_a_case_knows_what_holds_it(case):
    names = [
        n for n in dir(forensics.Case) if isinstance(getattr(case, n, None), forensics.cards.Table)
    ]
    tables = [getattr(case, name) for name in names]
    assert {table.name for table in tables} == set(_HELD_BY)
    assert all(table.held_by for table in tables)


def test_the_files_that_are_named_are_those_of_a_report(case, tmp_path):
    written = {path.name for path in case.report(tmp_path / "report").folder.iterdir()}
    named = {held for held in _HELD_BY.values() if "which no file" not in held}
    assert named <= written


def test_cells_are_text_that_is_no_markup():
    rows = {"<b>name": ["<script>x</script>", "a\u202eb"], "seen": [True, None]}
    shown = explore.table(pl.DataFrame(rows))
    assert shown.frame.to_dicts() == [
        {"<b>name": "<script>x</script>", "seen": "yes"},
        {"<b>name": "a⟨U+202E⟩b", "seen": "–"},
    ]
    made = shown._repr_html_()
    assert "<script>x" not in made
    assert "<b>name" not in made
    assert not FETCHED.search(made)


def test_times_are_utc_and_lists_are_joined():
    moment = datetime(2026, 8, 27, 5, 1, 2, tzinfo=UTC)
    frame = pl.DataFrame(
        {"at": [moment, None], "codes": [["a", "b"], []], "share": [0.123456, 2.0]}
    )
    assert explore.table(frame).frame.to_dicts() == [
        {"at": "2026-08-27 05:01:02 UTC", "codes": "a; b", "share": 0.1235},
        {"at": "–", "codes": "", "share": 2.0},
    ]


def test_a_cell_of_named_values_holds_its_own_alone():
    rows = [{"unread": {"cut": 2, "odd": 0}}, {"unread": {"binary": 1}}, {"unread": {}}]
    assert explore.table(rows).frame["unread"].to_list() == ["cut: 2; odd: 0", "binary: 1", "–"]


def test_times_of_the_document_are_shown_as_those_of_frames():
    stamps = ["2026-08-27T05:01:02.000000Z", None, "2026-08-27T05:01:02.000000Z, or later"]
    rows = [{"at": at, "exact": at and at.replace(".000000", ".000400")} for at in stamps]
    assert explore.table(rows).frame.to_dicts()[0] == {
        "at": "2026-08-27 05:01:02 UTC",
        "exact": "2026-08-27 05:01:02.000400 UTC",
    }
    assert explore.table(rows).frame["at"].to_list()[1:] == ["–", stamps[2]]


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, lambda d: pl.DataFrame(d).to_arrow()]
)
def test_any_kind_of_frame_is_shown(make):
    assert explore.table(make({"n": [1, 2]})).frame["n"].to_list() == [1, 2]


def test_rows_of_the_document_are_shown(case):
    document = case.exposure()
    shown = explore.table(document.reasons, columns=["reason", "requests"], file="report.json")
    assert shown.frame.columns == ["reason", "requests"]
    none = explore.table([], columns=["reason", "requests"])
    assert none.caption == "0 of 0 rows"
    assert none.frame.columns == ["reason", "requests"]


def test_of_judged_requests_the_verdict_comes_first_and_nothing_is_left_out(case):
    whole, shown = case.affected.polars(), explore.table(case.affected).frame
    assert shown.columns[:3] == ["tier", "reasons", "missing"]
    assert sorted(shown.columns) == sorted(whole.columns)
    assert explore.table(case.tenants).frame.columns == case.tenants.polars().columns


def test_codes_are_wrapped_between_two_of_them(case):
    """In one line they would push what follows out of sight."""
    shown = explore.table(case.affected)
    several = [codes for codes in shown.frame["reasons"] if "; " in codes]
    assert several
    assert not any(re.search(r";\S", codes) for codes in several)
    at = shown.frame.columns.index("reasons")
    (codes,) = (one for one in shown._columns() if "forensics-codes" in one["className"])
    assert at in codes["targets"]
    assert "td.forensics-codes { white-space: normal" in shown._repr_html_()


def test_a_sentence_is_a_paragraph_that_is_no_markup():
    shown = explore.sentence("at <b>least</b> a\u202eb")
    assert repr(shown) == "at <b>least</b> a⟨U+202E⟩b"
    assert shown._repr_html_().partition(">")[2] == "at &lt;b&gt;least&lt;/b&gt; a⟨U+202E⟩b</p>"


def test_figures_have_the_look_of_the_report(monkeypatch):
    monkeypatch.setattr(pio.templates, "default", pio.templates.default)
    pictures.use()
    assert pio.templates.default == "forensics"
    look = go.Figure().update_layout(template="forensics").layout.template.layout
    assert look.font.family == theme.FONT
    assert look.xaxis.hoverformat.endswith("UTC")
    assert look.xaxis.separatethousands
    assert look.yaxis.separatethousands
    assert look.yaxis.hoverformat is None
    assert set(look.colorway) <= {
        *(style.colour for style in theme.TIERS.values()), theme.STOPPED, theme.UNKNOWN, "#009e73"
    }  # fmt: skip
    assert {name: style.symbol for name, style in theme.TIERS.items()} == explore.SYMBOLS


def test_a_picture_waits_for_the_library_and_fetches_nothing(case):
    shown = explore.picture(charts.days(case.exposure()))
    made = shown._repr_html_()
    assert "window.Plotly.newPlot" in made
    assert not FETCHED.search(made)
    assert len(made) < 50_000
    assert made != shown._repr_html_()  # each has a place of its own on the page


def test_text_in_a_figure_can_not_end_its_script():
    made = explore.picture(go.Figure(layout={"title": "</script><script>alert(1)"}))._repr_html_()
    assert made.count("</script>") == 1


def test_a_figure_of_the_report_makes_room_for_the_buttons_and_is_not_changed(case):
    chart = charts.days(case.exposure())
    own = chart["layout"]["height"]
    assert chart["layout"]["margin"]["t"] == 8
    shown = explore.picture(chart).figure.layout
    assert (shown.margin.t, shown.height) == (40, own + 32)
    assert explore.picture(chart, height=700).figure.layout.height == 700
    assert (chart["layout"]["margin"]["t"], chart["layout"]["height"]) == (8, own)


def test_an_axis_of_numbers_has_not_the_look_of_times(case):
    """With the format of a time plotly writes 10000 where it was told to write 10,000."""
    times = explore.picture(charts.days(case.exposure())).figure
    assert times.layout.xaxis.hoverformat is None
    numbers = explore.picture(charts.funnel(case.exposure())).figure
    assert numbers.layout.xaxis.hoverformat == ""


def test_nothing_to_draw_is_said():
    assert "nothing to draw" in explore.picture(None)._repr_html_()
    assert "nothing to draw" in repr(explore.picture(None))


def test_a_page_in_a_notebook_stays_in_its_frame(tmp_path):
    page = tmp_path / "notice.html"
    page.write_text("<style>* { color: red }</style><script>alert('x')</script>", "utf-8")
    made = explore.framed(page)._repr_html_()
    assert made.startswith("<iframe sandbox srcdoc=")
    assert made.count("<") == 2  # the frame's own
    assert "<style" in html.unescape(made)
