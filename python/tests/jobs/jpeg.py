"""The jobs of the tests of JPEGs on the GPU, as those of cuda.py."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cuda
import torch
from jpegs import Rows, furthest

from shardfeed.torch._jpeg import _decoder, _driver, _kernels
from shardfeed.torch._jpeg._backends import Refused
from shardfeed.torch._jpeg._decoder import Decoder
from shardfeed.torch._jpeg._rows import Format

DEVICE = torch.device("cuda:0")


def left() -> int:
    """Libraries and states of nvJPEG that were not closed."""
    return int(ctypes.CDLL(None).fakenvjpeg_left())


def read(paths: list[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in paths]


def batches(paths: list[str], count: int, given: dict[str, Any], finished: list[int], lost: list[int]) -> dict[str, Any]:
    """Batches of random sizes, each in memory of its own, compared when all have been started."""
    form, files = Format(**{"height": 20, "width": 24} | given), read(paths)
    decoder = Decoder(DEVICE)
    started = []
    for i in range(count):
        some: list[bytes | None] = [None if k in lost else file for k, file in enumerate(files[: len(files) - i % 3])]
        rows = Rows.of(some, form, seed=i, finished=finished)
        started.append((rows, decoder.decode(rows.values, rows.offsets, rows.rows, form)))
    decoder.close()
    worst = max(furthest(found, rows.want) for rows, found in started)
    return {"worst": worst, "left": left(), "hardware": decoder.hardware}


def small_memory(paths: list[str]) -> dict[str, Any]:
    """Decoded images of a batch do not fit into memory together."""
    _decoder._PLANES = 30_000
    return batches(paths, 4, {}, [1], [2])


def normalised(paths: list[str]) -> float:
    """The largest difference of values of 0 to 255 that are normalised to halves."""
    form = Format(20, 24, torch.float16, True, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))
    plain = Format(20, 24, channels_last=True)
    rows = Rows.of(read(paths), plain)
    decoder = Decoder(DEVICE)
    found = decoder.decode(rows.values, rows.offsets, rows.rows, form)
    decoder.close()
    values = (found.cpu().float() * torch.tensor(form.std) + torch.tensor(form.mean)) * 255
    return float((values - rows.want.float()).abs().max())


def refused(paths: list[str], count: int) -> dict[str, Any]:
    """Images that nvJPEG refuses, in some of the batches."""
    form, files = Format(20, 24), read(paths)
    decoder, answers, worst = Decoder(DEVICE), [], 0
    for i in range(count):
        rows = Rows.of(files, form, seed=i, finished=[0])
        try:
            found = decoder.decode(rows.values, rows.offsets, rows.rows, form)
            decoder.stream.synchronize()
            worst = max(worst, furthest(found, rows.want))
        except Refused as e:
            answers.append([e.images, e.reason])
    decoder.close()
    return {"refused": answers, "worst": worst, "left": left()}


def failing(paths: list[str], count: int) -> dict[str, Any]:
    """A call fails; later batches are whole."""
    form, files = Format(20, 24), read(paths)
    decoder, errors, worst = Decoder(DEVICE), [], 0
    for i in range(count):
        rows = Rows.of(files, form, seed=i)
        try:
            found = decoder.decode(rows.values, rows.offsets, rows.rows, form)
            decoder.stream.synchronize()
            worst = max(worst, furthest(found, rows.want))
        except RuntimeError as e:
            errors.append(str(e))
    decoder.close()
    return {"errors": errors, "worst": worst, "left": left()}


def steady(paths: list[str]) -> dict[str, Any]:
    """Many batches, whose memory the first ones have taken."""
    form, files = Format(20, 24, jitter=True), read(paths)
    decoder = Decoder(DEVICE)
    rows = [Rows.of(files[: len(files) - i % 3], form, seed=i, finished=[2]) for i in range(6)]
    for i in range(300):
        column = rows[i % len(rows)]
        decoder.decode(column.values, column.offsets, column.rows, form)
    decoder.close()
    return {"left": left()}


def overwritten(paths: list[str]) -> None:
    """A planted fault: the slot is used again at once."""
    form = Format(20, 24)
    rows = Rows.of(read(paths), form)
    decoder = Decoder(DEVICE)
    decoder.decode(rows.values, rows.offsets, rows.rows, form)
    rows.values.zero_()
    decoder.close()


def not_waited_for(paths: list[str]) -> None:
    """A planted fault: a state is used again while it works."""
    _decoder._Lane.wait = lambda lane, memory: None  # type: ignore[method-assign]
    batches(paths, 6, {}, [], [])


if __name__ == "__main__":
    _driver.compiled(_kernels.text(), 9, 0)  # once for all jobs
    cuda.serve(globals())
