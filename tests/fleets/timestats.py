"""Time statistics of a request on one side, as each version prints them."""

from __future__ import annotations

from tests.fleets.versions import PAGE, Fleet, Handoff, line

MB_A_PAGE = 3.7514


def stats(fleet: Fleet, side: str, handoff: Handoff, pages: int | None = None) -> str:
    """The line at the end of a request; ``pages`` are those that prefill sent."""
    sent = (-(-handoff.prefill // PAGE) if pages is None else pages) * MB_A_PAGE
    new = _new if fleet.since("0.5.12") else _old
    return line(fleet, handoff.at + 3, new(fleet, side, handoff, f"{sent:.2f}"))


def _new(fleet: Fleet, side: str, handoff: Handoff, sent: str) -> str:
    tries = "attempts=0, " if fleet.since("0.5.16") else ""
    head = (
        f"ReqTimeStats(rid={handoff.rid(side)}, bootstrap_room={handoff.room}, "
        f"input_len={handoff.tokens(side)}, cached_input_len={handoff.cached}, "
        f"output_len={1 if side == 'prefill' else handoff.out}, {tries}type={side}): "
    )
    entry = f"entry_time={handoff.at + 0.03:.3f}"
    if side == "decode":
        return (
            f"{head}bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, transfer_duration="
            f"86.72ms, queue_duration=15.56ms, forward_duration=2530.00ms, {entry}"
        )
    lead = "bootstrap_queue_duration" if fleet.version == "0.5.13" else "bootstrap_duration"
    return (
        f"{head}{lead}=15.00ms, queue_duration=6.56ms, forward_duration=74.17ms, {entry}, "
        f"transfer_speed=0.41 GB/s, transfer_total={sent} MB{'' if tries else ', #retries=0'}"
    )


def _old(fleet: Fleet, side: str, handoff: Handoff, sent: str) -> str:
    """Up to 0.5.11 starts are those of a monotonic clock, each host's own."""
    head = (
        f"Req Time Stats(rid={handoff.rid(side)}, bootstrap_room={handoff.room}, "
        f"input len={handoff.tokens(side)}, output len={1 if side == 'prefill' else handoff.out}, "
        f"type={side}): "
    )
    lead = "bootstrap" if side == "prefill" else "prealloc"
    started = f"{handoff.at - fleet.begun + 4_999.6:.3f}"
    transfer = ["transfer_duration=110.00ms"] if side == "decode" else []
    rest = "queue_duration=10.00ms, forward_duration=1330.00ms"
    if not fleet.since("0.5.6"):
        waits = [f"{lead}_duration=19.00ms", *transfer]
        return f"{head}{', '.join(waits)}, {rest}, start_time={started}"
    parts = "bootstrap(15.00ms) + alloc_wait(4.00ms)"
    if not fleet.since("0.5.10"):
        parts = "alloc_wait(0.00ms) + bootstrap(0.00ms) + other(19.00ms)"
    waits = [f"{lead}_queue_duration(19.00ms) = {parts}", *transfer]
    more = f", transfer_speed=13.05GB/s, transfer_total={sent}MB, #retries=0"
    said = more if side == "prefill" and fleet.since("0.5.10") else ""
    return f"{head}{'; '.join(waits)}; {rest}, start={started}{said}"
