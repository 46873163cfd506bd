"""SGLang: node logs, request logs, metrics, snapshots and spans, one surface a file."""
