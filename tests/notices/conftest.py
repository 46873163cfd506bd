"""A small incident with tenants of any name, its report and its notices."""

import json
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import msgspec
import pytest

import forensics
from forensics.exposure import Exposure, decode

CAPACITY = {
    "node": "p-1",
    "role": "prefill",
    "effective_at": "2026-08-01T00:00:00Z",
    "pool_tokens": 681280,
    "page_tokens": 64,
    "context_tokens": 1048576,
    "disaggregated": True,
}


def request(number: int, tenant: str | None, **more: object) -> dict[str, object]:
    """One over-limit request that prefill saw as a placeholder: affected, probable."""
    return {
        "request_id": f"req-{number:06d}-canary",
        "tenant_id": tenant,
        "model": "glm-5.3",
        "received_at": f"2026-09-01T{number // 60 % 24:02d}:{number % 60:02d}:00Z",
        "prefill_node": "p-1",
        "decode_node": "d-1",
        "prompt_tokens": 700000,
        "prefill_prompt_tokens": 1,
        "decode_prompt_tokens": 700000,
        "completion_tokens": 20,
        "http_status": 200,
        "finish_reason": "stop",
        **more,
    }


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Write the report of some logs under an incident, once for all tests that ask for it."""

    @cache
    def write(logs: str, asked: str) -> Path:
        folder = tmp_path_factory.mktemp("written")
        (folder / "logs.ndjson").write_text(logs)
        (folder / "incident.toml").write_text(asked)
        case = forensics.read_logs(folder / "logs.ndjson", incident=folder / "incident.toml")
        case.report(folder / "out")
        return folder

    return write


def logs_text(tenants: Iterable[str | None], *extra: dict[str, object]) -> str:
    """Logs of some tenants, two affected requests each."""
    rows = [request(at, tenant) for at, tenant in enumerate([*tenants, *tenants])]
    return "".join(json.dumps(row) + "\n" for row in [CAPACITY, *rows, *extra])


def incident_text(case: str) -> str:
    return f'[case]\nid = "{case}"\nas_of = 2026-09-10\n'


@pytest.fixture(scope="session")
def three(written) -> Path:
    """The folder of a report of three tenants: to be copied, not to be changed."""
    return written(logs_text(["acct-000001", "acct-000002", "acct-000003"]), incident_text("C-1"))


@pytest.fixture
def report_of(tmp_path: Path, written: Callable[[str, str], Path]) -> Callable[..., Path]:
    """Return the report of some tenants, two affected requests each, to do with as one likes."""

    def write(tenants: Iterable[str | None], *extra: dict[str, object], case: str = "C-1") -> Path:
        folder = written(logs_text(tenants, *extra), incident_text(case))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "out"

    return write


@pytest.fixture
def report(report_of) -> Path:
    return report_of(["acct-000001", "acct-000002", "acct-000003"])


@pytest.fixture
def exposure(report) -> Exposure:
    return decode((report / "report.json").read_bytes())


@pytest.fixture
def fact() -> dict[str, object]:
    """The facts of a recipient with two probable requests, complete in every way."""
    return {
        "population": "recipient",
        "tier": "probable",
        "n_confirmed": 0,
        "n_probable": 2,
        "n_possible": 0,
        "n_not_assessable": 0,
        "requests": 2,
        "responses": 2,
        "delivered": 2,
        "to_own": None,
        "same_tenant_only": False,
        "coverage_pct": 100.0,
        "bound_low": 2,
        "bound_high": 2,
        "listed": 2,
        "total": 2,
    }


@pytest.fixture
def with_scope() -> Callable[..., Exposure]:
    def changed(document: Exposure, **scope: object) -> Exposure:
        replaced = msgspec.structs.replace(document.scope, **scope)
        return msgspec.structs.replace(document, scope=replaced)

    return changed


@pytest.fixture
def with_head() -> Callable[..., Exposure]:
    def changed(document: Exposure, **head: object) -> Exposure:
        replaced = msgspec.structs.replace(document.headline, **head)
        return msgspec.structs.replace(document, headline=replaced)

    return changed
