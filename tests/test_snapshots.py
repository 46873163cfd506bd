"""What a reader sees first, kept word by word so that a change of wording is seen as one."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import forensics
from forensics import exposure as doc
from forensics import lab


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> forensics.Case:
    folder: Path = tmp_path_factory.mktemp("snapshot")
    lab.write_plain(lab.simulate(lab.small()), folder)
    return forensics.read_logs(folder / "logs")


def test_the_card(case: forensics.Case, snapshot: SnapshotAssertion) -> None:
    assert repr(case) == snapshot


def test_the_headline_and_the_limitations(
    case: forensics.Case, snapshot: SnapshotAssertion
) -> None:
    document = case.exposure()
    assert document.headline == snapshot
    assert document.limitations == snapshot
    assert document.checklist == snapshot


def test_the_documents_shape(case: forensics.Case, snapshot: SnapshotAssertion) -> None:
    """Names of the frozen document: a change here is a new schema version."""
    assert sorted(doc.Exposure.__struct_fields__) == snapshot
    assert case.exposure().schema_version == snapshot
