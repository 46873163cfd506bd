"""Error rates on seeded incidents, whose truth the laboratory knows page by page."""
