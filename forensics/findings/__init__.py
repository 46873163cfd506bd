"""Evidence rules, one idea a file. Add one by adding a file and a line to ``FINDINGS``."""

from __future__ import annotations

from forensics.findings.arrival_unknown import ARRIVAL_UNKNOWN
from forensics.findings.attested import ATTESTED_FOREIGN, ATTESTED_OWN
from forensics.findings.base import Finding
from forensics.findings.block_overlap import BLOCK_OVERLAP
from forensics.findings.clock_uncertain import CLOCK_UNCERTAIN
from forensics.findings.co_resident import BESIDE_UNJUDGED, CO_RESIDENT, UNDELIVERED_WRITE
from forensics.findings.count_mismatch import COUNT_MISMATCH
from forensics.findings.delivery_unknown import DELIVERY_UNKNOWN
from forensics.findings.expired_transfer import EXPIRED_RELEASE, EXPIRED_TRANSFER
from forensics.findings.fits_affected import FITS_AFFECTED, FITS_UNJUDGED
from forensics.findings.foreign_marker import FOREIGN_MARKER
from forensics.findings.full_transfer import FULL_TRANSFER
from forensics.findings.handoff_failed import FAILED_BUT_SERVED, HANDOFF_FAILED
from forensics.findings.hops_disagree import HOPS_DISAGREE
from forensics.findings.joined_by_inference import JOINED_BY_INFERENCE
from forensics.findings.kv_checksum_mismatch import KV_CHECKSUM_MISMATCH
from forensics.findings.late_release import LATE_RELEASE
from forensics.findings.log_gap import LOG_GAP
from forensics.findings.metadata_collision import METADATA_COLLISION
from forensics.findings.not_delivered import NOT_DELIVERED
from forensics.findings.not_disaggregated import NOT_DISAGGREGATED
from forensics.findings.out_of_scope import OUT_OF_SCOPE
from forensics.findings.over_limit import BELOW_LIMIT, LIMIT_UNCERTAIN, NEAR_LIMIT, OVER_LIMIT
from forensics.findings.owner_mismatch import OWNER_MISMATCH
from forensics.findings.placeholder_prefill import PLACEHOLDER_PREFILL
from forensics.findings.rejected_but_served import REJECTED_BUT_SERVED
from forensics.findings.same_count import SAME_COUNT, TRUNCATED_CONSISTENTLY
from forensics.findings.short_page import SHORT_PAGE
from forensics.findings.short_tail import SHORT_TAIL
from forensics.findings.short_transfer import COMPLETE_BUT_SHORT, SHORT_TRANSFER
from forensics.findings.short_unless_cached import SHORT_UNLESS_CACHED
from forensics.findings.slot_unread import SLOT_UNREAD
from forensics.findings.start_unseen import START_UNSEEN
from forensics.findings.tenant_inferred import TENANT_INFERRED
from forensics.findings.too_fast import TOO_FAST
from forensics.findings.traced import STATE_MISMATCH, TRUNCATED_PREFILL
from forensics.findings.transfer_calibrated import TRANSFER_CALIBRATED
from forensics.findings.transfer_mismatch import TRANSFER_MISMATCH
from forensics.findings.unverified_format import UNVERIFIED_FORMAT
from forensics.findings.zone_assumed import ZONE_ASSUMED

FINDINGS: tuple[Finding, ...] = (
    ARRIVAL_UNKNOWN,
    ATTESTED_FOREIGN,
    ATTESTED_OWN,
    BELOW_LIMIT,
    BESIDE_UNJUDGED,
    BLOCK_OVERLAP,
    CLOCK_UNCERTAIN,
    COMPLETE_BUT_SHORT,
    CO_RESIDENT,
    COUNT_MISMATCH,
    DELIVERY_UNKNOWN,
    EXPIRED_RELEASE,
    EXPIRED_TRANSFER,
    FAILED_BUT_SERVED,
    FOREIGN_MARKER,
    FITS_AFFECTED,
    FITS_UNJUDGED,
    FULL_TRANSFER,
    HANDOFF_FAILED,
    HOPS_DISAGREE,
    JOINED_BY_INFERENCE,
    KV_CHECKSUM_MISMATCH,
    LATE_RELEASE,
    LIMIT_UNCERTAIN,
    LOG_GAP,
    METADATA_COLLISION,
    NEAR_LIMIT,
    NOT_DELIVERED,
    NOT_DISAGGREGATED,
    OUT_OF_SCOPE,
    OVER_LIMIT,
    OWNER_MISMATCH,
    PLACEHOLDER_PREFILL,
    REJECTED_BUT_SERVED,
    SAME_COUNT,
    SHORT_PAGE,
    SHORT_TAIL,
    SHORT_TRANSFER,
    SHORT_UNLESS_CACHED,
    SLOT_UNREAD,
    START_UNSEEN,
    STATE_MISMATCH,
    TENANT_INFERRED,
    TOO_FAST,
    TRANSFER_CALIBRATED,
    TRANSFER_MISMATCH,
    TRUNCATED_CONSISTENTLY,
    TRUNCATED_PREFILL,
    UNDELIVERED_WRITE,
    UNVERIFIED_FORMAT,
    ZONE_ASSUMED,
)

__all__ = ["FINDINGS", "Finding"]
