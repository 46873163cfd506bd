"""OpenTelemetry spans of requests to a model, by any of the conventions in use."""
