"""Made-up documents: a large incident, nothing at all, and one with hostile names."""

import pytest

from forensics.exposure import Exposure
from tests.report.made.documents import build_empty, build_hostile, build_incident


@pytest.fixture(scope="session")
def incident() -> Exposure:
    return build_incident()


@pytest.fixture(scope="session")
def empty() -> Exposure:
    return build_empty()


@pytest.fixture(scope="session")
def hostile() -> Exposure:
    return build_hostile()


@pytest.fixture(scope="session", params=["incident", "empty", "hostile"])
def exposure(request: pytest.FixtureRequest) -> Exposure:
    """Each of the documents in turn."""
    return request.getfixturevalue(request.param)
