"""From arrival to release: hand-offs, reservations, transfers, growth, retries."""

from __future__ import annotations

from functools import partial
from random import Random

from forensics.lab import fleet, gateway, traffic
from forensics.lab.clock import MILLISECOND, Micros
from forensics.lab.config import LabConfig
from forensics.lab.engines import DecodeRank, DecodeWork, pages_for, step_time
from forensics.lab.loop import Loop
from forensics.lab.machines import Machines
from forensics.lab.prefill import PrefillSide
from forensics.lab.probes import plan_probes
from forensics.lab.records import GatewayEntry, Handoff, Intent, LabRun
from forensics.lab.stale import read_stale


def simulate(config: LabConfig) -> LabRun:
    """Run the laboratory once; the same configuration gives the same run."""
    return _Simulation(config).run()


class _Simulation:
    def __init__(self, config: LabConfig) -> None:
        self.config = config
        self.loop = Loop()
        self.nodes = fleet.build(config)
        self.router = fleet.Router(config, self.nodes)
        self.machines = Machines(config, self.nodes, self.loop)
        self.handoffs: list[Handoff] = []
        self.entries: list[GatewayEntry] = []
        self.prefill = PrefillSide(config, self.loop, self.machines, self.handoffs, self.arrived)

    def run(self) -> LabRun:
        probes = plan_probes(self.config, self.nodes, self.router)
        for probe in probes:
            self.loop.at(probe.received_at, partial(self.machines.probe, probe))
        for intent in traffic.plan(self.config):
            self.loop.at(intent.arrived_at, partial(self.arrive, intent))
        self.loop.run()
        if len(self.entries) != self.config.requests:
            raise RuntimeError("requests hang: a prompt lies between pool and input limit")
        self.entries.sort(key=lambda entry: (entry.intent.arrived_at, entry.intent.request_id))
        return LabRun(self.config, self.nodes, tuple(self.entries), tuple(self.handoffs), probes)

    def arrive(self, intent: Intent) -> None:
        refusal = gateway.refusal(self.config, intent)
        if refusal is None:
            self.dispatch(intent, Random(intent.seed), 0)
        else:
            self.entries.append(refusal)

    def dispatch(self, intent: Intent, rng: Random, attempt: int) -> None:
        """Hand the request to a prefill and a decode rank under a new transfer id."""
        now = self.loop.now
        transfer_id = rng.randrange(1 << 40, 1 << 63)
        source, source_rank, target, target_rank = self.router.pair(
            now, intent.session, transfer_id, rng
        )
        handoff = Handoff(
            number=len(self.handoffs),
            intent=intent,
            attempt=attempt,
            transfer_id=transfer_id,
            prefill_id=f"{rng.getrandbits(64):016x}",
            prefill_node=source.name,
            prefill_rank=source_rank,
            decode_node=target.name,
            decode_rank=target_rank,
            prefill_received_at=now + rng.randint(400, 3_000),
            decode_received_at=now + rng.randint(400, 3_000),
            input_limit=self.machines.input_limit(source.name),
        )
        self.handoffs.append(handoff)
        tokens = intent.prompt_tokens + intent.completion_tokens - 1
        work = DecodeWork(handoff, rng, pages_for(tokens, self.config.page_tokens))
        self.loop.at(handoff.decode_received_at, partial(self.reach_decode, work))
        if self.prefill.refuses(handoff):
            self.loop.at(handoff.prefill_received_at, partial(self.retire, work))

    def retire(self, work: DecodeWork) -> None:
        """The sound path: a rejection at prefill ends the request before anything is shared."""
        work.handoff.prefill_rejected = True
        self.cancel(work, "aborted")

    def reach_decode(self, work: DecodeWork) -> None:
        handoff = work.handoff
        if work.cancelled:
            return
        if handoff.intent.prompt_tokens >= self.machines.input_limit(handoff.decode_node):
            handoff.decode_rejected = True
            self.prefill.count_prompt(handoff)
            self.cancel(work, "failed")
            return
        rank = self.machines.decode(handoff)
        rank.queue.append(work)
        self.reserve(rank)

    def cancel(self, work: DecodeWork, status: str) -> None:
        """End a rejected hand-off with a 400, once."""
        if not work.cancelled:
            work.cancelled = True
            work.handoff.transfer_status = status
            delay = work.rng.randint(1, 4) * MILLISECOND
            self.loop.after(delay, partial(self.end, work, "abort", 400))

    def reserve(self, rank: DecodeRank) -> None:
        """Give pages to as many waiting requests as fit, first come first served."""
        while (work := rank.next_work()) is not None:
            handoff = work.handoff
            handoff.reserved_at = self.loop.now
            handoff.reserved_pages = len(work.pages)
            self.keep(work, work.pages)
            ready = max(self.loop.now + MILLISECOND, handoff.prefill_received_at)
            self.loop.at(ready, partial(self.prefill.reach, work))

    def keep(self, work: DecodeWork, pages: list[int]) -> None:
        if self.config.keep_pages:
            work.handoff.held += [(page, self.loop.now) for page in pages]

    def arrived(self, work: DecodeWork, pages: int) -> None:
        """The transfer of `pages` is over: broken, abandoned, or the answer starts."""
        handoff = work.handoff
        handoff.transferred_at = self.loop.now
        if handoff.attempt < handoff.intent.failures:
            self.land(work, work.rng.randrange(pages), "failed")
            self.end(work, "error", 503)
        elif handoff.intent.fate == "abort":
            claims = handoff.placeholder
            self.land(work, pages if claims else 0, "complete" if claims else "aborted")
            self.end(work, "abort", None)
        else:
            self.land(work, pages, "complete")
            self.start(work)

    def land(self, work: DecodeWork, pages: int, status: str) -> None:
        """Write the first `pages` of the reservation; nothing compares them with it."""
        handoff = work.handoff
        handoff.transferred_pages, handoff.transfer_status = pages, status
        self.machines.decode(handoff).pool.write(work.pages[:pages], handoff.number)

    def start(self, work: DecodeWork) -> None:
        """Attention runs over every reserved page, whoever wrote it."""
        handoff, rank = work.handoff, self.machines.decode(work.handoff)
        missing = work.pages[handoff.transferred_pages :]
        handoff.stale, handoff.unwritten_pages = read_stale(missing, rank.pool, self.handoffs)
        work.running = True
        rank.running += 1
        rank.pool.before_step(rank.running)
        intent = handoff.intent
        handoff.step = step_time(intent.prompt_tokens)
        handoff.first_token_at = self.loop.now + work.rng.randint(3, 25) * MILLISECOND
        if intent.completion_tokens > 1 and intent.prompt_tokens % self.config.page_tokens:
            # Generated tokens fill the rest of the last prompt page.
            rank.pool.write(work.pages[-1:], handoff.number)
        self.plan_growth(rank, work, handoff.first_token_at)
        last = handoff.first_token_at + (intent.completion_tokens - 1) * handoff.step
        self.loop.at(last + 1, partial(self.finish, work))

    def plan_growth(self, rank: DecodeRank, work: DecodeWork, first: Micros) -> None:
        """Schedule the step that writes the first row behind the pages held so far."""
        intent = work.handoff.intent
        step = len(work.pages) * self.config.page_tokens - intent.prompt_tokens
        if step < intent.completion_tokens - 1:
            instant = first + step * work.handoff.step
            self.loop.at(instant, partial(self.grow, rank, work, first))

    def grow(self, rank: DecodeRank, work: DecodeWork, first: Micros) -> None:
        page = rank.grow(work)
        rank.pool.write([page], work.handoff.number)
        self.keep(work, [page])
        self.plan_growth(rank, work, first)

    def finish(self, work: DecodeWork) -> None:
        handoff = work.handoff
        handoff.completion_tokens = handoff.intent.completion_tokens
        handoff.stream_error = handoff.intent.fate == "stream_error"
        cut = handoff.intent.fate == "cut"
        self.end(work, handoff.intent.finish_reason, None if cut else 200)

    def end(self, work: DecodeWork, reason: str, status: int | None) -> None:
        """Release the pages and answer, or let the router try again."""
        handoff, rank = work.handoff, self.machines.decode(work.handoff)
        handoff.finish_reason, handoff.http_status = reason, status
        handoff.finished_at = self.loop.now
        rank.running -= work.running
        if handoff.reserved_at is not None:
            handoff.released_at = self.loop.now
            rank.release(work)
            self.reserve(rank)
        if status == 503 and handoff.attempt + 1 < self.config.max_attempts:
            again = partial(self.dispatch, handoff.intent, work.rng, handoff.attempt + 1)
            self.loop.after(work.rng.randint(200, 1_200) * MILLISECOND, again)
        else:
            answered = self.loop.now + work.rng.randint(300, 2_500)
            self.entries.append(gateway.entry(handoff, answered))
