"""States: the position of the training, in JSON types."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from ._args._checks import type_name
from .errors import StateError

VERSION = 1

# The engine's part of a state. It checks the values against the data.
_FIELDS: dict[str, type] = {
    "v": int,
    "plan": str,
    "shuffle": bool,
    "seed": int,
    "epoch": int,
    "position": int,
    "rows": int,
    "global_batch": int,
    "manifest": str,
    "units": str,
    "rule": str,
    "snapshot": str,
    "now": str,
    "params": dict,
    "batching": str,
    "lanes": int,
    "tail": str,
    "weights_in": str,
    "weights": list,
    "counts": list,
    "sources": list,
}
_PARAMS: dict[str, type] = {
    "lanes": int,
    "quantum": int,
    "life": int,
    "buffer": int,
    "start": str,
    "spread": int,
    "assign": str,
    "tail": str,
    "unit_rows": int,
}
_RECORD: dict[str, type] = {
    "epoch": int,
    "world": int,
    "rank": int,
    "from": int,
    "to": int,
    "rows": int,
    "lost": int,
    "padded": int,
    "hash": str,
    "cuts": str,
}
# States in file order have no units and params, without a rule no rule and no now, and of plain files no snapshot; with
# several sources they have what follows in place of manifest, units, rule, snapshot and params. Only joined records have cuts.
_MAY_LACK = frozenset(
    {"units", "rule", "snapshot", "now", "params", "batching", "lanes", "tail", "weights_in", "weights", "counts", "sources", "cuts"}
)
_MIXED = "mix/"  # and a version
_CONTAINERS = (dict, list)
_KINDS = {int: "a whole number", bool: "True or False", str: "text", dict: "a dict", list: "a list"}


def check(*, diagnosed: bool) -> None:
    """Refuses to save a state of a loop whose batches were dropped and repeated."""
    if diagnosed:
        raise StateError("a loader with headspace repeats batches and drops others, so it has no state to save: train without headspace")


def pack(state: Mapping[str, Any], records: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Makes a state_dict of the engine's state, and of the audit's records of this rank."""
    packed = {"version": VERSION, "shardfeed": _copied(dict(state))}
    return {**packed, "audit": [dict(record) for record in records]} if records else packed


def records(state_dict: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The audit's records of a state_dict; empty for states of earlier releases."""
    given = state_dict.get("audit") or []
    if not isinstance(given, (list, tuple)):
        raise StateError(f"the state's audit must be a list of records, got {type_name(given)}: it was edited")
    return [_checked(record, _RECORD) for record in given]


def _copied(value: Any) -> Any:
    """A copy of a dict or list of JSON values, several times as fast as deepcopy: some save a state
    each step.
    """
    if isinstance(value, dict):
        return {name: _copied(each) if type(each) in _CONTAINERS else each for name, each in value.items()}
    return [_copied(each) if type(each) in _CONTAINERS else each for each in value]


def unpack(state_dict: Any) -> dict[str, Any]:
    """Returns the engine's state from a state_dict, or raises a StateError."""
    if not isinstance(state_dict, Mapping):
        raise StateError(f"a state must be the dict that state_dict() returned, got {type_name(state_dict)}")
    inner = state_dict.get("shardfeed")
    if not isinstance(inner, Mapping):
        raise StateError(
            f"a state must be the dict that state_dict() returned, with the key 'shardfeed', got the keys {sorted(map(str, state_dict))}"
        )
    if state_dict.get("version") != VERSION:
        raise StateError(f"the state must have version {VERSION}, got {state_dict.get('version')!r}: it is of another release")
    return _checked(inner, _FIELDS)


def _checked(given: Mapping[str, Any], fields: Mapping[str, type]) -> dict[str, Any]:
    may_lack = _MAY_LACK | {"manifest"} if str(given.get("plan")).startswith(_MIXED) else _MAY_LACK
    missing = [name for name in fields if name not in given and name not in may_lack]
    if missing:
        raise StateError(f"the state lacks {', '.join(missing)}: it was edited or cut short")
    unknown = [str(name) for name in given if name not in fields]
    if unknown:
        raise StateError(
            f"the state has {', '.join(unknown)}, which this release does not know: load it with the release that saved it, or a later one"
        )
    return {name: _plain(name, value, fields[name]) for name, value in given.items() if value is not None}


def _plain(name: str, value: Any, kind: type) -> Any:
    """A value in JSON types. Checkpoints may have turned it into a numpy number or a tensor."""
    if kind is dict and isinstance(value, Mapping):
        return _checked(value, _PARAMS)
    if kind is list and isinstance(value, (list, tuple)):
        return [json_values(name, each) for each in value]
    if kind is int and not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    elif kind is bool and value in (False, True):
        return bool(value)
    elif kind is str and isinstance(value, str):
        return value
    raise StateError(f"the state's {name} must be {_KINDS[kind]}, got {value!r}: it was edited")


def json_values(name: str, value: Any) -> Any:
    """A value within a list in JSON types. The engine checks what it means."""
    if isinstance(value, Mapping):
        return {str(k): json_values(name, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(name, each) for each in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if hasattr(value, "item"):  # of numpy, or a tensor
        value = value.item()
    if isinstance(value, (int, float)):
        return value
    raise StateError(f"the state's {name} must hold JSON values, got {value!r}: it was edited")
