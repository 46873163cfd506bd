"""Alerting rules that Prometheus takes, over metrics that exist."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from forensics.cli import run
from forensics.live import textfile

ENGINE = {
    "sglang:max_total_num_tokens",
    "sglang:context_len",
    "sglang:prompt_tokens_total",
    "sglang:per_stage_req_latency_seconds_bucket",
}
"""What the engine reports under these names, by its own documentation of metrics."""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["rules", *arguments]) == 0
    return capsys.readouterr().out


def test_the_file_parses_and_names_only_metrics_that_exist(capsys):
    (group,) = yaml.safe_load(printed(capsys))["groups"]
    assert len(group["rules"]) == 8
    used = set()
    for rule in group["rules"]:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        used |= set(re.findall(r"(?:sglang:|forensics_)\w+", rule["expr"]))
    own = {textfile.FOREIGN, textfile.LAST_RUN, textfile.PASSED}
    assert used == ENGINE | own


def test_the_same_rules_as_json_and_with_another_headroom(capsys):
    rules = json.loads(printed(capsys, "--json", "--headroom", "1.5"))
    assert rules[0]["expression"] == "sglang:max_total_num_tokens < 1.5 * sglang:context_len"
    for factor in ("much", "nan", "inf", "-1", "0.5", "1e9"):
        assert run(["rules", "--headroom", factor]) == 2


needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here")


@needs_promtool
def test_promtool_accepts_them(capsys, tmp_path):
    (tmp_path / "rules.yml").write_text(printed(capsys))
    subprocess.run(["promtool", "check", "rules", tmp_path / "rules.yml"], check=True)


def side(role: str, pool: int | None, window: int | None, prompts: str) -> dict[str, str]:
    labels = f'{{engine_type="{role}",model_name="m"}}'
    series = {
        f"sglang:max_total_num_tokens{labels}": pool,
        f"sglang:context_len{labels}": window,
        f"sglang:prompt_tokens_total{labels}": prompts,
    }
    return {
        name: value if isinstance(value, str) else f"{value}x2000"
        for name, value in series.items()
        if value is not None
    }


def canary(foreign: int, passed: int) -> dict[str, str]:
    gauges = {textfile.FOREIGN: foreign, textfile.PASSED: passed, textfile.LAST_RUN: 90_000}
    return {name: f"{value}x2000" for name, value in gauges.items()}


SOUND = side("prefill", 2_040_000, 1_048_576, "0+1000x2000") | canary(0, 1)
DECODE = side("decode", 3_000_000, 1_048_576, "0+1000x2000")
FLEETS = {
    "as it should be": (SOUND | DECODE, set()),
    "the incident": (
        SOUND | DECODE | side("prefill", 681_280, 1_048_576, "0+900x2000"),
        {
            "KvPoolSmallerThanWindow",
            "DecodeAcceptsWhatPrefillRejects",
            "PrefillCountsFewerTokensThanDecode",
        },
    ),
    "one engine is silent": (
        SOUND | side("decode", None, 1_048_576, "0+1000x2000"),
        {"KvPoolUnknown"},
    ),
    "a marker": (SOUND | DECODE | canary(2, 0), {"ForeignMarkerSeen", "CanaryFailed"}),
    "a blind canary": (SOUND | DECODE | canary(0, 0), {"CanaryFailed"}),
}


@needs_promtool
@pytest.mark.parametrize("fleet", FLEETS)
def test_each_alert_fires_when_it_has_to_and_only_then(capsys, tmp_path, fleet):
    series, firing = FLEETS[fleet]
    (tmp_path / "rules.yml").write_text(printed(capsys))
    names = [rule["name"] for rule in json.loads(printed(capsys, "--json"))]
    asked = [
        {"expr": f'count(ALERTS{{alertstate="firing",alertname="{name}"}}) > 0', "eval_time": "26h"}
        | {"exp_samples": [{"labels": "{}", "value": 1}] if name in firing else []}
        for name in names
    ]
    inputs = [{"series": name, "values": value} for name, value in series.items()]
    test = {"interval": "1m", "input_series": inputs, "promql_expr_test": asked}
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(tests))
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (
        0,
        b"Unit Testing:  test.yml\n  SUCCESS\n\n",
    )


def test_the_canarys_gauges_replace_each_other_whole(tmp_path: Path):
    path = tmp_path / "canary.prom"
    textfile.write(path, 3, passed=False)
    textfile.write(path, 0, passed=True)
    values = dict(line.split() for line in path.read_text().splitlines() if line[0] != "#")
    assert (values[textfile.FOREIGN], values[textfile.PASSED]) == ("0", "1")
    assert abs(int(values[textfile.LAST_RUN]) - time.time()) < 60
    assert [item.name for item in tmp_path.iterdir()] == ["canary.prom"]
