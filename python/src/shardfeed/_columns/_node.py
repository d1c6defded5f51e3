"""Arrow's arrays, whose buffers are numpy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Node(NamedTuple):
    """An Arrow array or a part of one: its field, and buffers that keep their memory."""

    name: str
    format: str  # as in Arrow's C data interface
    nullable: bool
    length: int
    nulls: int
    buffers: tuple[np.ndarray | None, ...]
    children: tuple[Node, ...] = ()
    extension: str = ""  # name of an extension type
    metadata: str = ""  # of the extension type


def struct_node(name: str, columns: Sequence[Node], rows: int) -> Node:
    """A struct without nulls of these members."""
    return Node(name, "+s", False, rows, 0, (None,), tuple(columns))
