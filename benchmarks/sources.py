"""The replay of the allocator at scale: ``python -m benchmarks.sources``.

Holds are drawn as the laboratory draws its traffic, without the logs around them: reading has
a benchmark of its own. Each rank runs in a process of its own, as many at once as there are
processors. Prints seconds, peak memory and requests a second, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from benchmarks import table
from forensics.attribution.allocators import sorted_sweep
from forensics.attribution.allocators.base import Reads
from forensics.attribution.holds import Holds
from forensics.attribution.orders import Orders

PAGE = 64
POOL = 17_920
"""Pages of a rank: about a million tokens."""
_STEP = 22_000
_LONGEST = 600_000
DAY = 86_400_000_000
RANKS, RESPONSES, REPLAYS = 8, 200, 20
_HEAD = ("requests", "seconds", "CPU s", "requests replayed a second", "peak MB of all processes")


def part(requests: int) -> str:
    """Return the throughput of the replay as Markdown, on all processors, of that many requests."""
    workers = os.cpu_count() or 1
    one = measured(requests, RANKS, RESPONSES, REPLAYS, workers)
    said = (
        f"Replay of the allocator, sorted sweep: {RANKS} ranks, {RESPONSES} responses that read "
        f"pages of others, {REPLAYS} replays, {workers} process(es); without reading of logs."
    )
    row = [
        f"{requests:,}",
        f"{one['seconds']:.1f}",
        f"{one['cpu_seconds']:.1f}",
        f"{one['replayed_requests_a_second']:,.0f}",
        f"{one['peak_bytes_of_workers'] / 1e6:,.0f}",
    ]
    return f"{said}\n\n{table.markdown(_HEAD, [row])}"


def main() -> None:
    """Parse, run the ranks, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sources", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000, help="of all ranks")
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--responses", type=int, default=RESPONSES, help="triggered, of all ranks")
    parser.add_argument("--replays", type=int, default=REPLAYS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    print(json.dumps(measured(**vars(asked))))


def measured(
    requests: int, ranks: int, responses: int, replays: int, workers: int
) -> dict[str, float]:
    """Replay that many requests and return the figures."""
    work = partial(
        one_rank, requests=requests // ranks, responses=responses // ranks, replays=replays
    )
    begun = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        done = list(pool.map(work, range(ranks)))
    seconds = time.perf_counter() - begun
    return {
        "requests": requests,
        "replays": replays,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(cpu for cpu, _, _ in done), 1),
        "peak_bytes_of_workers": max(peak for _, peak, _ in done) * workers,
        "replayed_requests_a_second": round(requests * replays / seconds),
        "pages_named": sum(pages for _, _, pages in done),
    }


def one_rank(seed: int, requests: int, responses: int, replays: int) -> tuple[float, int, int]:
    """Replay one rank; return CPU seconds, the peak memory in bytes, and pages named."""
    holds, wanted = drawn(seed, requests, responses)
    orders, begun = Orders(holds, POOL), time.process_time()
    reads, pages = Reads(wanted, holds.written), 0
    for number in range(replays):
        order = orders.draw(number)
        found = None if order is None else sorted_sweep.replay(order, POOL, reads)
        if found is None:
            raise SystemExit("what was drawn needs more than the pool")
        pages += int(found.pages[found.owner >= 0].sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    return time.process_time() - begun, peak, pages


def drawn(seed: int, requests: int, responses: int) -> tuple[Holds, np.ndarray]:
    """Draw holds that share the pool evenly over two weeks, and which of them read."""
    random = np.random.default_rng(seed)
    prompt = np.minimum(random.lognormal(np.log(2_600), 1.1, requests) + 4, 200_000)
    tokens = np.clip(random.lognormal(np.log(210), 0.9, requests), 1, 2_048).astype(np.int64)
    reading = np.zeros(requests, dtype=np.bool_)
    reading[random.choice(requests, responses, replace=False)] = True
    prompt = np.where(reading, _LONGEST, prompt).astype(np.int64)
    pages = -(-prompt // PAGE)
    spent = 80_000 + tokens * _STEP
    reserved = _admitted(np.sort(random.integers(0, 14 * DAY, requests)), spent, pages, tokens)
    written = np.where(reading, 1, pages)
    prefill = np.full(requests, 60_000)
    return Holds(
        np.arange(requests), reserved, reserved + spent, pages, prompt, tokens, written, prefill,
        PAGE,
    ), reading  # fmt: skip


def _admitted(
    arrived: np.ndarray, spent: np.ndarray, pages: np.ndarray, tokens: np.ndarray
) -> np.ndarray:
    """Return when each is let in: what does not fit waits for whoever ends first."""
    import heapq

    most = (pages + tokens // PAGE + 2).tolist()
    running: list[tuple[int, int]] = []
    used, now, found = 0, 0, []
    for at, lasts, size in zip(arrived.tolist(), spent.tolist(), most, strict=True):
        now = max(now, at)
        while running and (running[0][0] <= now or used + size > POOL):
            ended, freed = heapq.heappop(running)
            now, used = max(now, ended + 1), used - freed
        heapq.heappush(running, (now + lasts, size))
        used += size
        found.append(now)
    return np.array(found)


if __name__ == "__main__":
    main()
