"""The formats that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from forensics.errors import UsageError
from forensics.incident import Incident
from forensics.sources import llmd, lmcache, mooncake, plain
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.dynamo import lines as dynamo
from forensics.sources.forms import Form
from forensics.sources.genai import spans as genai_spans
from forensics.sources.otlp import INSIDE as SPANS_INSIDE
from forensics.sources.parsed import Parsed
from forensics.sources.profiles import builtin, reader, telling
from forensics.sources.profiles.shape import OWN, Profile
from forensics.sources.sglang import (
    detection,
    exporter,
    metrics,
    node_log,
    request_log,
    router_log,
    server_info,
    spans,
)
from forensics.sources.sglang.forms import TEXT_FORMS
from forensics.sources.trtllm import log as trtllm_log
from forensics.sources.trtllm import metrics as trtllm_metrics
from forensics.sources.trtllm import transfers as trtllm_transfers
from forensics.sources.vllm import detection as vllm_detection
from forensics.sources.vllm import node_log as vllm_log
from forensics.sources.vllm.forms import FORMS as VLLM_FORMS

PARQUET = b"PAR1"
"""What a file of Parquet begins with."""


class Resumed(Protocol):
    """A reader that takes the records of one file from several sources, one after the other."""

    def add(self, source: Source) -> Iterator[Parsed]:
        """Yield what the records of a source were counted as."""

    def rest(self) -> Parsed:
        """Return what could only be told once all were there."""


@dataclass(frozen=True)
class Format:
    """One log format: how it is told, how it is read, what it can and cannot show.

    Records of one that is not ``verified`` by a real sample never clear a request.
    """

    name: str
    title: str
    shows: str
    never_shows: str
    read: Callable[[Source, Context], Iterator[Parsed]]
    sniff: Callable[[bytes, Incident], str | None]
    forms: tuple[Form, ...] = ()
    versions: str = ""
    verified: bool = True
    certain: bool = True
    """Whether it is told by a signature, not by the names of columns alone."""
    lists: bool = False
    """Whether its reader takes the entries of one JSON list; else a wrapper lays them out."""
    apart: Callable[[bytes], bool] = lambda _: True
    """Whether, by a file's beginning, a line that is JSON is a record: in CSV it is a cell's."""
    keys: tuple[frozenset[str], ...] = ()
    """Sets of keys: one of them is at the top of each of its records that is a line of JSON."""
    told_by: Mapping[str, tuple[str, ...]] | None = None
    """Keys that alone tell a record, each with the values that it may have: any where empty."""
    rather_plain: Callable[[Incident], frozenset[str]] = lambda _: frozenset()
    """Keys with which a record is rather a plain one."""
    words: tuple[str, ...] = ()
    """One of them is in each line of text that it reads, where that is no JSON and no table."""
    host: str = ""
    """Name of the format in whose process it prints as well: into one stream, line by line."""
    line: re.Pattern[bytes] | None = None
    """What each line of text begins with that it prints into its host's stream."""
    shared: re.Pattern[bytes] | None = None
    """Lines that tell it where no other engine's are there: those print them as well."""
    columns: tuple[str, ...] = ()
    """Names, one of which is in the header of each table that it reads."""
    table: bool = False
    """Whether each of its files is a table whose first line names the columns."""
    inside: tuple[str, ...] = ()
    """Keys, one of which alone makes a record its own, wherever in the record it stands: what tells
    a file of such records may be in some of them only."""
    partial: bool = False
    """Whether it holds some requests by its nature, such as those that a tracer kept: what is not
    in it was not lost."""
    resumed: Callable[[Context], Resumed] | None = None
    """Its reader for records that stand apart in a file and belong together; None where each
    of them stands by itself."""

    @property
    def may_be_a_table(self) -> bool:
        """Whether a file of it may be one whose first line names the columns."""
        return self.table or bool(self.columns)


def _of_profile(profile: Profile) -> Format:
    """Return the format that a profile of the package describes; plain records come first."""

    def sniff(head: bytes, incident: Incident) -> str | None:
        reason = telling.sniff(profile, head)
        return None if reason and telling.is_plain(profile, head, incident) else reason

    return Format(
        profile.name,
        profile.title,
        profile.shows,
        profile.never_shows,
        partial(reader.read, profile),
        sniff,
        versions=profile.versions,
        verified=profile.verified,
        certain=False,
        lists=True,
        apart=partial(reader.is_json, profile),
        keys=telling.record_keys(profile),
        told_by=telling.told_by(profile),
        rather_plain=partial(telling.plain_names, profile),
        columns=telling.headings(profile),
    )


def _never(_: bytes) -> bool:
    return False


def _keys(*sets: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(keys.split()) for keys in sets)


def _own(profile: Profile) -> Format:
    """Return the format of a profile that the incident file names: it is meant, so told first."""
    return replace(
        _of_profile(profile),
        name=f"{OWN}{profile.name}",
        sniff=lambda head, _: telling.sniff(profile, head),
        rather_plain=lambda _: frozenset(),
    )


def _read_parquet(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the records of Parquet; the reader is imported when there is a file for it."""
    from forensics.sources.plain_parquet import read_parquet

    return read_parquet(opened, context)


def _is_parquet(head: bytes, _: Incident) -> str | None:
    return "Parquet magic number" if head.startswith(PARQUET) else None


def _is_ndjson(head: bytes, incident: Incident) -> str | None:
    if not re.search(rb"^\s*\{", head, re.MULTILINE):
        return None
    seen = plain.known_columns(head, incident)
    return f"JSON lines with {len(seen)} known columns" if plain.told_by(seen) else None


def header(head: bytes) -> list[str]:
    """Return the names in the first line of a file, if that were a table's header."""
    first = head.split(b"\n", 1)[0].strip().decode("utf-8", "replace")
    return [name.strip().strip('"') for name in first.split(",")]


def _is_csv(head: bytes, incident: Incident) -> str | None:
    known = plain.names(incident)
    seen = {known[name] for name in header(head) if name in known}
    return f"CSV header with {len(seen)} known columns" if plain.told_by(seen) else None


FORMATS: tuple[Format, ...] = (
    Format(
        "plain-parquet",
        "Plain records, Parquet",
        "whatever its columns hold",
        "anything no column was logged for",
        _read_parquet,
        _is_parquet,
        apart=_never,
    ),
    Format(
        "sglang",
        "SGLang 0.4.6-0.5.23, node logs and request logs, text and JSON, with LMCache in them",
        "start-up: pool, page size, context, roles, settings. Time stats and request logs: both "
        "counts of a prompt joined by bootstrap_room, tokens generated, prefill time. Rejections, "
        "failed and corrupted hand-offs, load per quarter of an hour",
        "page numbers, pages reserved, HTTP status; a tenant only where a header or label has it",
        node_log.read,
        detection.sniff,
        (*TEXT_FORMS, *request_log.FORMS),
        keys=_keys("event obj", "event out", "event rid"),
        words=detection.WORDS,
    ),
    Format(
        "vllm",
        "vLLM 0.6-0.33, engine and API server logs, text and JSON, with LMCache in them",
        "start-up: version, context, pool. Ids and arrivals of requests, hand-offs that expired, "
        "were read too late, short or failed, refused prompts, blocks that two requests held",
        "tokens generated, HTTP status of a request, tenant; the year of a time, which the "
        "window gives, else the dates in other files; a prompt's length from 0.12 on, but for "
        "LMCache, dumps and refusals",
        vllm_log.read,
        vllm_detection.sniff,
        VLLM_FORMS,
        keys=_keys("asctime name"),
        words=vllm_detection.WORDS,
        shared=vllm_detection.LMCACHE,
    ),
    Format(
        "sglang-metrics",
        "SGLang, scrapes of /metrics",
        "pool, page size and window of each DP rank, when they changed where samples have times",
        "requests; the limit itself; ranks that do not report",
        metrics.read,
        metrics.sniff,
        metrics.FORMS,
        words=("sglang:", "sglang_", metrics.PROCESS_BEGAN),
    ),
    Format(
        "sglang-spans",
        "SGLang, request traces as OTLP/JSON",
        "both counts of a prompt joined by room or trace, generated tokens, prefill forward time, "
        "rank, aborts; in UTC",
        "pool, pages, tenant; the node only by the file's path",
        spans.read,
        spans.sniff,
        spans.FORMS,
        keys=_keys("resourceSpans", "batches"),
        partial=True,
        inside=SPANS_INSIDE,
        resumed=spans.SpanLog,
    ),
    Format(
        "genai-spans",
        "OTLP/JSON spans: vLLM, GenAI conventions, OpenLLMetry, OpenInference",
        "prompt, cached and generated tokens of each request, its id or trace, model, arrival in "
        "UTC; a tenant where an attribute has it, the engine for spans of vLLM",
        "pool, pages, what was transferred, requests that were not sampled",
        spans.read,  # one reader of both: a collector's file holds spans of either
        genai_spans.sniff,
        genai_spans.FORMS,
        keys=_keys("resourceSpans", "batches"),
        partial=True,
        resumed=spans.SpanLog,
    ),
    Format(
        "dynamo",
        "NVIDIA Dynamo 1.4-1.6, request traces, and its log as JSON lines",
        "traces: prompt and generated tokens, arrival in UTC; with an agent's context also "
        "x-request-id, model, cached tokens, prefill time and both workers. Log: that a request "
        "was handed off, by its x-request-id",
        "pool (the log has blocks without their size), pages, what was transferred, HTTP status, "
        "refused requests; a tenant only where [logs] tenant_from names its field",
        dynamo.read,
        dynamo.sniff,
        dynamo.FORMS,
        keys=_keys(
            "schema", "target message level", "log.target message level", "log.file message level"
        ),
    ),
    Format(
        "llmd-router",
        "llm-d router (endpoint picker), JSON lines",
        "id and arrival of each request, model, refusals by the router's queue; the tenant by the "
        "flow's id, the worker at level 3",
        "token counts, pool, pages, HTTP status of an answer, which worker did the prefill",
        llmd.read,
        llmd.sniff,
        llmd.FORMS,
        keys=_keys("msg", "message"),
    ),
    Format(
        "trtllm-metrics",
        "TensorRT-LLM, answers of /perf_metrics",
        "blocks that decode reserved and bytes that reached it for each request, both workers, "
        "prefill forward time",
        "prompt and generated tokens, tenant, HTTP status, pool; the moment of a request: its "
        "clock is not that of other logs, and its ids are its own",
        trtllm_metrics.read,
        trtllm_metrics.sniff,
        trtllm_metrics.FORMS,
        keys=_keys(
            "ctx_perf_metrics", "gen_perf_metrics", "disagg_server_arrival_time", "perf_metrics"
        ),
        lists=True,
    ),
    Format(
        "trtllm-transfers",
        "TensorRT-LLM, transfer times in rank_N_send.csv and rank_N_recv.csv",
        "that a hand-off took place, by the id that both workers share, and on which side",
        "tokens, pages reserved, tenant, status, times of day",
        trtllm_transfers.read,
        trtllm_transfers.sniff,
        trtllm_transfers.FORMS,
        apart=_never,
        columns=("RequestInfo",),
    ),
    Format(
        "trtllm-log",
        "TensorRT-LLM, log of a worker",
        "pool, size of a block and longest sequence as a worker starts",
        "requests; part in the hand-off: its pool clears no prompt unless [[capacity]] has a role "
        "or the node is called prefill or ctx; when, unless Python lines stand around",
        trtllm_log.read,
        trtllm_log.sniff,
        trtllm_log.FORMS,
        words=("[TensorRT-LLM]", "[TRT-LLM]"),
    ),
    Format(
        "lmcache-lookups",
        "LMCache 0.3-0.5, lookup files",
        "length of each prompt by the engine's id, model, time in UTC",
        "tokens generated, status, tenant, pool, which side asked, what was loaded",
        lmcache.read,
        lmcache.sniff,
        lmcache.FORMS,
        keys=_keys("request_id seq_len chunk_hashes"),
    ),
    Format(
        "mooncake",
        "Mooncake, logs of its store and transfer engine",
        "that the file is one of Mooncake's, and how many transfers it gave up: nothing of a "
        "single request",
        "any request: the log of the engine that asked names those whose transfer failed",
        mooncake.read,
        mooncake.sniff,
    ),
    Format(
        "sglang-server-info",
        "SGLang, answers of /server_info",
        "pool, page size, window, the smallest rejected prompt, role and settings of one boot",
        "requests; when the boot began; which rank has which pool",
        server_info.read,
        server_info.sniff,
        server_info.FORMS,
        keys=_keys("internal_states", "is_generation tokenizer_path"),
    ),
    Format(
        "sglang-exporter",
        "SGLang, per-request metrics of --export-metrics-to-file",
        "both counts of a prompt joined by bootstrap_room, generated tokens, prefill time, rank",
        "pool, pages, HTTP status, refused arrivals; a tenant only where a label has it; host "
        "and side only by the file's path and the shape of answers",
        exporter.read,
        exporter.sniff,
        exporter.FORMS,
        keys=_keys("request_parameters"),
    ),
    Format(
        "sglang-router",
        "SGLang, log of the router in front (sglang_router, smg)",
        "HTTP status and time of arrival of each request; how often engines failed; in UTC",
        "room, tenant, token counts, the id that engines know a request by",
        router_log.read,
        router_log.sniff,
        router_log.FORMS,
        keys=_keys("target"),
        words=("smg::", "sglang_router_rs::"),
        host="sglang",
        line=router_log.LINE,
    ),
    *map(_of_profile, builtin.profiles()),
    Format(
        "plain-ndjson",
        "Plain records, one JSON object a line",
        "whatever its columns hold",
        "anything no column was logged for",
        plain.read_ndjson,
        _is_ndjson,
        certain=False,
    ),
    Format(
        "plain-csv",
        "Plain records, CSV with a header",
        "whatever its columns hold",
        "anything no column was logged for",
        plain.read_csv,
        _is_csv,
        table=True,
        certain=False,
        apart=_never,
    ),
)


def known(incident: Incident) -> tuple[Format, ...]:
    """Return all formats in the order in which they are asked, those of the incident first."""
    return (*map(_own, incident.logs.profiles), *FORMATS)


def by_name(name: str, incident: Incident | None = None) -> Format:
    """Return the format of that name.

    Raises:
        UsageError: there is none.
    """
    formats = known(incident or Incident())
    for candidate in formats:
        if candidate.name == name:
            return candidate
    names = ", ".join(candidate.name for candidate in formats)
    raise UsageError(f"unknown format {name!r}; known: {names}")
