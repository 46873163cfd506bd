"""The forms that issuers give their keys, and words that merely begin like one."""

from __future__ import annotations

from itertools import permutations

_KEY = "[0-9A-Za-z_-]"
_WORD = "[0-9A-Za-z_]"
_APART = r"(?:^|[^0-9A-Za-z]|%[0-9A-Fa-f]{2}|\\(?:[nrt]|u[0-9A-Fa-f]{4}))"
"""Before a key, also written out in an address or a text: ``task-…`` and ``disk-…`` are none."""

_KEYS = "|".join(
    (
        rf"sk-{_KEY}{{16,}}",
        rf"[prs]k_(?:live|test)_{_WORD}{{16,}}",
        rf"(?:gh[oprsu]|github_pat|gsk)_{_WORD}{{16,}}",
        "hf_[0-9A-Za-z]{16,}",
        "(?:fw|r8|npm|whsec|shp(?:at|ca|pa|ss)|do[opr]_v1|tgp_v1|lsv2_(?:pt|sk))_[0-9A-Za-z]{16,}",
        "pcsk_[0-9A-Za-z]{4,}_[0-9A-Za-z]{16,}",
        rf"(?:ya29|SG)\.{_KEY}{{16,}}",
        rf"(?:glpat|nvapi|pplx|xai)-{_KEY}{{16,}}",
        r"(?i:bearer)(?:\s|%20|\+|:)+[0-9A-Za-z._~+/=-]{16,}",
        rf"(?i:(?:api|access|auth|secret)[_-]?(?:key|token))(?:[=:]|%3[AaDd])+{_KEY}{{16,}}",
    )
)

_ANYWHERE = "|".join(
    (
        "(?:AKIA|ASIA)[0-9A-Z]{16}(?:[^0-9A-Za-z]|$)",
        rf"xox[abeoprs]-{_KEY}{{10,}}",
        rf"AIza{_KEY}{{30,}}",
        "sk-or-v1-[0-9a-f]{16,}",
        rf"sk-ant-[a-z]{{3,8}}[0-9]{{2}}-{_KEY}{{16,}}",
    )
)
"""Forms that no word begins with: behind a letter too."""

_KINDS = ("a-z", "A-Z", "0-9")
_MIXED = "|".join(
    f"[{one}]{{1,24}}[{two}][{one}{two}]{{0,24}}[{three}]"
    for one, two, three in permutations(_KINDS)
)
_RANDOM = f"(?:{_MIXED})[0-9A-Za-z]{{16,}}"
"""Letters of both cases and digits, without a sign between: no words, no hexadecimal number."""
_NO_WORD = "(?:[^aeiouAEIOU]|[^tmlTML][aA]|[^drDR][iI]|[^dD][eE]|[^iI][oO]|[^dhtDHT][uU])"
"""What no word that ends like ``task``, ``disk`` or ``desk`` has before its last two letters."""
_SK = "sk-(?:[0-9a-z]{1,12}-){0,3}"
_ISSUED = (
    rf"{_NO_WORD}{_SK}|[prs]k_(?:live|test)_|(?:gh[oprsu]|github_pat|gsk|hf)_"
    r"|(?:fw|r8|npm|whsec|shp(?:at|ca|pa|ss)|do[opr]_v1|tgp_v1|lsv2_(?:pt|sk))_"
    r"|pcsk_[0-9A-Za-z]{4,}_|ya29\.|(?:glpat|nvapi|pplx|xai)-"
)

_CLAIMS = "hbGci|0eXAi|raWQi|lbmMi|pc3Mi|zdWIi|hdWQi|leHAi|pYXQi|qdGki|uYmYi|henAi"
"""What a header or the claims of a token begin with, behind a brace: alg, typ, kid, iss, sub, …"""
_TOKEN = rf"eyJ{_KEY}{{6,}}\.eyJ{_KEY}{{6,}}|eyJ(?:{_CLAIMS}){_KEY}{{8,}}"

PATTERN = rf"{_APART}(?:{_KEYS})|{_ANYWHERE}|(?:{_ISSUED}){_RANDOM}|{_TOKEN}|-----BEGIN|://[^\s/@:]*:[^\s/@]+@"
"""Matches every text that :func:`looks_secret` says yes to, and few others."""

WORDS = r"^sk(?:-[a-z]{1,15}[0-9]{0,2}|-[0-9]{1,3})+(?:/[a-z]{1,4}[0-9]{1,3})?$"
"""Matches texts that merely begin like a key."""
