"""Speed and memory against bare scans of the same file: ``python -m benchmarks``."""
