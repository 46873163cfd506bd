"""By how much the count could be wrong: arithmetic first, then what needs an assumption."""
