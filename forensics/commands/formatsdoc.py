"""The page about all formats, as Markdown: ``docs/formats.md`` is this text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forensics.sources.notread import NotRead
from forensics.sources.registry import Format
from forensics.sources.wrappers.kinds import Wrapper

_HEAD = """\
# Formats

Written by `make docs` from the readers themselves: edit those.

Which format a file is in is told from its content; `--format NAME` overrides that for all files
of a call. What a format never shows is missing in every row that it alone gives: such a row is
`possible` or `not_assessable`, never `ruled_out` by what is not there.

**Verified** says that the columns were held against a real sample or against the code that writes
them. Records of other formats never clear a request: sizes and statuses of theirs can make it
`possible`, never `ruled_out`, and carry the reason `unverified_format`. A time of theirs rules a
request out of scope only where it lies more than 14 hours outside the window.
"""
_OWN = """\
## Your own format

A gateway that writes one JSON object a request, or a table with a header, needs no code. Say
which of its keys are which columns, in a file beside `incident.toml`:

```toml
# gateway.toml
name = "our-gateway"
title = "Our gateway, one JSON object a request"
told_by = ["reqId", "usage"]
[columns]
request_id = "reqId"
tenant_id = ["account/team", "account/id"]
received_at = { from = "at", unit = "ms" }
prompt_tokens = "usage/tokensIn"
completion_tokens = "usage/tokensOut"
http_status = { from = "outcome", values = { ok = 200, refused = 400 } }
```

and name it in `incident.toml`:

```toml
[logs]
profiles = ["gateway.toml"]
```

Then this record is one request of `blue`, and nothing else of it is ever read:

```json
{
  "reqId": "7c1d", "at": 1787886840250, "account": {"id": "a-12", "team": "blue"},
  "outcome": "ok", "usage": {"tokensIn": 52310, "tokensOut": 389}, "prompt": "never read"
}
```

* A path is a key, or keys with `/` between them; a dot is part of a key, `~1` is a slash that is.
  Of several paths the first that has a value is taken. In CSV a path that leads on from a column
  leads into JSON in its cells.
* `unit` of a moment: `rfc3339` (as where none is stated), `utc` (the same, UTC where no zone is
  written), `s`, `ms`, `us`, `ns`, `epoch` (one of these, by its size) or `ticks`; of a length of
  time: `s`, `ms` (as where none is stated), `us`, `ns`. `plus = { from = "duration", unit = "ms" }`
  adds one to a moment.
* `values` puts ours for theirs; any other is `otherwise`, or no value. `absent` are texts that
  stand for no value, of one column or, outside of `[columns]`, of all: `absent = ["-"]`.
  `only = { from = "error", values = ["RateLimitError"] }` takes a value of those records alone
  that hold one of some values under another key.
* `layout = ["json", "csv"]` names what the files may be (`json` alone where it is not stated).
  JSON may be an object a line, a list, or a document with the list at `records`. Keys in
  `json_text` hold JSON as text.
* `told_by` are paths that every record has; `told_values` may say what stands there.
  `[[leave_out]]` with `from` and `values`, or `but`, names records that are no requests.
* `hop` is `gateway` unless it says `prefill` or `decode`. Columns of the engines (pages, what each
  side counted) need `verified = true`, which you state once you have held the columns against
  your own records: until then the format clears nobody.

The manifest of a report and of an evidence set holds the whole description, so that `rerun` reads
by it again, whatever became of the file; an evidence set takes no logs that are read by another.
`forensics check` shows what a file was taken for. `--format profile:our-gateway` states it.
"""


def markdown(
    formats: Sequence[Format], wrappers: Sequence[Wrapper], others: Sequence[NotRead]
) -> str:
    """Return the page."""
    sections = [*map(_section, formats), *_around(wrappers), *_not_read(others)]
    return "\n".join([_HEAD, *_overview(formats), *sections, _OWN])


def _overview(formats: Sequence[Format]) -> Iterator[str]:
    yield "| `--format` | what it is | verified |\n|---|---|---|"
    for known in formats:
        yield f"| `{known.name}` | {_cell(known.title)} | {_verified(known)} |"
    yield ""


def _verified(known: Format) -> str:
    return "yes" if known.verified else "no"


def _section(known: Format) -> str:
    lines = [f"## {known.title}\n", f"`{known.name}`"]
    if known.versions:
        lines[-1] += f", {known.versions}"
    if not known.verified:
        lines[-1] += ". **Unverified: never clears a request**"
    lines += [f"\n* Shows: {known.shows}.", f"* Never shows: {known.never_shows}."]
    if known.forms:
        lines.append("\n| line or record | versions | shows |\n|---|---|---|")
    for form in known.forms:
        lines.append(f"| {_cell(form.title)} | {_cell(form.versions)} | {_cell(form.shows)} |")
    return "\n".join([*lines, ""])


def _around(wrappers: Sequence[Wrapper]) -> Iterator[str]:
    yield "## Around them"
    yield "\nTaken off first, nested in any order, found by what lines look like:\n"
    for title in dict.fromkeys(wrapper.title for wrapper in wrappers):
        yield f"* {title}"
    yield ""


def _not_read(others: Sequence[NotRead]) -> Iterator[str]:
    yield "## Not read"
    yield "\nTold by what they hold, and listed with the reason among what could not be read:\n"
    for other in others:
        yield f"* {other.title}: {other.why}"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
