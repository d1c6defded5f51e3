"""A link to an S3 server that is slow, or a server that refuses requests for their rate."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from insight.turns import Turns

SLOW_DOWN = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>'


@dataclass(frozen=True)
class Limits:
    """What data passes. 0 means unlimited."""

    rate: float = 0.0  # bytes a second
    requests: float = 0.0  # a second; others are refused
    latency: float = 0.0  # seconds before each answer; many pass at the same time


class Link:
    """A proxy in front of a server. Responses pass one after another, in the order of their requests."""

    def __init__(self, server: str, limits: Limits) -> None:
        self._server, self._limits = server, limits
        self._lock = threading.Lock()
        self._turns, self._granted = Turns(limits.rate), 0.0
        link = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                link._answer(self)

            do_HEAD = do_GET

            def log_message(self, *_: Any) -> None: ...

        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._proxy.daemon_threads = True
        self._thread = threading.Thread(target=self._proxy.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._proxy.server_port}"

    def close(self) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        data = "range" in handler.headers
        if data and not self._grants():
            _send(handler, 503, {"Content-Type": "application/xml"}, len(SLOW_DOWN), [SLOW_DOWN])
            return
        if data:
            time.sleep(self._limits.latency)
        connection = http.client.HTTPConnection(self._server, timeout=60)
        with contextlib.closing(connection), contextlib.suppress(ConnectionError):
            connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for name, value in handler.headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            body = response.read()
            pieces = self._turns.pieces(body) if data else [body]
            _send(handler, response.status, dict(response.getheaders()), len(body), pieces)

    def _grants(self) -> bool:
        """Whether the server takes a request now."""
        if not self._limits.requests:
            return True
        with self._lock:
            if time.monotonic() < self._granted:
                return False
            self._granted = time.monotonic() + 1 / self._limits.requests
            return True


def _send(handler: BaseHTTPRequestHandler, status: int, header: dict[str, str], size: int, pieces: Iterable[bytes]) -> None:
    handler.send_response_only(status)
    for name, value in header.items():
        if name.lower() not in ("content-length", "transfer-encoding", "connection"):
            handler.send_header(name, value)
    handler.send_header("Content-Length", header.get("Content-Length", str(size)))
    handler.end_headers()
    if handler.command != "HEAD":
        for piece in pieces:
            handler.wfile.write(piece)
