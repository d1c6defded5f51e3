"""Telling the user once that a column really holds nulls, when nothing was said about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any

from ._layout import LENGTH, NULLS, Layout, members
from ._schema import Field
from ._warn import warn

_SHOWN = {"binary": "empty", "list": "empty", "map": "empty"}


class NullWarning(UserWarning):
    """A column holds nulls that are shown as 0, False or empty."""


class NullWatch:
    """Looks at the null counts of each batch, of the columns about which there would be something to say. Each is named once."""

    def __init__(self, layout: Layout, answered: Collection[str] = (), padded: Collection[str] = ()) -> None:
        """Answered are the columns or paths of null=, padded the columns of pad=, where a null list is a row of padding."""
        self._layout = layout
        self._open: dict[int, tuple[str, Field]] = {}  # by the place of the null count
        for name, field in layout.schema.items():
            self._add(name, name, field, layout.at[name], answered, padded=name in padded)
        self._counts: Any = None
        self._look()

    def _add(
        self, column: str, path: str, field: Field, at: int, answered: Collection[str], padded: bool = False, within_null: bool = False
    ) -> None:
        """Watches a node. What a null struct is shown as is what its members are, so they are watched in its place."""
        if path in answered:
            return
        nullable = field.nullable or within_null
        if nullable and field.kind != "struct" and not field.holds_nan and not padded:
            self._open[at + NULLS] = (column, field)
        for member, place in members(field, at):
            self._add(column, f"{path}.{member.name}", member, place, answered, within_null=nullable and field.kind == "struct")

    def _look(self) -> None:
        self._counts = itemgetter(*self._open) if self._open else None

    def see(self, nodes: Sequence[int]) -> None:
        """Warns when a batch has nulls where no batch had them before."""
        counts = self._counts
        if counts is None:
            return
        found = counts(nodes)
        if found if isinstance(found, int) else any(found):
            self._warn(nodes)

    def _warn(self, nodes: Sequence[int]) -> None:
        for place in [p for p in self._open if nodes[p]]:
            if place not in self._open:  # another node of a column that was just named
                continue
            column, field = self._open[place]
            self._open = {p: entry for p, entry in self._open.items() if entry[0] != column}
            length = nodes[place - NULLS + LENGTH]
            warn(_text(column, field, nodes[place], length), NullWarning)
        self._look()


def _text(column: str, field: Field, nulls: int, length: int) -> str:
    shown = _SHOWN.get(field.kind, "False" if field.type == "bool" else "0")
    return (
        f"column {column!r} holds nulls, {nulls} of {length} values of this batch, and they are shown as {shown}: "
        f"batch.valid({column!r}) is the mask, null={{{column!r}: value}} puts another value in their place"
    )
