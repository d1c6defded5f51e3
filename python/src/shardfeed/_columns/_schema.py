"""Schemas: the columns of a batch with their types, known before the first batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import _html
from .._documented import documented
from .._printable import printable
from ._field import Field, unique_names
from ._names import no_column


@documented
class Schema(Mapping[str, Field]):
    """The columns of a batch by name, in order.

    The second column of a name x is ``x#2``, the third ``x#3``.
    """

    def __init__(self, fields: Iterable[Field]) -> None:
        fields = tuple(fields)
        self._fields = dict(zip(unique_names(f.name for f in fields), fields))

    @classmethod
    def from_json(cls, nodes: Iterable[Mapping[str, Any]]) -> Schema:
        """Reads the engine's schema."""
        return cls(Field.from_json(n) for n in nodes)

    def __getitem__(self, name: str) -> Field:
        try:
            return self._fields[name]
        except (KeyError, TypeError):
            raise no_column(name, self._fields, self._fields) from None

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        return hash(tuple(self._fields.items()))

    def __arrow_c_schema__(self) -> Any:
        """Arrow's PyCapsule interface, by which ``pyarrow.schema(batch.schema)`` and others read
        it.
        """
        from ._arrow import schema_node
        from ._arrow_c import schema_capsule

        return schema_capsule(schema_node(self))

    def _lines(self) -> list[tuple[str, str, str, str]]:
        return [
            (printable(name), printable(str(f)), f"{f.dtype}{list(f.shape) if f.shape else ''}", "nullable" if f.nullable else "")
            for name, f in self.items()
        ]

    def _repr_html_(self) -> str:
        return _html.table("Schema", ("column", "type", "numpy", ""), self._lines())

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max((len(line[i]) for line in lines), default=0) for i in range(3)]
        return "\n".join("  ".join([*(part.ljust(w) for part, w in zip(line, widths)), line[3]]).rstrip() for line in lines)
