"""What is here, what is missing and which logs to fetch next, from samples of files."""
