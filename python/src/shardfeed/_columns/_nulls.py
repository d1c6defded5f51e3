"""Warns once about columns that really hold nulls, unless the user has dealt with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from .._warn import ShardfeedWarning, warn
from ._field import LENGTH, NULLS, Field, members, placed
from ._patterns import Names

_SHOWN = {"binary": "empty", "list": "empty", "map": "empty"}
_NAMED = 8  # columns in one warning
_SHOWN_EMPTY = ("list", "map")  # for which null= has no value


class NullWarning(ShardfeedWarning):
    """A column holds nulls that are shown as 0, False or empty."""


class _Found(NamedTuple):
    """Nulls in a batch: in a column, or in what is below it at a dotted path."""

    path: str
    field: Field
    nulls: int
    length: int

    def shown(self) -> str:
        values = self.field.innermost
        return _SHOWN.get(values.kind, "False" if values.type == "bool" else "0")


class NullWatch:
    """Looks at the null counts of the columns that show a null as a value.

    Tensors are all made when a batch is handed out, so nulls are reported then. Arrays are made
    when the user reads a column: their nulls are reported when the next batch is asked for, or the
    iteration ends, unless the user has asked for the column's mask by then.
    """

    def __init__(
        self, fields: Mapping[str, Field], answered: Collection[str] = (), padded: Collection[str] = (), *, tensors: bool = False
    ) -> None:
        """Answered are columns, paths or patterns whose nulls the user has dealt with; padded are the
        columns of pad=, where a null list is a row of padding.
        """
        self._tensors = tensors
        self._open: dict[int, tuple[str, str, Field]] = {}  # by the place of the null count
        self._answered = Names(answered, list(fields))
        for name, field, at in placed(fields):
            self._add(name, name, (name,), field, at, padded=name in padded)
        self.counts: Any = None  # picks the null counts among the numbers of a batch; None: all columns are answered
        self._none: Any = 0  # the counts of a batch without nulls
        self._places: dict[str, list[int]] = {}
        self._look()
        self.noted: dict[str, _Found] = {}  # what was found in columns that were read
        self._iterations = 0

    def _add(
        self, column: str, path: str, parts: tuple[str, ...], field: Field, at: int, padded: bool = False, within_null: bool = False
    ) -> None:
        """Watches a node.

        A null struct shows the values of its members, so they are watched in its place.
        """
        if self._answered.have(path, parts):
            return
        nullable = field.nullable or within_null
        if nullable and field.kind != "struct" and not field.holds_nan and not padded:
            self._open[at + NULLS] = (column, path, field)
        for member, place in members(field, at):
            below = path if field.features else f"{path}.{member.name}"  # a matrix has the mask of its items
            deeper = parts if field.kind == "list" else (*parts, member.name)
            self._add(column, below, deeper, member, place, within_null=nullable and field.kind == "struct")

    def _look(self) -> None:
        self.counts = itemgetter(*self._open) if self._open and self._tensors else None
        self._none = 0 if len(self._open) == 1 else (0,) * len(self._open)
        self._places = {}
        for place, (column, _, _) in self._open.items():
            self._places.setdefault(column, []).append(place)

    def begin(self) -> None:
        """Notes the start of an iteration, which asks for batches and ends."""
        self._iterations += 1

    def end(self) -> None:
        """Notes that an iteration has ended, and warns about the columns that were read."""
        self._iterations -= 1
        self._report()

    def see(self, nodes: Sequence[int]) -> None:
        """Warns before a batch is handed out: about columns that were read, or a tensor batch's nulls.

        Without counts and noted columns there is nothing to see.
        """
        if self.noted:
            self._report()
        counts = self.counts
        if counts is not None and counts(nodes) != self._none:
            for column in self._places.copy():
                self.read(column, nodes)
            self._report()

    def read(self, column: str, nodes: Sequence[int]) -> None:
        """Notes that a column of a batch is read."""
        for place in self._places.get(column, ()):
            if nodes[place]:
                _, path, field = self._open[place]
                self.answer(column)
                self.noted[column] = _Found(path, field, nodes[place], nodes[place - NULLS + LENGTH])
                if not self._iterations:  # as in next(iter(dataset)): nothing comes after it
                    self._report()
                return

    def answer(self, column: str) -> None:
        """Notes that a column needs no warning any more."""
        self.noted.pop(column, None)
        if column in self._places:
            self._open = {place: entry for place, entry in self._open.items() if entry[0] != column}
            self._look()

    def _report(self) -> None:
        read, self.noted = self.noted, {}
        found = list(read.values())
        if found:
            warn(self._one(found[0]) if len(found) == 1 else self._several(found), NullWarning)

    def _one(self, found: _Found) -> str:
        mask = (
            f"with_valid({found.path!r}) adds their mask as batch[{found.path + '_valid'!r}]"
            if self._tensors
            else f"batch.valid({found.path!r}) is their mask"
        )
        other = "" if found.field.innermost.kind in _SHOWN_EMPTY else f", null={{{found.path!r}: value}} shows another value"
        return (
            f"shardfeed: column {found.path!r} holds nulls ({found.nulls} of {found.length} values of this batch), "
            f"shown as {found.shown()}: {mask}{other}"
        )

    def _several(self, all_found: Sequence[_Found]) -> str:
        names = [repr(found.path) for found in all_found[:_NAMED]]
        if len(all_found) > _NAMED:
            names.append(f"{len(all_found) - _NAMED} more")
        shown = " or ".join(dict.fromkeys(found.shown() for found in all_found))
        mask = "with_valid(name) adds a mask to each batch" if self._tensors else "batch.valid(name) is a mask"
        return (
            f"shardfeed: columns {', '.join(names[:-1])} and {names[-1]} hold nulls, shown as {shown}: "
            f"{mask}, null={{name: value}} shows another value"
        )
