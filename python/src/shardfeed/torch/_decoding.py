"""Images of batches decoded on a CUDA device, beside the copies of the other columns."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import torch

from ._batch import Batch
from ._device import Event, Streams, say_once
from ._jpeg._rows import LENGTH, Format
from ._jpeg._worker import Decoded, Images, Worker
from ._layout import ROW_VALID
from ._tensors import taken

Ask = Callable[..., Mapping[str, Any]]

SUFFIX = "\x00device"  # of the column with the numbers of images
ROWS = "\x00row"  # the column with the numbers of rows


class _Ahead(NamedTuple):
    """A batch whose images are decoded."""

    host: Batch
    columns: dict[str, Images]  # of it
    rest: Any  # the other columns, on the device
    decoded: Future[Decoded]


class Decoding(Streams):
    """Streams that also decode images, in a worker's thread.

    ask sends the engine a request, as Connected._session does: it makes the images that nvJPEG
    refuses. Rows that it cannot make leave the batch; with masks they go to its end.
    """

    def __init__(self, device: torch.device, worker: Worker, formats: Mapping[str, Format], ask: Ask, *, masks: bool) -> None:
        super().__init__(device)
        self._worker = worker
        self._formats = formats
        self._ask = ask
        self._masks = masks

    def copy(self, batch: Any) -> tuple[Any, Event]:
        images = dict(_images(batch, self._formats))
        if not images:
            say_once("no column of images is one that the device decodes: they are the processors'")
            return super().copy(batch)
        rest, arrived = super().copy(_without(batch, images))
        return _Ahead(batch, images, rest, self._worker.start(images, arrived)), arrived

    def hand_over(self, batch: Any, arrived: Event) -> tuple[Any, Event]:
        """As in Streams. It waits until the images' work has been started."""
        if not isinstance(batch, _Ahead):
            return super().hand_over(batch, arrived)
        images, refused, done = batch.decoded.result()
        if not refused:
            return super().hand_over(_with(batch.rest, images), done)
        with torch.cuda.stream(self._copies):
            self._copies.wait_event(done)
            lost = {row for name, rows in refused.items() for row in self._mend(batch, name, rows.tolist(), images[name])}
            rest = batch.rest
            if lost:
                order = _order(batch.host.rows, lost, masks=self._masks)
                rest, _ = super().copy(_without(_moved(batch.host, order, lost), batch.columns))
                images = {name: _gathered(column, order) for name, column in images.items()}
            done = self._copies.record_event()
        return super().hand_over(_with(rest, images), done)

    def _mend(self, batch: _Ahead, name: str, rows: list[int], images: torch.Tensor) -> list[int]:
        """Has the engine make images of a column, and returns the rows that are lost."""
        column, lost = batch.columns[name], []
        images.record_stream(self._copies)
        for row in rows:
            start, numbers = int(column.offsets[row]), column.rows[row].tolist()
            file = column.values[start : start + numbers[LENGTH]].numpy().tobytes()
            number = int(batch.host[ROWS][row])
            image = self._ask(refused={"column": name, "row": number, "task": numbers, "file": b64encode(file).decode()})["image"]
            if image is None:
                lost.append(row)
                continue
            pixels = torch.frombuffer(bytearray(b64decode(image)), dtype=torch.uint8).view(column.form.dtype).view(column.form.shape)
            images[row].copy_(pixels.pin_memory(), non_blocking=True)
        return lost

    def settle(self) -> None:
        self._worker.settle()
        super().settle()


def _order(rows: int, lost: set[int], *, masks: bool) -> list[int]:
    """The rows that stay, in their order; with masks the lost ones follow."""
    good = [row for row in range(rows) if row not in lost]
    return good + sorted(lost) if masks else good


def _moved(batch: Batch, order: list[int], lost: set[int]) -> Batch:
    """A batch on the host with its rows in another order. Lost ones, at the end, do not count."""
    places = torch.tensor(order, dtype=torch.int64)
    moved = Batch({name: taken(column, places) for name, column in batch.items()})
    if len(order) == batch.rows:
        moved[ROW_VALID][-len(lost) :] = False
    return moved


def _gathered(images: torch.Tensor, order: list[int]) -> torch.Tensor:
    """The images in another order, by copies of runs of rows."""
    out = torch.empty((len(order), *images.shape[1:]), dtype=images.dtype, device=images.device)
    first = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or order[end] != order[end - 1] + 1:
            out[first:end].copy_(images[order[first] : order[first] + end - first], non_blocking=True)
            first = end
    return out


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
