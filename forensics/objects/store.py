"""Object storage as it is asked: by the environment's credentials, and errors without a word of it.

What a service or its library says of an error may quote a request, and with it who asked. Only
its kind is passed on, as an error of the system.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO

_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60
_FIRST, _LARGEST = 64 << 10, 8 << 20
"""Bytes that are asked for at a time: few of a file's head, many where it is read on."""

_KINDS = (
    ("NO_SUCH_BUCKET", errno.ENOENT, "no such bucket"),
    ("NO_SUCH_KEY", errno.ENOENT, "no such object"),
    ("NETWORK_CONNECTION", errno.EHOSTUNREACH, "no object storage answers"),
    ("REQUEST_TIMEOUT", errno.ETIMEDOUT, "object storage does not answer in time"),
    ("SLOW_DOWN", errno.EBUSY, "object storage asks to slow down"),
    ("ACCESS_DENIED", errno.EACCES, "access denied: who asks is told by AWS_… variables"),
)
_DENIED = (
    "INVALID_ACCESS_KEY",
    "SIGNATURE",
    "CLIENT_TOKEN",
    "UNRECOGNIZED_CLIENT",
    "HTTP status 403",
)


@dataclass(frozen=True)
class Facts:
    """Of an object, or of a prefix with something below: bytes, and when it changed (ns)."""

    folder: bool
    size: int
    changed: int


_seen: dict[str, Facts] = {}
"""Objects that a listing named: asked for one by one, each would be a request of its own."""


def facts(key: str) -> Facts | None:
    """Return what is known of a bucket and key, None where nothing is.

    Raises:
        OSError: it cannot be asked.
    """
    if not key:
        return None
    if key in _seen:
        return _seen[key]
    with _plain_errors(key):
        return _facts(_connection().get_file_info(key))


def _facts(info: Any) -> Facts | None:
    from pyarrow import fs

    if info.type == fs.FileType.NotFound:
        return None
    folder = info.type == fs.FileType.Directory
    return Facts(folder, info.size or 0, info.mtime_ns or 0)


def listed(key: str) -> list[str]:
    """Return bucket and key of all objects below one, sorted; none where nothing is.

    Raises:
        OSError: it cannot be asked, or there is no such bucket.
    """
    from pyarrow import fs

    if not key:
        return []
    with _plain_errors(key):
        infos = _below(fs.FileSelector(key, recursive=True))
    found = {info.path: _facts(info) for info in infos if info.type == fs.FileType.File}
    for gone in [other for other in _seen if other.startswith(f"{key}/")]:
        del _seen[gone]
    _seen.update({path: own for path, own in found.items() if own is not None})
    return sorted(found)


def _below(wanted: Any) -> list[Any]:
    try:
        return list(_connection().get_file_info(wanted))
    except FileNotFoundError:
        return []  # of a bucket that is not there, another error tells


def opened(key: str) -> BinaryIO:
    """Return the bytes of an object as of a file that is open.

    Raises:
        OSError: it is gone, or cannot be read.
    """
    with _plain_errors(key):
        return io.BufferedReader(_Raw(key, _file(key)), _LARGEST)


def read(key: str) -> bytes:
    """Return the bytes of an object.

    Raises:
        OSError: it is gone, or cannot be read.
    """
    with _plain_errors(key), _file(key) as file:
        return bytes(file.read())


def write(key: str, data: bytes) -> int:
    """Write an object and return its size.

    Raises:
        OSError: it cannot be written.
    """
    _seen.pop(key, None)
    # Without being told, Arrow would compress what goes under a name like .gz once more.
    with _plain_errors(key), _connection().open_output_stream(key, compression=None) as file:
        file.write(data)
    return len(data)


def remove(key: str) -> None:
    """Remove an object.

    Raises:
        OSError: it cannot be removed.
    """
    _seen.pop(key, None)
    with _plain_errors(key):
        _connection().delete_file(key)


def _file(key: str) -> Any:
    if "/" not in key:
        raise FileNotFoundError
    return _connection().open_input_file(key)


class _Raw(io.RawIOBase):
    """An object that is open; ever larger pieces of it are asked for."""

    def __init__(self, key: str, file: Any) -> None:
        self._key, self._file, self._step = key, file, _FIRST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._step)
        self._step = min(4 * self._step, _LARGEST)
        with _plain_errors(self._key):
            data = self._file.read(wanted)
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _connection() -> Any:
    named = (os.environ.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return _connected(next(filter(None, named), None), region)


@lru_cache(maxsize=4)
def _connected(endpoint: str | None, region: str | None) -> Any:
    from pyarrow import fs

    return fs.S3FileSystem(
        endpoint_override=endpoint,
        region=region,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_ANSWER_SECONDS,
    )


@contextmanager
def _plain_errors(key: str) -> Iterator[None]:
    """Raise errors of the system alone, with the address and no other word of the service."""
    try:
        yield
    except OSError as error:
        number, said = _told(error)
    else:
        return
    raise OSError(number, said, f"s3://{key}")


def _told(error: OSError) -> tuple[int, str]:
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return errno.ENOENT, "no such object"
    for name, number, said in _KINDS:
        if name in text:
            return number, said
    if any(name in text for name in _DENIED):
        return errno.EACCES, _KINDS[-1][2]
    return errno.EIO, "object storage reports an error"


def forget() -> None:
    """Ask anew for everything, by what the environment says now."""
    _seen.clear()
    _connected.cache_clear()
