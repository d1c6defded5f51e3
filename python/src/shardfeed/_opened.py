"""What is known of a data set once it is open: its columns, rows and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _html, _redact
from ._args import _locate
from ._args._locate import RowPlace
from ._args._window import WHOLE, Window
from ._columns import _names
from ._columns._layout import Layout
from ._columns._nulls import NullWatch
from ._columns._schema import Schema
from ._reported import Reported
from ._transform import ROW_VALID


class Opened(Reported):
    """A data set whose columns and rows are known."""

    _opened: dict[str, Any]  # what the engine says of it
    _rows_wanted: bool  # and not batches
    _with_row_valid: bool
    _transforms: tuple[Any, ...] = ()
    _window: Window = WHOLE
    _masks: tuple[str, ...] = ()  # columns whose masks the batches have

    def _forget(self) -> None:
        super()._forget()
        self._steps: dict[tuple[int, int], int] = {}
        self._schema: Schema | None = None
        self._layouts: dict[tuple[bool, bool], tuple[Layout, NullWatch]] = {}

    def _opened_again(self, before: Mapping[str, Any]) -> None:
        """Forgets the steps, and columns that have changed, when the data was opened once more."""
        self._steps.clear()
        if self._opened["schema"] != before["schema"]:
            self._schema = None
            self._layouts = {}
            self._check_added()

    @property
    def schema(self) -> Schema:
        """The columns of the batches, with their dtypes."""
        if self._schema is None:
            self._schema = Schema.from_json(self._opened["schema"])
        return self._schema

    @property
    def size(self) -> int:
        """Rows of an epoch, over all ranks: the ones that ``filters`` and the like choose, in the
        batches that ``skip`` and ``take`` leave.
        """
        if self._spec["batching"] == "per_source":  # an epoch has whole steps
            return self._epoch_steps() * self._spec["batch_size"] * self.world_size
        first, end = self._row_range()
        return end - first

    def _row_range(self) -> tuple[int, int]:
        """Returns an epoch's first row in the order, and the one after its last, over all ranks."""
        return self._window.rows(int(self._opened["rows"]), self._spec["batch_size"] * self.world_size)

    @property
    def rank(self) -> int:
        return self._ranks()[0]

    @property
    def world_size(self) -> int:
        return self._ranks()[1]

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank, or rows with ``batch_size=None``; the same on
        every rank. Where ``tail="carry"`` makes epochs differ it raises a TypeError.
        """
        ranks = self._ranks()
        if self._tail(ranks[1]) == "carry" and self.size % (self._spec["batch_size"] * ranks[1]):
            raise TypeError('a data set with tail="carry" has no len(): an epoch has a step more than another where rows were carried over')
        return self._epoch_steps()

    def _epoch_steps(self) -> int:
        """Steps of a whole epoch on this rank."""
        ranks = self._ranks()
        if ranks not in self._steps:
            self._steps[ranks] = int(self._session(plan=True)["steps"])
        return self._steps[ranks]

    def locate(self, row: int) -> RowPlace:
        """The place of a row: the path of its shard, its row group there, and its row in that.

        row is the number of the row in the list of shards, as the column ``"_row"`` of
        ``row_ids=True`` has it. No shard is read.
        """
        [place] = self._session(locate=[_locate.number(row)])["places"]
        return RowPlace(str(place["path"]), int(place["row_group"]), int(place["row"]))

    def _tail(self, world_size: int) -> str:
        """What happens to the rows that do not fill a batch on every rank."""
        return str(self._spec["tail"] or ("pad" if world_size > 1 else "short"))

    def _laid_out(self, schema: Sequence[Mapping[str, Any]], *, plain: bool, files: bool) -> tuple[Layout, NullWatch]:
        """The layout of batches, with files for a device or without. All iterations share it, so that
        each warning comes once.
        """
        if (plain, files) not in self._layouts:
            layout = Layout(Schema.from_json(schema), plain=plain)
            padded = {p["column"] for p in self._spec["pad"]}
            nulls = NullWatch(layout.schema, {*self._spec["null"], *self._masks}, padded, tensors=plain)
            layout.watch = None if plain else nulls
            layout.row_valid = self._with_row_valid
            self._layouts[plain, files] = layout, nulls
        return self._layouts[plain, files]

    def _added(self) -> Iterator[tuple[str, str]]:
        """The names of columns that are added in this process, each with what adds it."""
        if self._with_row_valid:
            masked = 'on_error="mask"' if self._spec["on_error"] == "mask" else "with_row_valid"
            yield ROW_VALID, "filter" if self._transforms else masked

    def _check_added(self) -> None:
        """Refuses columns to add that have the name of another column."""
        _names.check_added(self.schema, self._added())

    def _repr_html_(self) -> str:
        return _html.facts(type(self).__name__, self._facts()) + self.schema._repr_html_()

    def _facts(self) -> list[tuple[str, object]]:
        """What a notebook shows of the data set."""
        rank, world_size = self._ranks()
        addresses = [_redact.address(a) for a in self._addresses()]
        return [
            ("addresses", ", ".join(addresses[:3]) + (f" and {len(addresses) - 3} more" if len(addresses) > 3 else "")),
            ("shards", self._opened["shards"]),
            ("rows", self.size if self.size == self._opened["all_rows"] else f"{self.size} of {self._opened['all_rows']}"),
            ("batch size", "single rows" if self._rows_wanted else self._spec["batch_size"]),
            ("order", f"shuffled, seed {self._spec['seed']}" if self._spec["shuffle"] else "file order"),
            ("rank", f"{rank} of {world_size}"),
            *_html.images(self._spec["images"]),
        ]

    def _addresses(self) -> list[str]:
        return [*self._spec["addresses"], *(a for source in self._spec["sources"] for a in source["addresses"])]

    def __repr__(self) -> str:
        addresses = self._addresses()
        first = _redact.address(addresses[0])
        what = first if len(addresses) == 1 else f"{first} and {len(addresses) - 1} more"
        size, shards = None if self._rows_wanted else self._spec["batch_size"], self._opened["shards"]
        return f"{type(self).__name__}({what!r}, batch_size={size}: {self.size} rows in {shards} shard{'' if shards == 1 else 's'})"
