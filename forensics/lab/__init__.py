"""Seeded incidents with their truth: a page-by-page model of the fault, and writers.

The laboratory knows nothing of the analysis: it imports only itself, the standard library
and `zstandard`, so that a mistake in the analysis cannot hide in the data it is tried on.
"""

from forensics.lab.config import EngineSettings, LabConfig, LongPrompts, Restart
from forensics.lab.plain import write_plain
from forensics.lab.presets import incident, small
from forensics.lab.records import GatewayEntry, Handoff, Intent, LabRun, Probe, Stale
from forensics.lab.samples import SAMPLES, write_sample
from forensics.lab.sglang import write_sglang
from forensics.lab.simulation import simulate
from forensics.lab.surfaces import SURFACES, write_fleet
from forensics.lab.truth import write_truth

__all__ = [
    "SAMPLES",
    "SURFACES",
    "EngineSettings",
    "GatewayEntry",
    "Handoff",
    "Intent",
    "LabConfig",
    "LabRun",
    "LongPrompts",
    "Probe",
    "Restart",
    "Stale",
    "incident",
    "simulate",
    "small",
    "write_fleet",
    "write_plain",
    "write_sample",
    "write_sglang",
    "write_truth",
]
