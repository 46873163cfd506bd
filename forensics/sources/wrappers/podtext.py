"""What tools for containers put before each line that they print: kubectl, stern, Docker."""

from __future__ import annotations

from forensics.sources.wrappers.textforms import AT, MOMENT, OWN_AT, STAMPED, form

_POD = rb"(?P<stream>[a-z0-9]+(?:[.-][a-z0-9]+)+)"
"""Name of a pod: what made it has put a number or some letters behind a dash."""
_NAME = rb"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_LINE = OWN_AT + rb"(?P<line>.*)"
_SHORT = rb"(?:\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? )?"
_STERN = rb"[+-] " + _NAME + rb"[\w.-]* \xe2\x80\xba .*"
_COMPOSE = rb"Attaching to .*|[\w.-]+ exited with code \d+"

PREFIXED = (
    form(
        "cri",
        "Kubernetes (CRI)",
        AT + rb" (?P<source>stdout|stderr) (?P<tag>[PF])(?::\S*)?(?: (?P<line>.*))?",
    ),
    form(
        "kubectl",
        "kubectl logs --prefix",
        rb"(?:(?P<first>"
        + MOMENT
        + rb") )?\[pod/(?P<stream>[^/\]\s]+)/[^\]\s]+\] "
        + OWN_AT
        + rb"(?P<line>.*)",
    ),
    form("kubetail", "kubetail", rb"\[" + _POD + rb" " + _NAME + rb"\] " + _LINE),
    form(
        "kubetail-times",
        "kubetail",
        rb"\[" + _POD + rb"\] " + AT + rb" (?P<line>.*)",
        sure=STAMPED,
    ),
    form(
        "kubetail-pods",
        "kubetail",
        rb"\[" + _POD + rb"\] " + _LINE,
        sure=STAMPED,
        several=True,
    ),
    form(
        "swarm",
        "docker service logs",
        rb"(?:(?P<first>"
        + MOMENT
        + rb") )?(?P<stream>[\w.-]+\.[\w-]+\.[a-z0-9]+@[\w.-]+)\s+\| (?P<line>.*)",
    ),
)
BESIDE_OTHERS = (
    form("docker-times", "docker logs -t", AT + rb" (?P<line>.*)", sure=STAMPED),
    form(
        "compose",
        "docker compose logs",
        rb"(?P<stream>[a-z0-9][\w.-]*)\s+\| " + OWN_AT + rb"(?P<line>.*)",
        weak=True,
        aside=_COMPOSE,
    ),
    form("kubetail-pod", "kubetail", rb"\[" + _POD + rb"\] " + _LINE, weak=True, sure=STAMPED),
    *(
        form(
            name,
            "stern",
            before + _POD + rb" (?:\xe2\x80\xba )?" + _NAME + rb" " + _SHORT + _LINE,
            sure=STAMPED,
            aside=_STERN,
        )
        for name, before in (("stern", b""), ("stern-namespaces", _NAME + rb" "))
    ),
)
"""Other logs look alike: these are tried behind all others."""
