"""Logs and evidence sets in object storage give what they give on disk, and tell no secret."""

import gzip
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import lab
from forensics.cli import run
from forensics.errors import Exit, UsageError
from forensics.objects import ObjectPath, place
from tests import pages

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "object-storage.md"

SECRETS = ("CANARY", "AKIA", "bPxRfi")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs") / "logs"
    folder.mkdir()
    lab.write_sglang(lab.simulate(lab.small(requests=160)), folder)
    return folder


@pytest.fixture(scope="module")
def evidence(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("evidence") / "set"
    assert run(["ingest", str(logs), "-o", str(out), "-q"]) in (0, 3)
    return out


def affected(*places: str) -> str:
    return forensics.read_logs(*places).affected.polars().write_json()


def no_secret(*texts: str) -> None:
    assert not any(secret in text for secret in SECRETS for text in texts)


def test_logs_below_a_prefix_give_what_they_give_on_disk(bucket: Any, logs: Path) -> None:
    address = bucket.put_folder(logs, "logs")
    expected = affected(str(logs))
    assert expected != "[]"
    assert affected(address) == expected
    assert affected(f"{address}/*") == expected
    assert affected(*(f"{address}/{path.name}" for path in logs.iterdir())) == expected


@pytest.mark.parametrize("ending", ["log.gz", "zip", "tar.gz"])
def test_what_is_packed_is_read_as_on_disk(
    bucket: Any, logs: Path, tmp_path: Path, ending: str
) -> None:
    packed = tmp_path / f"prefill-01.{ending}"
    log = logs / "prefill-01.log"
    if ending == "log.gz":
        packed.write_bytes(gzip.compress(log.read_bytes()))
    else:
        kind = "zip" if ending == "zip" else "gztar"
        shutil.make_archive(str(tmp_path / "prefill-01"), kind, logs, log.name)
    here, there = (
        forensics.read_logs(name)
        for name in (str(packed), bucket.put(f"packed/{packed.name}", packed.read_bytes()))
    )
    assert here.requests.polars().height
    assert [(f.sha256, f.kept) for f in here.analysis.files] == [
        (f.sha256, f.kept) for f in there.analysis.files
    ]


def test_objects_are_written_as_they_are(bucket: Any) -> None:
    data = gzip.compress(b"a log")
    (ObjectPath("s3://incident/written") / "a.log.gz").write_bytes(data)
    assert bucket.get("written") == {"a.log.gz": data}


def test_a_set_is_ingested_from_logs_and_read_where_it_lies(
    bucket: Any, logs: Path, evidence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "set"
    address = bucket.put_folder(logs, "more/logs")
    assert run(["ingest", address, "-o", str(out), "-q"]) in (0, 3)
    first, second = (
        {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.parquet")}
        for folder in (out, evidence)
    )
    assert first == second
    assert affected(bucket.put_folder(evidence, "sets/one")) == affected(str(logs))
    told = [path.read_text(errors="replace") for path in out.rglob("*") if path.is_file()]
    no_secret(*capsys.readouterr(), *told)


def test_a_report_names_addresses_and_is_made_again(
    bucket: Any, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, out = bucket.put_folder(logs, "logs"), tmp_path / "out"
    assert run(["report", address, "-o", str(out), "-q"]) in (0, 3)
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert {item["path"].rpartition("/")[0] for item in manifest["inputs"]} == {address}
    assert run(["rerun", str(out), "-q"]) == Exit.COMPLETE
    assert run(["verify", str(out)]) in (Exit.COMPLETE, Exit.INCOMPLETE)
    bucket.put(f"logs/{next(logs.iterdir()).name}", b"{}\n")
    assert run(["verify", str(out)]) == Exit.MISMATCH
    no_secret(*capsys.readouterr(), (out / "manifest.json").read_text())


def test_the_commands_of_the_page_read_it(
    bucket: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("incident.toml").touch()
    for log in logs.iterdir():
        bucket.put(f"logs/{log.stem}/{log.name}.gz", gzip.compress(log.read_bytes()))
    page = PAGE.read_text(encoding="utf-8")
    (block,) = (block for block in pages.blocks(page) if block.kind == "text")
    for command, _ in block.steps:
        program, *arguments = shlex.split(command)
        assert program == "forensics"
        assert run(arguments) in (Exit.COMPLETE, Exit.INCOMPLETE), command
    assert "holds" in capsys.readouterr().err


def test_processes_read_objects_as_well(bucket: Any, logs: Path) -> None:
    address = bucket.put_folder(logs, "logs")
    found = forensics.read_logs(address, workers=2).affected.polars().write_json()
    assert found == affected(str(logs))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://no-such-bucket/logs", "no such"),
        ("s3://no-such-bucket/logs/*.log", "no such bucket"),
        ("s3://incident/nothing", "no such file or folder"),
        ("s3://incident/nothing/*.log", "no file matches"),
    ],
)
def test_what_is_not_there_is_named(
    bucket: Any, address: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["scope", address], ["check", address], ["ingest", address, "-o", "nowhere"]):
        assert run([*command, "-q"]) == Exit.NO_INPUT
        told = capsys.readouterr().err
        assert address in told
        assert said in told
        no_secret(told)
    assert not Path("nowhere").exists()


def denied(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["scope"], ["check"], ["ingest", "-o", "nowhere"]):
        assert run([*command, address, "-q"]) == Exit.NO_INPUT
        told = capsys.readouterr().err
        assert f"{address}: cannot be read (access denied" in told
        no_secret(told)
    assert not Path("nowhere").exists()


def test_whom_the_bucket_does_not_let_in(
    bucket: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = bucket.put_folder(logs, "logs")
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
    denied(address, capsys)


@pytest.mark.usefixtures("closed")
def test_without_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    denied("s3://incident/logs", capsys)


@pytest.mark.usefixtures("closed")
def test_where_no_storage_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert run(["scope", "s3://incident/logs", "-q"]) == Exit.NO_INPUT
    told = capsys.readouterr().err
    assert "s3://incident/logs: cannot be read (no object storage answers)" in told
    no_secret(told)


def test_an_object_that_vanishes_is_an_unread_file(
    bucket: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forensics.sources import files

    address = bucket.put_folder(logs, "vanishing")
    gone = min(logs.iterdir()).name
    expand = files.expand

    def then_gone(*asked: Any, **options: Any) -> Any:
        found = expand(*asked, **options)
        bucket.remove(f"vanishing/{gone}")
        return found

    monkeypatch.setattr("forensics.case.expand", then_gone)
    case = forensics.read_logs(address)
    left = [facts for facts in case.analysis.files if facts.unread]
    assert [facts.name for facts in left] == [f"{address}/{gone}"]
    assert [item.reason for item in left[0].unread] == ["cannot be read: no such object"]


def test_a_set_whose_object_is_gone_is_not_what_was_written(
    bucket: Any, evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = bucket.put_folder(evidence, "sets/cut")
    part = min(evidence.rglob("*.parquet")).relative_to(evidence).as_posix()
    assert run(["verify", address]) in (Exit.COMPLETE, Exit.INCOMPLETE)
    bucket.remove(f"sets/cut/{part}")
    assert run(["verify", address]) == Exit.MISMATCH
    assert run(["scope", address, "-q"]) == Exit.MISMATCH
    assert f"{address}/{part}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIAIOSFODNN7EXAMPLE:CANARY@incident/logs",
        "s3://incident/logs?access_key=AKIAIOSFODNN7EXAMPLE&secret_key=CANARY",
    ],
)
def test_an_address_with_credentials_is_refused_and_not_repeated(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    for command in (["scope"], ["report", "-o", out], ["ingest", "-o", out], ["check"]):
        assert run([*command, address, "-q"]) == Exit.USAGE
    no_secret(*capsys.readouterr())
    assert not any(tmp_path.iterdir())
    with pytest.raises(UsageError) as told:
        place(address)
    no_secret(repr(told.getrepr(style="short")))


def test_objects_are_not_followed() -> None:
    assert run(["watch", "s3://incident/logs", "--once"]) == Exit.USAGE


def test_an_address_is_a_path() -> None:
    path = ObjectPath("s3://bucket/logs/day=1")
    assert str(path / "a.log") == "s3://bucket/logs/day=1/a.log"
    assert str(path.parent) == "s3://bucket/logs"
    assert path.resolve() == path
    assert (path / "a.log").relative_to(path).as_posix() == "a.log"
    assert shutil.os.fspath(path) == str(path)
    assert {path, ObjectPath(str(path))} == {path}
