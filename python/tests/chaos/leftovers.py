"""The memory of an engine, and what is there after the last rank of a job has ended."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from chaos import streams

ALLOWED = re.compile(r"CACHEDIR\.TAG|usage|evict\.lock|[0-9a-f]/[0-9a-f]{24}-[0-9a-f]{24}|d[0-9a-f]-[^/]+/[0-9a-f]{24}-[0-9a-f]{24}")


def engines(runtime: Path) -> list[psutil.Process]:
    """The engines whose sockets are in a runtime directory."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            if "serve" in line[1:2] and any(argument.startswith(f"{runtime}/") for argument in line):
                found.append(process)
    return found


def resident(process: psutil.Process) -> int:
    """The bytes of a process that are resident."""
    with contextlib.suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def limit(world: int) -> int:
    """The resident bytes that docs/memory.md allows an engine of world ranks."""
    return int(1.1 * world * streams.MEMORY_BYTES) + (64 << 20)


def after(runtime: Path, cache: Path, job: str, engine_killed: bool, grace: float) -> Iterator[str]:
    """What a job left behind after grace seconds. A killed engine leaves its socket."""
    deadline = time.monotonic() + grace
    while (left := engines(runtime) + of_job(job)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            yield f"process {process.pid} is still running: {' '.join(process.cmdline())[:200]}"
            process.kill()
    for path in [] if engine_killed else runtime.glob("*.sock*"):
        yield f"the socket {path.name} is still there"
    for path in sorted(cache.glob("v1/**/*")):
        name = str(path.relative_to(cache / "v1"))
        if path.is_file() and not ALLOWED.fullmatch(name):
            yield f"the cache has a file {name}"


def of_job(job: str) -> list[psutil.Process]:
    """The processes that have a job's name in their environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SHARDFEED_JOB") == job:
                found.append(process)
    return found
