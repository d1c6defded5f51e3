"""A trainer of the shards of conftest, for tests and for the processes that they start: it imports nothing but the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from shardfeed._engine._connection import Connection
from shardfeed._engine._process import Engine


def connect(shards: Path, batch_size: int = 100, dataset: str = "d", **spec: object) -> Connection:
    spec = {"addresses": [str(shards)], "columns": ["id", "x", "label"], "shuffle": True, "batch_size": batch_size, **spec}
    return Connection(Engine(), {"dataset": dataset, "spec": spec}, timeout=60)


def join(connection: Connection, iteration: str, rank: int = 0, world_size: int = 1, **more: object) -> dict:
    return connection.join(iteration=iteration, rank=rank, world_size=world_size, **more)


def ids(raw) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.ndarray((raw.rows,), np.int64, raw.bytes, raw.nodes[4])[: raw.valid]


def rest(connection: Connection) -> list[int]:
    found: list[int] = []
    while (raw := connection.next()) is not None:
        found += ids(raw).tolist()
    return found


def start(code: str, shards: Path) -> subprocess.Popen[str]:
    """Starts a process that runs code with what is in this file."""
    begin = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from trainer import *; shards = Path({str(shards)!r})\n"
    return subprocess.Popen([sys.executable, "-c", begin + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
