"""Nodes of a job, and which of its ranks speaks for each in the store of the process group.

A node is an engine: ranks that share it are of one node, also under several agents of a launcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._engine._connection import Connection
from ..._engine._process import Engine


def identity(engine: Engine, timeout: float | None = 600.0) -> str:
    """The node of an engine, which is started if necessary. Nothing is opened."""
    connection = Connection(engine, None, timeout=timeout)
    try:
        return of(connection.welcome)
    finally:
        connection.close()


def of(welcome: Mapping[str, Any]) -> str:
    """The node of the engine that greets a connection so. No other engine has it, on any machine."""
    return str(welcome["id"])


def leads(store: Any, key: str, node: str) -> bool:
    """Whether this is the first call for the node under the key: its caller leads the node."""
    return int(store.add(f"{key}/leader of {node}", 1)) == 1
