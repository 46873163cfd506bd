"""Log formats: one per file, a registry, and the pass that reads them."""
