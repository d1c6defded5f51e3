"""JPEGs for tests of the GPU's decoding: batches as the engine sends them, and results."""

from __future__ import annotations

import dataclasses
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import torch

from shardfeed.torch._jpeg import _rows
from shardfeed.torch._jpeg._rows import Format


def store(path: Path, files: Sequence[bytes]) -> Path:
    """Writes the pixels that the fake nvJPEG decodes files to."""
    with path.open("wb") as out:
        for file in files:
            pixels = np.asarray(pictures.decoded(file))
            height, width, _ = pixels.shape
            out.write(struct.pack("=4I", zlib.adler32(file), len(file), width, height) + pixels.tobytes() + bytes(-pixels.size % 4))
    return path


@dataclasses.dataclass
class Rows:
    """A column of images on the host."""

    values: torch.Tensor
    offsets: torch.Tensor
    rows: torch.Tensor
    want: torch.Tensor  # of uint8

    @classmethod
    def of(
        cls, files: Sequence[bytes | None], form: Format, seed: int = 0, finished: Sequence[int] = (), samplings: Mapping[int, int] = {}
    ) -> Rows:
        """Files cropped at random; None is a lost row. The rows of finished come as pixels, the
        ones of samplings are subsampled in another way.
        """
        rng = np.random.default_rng(seed)
        rows = np.zeros((len(files), _rows.NUMBERS), np.int32)
        want = torch.zeros((len(files), *form.shape), dtype=torch.uint8)
        pieces = []
        for i, file in enumerate(files):
            if file is None:
                rows[i, _rows.KIND] = _rows.LOST
                pieces.append(b"")
                continue
            want[i], numbers = _cropped(file, form, rng)
            rows[i, : len(numbers)] = numbers
            piece = want[i].numpy().tobytes() if i in finished else file
            if i in finished:
                rows[i] = 0
                rows[i, _rows.WIDTH] = 1234  # microseconds
            else:
                rows[i, [_rows.COMPONENTS, _rows.SAMPLING]] = 3, samplings.get(i, 0x22)
            rows[i, _rows.LENGTH] = len(piece)
            pieces.append(piece + bytes(-len(piece) % 16))
        offsets = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int32)
        values = torch.empty(max(1, int(offsets[-1])), dtype=torch.uint8, pin_memory=True)
        values[: int(offsets[-1])] = torch.frombuffer(bytearray(b"".join(pieces) or b"0"), dtype=torch.uint8)[: int(offsets[-1])]
        return cls(values, torch.from_numpy(offsets), torch.from_numpy(rows), want)


def _cropped(file: bytes, form: Format, rng: np.random.Generator) -> tuple[torch.Tensor, list[Any]]:
    pixels = torch.from_numpy(np.array(pictures.decoded(file))).permute(2, 0, 1)
    _, height, width = pixels.shape
    x0, y0 = int(rng.integers(0, width // 2)), int(rng.integers(0, height // 2))
    x1, y1 = int(rng.integers(x0 + 1, width + 1)), int(rng.integers(y0 + 1, height + 1))
    flip = int(rng.integers(0, 2))
    mode = "bicubic" if form.cubic else "bilinear"
    want = torch.nn.functional.interpolate(pixels[None, :, y0:y1, x0:x1], (form.height, form.width), mode=mode, antialias=True)[0]
    want = want.flip(2) if flip else want
    numbers = [_rows.ENCODED, width, height, 1, x0, y0, x1, y1, form.width, form.height, 0, 0, flip]
    return want.permute(1, 2, 0) if form.channels_last else want, numbers


def furthest(found: torch.Tensor, want: torch.Tensor) -> int:
    """The largest difference of two tensors of uint8."""
    return int((found.cpu().int() - want.int()).abs().max())
