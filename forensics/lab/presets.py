"""Ready configurations: a small run for tests, and the incident."""

from __future__ import annotations

from forensics.lab.clock import DAY, HOUR, MINUTE, micros
from forensics.lab.config import EngineSettings, LabConfig, LongPrompts, Restart


def small(
    seed: int = 1,
    *,
    small_prefill_pool: bool = True,
    faulty_rejection: bool = True,
    requests: int = 400,
    keep_pages: bool = False,
) -> LabConfig:
    """Return a run of a few hundred requests over five hours: 2 + 2 nodes, a 64 k context."""
    start = micros("2026-03-02T08:00:00Z")
    return LabConfig(
        seed=seed,
        start=start,
        open_at=start + 10 * MINUTE,
        end=start + 5 * HOUR,
        long=LongPrompts(
            min_tokens=40_960,
            max_tokens=65_000,
            served=14,
            cut_after_tokens=2,
            stream_errors=1,
            retried=3,
            aborted=3,
            failed=2,
            over_context=3,
            decode_refused=2,
            near_limit=6,
        ),
        requests=requests,
        tenants=12,
        prefill_nodes=2,
        decode_nodes=2,
        context_tokens=65_536,
        small_pool_tokens=40_960,
        large_pool_tokens=122_880,
        decode_pool_tokens=73_728,
        small_prefill_pool=small_prefill_pool,
        faulty_rejection=faulty_rejection,
        restarts=(
            Restart(start + 3 * HOUR, "decode", EngineSettings(cuda_graph_max_bs=160), nodes=(1,)),
        ),
        prompt_median=1_200,
        prompt_sigma=1.0,
        keep_pages=keep_pages,
    )


def incident(seed: int = 20_260_827, requests: int = 31_000) -> LabConfig:
    """Return the GLM-5.3 incident: 27 August to 9 September 2026, 155 responses affected."""
    first_day = micros("2026-08-27T00:00:00Z")
    base = EngineSettings()
    return LabConfig(
        seed=seed,
        start=first_day + 5 * MINUTE,
        open_at=first_day + 30 * MINUTE,
        end=first_day + 14 * DAY,
        long=LongPrompts(
            min_tokens=681_281,
            max_tokens=1_047_500,
            served=136,
            cut_after_tokens=9,
            stream_errors=2,
            retried=8,
            aborted=12,
            failed=5,
            over_context=17,
            decode_refused=3,
            near_limit=40,
            after_fix=11,
        ),
        requests=requests,
        settings=base,
        restarts=(
            Restart(
                micros("2026-08-31T03:00:00Z"),
                "decode",
                EngineSettings(mem_fraction_static=0.76, cuda_graph_max_bs=160),
                pool_tokens=1_179_648,
            ),
            Restart(
                micros("2026-09-04T02:30:00Z"),
                "prefill",
                EngineSettings(cuda_graph_max_bs=128),
                nodes=(2, 3),
            ),
        ),
        outage=(micros("2026-09-09T09:40:00Z"), micros("2026-09-09T12:30:00Z")),
        fix_at=micros("2026-09-09T12:00:00Z"),
        fixed_settings=EngineSettings(
            quantization="w4afp8", mem_fraction_static=0.84, cuda_graph_max_bs=128
        ),
    )
