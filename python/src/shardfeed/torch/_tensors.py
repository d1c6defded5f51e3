"""Columns as torch has them: tensors, and classes for columns beyond plain tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._columns import _columns, _take
from .._documented import documented

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._args._types import Length

# A column is a tensor or one of the classes below; a struct's column is a dict of its members'
# columns.
Column = Any


class _Rows:
    """The interfaces of tensors, numpy and Arrow that the classes below have in common."""

    __slots__ = ("offsets", "values")
    __hash__ = None  # type: ignore[assignment] # == gives a tensor

    offsets: torch.Tensor  # int32, one more than rows; the first is 0
    values: Column

    def numpy(self) -> Any:
        raise NotImplementedError

    def _each(self, do: Callable[[torch.Tensor], torch.Tensor]) -> Self:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy().__array__(dtype, copy)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.numpy().__arrow_c_array__(requested_schema)

    def __dlpack_device__(self) -> Any:
        return self.offsets.__dlpack_device__()

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """These rows on another device. Takes the arguments of ``Tensor.to``; dtypes stay."""
        return self._each(mover(args, kwargs))

    def cpu(self) -> Self:
        return self._each(torch.Tensor.cpu)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self._each(lambda t: t.cuda(*args, **kwargs))

    def clone(self) -> Self:
        """A copy of these rows."""
        return self._each(torch.Tensor.clone)

    def pin_memory(self) -> Self:
        return self._each(torch.Tensor.pin_memory)


@documented
class Bytes(_Rows):
    """Strings or binary values: the bytes of all rows in one tensor, and where each row starts and
    ends.

    Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. Indexing works as in a tensor of one
    dimension: a number gives a str (bytes for binary values), a slice, a mask or integers a Bytes.
    ``==`` compares row by row with one value, or with as many values as there are rows, and gives a
    tensor of bool.
    """

    __slots__ = ("text",)
    __hash__ = None

    def __init__(self, values: torch.Tensor, offsets: torch.Tensor, text: bool = False) -> None:
        self.values = values  # uint8
        self.offsets = offsets
        self.text = text

    def numpy(self) -> _columns.Bytes:
        """The column as numpy arrays; on the host they share its memory."""
        return _columns.Bytes(self.values.cpu().numpy(), self.offsets.cpu().numpy(), self.text)

    def tolist(self) -> list[Any]:
        """A str of each row for text, else bytes."""
        return self.numpy().tolist()

    def __getitem__(self, index: Any) -> Any:
        rows = _resolve(index, len(self))
        if isinstance(rows, int):
            return self.numpy()[rows]
        return Bytes(*_rows_of(self.values, self.offsets, rows), self.text)

    def __eq__(self, other: object) -> torch.Tensor:
        return torch.from_numpy(self.numpy() == other).to(self.offsets.device)

    def __ne__(self, other: object) -> torch.Tensor:
        return ~(self == other)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    @property
    def lengths(self) -> torch.Tensor:
        """The bytes of each row."""
        return torch.diff(self.offsets)

    def __dlpack__(self, **_options: Any) -> Any:
        raise BufferError(_columns.NO_BYTES_TENSOR)

    def record_stream(self, stream: Any) -> None:
        self.values.record_stream(stream)
        self.offsets.record_stream(stream)

    def _each(self, do: Callable[[torch.Tensor], torch.Tensor]) -> Bytes:
        return Bytes(do(self.values), do(self.offsets), self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bytes, (self.values, self.offsets, self.text)

    def __repr__(self) -> str:
        return f"Bytes({len(self)} {'strings' if self.text else 'values'}, {len(self.values)} bytes{_where(self.values)})"


@documented
class Ragged(_Rows):
    """Lists of different lengths: the items of all rows in one column, and where each row starts
    and ends.

    Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. ``values`` is a column itself: a tensor,
    Bytes, Ragged, or for lists of structs and for maps a dict of columns. Indexing works as in a
    tensor of one dimension: a number gives the items of a row, a slice, a mask or integers a
    Ragged.
    """

    __slots__ = ()
    __hash__ = None

    def __init__(self, values: Column, offsets: torch.Tensor) -> None:
        self.values = values
        self.offsets = offsets

    def numpy(self) -> _columns.Ragged:
        """The column as numpy arrays; on the host they share its memory."""
        return _columns.Ragged(to_arrays(self.values), self.offsets.cpu().numpy())

    def tolist(self) -> list[list[Any]]:
        """A list of each row."""
        return self.numpy().tolist()

    def __getitem__(self, index: Any) -> Any:
        rows = _resolve(index, len(self))
        if isinstance(rows, int):
            return _columns.slice_column(self.values, int(self.offsets[rows]), int(self.offsets[rows + 1]))
        return Ragged(*_rows_of(self.values, self.offsets, rows))

    def __eq__(self, other: object) -> torch.Tensor:
        raise TypeError(_columns.NO_LIST_EQUALITY)

    def __ne__(self, other: object) -> torch.Tensor:
        raise TypeError(_columns.NO_LIST_EQUALITY)

    def __iter__(self) -> Iterator[Any]:
        edges = self.offsets.tolist()
        return (_columns.slice_column(self.values, lo, hi) for lo, hi in itertools.pairwise(edges))

    @property
    def lengths(self) -> torch.Tensor:
        """The number of items of each row."""
        return torch.diff(self.offsets)

    def __dlpack__(self, **_options: Any) -> Any:
        raise BufferError(_columns.NO_LISTS_TENSOR)

    def to_padded(self, value: Any = 0, length: Length | None = None) -> torch.Tensor:
        """A dense tensor of shape [rows, length], filled with value; longer rows are cut.

        Without length it is as long as the longest row.
        Lists of lists become dense at each level, [rows, length, length]; length is a number for
        all levels, or one for each.

        The engine does this faster: see the arguments ``pad`` and ``max_length``.
        """
        own, within = _columns.padded_lengths(length)
        values = self.values.to_padded(value, within) if isinstance(self.values, Ragged) else self.values
        if not isinstance(values, torch.Tensor):
            raise TypeError(f"only lists of numbers can be padded, got lists of {type(values).__name__}")
        lengths = self.lengths
        width = (int(lengths.max()) if len(lengths) else 0) if own is None else own
        out = values.new_full((len(self), width, *values.shape[1:]), value)
        columns = torch.arange(width, device=self.offsets.device)
        inside = columns < lengths[:, None]
        out[inside] = values[(self.offsets[:-1, None] + columns)[inside]]
        return out

    def to_nested(self) -> torch.Tensor:
        """A nested tensor with jagged layout that shares this memory."""
        if not isinstance(self.values, torch.Tensor):
            raise TypeError(f"only lists of numbers make a nested tensor, got lists of {type(self.values).__name__}")
        return torch.nested.nested_tensor_from_jagged(self.values, self.offsets)

    def record_stream(self, stream: Any) -> None:
        _each(self.values, lambda t: t.record_stream(stream))
        self.offsets.record_stream(stream)

    def _each(self, do: Callable[[torch.Tensor], torch.Tensor]) -> Ragged:
        return Ragged(_each(self.values, do), do(self.offsets))

    def __reduce__(self) -> tuple[Any, ...]:
        return Ragged, (self.values, self.offsets)

    def __repr__(self) -> str:
        return f"Ragged({len(self)} lists, {int(self.offsets[-1])} items{_where(self.offsets)})"


def to_tensors(column: _columns.Column) -> Column:
    """A column of arrays as tensors that share its memory. It must have only dtypes of torch."""
    if isinstance(column, np.ndarray):
        tensor = torch.from_numpy(column)
        return tensor.view(torch.bfloat16) if column.dtype.metadata else tensor
    if isinstance(column, _columns.Bytes):
        return Bytes(torch.from_numpy(column.values), torch.from_numpy(column.offsets), column.text)
    if isinstance(column, _columns.Ragged):
        return Ragged(to_tensors(column.values), torch.from_numpy(column.offsets))
    return {name: to_tensors(member) for name, member in column.items()}


def to_arrays(column: Column) -> _columns.Column:
    """A column of tensors as arrays."""
    if isinstance(column, torch.Tensor):
        return column.cpu().numpy()
    if isinstance(column, Mapping):
        return {name: to_arrays(member) for name, member in column.items()}
    return column.numpy()


def to_host(name: str, column: Any) -> Any:
    """A column that a user may have made, as arrays on the host; anything but a tensor stays."""
    if isinstance(column, Mapping):
        return {member: to_host(f"{name}.{member}", value) for member, value in column.items()}
    if isinstance(column, Ragged):
        return _columns.Ragged(to_host(name, column.values), column.offsets.cpu().numpy())
    if isinstance(column, Bytes):
        return column.numpy()
    if not isinstance(column, torch.Tensor):
        return column
    try:
        return column.detach().cpu().numpy()
    except TypeError:  # bfloat16 and others
        raise TypeError(f"column {name!r} is {column.dtype}, which numpy and Arrow lack: convert it, as with .float()") from None


def _each(column: Column, do: Callable[[torch.Tensor], Any]) -> Column:
    """The column with do applied to each of its tensors."""
    if isinstance(column, Mapping):
        return {name: _each(member, do) for name, member in column.items()}
    return do(column) if isinstance(column, torch.Tensor) else column._each(do)


def rows(batch: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a batch: tensors, str or bytes, dicts for structs."""
    names = tuple(batch)
    return (dict(zip(names, row)) for row in zip(*map(_rows, batch.values())))


def _rows(column: Column) -> Iterator[Any]:
    if isinstance(column, torch.Tensor):
        return iter(column.unbind(0))
    if isinstance(column, dict):
        return rows(column)
    return iter(column)


def _resolve(index: Any, n: int) -> _take.Index:
    """Indices are small: they are checked on the host, whatever the column's device."""
    return _take.resolve(index.cpu() if isinstance(index, torch.Tensor) else index, n)


def _rows_of(values: Column, offsets: torch.Tensor, rows: slice | np.ndarray) -> tuple[Column, torch.Tensor]:
    """These rows of a column, and their offsets, which start at 0."""
    if isinstance(rows, slice):
        own = offsets[rows.start : rows.stop + 1]
        lo, hi = int(own[0]), int(own[-1])
        return _columns.slice_column(values, lo, hi), own - lo
    places, edges = _take.gathered(offsets.cpu().numpy(), rows)
    return taken(values, torch.from_numpy(places).to(offsets.device)), torch.from_numpy(edges).to(offsets.device)


def taken(column: Column, places: torch.Tensor) -> Column:
    """The values of a column at these places."""
    if isinstance(column, Mapping):
        return {name: taken(member, places) for name, member in column.items()}
    return column[places]


def mover(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Tensor.to without the dtype, which must stay for bytes and offsets."""
    kwargs = {name: value for name, value in kwargs.items() if name != "dtype"}
    args = tuple(a for a in args if not isinstance(a, torch.dtype))
    return lambda t: t.to(*args, **kwargs) if args or kwargs else t


def _where(t: torch.Tensor) -> str:
    return "" if t.device.type == "cpu" else f", on {t.device}"
