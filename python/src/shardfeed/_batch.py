"""Batches: the rows of one step on one rank, column by column."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _html, _state
from ._columns import _arrow
from ._columns._columns import Column, column_to_list, iter_column, slice_column
from ._columns._field import DATA, DATA_BYTES, LENGTH, LIST_SIZE, NODE_FIELDS, NULLS, OFFSETS, VALIDITY, Field, members
from ._columns._layout import Layout, validity
from ._columns._names import member, no_column
from ._columns._node import Node
from ._columns._schema import Schema
from ._documented import documented
from ._printable import printable

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from ._engine._raw_batch import RawBatch


class Detached(NamedTuple):
    """A copy of a batch's bytes and numbers, in place of a slot of the ring."""

    bytes: np.ndarray
    nodes: tuple[int, ...]
    rows: int
    valid: int
    epoch: int
    step: int
    position: int
    after: tuple[int, int]


@documented
class Batch:
    """Columns by name, with the methods of a mapping.

    It is no ``collections.abc.Mapping``: polars takes those as columns of values, without their
    nulls, and not by Arrow's interface.

    Columns are views of the engine's memory, made on first access.

    Numbers are arrays, strings and binary values :class:`Bytes`, lists of different lengths
    :class:`Ragged`, structs dicts of columns. A dotted path reads a member of a struct. The memory
    returns to the engine when the batch and all its columns are gone.
    """

    __slots__ = ("__weakref__", "_columns", "_kept", "_layout", "_raw", "_start")

    def __init__(self, raw: RawBatch | Detached, layout: Layout, start: Mapping[str, Any], kept: np.ndarray | None = None) -> None:
        self._raw: Any = raw
        self._kept = kept  # a bool for each row, of the data set's filters; None keeps all
        self._layout = layout
        self._start = start  # the state where the iteration began
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Any:
        try:
            column = self._columns.get(name)
        except TypeError:  # a list or a slice
            raise no_column(name, self) from None
        if column is None:
            maker = self._layout.makers.get(name)
            raw = self._raw
            if maker is None:
                return self._member(name)
            if raw is None:
                raise ValueError("the batch was released")
            if (watch := self._layout.watch) is not None:
                watch.read(name, raw.nodes)
            column = self._columns[name] = maker(raw.bytes, raw.nodes)
        return column

    def _member(self, path: str) -> Column:
        """The struct member at a dotted path."""
        found = member(self, path)
        if found is None:
            raise no_column(path, self, self.schema) from None
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.makers)

    def __len__(self) -> int:
        return len(self._layout.makers)

    def __contains__(self, name: object) -> bool:
        return name in self._layout.makers

    def keys(self) -> KeysView[str]:
        return KeysView(self._mapping())

    def values(self) -> ValuesView[Any]:
        return ValuesView(self._mapping())

    def items(self) -> ItemsView[str, Any]:
        return ItemsView(self._mapping())

    def get(self, name: str, default: Any = None) -> Any:
        """The column of that name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def _mapping(self) -> Any:
        return self

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    @property
    def schema(self) -> Schema:
        """The columns with their types."""
        return self._layout.schema

    @property
    def rows(self) -> int:
        """Rows of each column."""
        return int(self._live().rows)

    @property
    def epoch(self) -> int:
        return int(self._live().epoch)

    @property
    def step(self) -> int:
        """The step of the epoch, from 0."""
        return int(self._live().step)

    @property
    def position(self) -> int:
        """Rows of the epoch before this step, over all ranks."""
        return int(self._live().position)

    @property
    def padding(self) -> int:
        """Rows of padding at the end of the batch, in the last step of a padded tail."""
        raw = self._live()
        return int(raw.rows - raw.valid)

    @property
    def row_valid(self) -> np.ndarray:
        """A bool for each row: False for padding and for rows that ``filter`` of the data set
        masked, which must not count.
        """
        raw = self._live()
        real: np.ndarray = np.arange(raw.rows) < raw.valid
        return real if self._kept is None else real & self._kept

    def _mask(self, kept: np.ndarray) -> None:
        """Masks rows, besides rows that are masked already."""
        self._kept = kept.copy() if self._kept is None else self._kept & kept

    @property
    def state(self) -> dict[str, Any]:
        """The state after this batch, for ``load_state_dict``."""
        raw = self._live()
        if not self._start:
            raise ValueError("rows by number have no place in an epoch, and no state: state_dict of the loader has it")
        epoch, position = raw.after
        return _state.pack({**self._start, "epoch": int(epoch), "position": int(position)})

    def valid(self, name: str, *, items: bool = False) -> np.ndarray:
        """A bool for each value of a column: False for nulls.

        A dotted path reads a part of the column.

        With items it is the mask of a list's items; for lists of one size it has the shape of the
        lists. A matrix that was stacked always has a mask of its items.
        """
        raw = self._live()
        field, at = self._find(name)
        if not items and not field.features:
            return validity(raw.bytes, raw.nodes, at)
        if field.kind not in ("list", "map"):
            raise TypeError(f"items=True needs a list or a map, and column {name!r} is {field}")
        item, place = members(field, at)[0]
        if not field.is_dense:
            return validity(raw.bytes, raw.nodes, place)
        shape = [raw.nodes[at + LENGTH], raw.nodes[at + LIST_SIZE]]
        mask = validity(raw.bytes, raw.nodes, place).reshape(shape)
        while item.kind == "list":  # the items of a null list are null
            shape.append(raw.nodes[place + LIST_SIZE])
            item, place = members(item, place)[0]
            mask = mask[..., None] & validity(raw.bytes, raw.nodes, place).reshape(shape)
        return mask

    def nulls(self, name: str) -> int:
        """How many values of a column are null."""
        field, at = self._find(name)
        if field.features:
            at = members(field, at)[0][1]
        return int(self._live().nodes[at + NULLS])

    def _find(self, path: str) -> tuple[Field, int]:
        """The node at a path. A user who asks for its nulls needs no warning about them."""
        found = self._layout.find(path)
        if (watch := self._layout.watch) is not None:
            watch.answer(self._layout.column(path))
        return found

    def to_rows(self) -> Iterator[dict[str, Any]]:
        """Yields the rows as dicts of numpy scalars and arrays, str or bytes, and dicts for
        structs.
        """
        names = tuple(self._layout.makers)
        return (dict(zip(names, row)) for row in zip(*[iter_column(self[name]) for name in names]))

    def to_arrow(self) -> pyarrow.RecordBatch:
        """The batch as a pyarrow.RecordBatch, with its nulls; and with the column ``"_row_valid"``
        where ``with_row_valid`` or ``on_error`` asks for the mask.

        It shares memory where the layouts agree. Needs pyarrow.
        """
        from ._columns._pyarrow import record_batch

        return record_batch(self._arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts of Python values: None for null, Decimal, datetime, and lists of lists for
        tensors. Needs pyarrow.
        """
        from ._columns._pyarrow import record_batch

        return list(record_batch(self._arrow(tensors=False)).to_pylist())

    def to_pandas(self) -> pandas.DataFrame:
        """The batch as a pandas.DataFrame. Needs pyarrow and pandas."""
        from ._columns._pyarrow import need, record_batch

        need("pandas", "to_pandas")
        return record_batch(self._arrow(tensors=False)).to_pandas()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Refuses: pandas and numpy would make an array of the column names."""
        raise TypeError("a batch is several columns, and makes no single array: use batch[column], batch.to_pandas() or batch.to_arrow()")

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Arrow's PyCapsule interface, by which pyarrow, polars, DuckDB and others read a batch.

        It does not import them. They share the batch's memory where the layouts agree, and keep it
        until they are done.
        """
        return _arrow.array_capsules(self._arrow(), requested_schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The batch as a stream of one batch, for libraries that read only streams."""
        return _arrow.stream_capsule(self._arrow(), requested_schema)

    def _arrow(self, *, tensors: bool = True) -> Node:
        raw = self._live()
        mask = self.row_valid if self._layout.row_valid else None
        return _arrow.batch_node(self._layout.schema, raw.bytes, raw.nodes, int(raw.rows), mask, tensors=tensors)

    def copy(self) -> Batch:
        """A copy of the batch in memory of its own.

        The engine's memory is then free for other batches.
        """
        raw = self._live()
        used = np.ndarray(_used(raw.nodes), np.uint8, raw.bytes).copy()
        own = Detached(used, tuple(raw.nodes), raw.rows, raw.valid, raw.epoch, raw.step, raw.position, raw.after)
        return Batch(own, self._layout, self._start, self._kept)

    def release(self) -> None:
        """Returns the memory to the engine now.

        The engine overwrites columns that still use it: copy them first.
        """
        raw, self._raw = self._raw, None
        self._columns.clear()
        if raw is not None and not isinstance(raw, Detached):
            raw.release()

    def _live(self) -> Any:
        if self._raw is None:
            raise ValueError("the batch was released")
        return self._raw

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.copy()
        return _restore, (tuple(own._raw), tuple(self.schema.values()), self._layout.plain, dict(self._start), self._kept)

    def _repr_html_(self) -> str:
        if self._raw is None:
            return "<div><b>Batch, released</b></div>"
        lines = [
            (name, field, self._live().nodes[self._layout.at[name] + NULLS] or "", _html.first(self._shown(name)))
            for name, field in self.schema.items()
        ]
        return _html.table(f"Batch of {self.rows} rows{self._step()}", ("column", "type", "nulls", "first values"), lines)

    def _step(self) -> str:
        return "" if self.epoch < 0 else f": epoch {self.epoch}, step {self.step}"

    def _shown(self, name: str) -> list[Any]:
        """The first values of a column. Showing them does not count as reading the column."""
        raw = self._live()
        column = self._layout.makers[name](raw.bytes, raw.nodes)
        if isinstance(column, int):
            return [column]
        return column_to_list(slice_column(column, 0, min(_html.FIRST, raw.rows)))

    def __repr__(self) -> str:
        if self._raw is None:
            return "Batch(released)"
        columns = ", ".join(f"{name}: {field}" for name, field in self.schema.items())
        where = "" if self.epoch < 0 else f"epoch {self.epoch}, step {self.step}, "
        return printable(f"Batch({where}{self.rows} rows of {columns})")


def _restore(raw: tuple[Any, ...], fields: tuple[Any, ...], plain: bool, start: dict[str, Any], kept: np.ndarray | None = None) -> Batch:
    return Batch(Detached(*raw), Layout(Schema(fields), plain=plain), start, kept)


def _used(nodes: Sequence[int]) -> int:
    """Where the last buffer of a batch ends."""
    end = 0
    for at in range(0, len(nodes), NODE_FIELDS):
        length = nodes[at + LENGTH]
        end = max(end, nodes[at + DATA] + nodes[at + DATA_BYTES])
        if nodes[at + VALIDITY]:
            end = max(end, nodes[at + VALIDITY] + (length + 7) // 8)
        if nodes[at + OFFSETS]:
            end = max(end, nodes[at + OFFSETS] + 4 * (length + 1))
    return end


def marked_rows(batch: Batch) -> Iterator[dict[str, Any]]:
    """The rows of a batch, each with ``_row_valid``: False for padding and lost rows."""
    for n, row in enumerate(batch.to_rows()):
        yield {**row, "_row_valid": n < batch.rows - batch.padding}
