"""Images of batches decoded on a CUDA device, beside the copies of the other columns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import torch

from .._args._locate import RowPlace
from ..errors import DataError, ShardfeedError
from ._batch import Batch
from ._device import Event, Streams, say_once
from ._jpeg._backends import Refused
from ._jpeg._rows import Format
from ._jpeg._worker import Images, Worker

SUFFIX = "\x00device"  # of the column with the numbers of images
ROWS = "\x00row"  # the column with the numbers of rows


class _Ahead(NamedTuple):
    """A batch whose images are decoded."""

    rest: Any
    images: Future[tuple[dict[str, torch.Tensor], Event]]
    rows: torch.Tensor  # their numbers in the list of shards


class Decoding(Streams):
    """Streams that also decode images, in a worker's thread. locate returns the place of a row by
    its number, for errors.
    """

    def __init__(self, device: torch.device, worker: Worker, formats: Mapping[str, Format], locate: Callable[[int], RowPlace]) -> None:
        super().__init__(device)
        self._worker = worker
        self._formats = formats
        self._locate = locate

    def copy(self, batch: Any) -> tuple[Any, Event]:
        images = dict(_images(batch, self._formats))
        if not images:
            say_once("no column of images is one that the device decodes: they are the processors'")
            return super().copy(batch)
        rest, arrived = super().copy(_without(batch, images))
        return _Ahead(rest, self._worker.start(images, arrived), batch[ROWS]), arrived

    def hand_over(self, batch: Any, arrived: Event) -> tuple[Any, Event]:
        """As in Streams. It waits until the images' work has been started."""
        if not isinstance(batch, _Ahead):
            return super().hand_over(batch, arrived)
        try:
            images, done = batch.images.result()
        except Refused as e:
            raise _error(e, [int(batch.rows[i]) for i in e.images], self._locate) from e
        return super().hand_over(_with(batch.rest, images), done)

    def settle(self) -> None:
        self._worker.settle()
        super().settle()


def columns(names: Iterator[str]) -> list[str]:
    """The columns of images among the names of a batch in the engine's form."""
    return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]


def _images(batch: Batch, formats: Mapping[str, Format]) -> Iterator[tuple[str, Images]]:
    for name in columns(iter(batch)):
        bytes_of = batch[name]
        yield name, Images(bytes_of.values, bytes_of.offsets, batch[name + SUFFIX], formats[name])


def _without(batch: Batch, images: Mapping[str, Images]) -> Batch:
    """A batch without its images. Their places are kept."""
    rest = Batch({name: column for name, column in batch.items() if not name.endswith(SUFFIX) and name != ROWS})
    return _with(rest, dict.fromkeys(images))


def _with(batch: Batch, columns: Mapping[str, Any]) -> Batch:
    """A batch with other columns, some of which may be members of structs."""
    changed = Batch(batch)
    for name, column in columns.items():
        if name in changed:
            changed[name] = column
            continue
        inside: Any = changed
        *path, last = _path(changed, name)
        for member in path:
            inside[member] = dict(inside[member])
            inside = inside[member]
        inside[last] = column
    return changed


def _path(columns: Any, name: str) -> list[str]:
    """The names of the structs that a dotted name leads through, and the member's."""
    for member, column in columns.items():
        if member == name:
            return [member]
        if isinstance(column, dict) and name.startswith(f"{member}."):
            return [member, *_path(column, name[len(member) + 1 :])]
    raise KeyError(name)


_FEW = 3  # places in an error


def _error(refused: Refused, rows: list[int], locate: Callable[[int], RowPlace]) -> DataError:
    """The error of images that were refused, which are in these rows."""
    found: list[RowPlace] = []
    with contextlib.suppress(ShardfeedError):  # of an engine that has gone
        found = [locate(row) for row in rows[:_FEW]]
    places = [f"{place.path}: row group {place.row_group}, row {place.row}" for place in found]
    places = places or [f"row {row} of the shards" for row in rows[:_FEW]]
    more = f", and {len(rows) - _FEW} more" if len(rows) > _FEW else ""
    error = DataError(
        f"{', '.join(places)}{more}: column {refused.column!r}: {refused.reason}. The engine's decoder may take what nvJPEG "
        "refuses: image_device='cpu' decodes all images there"
    )
    error.column = refused.column
    if found:
        error.shard, error.row_group = found[0].path, found[0].row_group
    return error
