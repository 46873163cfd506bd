"""``forensics sample``: a seeded incident with its truth."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forensics.commands.options import as_json_option
from forensics.commands.say import say
from forensics.errors import Exit


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="new folder")
@click.option("--force", is_flag=True, help="replace a sample that is there")
@as_json_option
def sample(name: str | None, out: Path | None, force: bool, as_json: bool) -> int:
    """Write the seeded incident NAME with its truth; without NAME list them."""
    from forensics import lab
    from forensics.evidence.seal import seal
    from forensics.manifest import made_by
    from forensics.output import whole_folder

    if name is None:
        names = sorted(lab.SAMPLES)
        click.echo(json.dumps(names) if as_json else "\n".join(names))
        return Exit.COMPLETE
    if name not in lab.SAMPLES:
        raise click.UsageError(f"unknown sample {name!r}; known: {', '.join(sorted(lab.SAMPLES))}")
    if out is None:
        raise click.UsageError("where to? -o DIR")
    with whole_folder(out, "sample", force=force) as folder:
        lab.write_sample(name, folder)
        seal(folder, {"kind": "sample", "sample": name, **made_by()})
    if as_json:
        click.echo(json.dumps({"sample": name, "out": str(out)}))
    say(f"sample {name}: {out}", err=True)
    return Exit.COMPLETE
