"""The row numbers of an epoch of a MapLoader: what a sampler yields, in lists of a batch each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .._args._checks import Problems, flag, got, number
from ..errors import StateError
from ..samplers import Sampler


def exclusions(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: Any, problems: Problems) -> None:
    """Adds a problem for arguments that exclude each other, as in torch.utils.data.DataLoader."""
    if shuffle is not None:
        problems.of(flag, "shuffle", shuffle)
    problems.of(flag, "drop_last", drop_last)
    if batch_size is not None:
        problems.of(number, "batch_size", batch_size, most=2**21)
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None and not hasattr(given, "__iter__") and not hasattr(given, "__getitem__"):
            problems.found.append(f"{name} must be an iterable of row numbers, {got(given)}")
    if sampler is not None and shuffle:
        problems.found.append("sampler excludes shuffle=True: the sampler decides the order")
    if batch_sampler is not None:
        also = {"batch_size": batch_size != 1, "shuffle": bool(shuffle), "sampler": sampler is not None, "drop_last": bool(drop_last)}
        if names := [name for name, given in also.items() if given]:
            problems.found.append(f"batch_sampler excludes {', '.join(names)}: it decides which rows make a batch; leave them out")
    elif batch_size is None and drop_last:
        problems.found.append("batch_size=None excludes drop_last=True: there are no batches to drop")


def whole(data: Any) -> Any:
    """The data set of which data is a subset, or a subset of one; else data itself."""
    while isinstance(data, torch.utils.data.Subset):
        data = data.dataset
    return data


def chosen(data: Any) -> np.ndarray | None:
    """The numbers of a subset's rows in the whole data set; None for all rows."""
    if not isinstance(data, torch.utils.data.Subset):
        return None
    rows, of = np.asarray(data.indices, np.int64), chosen(data.dataset)
    return rows if of is None else of[rows]


def _of(rows: np.ndarray, lists: Iterator[Any]) -> Iterator[Any]:
    """The numbers of rows at the places that samplers name."""
    for places in lists:
        yield rows[np.asarray(places, np.int64)]


class Place(NamedTuple):
    """The start of an epoch, or a position in it."""

    epoch: int
    batches: int  # that were handed out
    sampler: Mapping[str, Any] | None  # its state where the epoch began
    sampler_epoch: int | None  # its epoch then


class Lists:
    """The lists of row numbers of one epoch after another."""

    def __init__(self, sampler: Any, batch_sampler: Any, batch_size: int | None, drop_last: bool, rows: np.ndarray | None = None) -> None:
        """rows are the numbers of a subset's rows, of which samplers name the places."""
        self._rows = rows
        self._sampler = sampler
        self._batch_sampler = batch_sampler
        self._batch_size = batch_size
        self._drop_last = drop_last

    def __len__(self) -> int:
        if self._batch_sampler is not None:
            return len(self._batch_sampler)
        rows = len(self._sampler)
        if self._batch_size is None:
            return rows
        return rows // self._batch_size if self._drop_last else -(-rows // self._batch_size)

    def begin(self, place: Place) -> tuple[Place, Iterator[Any]]:
        """Returns the place where an epoch really starts, and the lists that are still to come.

        A place that was loaded has the sampler's state.
        """
        source = self._source()
        if place.sampler is not None:
            source.load_state_dict(place.sampler)
        if isinstance(source, Sampler):
            source.set_epoch(place.epoch)
        elif place.sampler_epoch is not None:
            source.set_epoch(place.sampler_epoch)
        start = place._replace(sampler=_state(source), sampler_epoch=_epoch(source))
        lists = itertools.islice(self._lists(), place.batches, None)
        return start, lists if self._rows is None else _of(self._rows, lists)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of a sampler that has set_epoch."""
        source = self._source()
        if hasattr(source, "set_epoch"):
            source.set_epoch(epoch)

    def check_resumes(self) -> None:
        """Refuses a sampler that cannot repeat its epoch."""
        source = self._source()
        plain = isinstance(source, (Sequence, np.ndarray, torch.Tensor, torch.utils.data.SequentialSampler))
        if not plain and not _has_state(source) and not hasattr(source, "set_epoch"):
            raise StateError(
                f"{type(source).__name__} cannot repeat the rows of an epoch: a resume needs a sampler with state_dict and "
                "load_state_dict, or with set_epoch, such as those of shardfeed.samplers"
            )

    def _source(self) -> Any:
        """What decides the order: the sampler, or that within batch samplers."""
        source = self._sampler if self._batch_sampler is None else self._batch_sampler
        while not _has_state(source) and not hasattr(source, "set_epoch") and hasattr(source, "sampler"):
            source = source.sampler
        return source

    def _lists(self) -> Iterator[Any]:
        if self._batch_sampler is not None:
            return _drawn(self._batch_sampler)
        rows = _drawn(self._sampler)
        return rows if self._batch_size is None else self._batched(rows, self._batch_size)

    def _batched(self, rows: Iterator[int], size: int) -> Iterator[list[int]]:
        while rows_of_batch := list(itertools.islice(rows, size)):
            if len(rows_of_batch) < size and self._drop_last:
                return
            yield rows_of_batch


def _drawn(sampler: Any) -> Iterator[Any]:
    """The items of a sampler, where a StopIteration of a function of map or filter is an error."""
    items = iter(sampler)
    return _checked(items) if isinstance(items, (map, filter)) or type(items).__module__ == "itertools" else items


def _checked(items: Iterator[Any]) -> Iterator[Any]:
    while True:
        try:
            item = next(items)
        except StopIteration as e:
            below = e.__traceback__ and e.__traceback__.tb_next
            if below is not None and (raised := below.tb_frame.f_code).co_name != "__next__":
                raise RuntimeError(f"a function of the sampler ({raised.co_name}) raised StopIteration, which would end the epoch") from e
            return
        yield item


def _has_state(source: Any) -> bool:
    return hasattr(source, "state_dict") and hasattr(source, "load_state_dict")


def _state(source: Any) -> Mapping[str, Any] | None:
    return source.state_dict() if _has_state(source) else None


def _epoch(source: Any) -> int | None:
    epoch = getattr(source, "epoch", None) if hasattr(source, "set_epoch") else None
    return None if epoch is None else int(epoch)
