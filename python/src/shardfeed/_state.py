"""States: where training stands, as plain JSON types."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from .errors import StateError

VERSION = 1

# What the engine's part of a state must have to be one; the engine checks the rest against the data.
_KEYS = ("plan", "seed", "epoch", "position", "manifest")


def pack(state: Mapping[str, Any]) -> dict[str, Any]:
    """Makes a state_dict of the engine's state."""
    return {"version": VERSION, "shardfeed": copy.deepcopy(dict(state))}


def unpack(state_dict: Any) -> dict[str, Any]:
    """Returns the engine's state out of a state_dict, or refuses with what is wrong."""
    if not isinstance(state_dict, Mapping):
        raise StateError(f"a state is what state_dict() returned, a dict; this is {type(state_dict).__name__}")
    inner = state_dict.get("shardfeed")
    if not isinstance(inner, Mapping):
        raise StateError(
            f"this is no state of shardfeed: it has the keys {sorted(map(str, state_dict)) or 'of nothing'}, and 'shardfeed' is missing"
        )
    if state_dict.get("version") != VERSION:
        raise StateError(f"the state has version {state_dict.get('version')!r}, and this release reads version {VERSION}")
    missing = [key for key in _KEYS if key not in inner]
    if missing:
        raise StateError(f"the state lacks {', '.join(missing)}: was it edited or cut short?")
    return copy.deepcopy(dict(inner))
