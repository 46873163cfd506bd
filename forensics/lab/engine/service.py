"""The engine behind HTTP: a router and the two servers, each at a port of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler

from forensics.lab.engine import bodies
from forensics.lab.engine.engine import LabEngine
from forensics.lab.engine.journal import MODEL
from forensics.lab.engine.requests import Answer, Ask

LARGEST_BODY = 64 << 20
_LEFT = 499
_KINDS = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/generate": "generate",
}


@dataclass(frozen=True)
class Addresses:
    """Where the router and the two servers listen."""

    router: str
    prefill: str
    decode: str


@asynccontextmanager
async def served(
    engine: LabEngine, accounts: Mapping[str, str], host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Addresses]:
    """Serve an engine until the block ends.

    Args:
        engine: what answers.
        accounts: API key to the name of the account.
        host: address to listen at.
        port: of the router; the servers take the next two. 0 takes any that are free.
    """
    apps = (_router(engine, accounts), _node(engine, "prefill"), _node(engine, "decode"))
    runners = [
        web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=2.0)
        for app in apps
    ]
    try:
        urls = []
        for number, runner in enumerate(runners):
            await runner.setup()
            site = web.TCPSite(runner, host, port + number if port else 0)
            await site.start()
            urls.append(f"http://{host}:{runner.addresses[0][1]}")
        yield Addresses(*urls)
    finally:
        for runner in runners:
            await runner.cleanup()


def _router(engine: LabEngine, accounts: Mapping[str, str]) -> web.Application:
    app = web.Application(client_max_size=LARGEST_BODY)
    for path, kind in _KINDS.items():
        app.router.add_post(path, _Endpoint(engine, accounts, kind).handle)
    app.router.add_get("/health", _healthy)
    app.router.add_get("/v1/models", _models(engine))
    app.router.add_get("/server_info", _both(engine))
    return app


def _node(engine: LabEngine, role: str) -> web.Application:
    async def info(_: web.Request) -> web.Response:
        return web.json_response(bodies.server_info(role, engine.options))

    async def gauges(_: web.Request) -> web.Response:
        return web.Response(text=bodies.metrics(role, engine.options))

    app = web.Application()
    app.router.add_get("/server_info", info)
    app.router.add_get("/get_server_info", info)
    app.router.add_get("/metrics", gauges)
    app.router.add_get("/health", _healthy)
    return app


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _models(engine: LabEngine) -> Handler:
    async def models(_: web.Request) -> web.Response:
        model = {"id": MODEL, "max_model_len": engine.options.context_tokens}
        return web.json_response({"object": "list", "data": [model]})

    return models


def _both(engine: LabEngine) -> Handler:
    async def both(_: web.Request) -> web.Response:
        info = {role: [bodies.server_info(role, engine.options)] for role in ("prefill", "decode")}
        return web.json_response(info)

    return both


class _Endpoint:
    """One address of the router."""

    def __init__(self, engine: LabEngine, accounts: Mapping[str, str], kind: str) -> None:
        self._engine, self._accounts, self._kind = engine, accounts, kind

    async def handle(self, request: web.Request) -> web.StreamResponse:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        tenant = self._accounts.get(key.strip()) if scheme.lower() == "bearer" else None
        if tenant is None:
            return web.json_response({"message": "unknown API key", "code": 401}, status=401)
        try:
            body = await request.json()
            ask = self._engine.named(bodies.ask_of(self._kind, body, tenant))
        except (ValueError, AttributeError, RecursionError):
            return web.json_response({"message": "unreadable body", "code": 400}, status=400)
        if body.get("stream"):
            return await self._stream(request, ask)
        return _told(request, self._kind, await self._engine.answer(ask))

    async def _stream(self, request: web.Request, ask: Ask) -> web.StreamResponse:
        """Send words as they come; a request that ends before its first word has a status."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})

        async def emit(word: str) -> None:
            if not response.prepared:
                await response.prepare(request)
            frame = bodies.piece(self._kind, str(ask.request_id), f"{word} ")
            await response.write(f"data: {json.dumps(frame)}\n\n".encode())

        answer = await self._engine.answer(ask, emit)
        if not response.prepared:
            return _told(request, self._kind, answer)
        if answer.error is not None:
            await response.write(f"data: {json.dumps(bodies.error(answer))}\n\n".encode())
        else:
            await response.write(f"data: {json.dumps(bodies.last(answer))}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response


def _told(request: web.Request, kind: str, answer: Answer) -> web.Response:
    if answer.status == _LEFT and request.transport is not None:
        request.transport.abort()
    if answer.error is not None:
        return web.json_response(bodies.error(answer), status=answer.status)
    return web.json_response(bodies.whole(kind, answer))
