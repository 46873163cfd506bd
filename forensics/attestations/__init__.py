"""Attestations: what somebody who may look at content says of single requests, without it."""

from __future__ import annotations

from forensics.attestations.record import Attestation

__all__ = ["Attestation"]
