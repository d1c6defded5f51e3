"""Iterations of a data set: how one starts, and what the engine says of it."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from . import _rows
from ._audit import Delivery
from ._batch import Batch, marked_rows
from ._engine import _replicas
from ._engine._connection import Connection
from ._iterator import BatchIterator, Place
from ._resumable import Resumable
from ._transform import Function, Functions, MappedIterator
from ._waited import OPEN
from ._warn import MixingWarning, PaddingWarning, warn
from .errors import ShardfeedError, nearer


class Iterated(Resumable):
    """A data set over which one can iterate."""

    def _forget(self) -> None:
        super()._forget()
        self._engine_pid = 0  # of the last iteration
        self._said_padding = self._said_order = False

    def _iterate(self, *more: Function) -> Iterator[Any]:
        """Starts an iteration, with more functions after map and filter.

        A batch for which one of them fails does not count.
        """
        if self._nothing_left():
            return iter(())
        source: Any = self._rows() if self._rows_wanted else self._batches()
        functions = (*self._transforms, *more)
        return MappedIterator(source, Functions(functions, self.rank)) if functions else source

    def _rows(self) -> _rows.RowIterator:
        batches = self._batches(bundle=_rows.BUNDLE)
        world_size = self._ranks()[1]
        tail = self._tail(world_size)
        make = marked_rows if self._with_row_valid else Batch.to_rows
        return _rows.RowIterator(batches, make, world_size=world_size, end=self._row_range()[1], tail=tail)

    def _batches(self, *, plain: bool = False, **join: Any) -> BatchIterator:
        """Starts an iteration.

        Plain columns have only dtypes of every tensor library; join adds members to Join.
        """
        self._check_ranks()
        self._refresh()
        share = self._share()
        rank, world_size = share.rank, share.world_size
        connection = self._take()
        start = self._start(connection)
        request = {
            "iteration": uuid.uuid4().hex,
            "worker": 0,
            "workers": 0,
            "rank": rank,
            "world_size": world_size,
            **share.of_join(),
            **self._window.of_join(),
            **start,
            "next": None,
            "bundle": 0,
            "agree": share.agreement(self._agreement()),
            **join,
        }
        connection.opening = self._waited.opening
        self._waited.iterates(rank, world_size, connection.path, self._id)
        try:
            joined = connection.join(seats=self._seats_of(connection, share, start["state"], start["state_serial"]), **request)
            self._waited.spent(OPEN)
            self._joined(joined, rank, world_size)
        except BaseException as e:
            connection.close()
            if isinstance(e, ShardfeedError):
                raise nearer(e)  # noqa: B904 - the same error
            raise
        connection.read_only = share.replicas > 1 and not plain  # torch knows no tensors that cannot be written to
        delivery = None if request["workers"] else Delivery(joined, rank, world_size, self._carried_audit())
        place, after = Place(joined["state"], delivery), {**joined["state"], **joined["next"]}
        layout, nulls = self._laid_out(joined["schema"], plain=plain, files=request.get("image_cpu_share") is not None)
        batches = BatchIterator(
            connection,
            place,
            layout,
            nulls,
            self._give_back,
            self._waited,
            explain=self._explain,
            told=self._waits_told,
            rank=rank,
            bundle=int(joined.get("bundle") or 1),
        )
        batches.ended = self._audited
        batches.output_bytes = int(joined.get("output_bytes") or 0)
        engine, batches_of = int(connection.welcome["pid"]), weakref.ref(batches)
        # No calls from here on: an interrupt strikes before the iteration counts, or after.
        self._pending_state = self._pending_epoch = None
        self._place, self._engine_pid, self._after, self._batches_of = place, engine, after, batches_of
        return batches

    def _carried_audit(self) -> list[dict[str, Any]]:
        """The audit's records that the next iteration continues: of the loaded state, else of the last
        iteration.
        """
        if self._pending_state is not None:
            return self._carried_records
        place = self._place
        if place is None or place.delivery is None or not place.delivery.is_over(place.after):  # an epoch that was left early
            return []
        return place.records(place.after, place.total)

    def _seats_of(self, connection: Connection, share: _replicas.Share, state: Mapping[str, Any] | None, serial: str) -> list[int] | None:
        """The seats of an iteration that starts with a state; None for ranks that do not meet."""
        return None

    def _start(self, connection: Connection) -> dict[str, Any]:
        """The members of Join for the start of the iteration."""
        state, state_serial = self._pending_state or self._carried(connection) or (None, "")
        epoch, epoch_serial = self._pending_epoch or (None, "")
        return {"state": state, "state_serial": state_serial, "epoch": epoch, "epoch_serial": epoch_serial}

    def _carried(self, connection: Connection) -> tuple[dict[str, Any], str] | None:
        """The state with which a new engine continues, and its serial.

        It does not know the epochs before, nor the order of a loaded state. None means that the
        engine knows.
        """
        if self._after is None or self._engine_pid == int(connection.welcome["pid"]):
            return None
        epoch = {} if self._pending_epoch is None else {"epoch": self._pending_epoch[0], "position": 0}
        return {**self._after, **epoch}, uuid.uuid4().hex

    def _asked(self, connection: Connection) -> dict[str, Any]:
        state, serial = self._carried(connection) or (None, "")
        return {**self._window.of_join(), "state": state, "state_serial": serial}

    def _joined(self, joined: Mapping[str, Any], rank: int, world_size: int) -> None:
        """Notes what the engine says about an iteration before its first batch."""
        steps = int(joined["steps"])
        self._steps[rank, world_size] = steps
        self._warn_of_order(joined)
        padding = steps * self._spec["batch_size"] * world_size - self.size
        if self._tail(world_size) != "pad" or padding <= 0 or self._share().job_rank != 0 or self._with_row_valid or self._said_padding:
            return
        self._said_padding = True
        where = f" over all {world_size} ranks" if world_size > 1 else ""
        what = "rows" if self._spec["bucket"] is None else "batches"
        warn(
            f"shardfeed: the last of {steps} steps has {padding} {what} of padding{where}, which repeat other rows: "
            f"{self._padding_mask()}; drop_last=True leaves the step out",
            PaddingWarning,
        )

    def _warn_of_order(self, joined: Mapping[str, Any]) -> None:
        """Passes on the engine's warnings about the order, once for all ranks."""
        if self._share().job_rank != 0 or self._said_order:
            return
        for text in joined.get("warnings") or ():
            self._said_order = True
            warn(f"shardfeed: {text}", MixingWarning)

    def _padding_mask(self) -> str:
        """Names the mask of padding, for errors."""
        if self._rows_wanted:
            return 'with_row_valid=True adds row["_row_valid"], which is False for them'
        return "batch.row_valid is False for them"
