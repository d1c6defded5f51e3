"""Where the batches of a MapLoader come from: this process, or torch workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from .._calls import call, interrupted, name_of
from .._engine._connection import Connection
from .._engine._raw_batch import RawBatch
from .._engine._ring import Ring
from .._map import MapDataset
from .._waited import HANDOVER, MAP, Waited
from ..errors import DataError, ShardfeedError, nearer
from ._device import holds
from ._layout import TensorLayout
from ._map_lists import Place
from ._tensors import rows
from ._workers import _torch_worker

_END = object()  # of the lists
Collate = Callable[[Any], Any] | None

_MOST_ROWS = 2 << 20  # that may be asked for ahead


class Tensors:
    """Makes tensors of rows by number."""

    def __init__(self, dataset: MapDataset, files: Sequence[Mapping[str, Any]] | None = None) -> None:
        """files is the schema of batches with files for a device."""
        layout, self._nulls = dataset._laid_out(plain=True, files=files)
        self._layout = TensorLayout(layout, (), row_valid=dataset._masks)

    def make(self, raw: RawBatch, single: bool) -> Any:
        """A batch, or its only row."""
        self._nulls.see(raw.nodes)
        if single and not raw.rows:
            raise DataError("the row is lost: on_error='skip' leaves lost rows out of batches, and this is a single row")
        batch = self._layout.tensors(raw)
        return next(rows(batch)) if single else batch


class Lender(Protocol):
    """Has connections for epochs."""

    def _take(self) -> Connection: ...

    def _give_back(self, connection: Connection) -> None: ...

    @property
    def _waited(self) -> Waited: ...


def numbers(dataset: MapDataset, index: Any) -> tuple[np.ndarray, bool]:
    """The row numbers that a sampler yields, and whether it is a single row."""
    array = np.asarray(index)
    return dataset._numbers(array.reshape(1) if array.ndim == 0 else array), array.ndim == 0


class Local:
    """Batches that this process asks the engine for, some ahead, each with the place after it."""

    def __init__(
        self,
        dataset: MapDataset,
        lender: Lender,
        collate: Collate,
        prefetch: int,
        start: Place,
        lists: Iterator[Any],
        image_cpu_share: float | None = None,
    ) -> None:
        self.rings: tuple[Ring, ...] = ()
        self.waited = lender._waited
        self._dataset = dataset
        self._collate = collate
        self._ahead = max(2, prefetch + 1)
        self._place = start
        self._lists = lists
        self._lender = lender
        self._connection = lender._take()
        if image_cpu_share is None:
            self._tensors = Tensors(dataset)
            dataset._begin(self._connection, start.epoch)
        else:
            self._connection.divide(image_cpu_share)  # one that was idle may have another share
            self._tensors = Tensors(dataset, self._connection.map(epoch=start.epoch, image_cpu_share=image_cpu_share)["schema"])
        self._asked: deque[tuple[int, bool]] = deque()  # rows, and whether they are a single one
        self._held: tuple[np.ndarray, bool] | None = None  # rows to ask for once fewer are asked for
        self._failed: Exception | None = None  # of the sampler; raised after the batches before it
        self._ended = False  # the sampler has
        self._over = False  # the connection was given back

    def __next__(self) -> tuple[Any, Place]:
        try:
            raw, single = self._taken()
            place = self._place = self._place._replace(batches=self._place.batches + 1)  # after an error the next batch follows
            ring = raw.ring
            self.rings = () if ring is None else (ring,)
            batch = self._tensors.make(raw, single)
            if self._collate is not None:
                self.waited.spent(HANDOVER)
                batch = call("collate_fn", self._collate, batch)
                self.waited.spent(MAP)
            return batch, place
        except Exception:
            raise
        except BaseException as e:
            self._fail(interrupted(type(e)))
            raise

    def _taken(self) -> tuple[RawBatch, bool]:
        """The rows that were asked for first, and whether they are a single one."""
        try:
            self._ask()
            if not self._asked:
                self._finish()
                raise self._failed or StopIteration
            raw = self._connection.taken()
            self.waited.received(raw)
            if self.waited.trace is not None:
                self.waited.trace.batch(raw)
            _, single = self._asked.popleft()
        except ShardfeedError as e:
            self._fail(e)
            raise nearer(e)  # noqa: B904 - the same error
        return raw, single

    def _fail(self, error: Exception) -> None:
        """Ends the epoch. Further batches raise the error: no loop takes this for the end."""
        self.close()
        self._failed = error

    def _ask(self) -> None:
        """Asks for rows ahead."""
        while not self._ended and len(self._asked) < self._ahead and sum(n for n, _ in self._asked) < _MOST_ROWS // 2:
            try:
                if self._held is None:
                    index = next(self._lists, _END)
                    if index is _END:
                        self._ended = True
                        return
                    self._held = numbers(self._dataset, index)
                array, single = self._held
                if self._asked and sum(n for n, _ in self._asked) + len(array) > _MOST_ROWS:
                    return
                self._held = None
                self._connection.take(array)
            except Exception as e:
                self._ended, self._failed = True, e
                return
            self._asked.append((len(array), single))

    def divide(self, image_cpu_share: float) -> None:
        """Gives the engine another share of the images, in batches that it has not begun."""
        if not self._over:
            self._connection.divide(image_cpu_share)

    @property
    def holds(self) -> int:
        return holds(self.rings)

    def ready(self) -> bool:
        """Whether the next batch, or the end, is there."""
        return not self._asked or self._connection.ready()

    def _finish(self) -> None:
        self._ended = True
        if not self._over:
            self._over = True
            self.waited.ends()
            self._lender._give_back(self._connection)

    def close(self) -> None:
        """Ends the epoch. Rows that were asked for are not waited for."""
        self._ended, self._failed = True, None
        if self._asked:
            self._asked.clear()
            self._connection.wake()  # for another thread that waits on it
            self._connection.close()
        self._finish()


class Whole(torch.utils.data.Dataset[Any]):
    """A MapDataset in torch workers: batches of tensors, collated. An index is an epoch and the rows."""

    def __init__(self, dataset: MapDataset, collate: Collate) -> None:
        self._dataset = dataset
        self._collate = collate
        self._tensors: Tensors | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tensors": None}

    def __getitem__(self, index: Any) -> Any:
        if self._tensors is None:
            _torch_worker.prepare()
            self._tensors = Tensors(self._dataset)
        epoch, listed = index
        array, single = numbers(self._dataset, listed)
        batch = self._tensors.make(self._dataset._raw(array, epoch), single)
        return batch if self._collate is None else self._collated(self._collate, batch)

    def _collated(self, collate: Callable[[Any], Any], batch: Any) -> Any:
        """Calls collate_fn. Its error must be an Exception: others would end the worker."""
        try:
            return call("collate_fn", collate, batch)
        except Exception:
            raise
        except BaseException as e:
            raise RuntimeError(f"collate_fn ({name_of(collate)}) raised {type(e).__name__}: {e}") from e


class Indices:
    """The sampler of torch's loader, which persists from epoch to epoch: the lists of the next one."""

    def __init__(self) -> None:
        self.lists: Iterator[Any] = iter(())

    def __iter__(self) -> Iterator[Any]:
        return self.lists


class Remote:
    """Batches that torch workers make, each with the place after it."""

    def __init__(self, start: Place, batches: Iterator[Any], waited: Waited) -> None:
        self.waited = waited
        self.rings: tuple[Ring, ...] = ()  # the workers have them
        self._place = start
        self._batches = batches

    def __next__(self) -> tuple[Any, Place]:
        place = self._place._replace(batches=self._place.batches + 1)
        try:
            batch = next(self._batches)
        except Exception as e:
            if isinstance(e, StopIteration):
                self.waited.ends()
            self._place = place  # the next batch follows
            raise
        self.waited.spent(MAP)
        self._place = place
        return batch, place

    @property
    def holds(self) -> int:
        return holds(self.rings)

    def ready(self) -> bool:
        return True  # workers work ahead

    def close(self) -> None:
        self._batches = iter(())
