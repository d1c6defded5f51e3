"""A stand-in of the Hugging Face hub: the interfaces by which its own client and shardfeed read a data set, with a second server for the
content, as the hub has one. The test of faith is that the hub's own client accepts it.

As a program, hub.py DIRECTORY LATENCY, it serves a directory until its standard input ends, with
the limits of a free account.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import re
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

NAME = "org/data"


@dataclass
class Limits:
    """How many requests of a kind the hub takes in a window; the defaults are of a free account.

    See https://huggingface.co/docs/hub/rate-limits.
    """

    seconds: float = 300
    most: dict[str, int] = field(default_factory=lambda: {"api": 1_000, "resolvers": 5_000})
    _ends: float = 0
    _taken: Counter[str] = field(default_factory=Counter)

    def take(self, kind: str) -> tuple[bool, str]:
        """Whether a request is taken, and the header RateLimit of its answer."""
        now = time.monotonic()
        if now >= self._ends:
            self._ends, self._taken = now + self.seconds, Counter()
        self._taken[kind] += 1
        left = self.most[kind] - self._taken[kind]
        return left >= 0, f'"{kind}";r={max(0, left)};t={int(self._ends - now) + 1}'


@functools.cache
def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Hub:
    """Serves directories as the commits of org/data. The last that was added is main.

    latency is seconds before each answer.
    """

    def __init__(self, latency: float = 0, limits: Limits | None = None) -> None:
        self.latency, self.limits = latency, limits
        self.lock = threading.Lock()  # of limits and requests
        self.commits: dict[str, Path] = {}
        self.main = ""
        self.requests: Counter[str] = Counter()
        self.sent = 0  # bytes of content
        self._servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler(kind)) for kind in ("hub", "content")]
        self._threads = [threading.Thread(target=server.serve_forever) for server in self._servers]
        for thread in self._threads:
            thread.start()
        self.url, self.content = (f"http://{host}:{server.server_port}" for host, server in zip(("127.0.0.1", "localhost"), self._servers))

    def add(self, directory: Path) -> str:
        self.main = hashlib.sha1(str(directory).encode()).hexdigest()
        self.commits[self.main] = directory
        return self.main

    def close(self) -> None:
        for server, thread in zip(self._servers, self._threads):
            server.shutdown()
            thread.join()
            server.server_close()

    def _handler(self, kind: str) -> type[http.server.BaseHTTPRequestHandler]:
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                time.sleep(hub.latency)
                if kind == "content" or hub._takes(self):
                    getattr(hub, f"_answer_{kind}")(self)

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def count(self, kind: str) -> None:
        with self.lock:
            self.requests[kind] += 1

    def _takes(self, to: http.server.BaseHTTPRequestHandler) -> bool:
        """Refuses a request beyond the limits."""
        if self.limits is None:
            return True
        with self.lock:
            taken, header = self.limits.take("api" if to.path.startswith("/api/") else "resolvers")
        if not taken:
            self.count("refused")
            to.rfile.read(int(to.headers.get("Content-Length") or 0))
            reply(to, 429, headers={"RateLimit": header})
        return taken

    def _answer_hub(self, to: http.server.BaseHTTPRequestHandler) -> None:
        parts = [unquote(part) for part in urlsplit(to.path).path.strip("/").split("/")]
        query = parse_qs(urlsplit(to.path).query)
        body = to.rfile.read(int(to.headers.get("Content-Length") or 0))
        if parts[:2] == ["api", "datasets"] and "/".join(parts[2:4]) == NAME:
            verb, revision = parts[4:6] if len(parts) > 5 else ("revision", "main")
            self.count(verb)
            commit = self._commit(revision)
            if commit is None:
                reply(to, 404, headers={"X-Error-Code": "RevisionNotFound", "X-Error-Message": f"Invalid rev id: {revision}"})
            elif verb == "revision":
                names = [{"rfilename": entry["path"]} for entry in self._entries(commit, "", True) if entry["type"] == "file"]
                about = {"private": False, "gated": False, "tags": [], "downloads": 0, "likes": 0}
                reply(to, 200, json.dumps({"id": NAME, "sha": commit, "siblings": names, **about}))
            elif verb == "tree" and not (self.commits[commit] / "/".join(parts[6:])).is_dir():
                not_found(to)
            elif verb == "tree":
                recursive = query.get("recursive", [""])[0].lower() == "true"
                reply(to, 200, json.dumps(self._entries(commit, "/".join(parts[6:]), recursive)))
            else:
                wanted = parse_qs(body.decode())["paths"] if b"=" in body else json.loads(body)["paths"]
                reply(to, 200, json.dumps([entry for entry in self._entries(commit, "", True) if entry["path"] in wanted]))
        elif parts[:4] == ["datasets", *NAME.split("/"), "resolve"]:
            self.count("resolve")
            commit = self._commit(parts[4])
            file = self.commits[commit or self.main] / "/".join(parts[5:])
            if commit is None or not file.is_file():
                not_found(to)
                return
            oid = digest(file)
            linked = {"X-Linked-Etag": f'"{oid}"', "X-Linked-Size": str(file.stat().st_size), "X-Repo-Commit": commit, "ETag": f'"{oid}"'}
            signed = quote(to.headers.get("Range") or "whole", safe="")
            reply(to, 302, headers={"Location": f"{self.content}/{commit}/{quote('/'.join(parts[5:]))}?range={signed}", **linked})
        else:
            reply(to, 401, headers={"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})

    def _answer_content(self, to: http.server.BaseHTTPRequestHandler) -> None:
        """A URL is good for the range that it was made for."""
        address = urlsplit(to.path)
        commit, _, name = unquote(address.path).strip("/").partition("/")
        ranged = to.headers.get("Range")
        if "Authorization" in to.headers or parse_qs(address.query)["range"] != [ranged or "whole"]:
            reply(to, 403)
            return
        path = self.commits[commit] / name
        if ranged is None:
            self._send(to, 200, path.read_bytes())
            return
        first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", ranged).groups()  # type: ignore[union-attr]
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(int(first))
            part = file.read(int(last or size) + 1 - int(first))
        self._send(to, 206, part, {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{size}"})

    def _send(self, to: http.server.BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        with self.lock:
            self.requests["content"] += 1
            self.sent += len(content)
        reply(to, status, content, headers)

    def _commit(self, revision: str) -> str | None:
        revision = self.main if revision == "main" else revision
        return revision if revision in self.commits else None

    def _entries(self, commit: str, below: str, recursive: bool) -> list[dict[str, Any]]:
        root = self.commits[commit]
        entries: list[dict[str, Any]] = []
        for path in sorted((root / below).rglob("*") if recursive else (root / below).iterdir()):
            name = path.relative_to(root).as_posix()
            if path.is_dir():
                entries.append({"type": "directory", "path": name, "oid": hashlib.sha1(name.encode()).hexdigest(), "size": 0})
            else:
                oid, size = digest(path), path.stat().st_size
                lfs = {"oid": oid, "size": size, "pointerSize": 132}
                entries.append({"type": "file", "path": name, "oid": hashlib.sha1(oid.encode()).hexdigest(), "size": size, "lfs": lfs})
        return entries


def not_found(to: http.server.BaseHTTPRequestHandler) -> None:
    reply(to, 404, headers={"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})


def reply(to: http.server.BaseHTTPRequestHandler, status: int, body: str | bytes = b"", headers: dict[str, str] | None = None) -> None:
    content = body.encode() if isinstance(body, str) else body
    to.send_response(status)
    for name, value in (headers or {}).items():
        to.send_header(name, value)
    to.send_header("Content-Length", str(len(content)))
    to.end_headers()
    if to.command != "HEAD":
        to.wfile.write(content)


def main() -> None:
    hub = Hub(float(sys.argv[2]), Limits())
    hub.add(Path(sys.argv[1]))
    print(hub.url, flush=True)
    for _ in sys.stdin:  # a line asks for the requests so far
        with hub.lock:
            print(json.dumps(hub.requests), flush=True)
    hub.close()


if __name__ == "__main__":
    main()
