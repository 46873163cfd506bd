"""How many records a watch takes on one core, as logs grow: by processor time, not by the clock."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long
AT_LEAST = 5_000
GROWN = """
import sys, time
from pathlib import Path
from forensics import lab
from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch

here, looks = Path(sys.argv[1]), 20
lab.write_sglang(lab.simulate(lab.small(requests=6_000)), here / "whole")
for name in ("logs", "rows"):
    (here / name).mkdir()
told = Output(here / "found", ())
watch = Watch([str(here / "logs")], Incident(), here / "rows", told, here / "state", Asked())
data = {path.name: path.read_bytes() for path in (here / "whole").iterdir()}
spent = 0.0
for look in range(looks):
    for name, whole in data.items():
        with (here / "logs" / name).open("ab") as log:
            log.write(whole[len(whole) * look // looks : len(whole) * (look + 1) // looks])
    begun = time.process_time()
    watch.step(last=look == looks - 1)
    spent += time.process_time() - begun
assert watch.counts.tiers["probable"]
print(watch.counts.records / spent)
"""


def test_a_watch_keeps_up_with_five_thousand_records_a_second(tmp_path):
    rates = []
    for run in range(3):
        (folder := tmp_path / str(run)).mkdir()
        done = subprocess.run(
            [sys.executable, "-c", GROWN, folder],
            env=os.environ | {"POLARS_MAX_THREADS": "1"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        rates.append(float(done.stdout))
        if rates[-1] >= AT_LEAST:
            return
    pytest.fail(f"records a second of processor time: {rates}")
