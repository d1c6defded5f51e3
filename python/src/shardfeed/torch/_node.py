"""Nodes of a job, and which of its ranks speaks for each in the store of the process group.

A node is an engine. Ranks that share one have one node, whoever started them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._connection import Connection
from .._engine import Engine


def identity(engine: Engine, timeout: float | None = 600.0) -> str:
    """The node of an engine, which is started if necessary. Nothing is opened."""
    connection = Connection(engine, None, timeout=timeout)
    try:
        return of(connection.welcome)
    finally:
        connection.close()


def of(welcome: Mapping[str, Any]) -> str:
    """The node of the engine that said this as a connection began. No other engine of any machine has it."""
    return str(welcome["id"])


def leads(store: Any, key: str, node: str) -> bool:
    """Whether this is the first call for the node under the key: its caller leads the node."""
    return int(store.add(f"{key}/leader of {node}", 1)) == 1
