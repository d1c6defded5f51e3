"""Keys of batches: dotted paths into structs, and the error for a key that is not a column."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from .._args._checks import did_you_mean
from ..errors import ColumnError, OptionError
from ._field import Field

_SHOWN = 20  # columns that an error lists


def member(columns: Any, path: object) -> Any:
    """Returns the member of a struct at a dotted path, or None. The longest name of a struct wins."""
    if not isinstance(path, str):
        return None
    for cut in range(len(path) - 1, 0, -1):
        if path[cut] == "." and path[:cut] in columns and isinstance(struct := columns[path[:cut]], Mapping):
            rest = path[cut + 1 :]
            found = struct[rest] if rest in struct else member(struct, rest)
            if found is not None:
                return found
    return None


def no_column(key: object, names: Iterable[str], schema: Mapping[str, Field] | None = None) -> ColumnError:
    """Returns the error for a key that is not among these columns, nor a path into one of the
    schema's.
    """
    structs = names if isinstance(names, dict) else {}
    names = list(names)
    first = names[0] if names else "id"
    if isinstance(key, str):
        if hint := _mask(key, names):
            return ColumnError(f"there is no column {key!r}: {hint}")
        paths = [*names, *_members(structs), *(path for field in (schema or {}).items() for path in _paths(*field))]
        return ColumnError(f"there is no column {key!r}" + (did_you_mean(key, paths) or _listed(names)))
    if hasattr(key, "__index__") and not isinstance(key, bool):
        return ColumnError(f"keys are column names, got {_shown(key)}: batch[{first!r}][{_shown(key)}] is one value of column {first!r}")
    if isinstance(key, (list, tuple)):
        return ColumnError(f"a key is one column name, got {_shown(key)}: take several with {{name: batch[name] for name in ...}}")
    if isinstance(key, slice):
        return ColumnError(f"keys are column names, got a slice: batch[{first!r}][...] takes rows of column {first!r}")
    return ColumnError(f"keys are column names, got {_shown(key)}" + _listed(names))


def check_added(columns: Iterable[str], added: Iterable[tuple[str, str]]) -> None:
    """Refuses names that two columns would have. Each of added is a name, and what adds it."""
    taken = dict.fromkeys(columns, "the data has one")
    for name, by in dict.fromkeys(added):
        if name in taken:
            raise OptionError(
                f"{by} adds a column {name!r}, and {taken[name]}: leave that column out of columns=, or rename it with sources="
            )
        taken[name] = f"{by} adds one too"


def _mask(key: str, names: list[str]) -> str:
    """How to get the mask that a key names."""
    if key == "_row_valid":
        return "with_row_valid=True adds it to batches of tensors and to rows; a batch of arrays has batch.row_valid"
    column = key.removesuffix("_valid")
    if column == key or column not in names:
        return ""
    return f"with_valid({column!r}) adds it to batches of tensors; a batch of arrays has batch.valid({column!r})"


def _paths(name: str, field: Field) -> Iterable[str]:
    if field.kind == "struct":
        for member in field.children:
            yield f"{name}.{member.name}"
            yield from _paths(f"{name}.{member.name}", member)


def _members(structs: Mapping[str, Any]) -> Iterable[str]:
    """The paths of members of structs, which are dicts."""
    for name, struct in structs.items():
        if isinstance(struct, dict):
            yield from (f"{name}.{path}" for path in (*struct, *_members(struct)))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f": the columns are {', '.join(names[:_SHOWN])}{more}" if names else ": there are no columns"


def _shown(key: Any) -> str:
    return reprlib.repr(key)
