"""grain: a data set as the source of a pipeline, with grain's exact states.

::

    source = shardfeed.grain.Source("s3://bucket/table", batch_size=256, seed=7, epochs=None)
    batches = iter(source.map(augment))
    state = batches.get_state()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grain

from . import _state
from ._args._checks import number, type_name
from ._args._types import Address
from ._batch import Batch
from ._dataset import StreamingDataset
from ._documented import documented
from ._engine import _launcher
from ._transform import Collate
from .errors import OptionError, StateError

__all__ = ["Source"]

_STATE = "shardfeed"


@documented
class Source(grain.IterDataset):
    """Batches of a data set as dicts of arrays, or rows as dicts with ``batch_size=None``.

    Each ``iter()`` starts with the first epoch. ``get_state`` of an iterator is the position after
    its last element, and ``set_state`` continues there, on any number of ranks.

    With ``mp_prefetch`` the workers share the rows of this rank: each row still comes once, in
    another order than without workers, and a state needs the same number of workers.

    Args:
        source (str, Path, list of them, or StreamingDataset): what to read, as the uri of a
            :class:`shardfeed.StreamingDataset`, or a data set, which keeps its own epochs. It is
            left out if sources is given.
        epochs (int or None, default 1): how many epochs to read, each in another order. None never
            ends. grain's RepeatIterDataset repeats one order.
        options: the arguments of a data set, with batch_size; not allowed with a StreamingDataset.
    """

    def __init__(self, source: Address | StreamingDataset[Any] | None = None, *, epochs: int | None = 1, **options: Any) -> None:
        super().__init__()
        if isinstance(source, StreamingDataset):
            if options:
                raise TypeError(f"Source takes no {', '.join(options)} beside a data set: give them to the data set")
            self.dataset: StreamingDataset[Any] = source._copy()
        elif source is None and "sources" not in options:
            raise TypeError("Source needs source: an address such as 's3://bucket/path', a path, a list of them, or a data set")
        else:
            make: Callable[..., StreamingDataset[Any]] = StreamingDataset
            self.dataset = make(source, **options)
        self.epochs = None if epochs is None else number("epochs", epochs)
        self._worker = 0, 1  # which of how many

    def __iter__(self) -> grain.DatasetIterator:
        return _Iterator(self._divided() if self._worker[1] > 1 else self.dataset._copy(), self.epochs)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Makes this the part of one worker; grain calls it in the worker's process."""
        if sequential_slice:
            raise OptionError("sequential_slice must be False: a worker would read a part of the data alone, and shuffle within it")
        self._worker = sl.start or 0, sl.step or 1

    def _divided(self) -> StreamingDataset[Any]:
        """The part of a worker: a rank of its own, in an epoch of the same rows."""
        if self.dataset._share().replication > 1:
            raise OptionError("mp_prefetch needs num_workers=1 beside replication or mesh: give the source rank and world_size instead")
        rank, world_size = self.dataset.rank, self.dataset.world_size
        worker, workers = self._worker
        part: StreamingDataset[Any] = self.dataset._copy()
        part._spec = {**part._spec, "tail": part._tail(world_size)}
        part._window = part._window.divided(workers)
        part._rank_given = rank * workers + worker, world_size * workers
        part._agree = f"{part._agree} worker {worker}"  # workers are compared only with other ranks': they differ in their step
        if part._pending_state is None:  # the order follows the trainer's world size, in which grain takes the first state
            part.load_state_dict(self.dataset.state_dict())
        return part

    def __getstate__(self) -> dict[str, Any]:
        """What a worker's process gets, with the rank, which it cannot find out."""
        dataset, place = self.dataset, _launcher.place()
        if dataset._rank_given == (None, None) and dataset._mesh is None and place is not None:
            dataset = dataset._copy()
            dataset._rank_given = place.rank, place.world_size
        return {**self.__dict__, "dataset": dataset}

    def __len__(self) -> int:
        """Elements of an epoch on this rank."""
        return len(self.dataset)

    def __str__(self) -> str:
        return f"shardfeed.grain.Source({self.dataset!r}, epochs={self.epochs})"

    __repr__ = __str__


class _Iterator(grain.DatasetIterator):
    """The epochs of a source in turn."""

    def __init__(self, dataset: StreamingDataset[Any], epochs: int | None) -> None:
        super().__init__()
        self._dataset, self._epochs = dataset, epochs
        self._batches: Iterator[Any] | None = None

    def __next__(self) -> Any:
        self._assert_not_closed()
        while self._batches is not None or self._another():
            self._batches = self._batches or self._dataset._iterate(Collate(self._element, "Source"))
            for element in self._batches:
                return element
            self._batches = None
        raise StopIteration

    def _another(self) -> bool:
        """Whether an epoch is left to read."""
        return self._epochs is None or int(_state.unpack(self._dataset.state_dict())["epoch"]) < self._epochs

    def _element(self, element: Any) -> Any:
        """A batch as a dict, which grain's functions know."""
        if not isinstance(element, Batch):
            return element
        columns = {name: element[name] for name in element}
        return {**columns, "_row_valid": element.row_valid} if self._dataset._with_row_valid else columns

    def get_state(self) -> dict[str, Any]:
        """The position of the pipeline: after the last element."""
        return {_STATE: self._dataset.state_dict()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Makes the next element the one after it."""
        if not isinstance(state, Mapping) or _STATE not in state:
            what = f"the keys {', '.join(map(str, state))}" if isinstance(state, Mapping) else type_name(state)
            raise StateError(f"the state of a shardfeed.grain.Source has the key {_STATE!r}, got {what}: it was taken of another pipeline")
        self._end()
        self._dataset.load_state_dict(state[_STATE])

    def close(self) -> None:
        """Ends the iteration."""
        super().close()
        self._end()

    def _end(self) -> None:
        batches, self._batches = self._batches, None
        getattr(batches, "close", lambda: None)()

    def __str__(self) -> str:
        return "shardfeed.grain.Source"
