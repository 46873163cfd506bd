"""Servers that say what a test wants them to, and the gate asked with no secret shown."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from forensics.cli import run

SECRET = "sk-SYNTHETIC-SECRET-DO-NOT-STORE"


class Server:
    """A server in a thread of its own; ``answers`` maps a path to what it says."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.url = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)

    async def _start(self) -> str:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        answer = self.answers.get(request.path)
        if answer is None:
            return web.Response(status=404, text=SECRET)
        if callable(answer):
            return await answer(request)
        if isinstance(answer, web.Response):
            return answer
        return web.Response(text=answer if isinstance(answer, str) else json.dumps(answer))

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(*arguments: str) -> tuple[int, str]:
        code = run(["gate", *arguments])
        shown = capsys.readouterr()
        assert SECRET not in shown.out + shown.err
        return code, shown.out

    return ask


@pytest.fixture
def other() -> Iterator[Server]:
    other = Server()
    yield other
    other.stop()
