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
    assert len(group["rules"]) == 7
    used = set()
    for rule in group["rules"]:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        used |= set(re.findall(r"(?:sglang:|forensics_)\w+", rule["expr"]))
    own = {textfile.FOREIGN, textfile.LAST_RUN}
    assert used == ENGINE | own


def test_the_same_rules_as_json_and_with_another_headroom(capsys):
    rules = json.loads(printed(capsys, "--json", "--headroom", "1.5"))
    assert rules[0]["expression"] == "sglang:max_total_num_tokens < 1.5 * sglang:context_len"
    assert run(["rules", "--headroom", "much"]) == 2


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here")
def test_promtool_accepts_them(capsys, tmp_path):
    (tmp_path / "rules.yml").write_text(printed(capsys))
    subprocess.run(["promtool", "check", "rules", tmp_path / "rules.yml"], check=True)


def test_the_canarys_gauges_replace_each_other_whole(tmp_path: Path):
    path = tmp_path / "canary.prom"
    textfile.write(path, 3, passed=False)
    textfile.write(path, 0, passed=True)
    values = dict(line.split() for line in path.read_text().splitlines() if line[0] != "#")
    assert (values[textfile.FOREIGN], values[textfile.PASSED]) == ("0", "1")
    assert abs(int(values[textfile.LAST_RUN]) - time.time()) < 60
    assert [item.name for item in tmp_path.iterdir()] == ["canary.prom"]
