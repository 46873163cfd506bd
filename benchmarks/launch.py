"""Run a command and say what it took: ``python -I -S launch.py FIGURES COMMAND...``.

A process begins with the peak memory of the one that started it. This one stays small, so that
the peak is that of the command alone, however large the program that asks for it has grown.
"""

import json
import os
import sys
import time
from pathlib import Path


def main(figures: str, *command: str) -> int:
    """Write wall seconds, CPU seconds and peak bytes of the command as JSON; return its code."""
    begun = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begun
    unit = 1 if sys.platform == "darwin" else 1024
    told = [seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit]
    with Path(figures).open("w", encoding="ascii") as file:
        json.dump(told, file)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
