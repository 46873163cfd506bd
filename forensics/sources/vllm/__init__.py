"""vLLM 0.6-0.33: the log that an engine or its API server prints."""
