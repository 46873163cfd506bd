"""A local server that speaks S3, whose buckets are checked for who asks."""

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from forensics.objects import store

SECRET = "wJalrXUtnFEMI-CANARY-bPxRfiCYEXAMPLEKEY"
KEY_ID = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """Where the server listens."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class _Closed(BaseHTTPRequestHandler):
    """Lets nobody in who does not say who asks; moto cannot be asked so."""

    def do_GET(self) -> None:
        body = b"<Error><Code>AccessDenied</Code><Message>CANARY</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 -- the name that the base class calls

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A storage that this process has no credentials for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Closed)
    Thread(target=server.serve_forever, daemon=True).start()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store.forget()
    yield
    server.shutdown()
    store.forget()


class Bucket:
    """A bucket that is filled and emptied by a client of its own."""

    def __init__(self, endpoint: str) -> None:
        from pyarrow import fs

        self.name = "incident"
        self._storage = fs.S3FileSystem(
            access_key=KEY_ID, secret_key=SECRET, endpoint_override=endpoint,
            region="eu-central-1", allow_bucket_creation=True,
        )  # fmt: skip
        self._storage.create_dir(self.name)

    def put(self, key: str, data: bytes) -> str:
        """Write an object and return its address."""
        with self._storage.open_output_stream(f"{self.name}/{key}", compression=None) as file:
            file.write(data)
        return f"s3://{self.name}/{key}"

    def put_folder(self, folder: Path, prefix: str) -> str:
        """Write all files of a folder below a prefix, alone, and return its address."""
        from pyarrow import fs

        if self._storage.get_file_info(f"{self.name}/{prefix}").type == fs.FileType.Directory:
            self._storage.delete_dir(f"{self.name}/{prefix}")
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://{self.name}/{prefix}"

    def get(self, prefix: str) -> dict[str, bytes]:
        """Return all objects below a prefix but those that name the others."""
        from pyarrow import fs

        place = f"{self.name}/{prefix}"
        wanted = fs.FileSelector(place, recursive=True, allow_not_found=True)
        infos = [i for i in self._storage.get_file_info(wanted) if i.type == fs.FileType.File]
        return {
            info.path.removeprefix(f"{place}/"): self._storage.open_input_file(info.path).read()
            for info in infos
            if info.base_name not in ("manifest.json", "SHA256SUMS")
        }

    def remove(self, key: str) -> None:
        """Remove an object."""
        self._storage.delete_file(f"{self.name}/{key}")


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket that the environment lets this process read."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store.forget()
    yield Bucket(endpoint)
    store.forget()
