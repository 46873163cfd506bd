"""By what factor a prefill is too fast. Findings state it too, hence nothing is imported here."""

FACTOR = 3.0
"""Too fast is by this factor at least: faster than expected, and than any rate seen."""
