"""Fields: the types of columns, and the layout of their values in a slot."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._documented import documented

# A node of a field has one descriptor: eight numbers in this order.
LENGTH, NULLS, VALIDITY, OFFSETS, DATA, DATA_BYTES, LIST_SIZE, NODE_FIELDS = 0, 1, 2, 3, 4, 5, 6, 8

_NUMBERS = {
    "bool": "?",
    "int8": "i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "float16": "<f2",
    "float": "<f4",
    "float32": "<f4",
    "double": "<f8",
    "float64": "<f8",
}

_FLOATS = frozenset({"float16", "bfloat16", "float", "float32", "double", "float64"})
_TEXTS = frozenset({"string", "enum", "json"})

_INTERVAL = np.dtype([("months", "<u4"), ("days", "<u4"), ("milliseconds", "<u4")])


# bfloat16 where every tensor library has to know the dtype. What makes tensors looks at the metadata.
BFLOAT16_BITS = np.dtype("<i2", metadata={"bfloat16": True})


@functools.cache
def _bfloat16() -> np.dtype[Any]:
    """The dtype of bfloat16, which the package ml_dtypes adds to numpy. Without it users see
    the bits as uint16.
    """
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("<u2")
    return np.dtype(ml_dtypes.bfloat16)


class Storage(NamedTuple):
    """The layout of a fixed column's values in a slot, and the dtype that users see."""

    dtype: np.dtype[Any]  # in the slot
    shape: tuple[int, ...]  # of a value
    shown: np.dtype[Any]
    convert: Callable[[np.ndarray], np.ndarray] | None = None  # None: users see the stored values


def _as_lies(dtype: Any, shape: tuple[int, ...] = (), shown: Any = None) -> Storage:
    lies = np.dtype(dtype)
    return Storage(lies, shape, lies if shown is None else np.dtype(shown))


def _days(stored: np.ndarray) -> np.ndarray:
    return stored.astype("<M8[D]")


@documented
@dataclass(frozen=True)
class Field:
    """A column, or a part of a column.

    ``type`` is the name that ``shardfeed inspect`` prints; ``kind`` is the layout of its values:
    fixed, binary, list, struct, map or null.
    """

    name: str
    kind: str
    type: str = "none"
    width: int = 0  # bytes of a fixed value
    nullable: bool = False
    unit: str = ""
    utc: bool = False
    precision: int = 0
    scale: int = 0
    extension: str = ""  # the name of Arrow's extension type that the file has
    list_size: int = 0  # of lists of one size; -1: dense, with a length that differs by batch; 0: ragged
    partition: bool = False  # from directory names
    joined: bool = False  # of the batch, not of its rows: one array, or one number
    features: tuple[str, ...] = ()  # of a matrix: the columns that it was stacked of
    labels: tuple[str, ...] = ()  # names of the values, from 0 on: the classes of Hugging Face's ClassLabel
    added: bool = False  # not in the data: the lengths of a padded column, ids and seeds of rows
    children: tuple[Field, ...] = ()

    @classmethod
    def from_json(cls, node: Mapping[str, Any]) -> Field:
        """Reads a node of the engine's schema."""
        known = {name: node[name] for name in _FIELDS if node.get(name) is not None}
        for names in ("features", "labels"):
            known[names] = tuple(known.get(names, ()))
        return cls(**known, children=tuple(cls.from_json(c) for c in node.get("children") or ()))

    @property
    def nodes(self) -> int:
        """The number of nodes of the column, itself included."""
        return 1 + sum(c.nodes for c in self.children)

    @property
    def is_text(self) -> bool:
        """Whether values are str rather than bytes."""
        return self.type in _TEXTS

    @property
    def holds_nan(self) -> bool:
        """Whether a null is NaN. In a list of a declared size all items are."""
        return self.kind == "null" or (self.is_dense and self.innermost.type in _FLOATS)

    @property
    def innermost(self) -> Field:
        """The innermost items of lists of declared sizes; the field itself if it is another type."""
        field = self
        while field.kind == "list" and field.list_size:
            field = field.children[0]
        return field

    @property
    def is_dense(self) -> bool:
        """Whether the column is one array: fixed values, or lists of one size of them."""
        return self.innermost.kind == "fixed"

    @property
    def leaf(self) -> Field:
        """The values inside of all lists; the field itself when it is not a list."""
        field = self
        while field.kind == "list":
            field = field.children[0]
        return field

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the values, or of the innermost items of lists; object for strings,
        binary, structs and maps.
        """
        leaf = self.leaf
        if leaf.kind == "null":
            return np.dtype("<f8")
        return leaf.storage().shown if leaf.kind == "fixed" else np.dtype(object)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row; -1 is a length that differs by row or by batch."""
        sizes: list[int] = []
        field = self
        while field.kind == "list":
            sizes.append(field.list_size or -1)
            field = field.children[0]
        return (*sizes, *field.storage().shape) if field.kind == "fixed" else tuple(sizes)

    def storage(self, *, plain: bool = False) -> Storage:
        """The layout of fixed values, and the dtype for users: plain has only dtypes that every
        tensor library has.
        """
        if self.type in _NUMBERS:
            return _as_lies(_NUMBERS[self.type])
        if self.type == "bfloat16":
            return _as_lies(BFLOAT16_BITS if plain else _bfloat16())
        if self.type == "decimal" and self.width in (4, 8):
            return _as_lies(f"<i{self.width}")
        if self.type == "decimal":
            return _as_lies("<i8" if plain else "<u8", (self.width // 8,))
        if self.type == "date":
            return _as_lies("<i4") if plain else Storage(np.dtype("<i4"), (), np.dtype("<M8[D]"), _days)
        if self.type in ("timestamp", "time"):
            letter = "M" if self.type == "timestamp" else "m"
            return _as_lies("<i8" if plain else f"<{letter}8[{self.unit or 'ns'}]")
        if self.type == "interval":
            return _as_lies("<i4", (3,)) if plain else _as_lies(_INTERVAL)
        return _as_lies("u1", (self.width,)) if plain else _as_lies(f"V{self.width}")

    def __str__(self) -> str:
        if self.type == "tensor" and self.is_dense:
            return f"tensor<{self.innermost}>{list(self.shape)}"
        if self.kind == "list":
            size = {0: "", -1: "[padded]"}.get(self.list_size, f"[{self.list_size}]")
            return f"list<{self.children[0]}>{size}"
        if self.kind == "map":
            return f"map<{', '.join(map(str, self.children[0].children))}>"
        if self.kind == "struct":
            return f"struct<{', '.join(f'{c.name}: {c}' for c in self.children)}>"
        return self.type + self._details()

    def _details(self) -> str:
        if self.type == "decimal":
            return f"({self.precision},{self.scale})"
        if self.type in ("time", "timestamp"):
            return f"({self.unit}, {'UTC' if self.utc else 'local'})"
        return f"({self.width})" if self.type == "fixed binary" else ""


_FIELDS = tuple(name for name in Field.__dataclass_fields__ if name != "children")


def placed(fields: Mapping[str, Field]) -> Iterator[tuple[str, Field, int]]:
    """Yields the columns of a batch, each with the index of its first descriptor in the numbers."""
    at = 0
    for name, field in fields.items():
        yield name, field, at
        at += field.nodes * NODE_FIELDS


def members(field: Field, at: int) -> list[tuple[Field, int]]:
    """The children of the node whose descriptor is at index at, each with its own index."""
    place = at + NODE_FIELDS
    out = []
    for child in field.children:
        out.append((child, place))
        place += child.nodes * NODE_FIELDS
    return out


def part(slot: np.ndarray, start: int, size: int) -> np.ndarray:
    """Bytes of a slot, which keep it. A slice would have the type of the owner."""
    return np.ndarray(size, np.uint8, slot, start)


def unique_names(names: Iterable[str]) -> list[str]:
    """Makes repeated names differ: x, x#2, x#3."""
    counts: dict[str, int] = {}
    taken: set[str] = set()
    out: list[str] = []
    for name in names:
        own = name
        while own in taken:
            counts[name] = counts.get(name, 1) + 1
            own = f"{name}#{counts[name]}"
        taken.add(own)
        out.append(own)
    return out
