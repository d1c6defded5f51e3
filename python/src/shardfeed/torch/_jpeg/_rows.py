"""The numbers that come with each image, and the shape of the tensor that they become."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

# Columns of the numbers; kernel.cu has the same.
KIND, WIDTH, HEIGHT, COMPONENTS, SAMPLING, PLACE, LENGTH, NUMBERS = 0, 1, 2, 21, 22, 22, 23, 24
FINISHED, ENCODED, LOST = 0, 1, 2  # kinds: pixels of the result, a JPEG, a row of zeros

_SAMPLINGS = (0x11, 0x12, 0x21, 0x22)  # of a first component, across and down, that hardware decodes

PITCH = 32  # a decoded line's bytes are a multiple of it
_UNIT = 256  # and an image's of this

_BYTES = {torch.uint8: 1, torch.float16: 2, torch.bfloat16: 2, torch.float32: 4}


class CFormat(ctypes.Structure):
    """The Format of kernel.cu."""

    _fields_ = tuple((name, ctypes.c_int) for name in ("height", "width", "bytes", "channels_last", "cubic", "fill"))


@dataclass(frozen=True)
class Format:
    """What is the same for all images of a column."""

    height: int
    width: int
    dtype: torch.dtype = torch.uint8
    channels_last: bool = False
    cubic: bool = False
    fill: tuple[int, int, int] = (0, 0, 0)
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    jitter: bool = False

    @classmethod
    def of(cls, spec: dict[str, Any]) -> Format:
        """The format of a column of the engine's form, as Image.spec returns it."""
        height, width = spec["size"]
        normal = {name: tuple(spec[name]) for name in ("mean", "std") if spec.get(name)}
        return cls(
            height,
            width,
            getattr(torch, spec["dtype"]),
            spec["layout"] == "HWC",
            spec["interpolation"] == "bicubic",
            tuple(spec.get("fill") or (0, 0, 0)),
            jitter=bool(spec.get("color_jitter")),
            **normal,
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """The dimensions of an image."""
        return (self.height, self.width, 3) if self.channels_last else (3, self.height, self.width)

    @property
    def bytes(self) -> int:
        """The bytes of an image."""
        return 3 * self.height * self.width * _BYTES[self.dtype]

    @property
    def numbers(self) -> CFormat:
        red, green, blue = self.fill
        color = red | green << 8 | blue << 16
        return CFormat(self.height, self.width, _BYTES[self.dtype], self.channels_last, self.cubic, color)

    def elements(self) -> np.ndarray:
        """The bits of an element for each value of each channel: int32 [3, 256]."""
        values = torch.arange(256)
        if self.dtype == torch.uint8:
            return np.tile(values.numpy().astype(np.int32), (3, 1))
        mean, std = (torch.tensor(of, dtype=torch.float32)[:, None] for of in (self.mean, self.std))
        elements = ((values.float() / 255 - mean) / std).to(self.dtype)
        kind = torch.int32 if self.dtype == torch.float32 else torch.int16
        return (elements.contiguous().view(kind).to(torch.int32) & (-1 if kind == torch.int32 else 0xFFFF)).numpy()


def for_hardware(numbers: np.ndarray) -> np.ndarray:
    """Whether the GPU's hardware takes the subsampling of each image."""
    return (numbers[:, COMPONENTS] == 1) | np.isin(numbers[:, SAMPLING], _SAMPLINGS)


def decoded(widths: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pitch, the bytes of a plane and the bytes of three planes of images of these sizes."""
    pitches = (widths.astype(np.int64) + PITCH - 1) // PITCH * PITCH
    planes = pitches * heights
    return pitches, planes, (3 * planes + _UNIT - 1) // _UNIT * _UNIT


def set_places(rows: np.ndarray, which: np.ndarray, places: np.ndarray) -> None:
    """Writes where the bytes of rows are."""
    rows[which, PLACE] = (places & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    rows[which, PLACE + 1] = (places >> 32).astype(np.int32)
