"""Prometheus alerting rules for the signals of the fault, in the engine's own metric names.

Metric names and labels as SGLang 0.5.12 to 0.5.23 reports them with ``--enable-metrics``; with
dp-attention every rank reports only with ``--enable-metrics-for-all-schedulers``. The canary's
metrics are those that ``forensics canary --textfile`` writes.
"""

from __future__ import annotations

from dataclasses import dataclass

from forensics.live.textfile import FOREIGN, LAST_RUN, PASSED


@dataclass(frozen=True)
class Rule:
    """One alert: its name, the expression that fires it, for how long, and what it says."""

    name: str
    expression: str
    lasting: str
    summary: str


_PROMPTS = 'sum by (model_name) (increase(sglang:prompt_tokens_total{{engine_type="{side}"}}[1h]))'
_P5 = (
    "histogram_quantile(0.05, sum by (le, model_name) "
    '(rate(sglang:per_stage_req_latency_seconds_bucket{{stage="prefill_forward"}}[1h]{offset})))'
)


def rules(headroom: str) -> list[Rule]:
    """Return the rules; the pool has to be ``headroom`` times the window."""
    fewer = f"{_PROMPTS.format(side='prefill')} < 0.98 * {_PROMPTS.format(side='decode')}"
    p5, before = _P5.format(offset=""), _P5.format(offset=" offset 1d")
    pool, window = "sglang:max_total_num_tokens", "sglang:context_len"
    smallest = f'min by (model_name) ({pool}{{engine_type="prefill"}})'
    largest = f'max by (model_name) ({pool}{{engine_type="decode"}})'
    pair = (
        f"{smallest} < on (model_name) {largest} and on (model_name) "
        f"{smallest} < on (model_name) max by (model_name) ({window})"
    )
    return [
        Rule(
            "KvPoolSmallerThanWindow",
            f"{pool} < {headroom} * {window}",
            "0m",
            "The KV pool of {{ $labels.instance }} is smaller than the window it advertises.",
        ),
        Rule(
            "KvPoolUnknown",
            f"absent({pool}) or ({window} unless {pool}) or ({pool} unless {window})",
            "10m",
            "An engine does not report both KV pool and window: they cannot be compared.",
        ),
        Rule(
            "DecodeAcceptsWhatPrefillRejects",
            pair,
            "0m",
            "The smallest prefill pool of {{ $labels.model_name }} is below its window and below a "
            "decode pool: decode accepts prompts that prefill rejects.",
        ),
        Rule(
            "PrefillCountsFewerTokensThanDecode",
            fewer,
            "10m",
            "Prefill of {{ $labels.model_name }} counted fewer prompt tokens than decode: "
            "placeholders may have been handed over.",
        ),
        Rule(
            "PrefillTooFast",
            f"{p5} < 0.5 * {before}",
            "30m",
            "The 5th percentile of prefill time of {{ $labels.model_name }} fell by half in a day. "
            "The metric has no prompt length: compare the prefill times of a report by length.",
        ),
        Rule(
            "ForeignMarkerSeen",
            f"{FOREIGN} > 0",
            "0m",
            "A canary marker turned up in the answer to another request.",
        ),
        Rule(
            "CanaryFailed",
            f"{PASSED} == 0",
            "0m",
            "The last canary run did not pass: it was blind, or a prompt was not clearly refused.",
        ),
        Rule(
            "CanaryNotRun",
            f"time() - {LAST_RUN} > 86400 or absent({LAST_RUN})",
            "1h",
            "No canary has run for a day: that nothing leaks is not known.",
        ),
    ]


def as_yaml(found: list[Rule]) -> str:
    """Return rules as the YAML of a Prometheus rule file."""
    lines = ["groups:", "  - name: kv-isolation", "    rules:"]
    for rule in found:
        lines += [
            f"      - alert: {rule.name}",
            f"        expr: {_quoted(rule.expression)}",
            f"        for: {rule.lasting}",
            "        labels:",
            "          severity: critical",
            "        annotations:",
            f"          summary: {_quoted(rule.summary)}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as a single-quoted YAML scalar, in which nothing but the quote is special."""
    return "'" + text.replace("'", "''") + "'"
