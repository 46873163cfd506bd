"""A case under pseudonyms names no tenant and counts the same; a page that names one is refused."""

import json
from pathlib import Path

import pytest

import forensics
from forensics.errors import OutputExistsError, PrivacyError, UsageError
from forensics.explore import page, pseudonyms
from forensics.explore.export import export
from forensics.exposure import encode
from forensics.notices.pseudonyms import AUDIENCE, pseudonym
from tests.explore.conftest import HOSTILE

KEY = b"k" * 32


@pytest.fixture
def hidden(case):
    return pseudonyms.replaced(case, KEY)


def test_names_are_those_that_notices_have(case, hidden):
    assert pseudonyms.names(case) == {HOSTILE, "tenant-b"}
    shown = {
        pseudonym(KEY, case.analysis.incident.case.id, AUDIENCE, name)
        for name in pseudonyms.names(case)
    }
    assert set(hidden.affected.polars()["tenant_id"].drop_nulls()) == shown


def test_nothing_made_from_it_names_a_tenant(case, hidden):
    parts = [encode(hidden.exposure()).decode(), repr(hidden), hidden._repr_html_()]
    parts += [
        json.dumps(t.polars().to_dicts(), default=str)
        for t in (hidden.requests, hidden.tenants, hidden.sources)
    ]
    parts += [hidden.lineage().write_ndjson(), repr(hidden.explain("r-1"))]
    for part in parts:
        assert "tenant-b" not in part
        assert "onerror" not in part
    assert "tenant-b" in repr(case.explain("r-2"))


def test_nothing_else_changes(case, hidden):
    before, after = case.exposure().headline, hidden.exposure().headline
    assert (before.sentence, before.bound) == (after.sentence, after.bound)
    assert (
        case.requests.polars().drop("tenant_id").equals(hidden.requests.polars().drop("tenant_id"))
    )


def test_every_case_is_read_under_them_from_then_on(case, tmp_path, monkeypatch):
    monkeypatch.setattr(forensics, "read_logs", forensics.read_logs)
    logs = tmp_path / "a.ndjson"
    logs.write_text('{"request_id": "r", "tenant_id": "tenant-q", "prompt_tokens": 3}\n')
    pseudonyms.use(tmp_path / "key", tmp_path / "seen.json")
    read = forensics.read_logs(logs)
    assert read.requests.polars()["tenant_id"][0].startswith("t-")
    assert json.loads((tmp_path / "seen.json").read_text()) == ["tenant-q"]
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "body",
    [
        "to tenant-b.",
        "<td>tenant-b</td>",
        '{"x":"tenant-b"}',
        "a \\u003cimg src=x b",
        "&lt;img src=x b",
    ],
)
def test_a_page_that_names_a_tenant_is_refused(body):
    with pytest.raises(PrivacyError) as refused:
        page.refuse(body, ["tenant-b", "<img src=x"], own="")
    assert "tenant-b" not in str(refused.value)


def test_a_name_that_is_part_of_another_word_or_of_the_notebook_is_no_sign():
    page.refuse("tenant-b2 and the rest", ["tenant-b", "the"], own="the rest of the notebook")


def test_a_page_that_would_fetch_something_is_refused():
    with pytest.raises(PrivacyError, match="fetch"):
        page.refuse('<script src="https://elsewhere.example/x.js"></script>', [], own="")


def test_a_page_that_is_there_stays(tmp_path):
    (tmp_path / "page.html").write_text("old")
    with pytest.raises(OutputExistsError):
        export(tmp_path / "a.ipynb", tmp_path / "page.html", tmp_path / "key")
    assert (tmp_path / "page.html").read_text() == "old"


@pytest.mark.long
def test_a_notebook_without_parameters_is_refused(tmp_path):
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(empty))
    with pytest.raises(UsageError, match="parameters"):
        export(tmp_path / "a.ipynb", tmp_path / "page.html", tmp_path / "key")


@pytest.mark.long
def test_the_cell_that_failed_is_named_and_nothing_of_it_is_quoted(tmp_path):
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    sources = ["logs = 'a'", "1", "raise KeyError(logs + '-is-a-tenant')"]
    cells = [code | {"id": f"c{at}", "source": text} for at, text in enumerate(sources)]
    cells[0] |= {"metadata": {"tags": ["parameters"]}}
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    with pytest.raises(UsageError, match=r"cell \[3\] failed \(KeyError\)") as refused:
        export(tmp_path / "a.ipynb", tmp_path / "page.html", tmp_path / "key", {"logs": "secret"})
    assert "tenant" not in str(refused.value)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.long
def test_a_notebook_becomes_a_page_with_its_figures(tmp_path):
    root = Path(__file__).parents[2]
    samples = root / "data" / "samples" / "glm53"
    given = {"logs": str(samples / "logs"), "incident": str(samples / "incident.toml")}
    given["out"] = str(tmp_path / "out")
    notebook = root / "notebooks" / "02_affected_requests.ipynb"
    made = export(notebook, tmp_path / "page.html", tmp_path / "key", given).read_text()
    assert "tenant-0" not in made
    assert "t-" in made
    assert made.count("Plotly.newPlot(place") >= 3
    assert "Content-Security-Policy" in made
    assert "widget-view" not in made
