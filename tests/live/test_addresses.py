"""Addresses: what may be a secret in one is never shown, and no engine stands for another."""

import json
from pathlib import Path

import pytest

from forensics.cli import run

GOOD = {"max_total_num_tokens": 9_000, "context_length": 4_000, "disaggregation_mode": "prefill"}
TOKEN = "q7Gf2mZ9xK4tR8vB1nC6"
"""A secret of no known form: only its place gives it away."""
ACCOUNTS = ("--account", "a=KEY_A", "--account", "b=KEY_B")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("KEY_A", "one")
    monkeypatch.setenv("KEY_B", "two")


def kept(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", ["/{}", "/v1/{}/server_info", "/{}/metrics", "?k={}", "#{}"])
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_no_part_of_an_address_behind_its_host_is_shown_or_kept(
    server, capsys, tmp_path, path, as_json
):
    server.answers[path.format(TOKEN)] = GOOD
    url = server.url.replace("http://", f"http://me:{TOKEN}@") + path.format(TOKEN)
    files = ("--record", str(tmp_path / "record"), *as_json)
    run(["gate", url, *files])
    run(["gate", f"prefill={url}", *files])
    more = ("--fill", "1", "--textfile", str(tmp_path / "t.prom"), *files)
    run(["canary", url, *ACCOUNTS, *more])
    run(["canary", server.url, "--path", f"/{TOKEN}", "--engine", url, *ACCOUNTS, *more])
    shown = capsys.readouterr()
    assert TOKEN not in shown.out + shown.err + kept(tmp_path)
    assert server.url.removeprefix("http://") in shown.out
    assert server.asked


def test_an_address_that_is_misplaced_or_wrong_is_not_shown_either(capsys):
    url = f"https://me:{TOKEN}@host.invalid/{TOKEN}/x?k={TOKEN}"
    for arguments in (
        ["canary", url, url],
        ["canary", url, url + "/(", *ACCOUNTS],
        ["rules", url],
        ["gate", "--timeout", url],
        ["gate", f"http://host:{TOKEN}/"],
        ["gate", f"http://[{TOKEN}"],
        ["canary", f"ftp://host/{TOKEN}", *ACCOUNTS],
        ["gate", "http://127.0.0.1:9", "--api-key-env", TOKEN],
        ["canary", "http://127.0.0.1:9", "--account", f"a={TOKEN}", "--account", "b=KEY_B"],
    ):
        assert run(arguments) == 2
    shown = capsys.readouterr()
    assert TOKEN not in shown.out + shown.err


def test_json_shows_scheme_host_and_port(server, capsys):
    server.answers["/x/server_info"] = GOOD
    assert run(["gate", f"{server.url}/x/server_info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["url"] == server.url


def test_two_engines_are_never_called_one(server, other, capsys, tmp_path):
    server.answers["/server_info"] = other.answers["/server_info"] = GOOD
    port = server.url.rpartition(":")[2]
    for urls in (
        (f"p={server.url}", f"p={other.url}"),
        (f"{server.url}/prefill", f"{server.url}/decode"),
        (server.url, server.url),
        (server.url, f"{server.url}/"),
        (server.url, f"{server.url}/server_info"),
        (f"p={server.url}", f"d={server.url}"),
        (f"p=http://LocalHost:{port}", f"d=http://localhost:{port}/get_server_info"),
        ("p=http://localhost:80", "d=localhost"),
    ):
        assert run(["gate", *urls, "--record", str(tmp_path / "record")]) == 2, urls
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert server.asked == other.asked == []
    assert not (tmp_path / "record").exists()
    assert run(["gate", f"p={server.url}", f"d={other.url}"]) == 0


def test_a_server_behind_a_router_may_not_have_another_engines_name(server, other, capsys):
    server.answers["/server_info"] = {"prefill": [GOOD], "decode": [GOOD]}
    other.answers["/server_info"] = GOOD
    assert run(["gate", f"r={server.url}", f"x={other.url}"]) == 0
    capsys.readouterr()
    assert run(["gate", f"r={server.url}", f"r-prefill-0={other.url}"]) == 11
    assert "two engines are called r-prefill-0" in capsys.readouterr().out
