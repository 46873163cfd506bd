"""``forensics notify``: one packet per tenant and population of a finished report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from forensics.commands.options import as_json_option
from forensics.commands.say import say

_PATH = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("report", type=_PATH)
@click.option("-o", "--out", "notices", required=True, type=_PATH, help="new folder of notices")
@click.option("-i", "--incident", type=_FILE, help="incident.toml; has to be of the same case")
@click.option("--key", type=_FILE, help="key of the pseudonyms; made if absent; default: OUT.key")
@click.option("--contacts", type=_FILE, help="CSV: tenant_id, contact, role, locale")
@click.option(
    "--templates", type=_PATH, help="folder of notice.md.j2, notice.html.j2, wording.toml"
)
@click.option("--audience", default="tenants", show_default=True, help="other names for others")
@click.option(
    "--also-unaffected", "unaffected", multiple=True, metavar="TENANT", help="statement; repeatable"
)
@click.option("--previous", type=_PATH, help="notices of the revision before: hides small changes")
@click.option("--force", is_flag=True, help="replace notices that are there")
@as_json_option
def notify(report: Path, notices: Path, as_json: bool, force: bool, **asked: Any) -> int:
    """Write a packet for every tenant of the finished REPORT, as recipient and as source.

    The report is checked first. Each packet is searched for what is another tenant's before
    any of them appears.
    """
    from forensics.errors import Exit
    from forensics.notices.write import Asked, write_notices
    from forensics.output import require_free

    require_free(notices, "notices", force=force)
    made = write_notices(report, notices, Asked(force=force, **asked))
    if as_json:
        click.echo(
            json.dumps(
                {
                    "out": str(notices),
                    "packets": made.packets,
                    "variants": made.variants,
                    "rows_without_tenant": made.unnamed,
                    "packets_without_contact": made.without_contact,
                    "ids_in_id_fields_alone": made.in_id_fields,
                },
                indent=2,
            )
        )
    say(made, err=True)
    if made.unnamed:
        say(f"incomplete: {made.unnamed:,} x no packet: tenant not known", err=True)
    if made.in_id_fields:
        few = f"{made.in_id_fields:,} ids that could be any word or number"
        say(f"search of packets: {few}: looked for in fields of ids alone", err=True)
    if made.uncompared:
        lacking = ", ".join(map(str, made.uncompared))
        say(f"public summary: not compared with revision {lacking}; see --previous", err=True)
    say(f"key of the pseudonyms: {made.key}", err=True)
    return Exit.INCOMPLETE if made.unnamed else Exit.COMPLETE
