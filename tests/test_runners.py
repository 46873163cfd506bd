"""Where work runs: children do not outlive a parent that was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHILD = """
import os, time
from forensics import runners

def work(number):
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    runners.run(work, [1, 2], workers=2)
"""


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_children_end_with_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(CHILD)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(alive(number) for number in children)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 20
    while any(alive(number) for number in children) and time.monotonic() < until:
        time.sleep(0.05)
    left = [number for number in children if alive(number)]
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert left == []
