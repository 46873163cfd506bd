"""Where the work runs: in this process, in a pool of processes, on a cluster.

This is the one place that decides where the function of a stage is called; the result is
the same everywhere.
"""

from forensics.runners.pool import available_workers
from forensics.runners.where import choose, cluster, use
from forensics.runners.work import Runner, ShardError, run

__all__ = ["Runner", "ShardError", "available_workers", "choose", "cluster", "run", "use"]
