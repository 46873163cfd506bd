"""TensorRT-LLM: performance metrics of requests, transfer times, and the log."""
