"""NVIDIA Dynamo: request traces, and the log that they may be mixed with."""
