"""Why a decode rank is not replayed, or its replay not confirmed: codes and sentences."""

from __future__ import annotations

from forensics.attribution.enough import FEWEST, POOL, SEEN

REASONS = {
    "no_start": "no start of the rank is known, so its pool may have held anything",
    "no_pool": "the size of its pool or of a page is not known",
    "allocator_unknown": "how it reuses pages is not known",
    "allocator_conflict": "the allocator that is stated is not the one that this engine has",
    "allocator_unchecked": "the allocator is stated, and nothing in the logs says that the engine "
    "has it: which engine it is, or whether it runs apart from prefill, is not known",
    "prefix_cache": "decode keeps prefixes in pages of its own, which no log counts",
    "settings_unsure": "a setting that decides how it uses pages is told in a form that cannot be "
    "read, or is told in two ways",
    "settings_differ": "its records, of whatever moment from its start to the next, tell of more "
    "than one engine, pool or way to use pages",
    "speculation": "decode guesses tokens ahead, and no log counts the pages that it takes and "
    "gives back for them",
    "retracted": "running requests were put back: their pages were given back and taken again, "
    "which no log counts",
    "pages_differ": "more or fewer pages were reserved than the prompts have",
    "page_size_differs": "the pages that arrived are not of the size that is told, or two are told",
    "holds_not_logged": "of some requests or health checks it was not logged which pages they held "
    "when",
    "records_lost": "records are missing since the start: hours without any, unreadable lines, "
    "a sample, requests that name no rank or only its server, or a stretch without requests in any "
    "log",
    "ends_before_it_begins": "pages were given back before they were taken",
    "times_differ": "by the client's side requests ran at other times than their pages were held",
    "sizes_differ": "by the client's side prompts or answers were of other lengths than pages were "
    "held for",
    "held_twice": "the same pages were held for the same time under two names, so that one record "
    "may stand for another",
    "outlived_a_start": "requests held pages across a start that the logs show",
    "start_unsure": "a record of its pool may be of another start or of the running engine, or "
    "requests took pages so near the start that they may have run before it",
    "more_than_the_pool": "more pages were held than there are",
    "usage_differs": "the engine's own figures of its pool are not what the records add up to",
    "pool_differs": "the engine's own figures are shares of a pool of another size",
    "sibling_differs": "on another rank of its server the engine's own figures are not what the "
    "records add up to, which may name one rank for another",
    "marker_differs": "a canary's marker came from a request that the replay does not name",
}
"""Why a rank is not replayed, by code."""

UNCHECKED = {
    "stated": "what its replay builds on is stated by hand, and told by no log",
    "no_figures": "no figures of the engine's own are there to check it by",
    "few_figures": f"figures of the engine's own are of the time of fewer than {FEWEST} requests",
    "hours_without_figures": f"less than {SEEN:.0%} of the requests are of hours with such figures",
    "pool_unconfirmed": f"the engine's own figures do not tell its pool to {POOL:.0%}, up and down",
}
"""Why nothing confirms the replay of a rank, by code."""
