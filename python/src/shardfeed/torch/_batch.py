"""Batches as dicts of tensors."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

import torch

from .. import _html
from .._columns import _names
from .._printable import printable
from ._tensors import Bytes, Ragged, mover, to_host

if TYPE_CHECKING:
    import pyarrow

_SHOWN = 16  # columns in a repr


class Batch(dict[str, Any]):
    """A dict from column name to tensor, with a short repr and errors that name the columns.

    Strings and binary values are :class:`Bytes`, lists of different lengths :class:`Ragged`,
    structs dicts. A dotted path reads a member of a struct: ``batch["image.bytes"]``.
    """

    __slots__ = ()

    def __init__(self, *columns: Any, **more: Any) -> None:
        """Makes a batch of columns by name, as dict does."""
        super().__init__(*columns, **more)

    @property
    def rows(self) -> int:
        """Rows of each column."""
        return next((_rows(column) for column in self.values()), 0)

    def copy(self) -> Batch:
        """Another dict of the same tensors."""
        return Batch(self)

    def to(self, *args: Any, **kwargs: Any) -> Batch:
        """The columns on another device, with their structs, lists and strings. Takes the arguments
        of ``Tensor.to``, as in ``batch.to("cuda", non_blocking=True)``; dtypes stay.
        """
        moved = each(self, mover(args, kwargs))
        assert isinstance(moved, Batch)
        return moved

    def to_arrow(self) -> pyarrow.RecordBatch:
        """The columns as a pyarrow.RecordBatch that shares their memory on the host.

        Nulls have the values of the tensors, and masks are columns. Needs pyarrow.
        """
        from .._columns._pyarrow import record_batch

        return record_batch(self._arrow())

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Arrow's PyCapsule interface. It needs no pyarrow."""
        from .._columns._arrow import array_capsules

        return array_capsules(self._arrow(), requested_schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The batch as a stream of one batch."""
        from .._columns._arrow import stream_capsule

        return stream_capsule(self._arrow(), requested_schema)

    def _arrow(self) -> Any:
        from .._columns._arrow_columns import columns_node

        return columns_node("", {name: to_host(name, column) for name, column in self.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return Batch, (dict(self),)  # in a form that torch.load takes with weights_only

    def __missing__(self, key: object) -> Any:
        found = _names.member(self, key)
        if found is None:
            raise _names.no_column(key, self)
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """The column or struct member of that name, or the default."""
        if key in self:
            return self[key]
        found = _names.member(self, key)
        return default if found is None else found

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        shown = [f"{name} {describe(column)}" for name, column in list(self.items())[:_SHOWN]]
        if len(self) > _SHOWN:
            shown.append(f"and {len(self) - _SHOWN} more")
        return printable(f"Batch({self.rows} rows: {', '.join(shown)})")

    def _repr_html_(self) -> str:
        lines = [(name, describe(column), _html.first(_values(column))) for name, column in self.items()]
        return _html.table(f"Batch of {self.rows} rows", ("column", "type", "first values"), lines)


def each(value: Any, do: Callable[[torch.Tensor], Any], other: Callable[[Any], Any] | None = None) -> Any:
    """The value with do applied to each tensor in its dicts, lists, tuples and columns, and other
    to the rest.
    """
    if isinstance(value, torch.Tensor):
        return do(value)
    if isinstance(value, (Bytes, Ragged)):
        return value._each(do)
    if type(value) is dict:
        return {k: each(v, do, other) for k, v in value.items()}
    if type(value) is Batch:
        return Batch({k: each(v, do, other) for k, v in value.items()})
    if isinstance(value, MutableMapping):
        own = copy.copy(value)  # it may have attributes too
        own.update({k: each(v, do, other) for k, v in value.items()})
        return own
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(each(v, do, other) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(each(v, do, other) for v in value)
    return value if other is None else other(value)


def describe(column: Any) -> str:
    """The dtype, shape and device of a column."""
    if isinstance(column, torch.Tensor):
        return f"{_dtype(column)}{list(column.shape)} {column.device}"
    if isinstance(column, Mapping):
        return "{" + ", ".join(f"{name} {describe(member)}" for name, member in column.items()) + "}"
    if not hasattr(column, "offsets"):
        return type(column).__name__
    what = f"{type(column).__name__}[{len(column)}]"
    if hasattr(column, "text"):
        return f"{what} {'str' if column.text else 'bytes'} {column.offsets.device}"
    return f"{what} of {describe(column.values)}"


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _rows(column: Any) -> int:
    if isinstance(column, Mapping):
        return next((_rows(member) for member in column.values()), 0)
    return len(column) if hasattr(column, "__len__") and getattr(column, "ndim", 1) > 0 else 0


def _values(column: Any) -> Iterator[Any]:
    """The first values of a column on the host.

    Those on a device are not shown: that would wait for it.
    """
    where = getattr(column, "offsets", column)
    if isinstance(where, torch.Tensor) and where.ndim and where.device.type == "cpu":
        yield from column[: _html.FIRST].tolist()


def _flatten(batch: Batch) -> tuple[list[Any], list[str]]:
    return list(batch.values()), list(batch)


def _unflatten(values: Any, names: Any) -> Batch:
    return Batch(zip(names, values))


def _register() -> None:
    """Registers Batch with torch's pytrees and weights_only files, as a dict."""
    with contextlib.suppress(ImportError, AttributeError, ValueError):
        from torch.utils import _pytree

        _pytree.register_pytree_node(Batch, _flatten, _unflatten, serialized_type_name="shardfeed.torch.Batch")
    with contextlib.suppress(AttributeError):
        torch.serialization.add_safe_globals([Batch])


_register()
