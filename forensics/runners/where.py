"""Which runner: the one that was asked for, or by how much there is to read."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from forensics.errors import UsageError
from forensics.runners.here import Here
from forensics.runners.memory import within
from forensics.runners.pool import Pool, available_workers
from forensics.runners.threads import Threads
from forensics.runners.work import Runner

PARALLEL_FROM = 256 << 20
"""Bytes of input from which a pool of processes pays for its start."""

PATIENCE = "20s"
"""How long a scheduler may take to answer."""

_asked: list[Runner | None] = [None]


def choose(
    workers: int | None, size: int, shards: int, *, movable: bool, native: bool = False
) -> Runner:
    """Return where to work.

    Args:
        workers: processes; None decides by the size, unless a cluster is in use.
        size: bytes to read.
        shards: how many pieces they are in.
        movable: another process can read them: none is the standard input of this one.
        native: the work leaves the interpreter almost all of the time, so that threads do.
    """
    if not movable or not shards:
        return Here()
    if workers is None and _asked[0] is not None:
        return _asked[0]
    if native:
        threads = min(within(workers or available_workers()), shards)
        return Threads(threads) if threads > 1 else Here()
    if workers is None:
        workers = available_workers() if size >= PARALLEL_FROM else 1
    return Pool(workers) if min(within(workers), shards) > 1 else Here()


def use(where: Any = None) -> Runner | None:
    """Read logs on the cluster that is given from now on, or here again for None.

    Args:
        where: a ``distributed.Client``, the module ``ray`` after its ``init``, or any
            object with the attributes of :class:`forensics.runners.work.Runner`. The
            workers need this package, the logs under the same paths, and the folder for
            temporary files (``TMPDIR``) on storage that all share.

    Returns:
        The runner.

    Raises:
        UsageError: it is none of these.
    """
    _asked[0] = None if where is None else _runner(where)
    return _asked[0]


def _runner(where: Any) -> Runner:
    made_by = type(where).__module__.partition(".")[0]
    if made_by == "distributed":
        from forensics.runners.dask import Dask

        return Dask(where)
    if getattr(where, "__name__", "") == "ray":
        from forensics.runners.ray import Ray

        return Ray()
    if all(hasattr(where, name) for name in ("map", "name", "elsewhere")):
        runner: Runner = where
        return runner
    raise UsageError(f"{type(where).__name__} is no Dask client, not Ray, and no runner")


@contextmanager
def cluster(address: str | None) -> Iterator[Runner | None]:
    """Use the cluster at an address within the block; None changes nothing.

    Args:
        address: ``tcp://host:port`` (or ``tls://``) of a Dask scheduler, ``ray://host:port``
            of a Ray cluster.

    Raises:
        UsageError: another kind of address, its package is missing, or nobody answers.
    """
    if address is None:
        yield None
        return
    scheme = address.partition("://")[0]
    if scheme in {"tcp", "tls"}:
        connected = _dask(address)
    elif scheme == "ray":
        connected = _ray(address)
    else:
        raise UsageError("--cluster takes tcp://, tls:// (Dask) or ray:// and an address")
    before = _asked[0]
    try:
        yield use(connected[0])
    finally:
        _asked[0] = before
        connected[1]()


def _dask(address: str) -> tuple[Any, Any]:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("a Dask cluster needs the extra [dask]") from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        raise UsageError("no Dask scheduler answers at this address") from None
    return client, client.close


def _ray(address: str) -> tuple[Any, Any]:
    try:
        import ray
    except ImportError:
        raise UsageError("a Ray cluster needs the extra [ray]") from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, OSError, RuntimeError, ValueError):
        raise UsageError("no Ray cluster answers at this address") from None
    return ray, ray.shutdown
