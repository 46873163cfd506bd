"""What a notebook does first: one look for figures, and tables that need no network."""

from __future__ import annotations

from forensics.explore import pictures


def start() -> None:
    """Give every figure the look of the report, and put both libraries into the notebook.

    Keep the output of the cell that calls it: it draws the figures and sorts the tables.
    """
    from IPython.display import HTML, display
    from itables import options
    from itables.javascript import generate_init_offline_itables_html

    pictures.use()
    # Not init_notebook_mode, which also shows a script that fails where it comes first.
    tables = generate_init_offline_itables_html(options.dt_bundle)
    for library in (tables, pictures.library()):
        display(HTML(library))
