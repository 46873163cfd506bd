"""Which label of a collector names the engine that wrote a line: its pod, else its host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = (
    *("pod", "pod_name", "podName", "PodName", "k8s_pod_name", "kubernetes_pod_name"),
    *("k8s.pod.name", "kubernetes.pod.name", "kubernetes.pod_name"),
    *("logStreamName", "@logStream"),
    *("instance", "container", "container_name", "containerName", "ContainerName"),
    *("host", "hostname", "host.name", "_HOSTNAME", "node_name", "nodeName", "node"),
)


def stream(labels: Mapping[str, Any] | None) -> str:
    """Return the name of the pod or host among labels; empty where none is there."""
    for name in _NAMES:
        value = (labels or {}).get(name)
        if isinstance(value, str) and value:
            return value
    return ""
