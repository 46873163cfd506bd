"""``forensics explain``: why a request, or a tenant, is where a report has it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forensics.commands.folders import warn_if_touched
from forensics.commands.options import as_json_option, plain
from forensics.commands.say import say_all
from forensics.errors import Exit


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("request_id", metavar="REQUEST", required=False)
@click.option("--tenant", metavar="T", help="the tenant instead of a request")
@click.option("--no-tenant", is_flag=True, help="the requests that name no tenant")
@as_json_option
def explain(
    out: Path, request_id: str | None, tenant: str | None, no_tenant: bool, as_json: bool
) -> int:
    """Show each value of REQUEST in the report OUT, where it was read, and what decided."""
    from forensics.evidence import explain as requests
    from forensics.evidence import explaintenant, explaintext
    from forensics.evidence.reporttables import finished

    if sum((request_id is not None, tenant is not None, no_tenant)) != 1:
        raise click.UsageError("name one REQUEST, or --tenant T, or --no-tenant")
    warn_if_touched(out)
    report = finished(out)
    if request_id is None:
        found = explaintenant.explain_tenant(report, tenant)
        document, lines = plain(found), list(explaintext.tenant_lines(found))
    else:
        attempts = requests.explain(report, request_id)
        document = plain(attempts)
        lines = [line for found in attempts for line in explaintext.request_lines(found)]
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        say_all(lines)
    return Exit.COMPLETE
