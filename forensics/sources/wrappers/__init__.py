"""What log collectors and stores put around the lines of an engine, taken off again."""
