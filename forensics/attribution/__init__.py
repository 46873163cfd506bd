"""Whose data may have been in a response."""
