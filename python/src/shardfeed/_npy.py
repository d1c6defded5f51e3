"""Arrays: the bytes of numpy's files in a column as tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._args._arguments import arguments
from ._args._checks import got, is_whole
from ._args._features import dtype_name
from .errors import OptionError

_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")


@arguments
@dataclass(frozen=True)
class Npy:
    """The arrays in a column of npy files, as ``numpy.save`` writes them and petastorm's NdarrayCodec
    stores them; or of npz files with one array, as its CompressedNdarrayCodec does.

    Args:
        shape (int or sequence of int): of each array.
        dtype (str, numpy or torch dtype): of each array.
    """

    shape: Sequence[int] | int
    dtype: Any

    def __post_init__(self) -> None:
        self.spec()

    def spec(self) -> dict[str, Any]:
        """The engine's form."""
        shape = (self.shape,) if is_whole(self.shape) else self.shape
        if not isinstance(shape, (list, tuple, np.ndarray)) or not len(shape) or not all(is_whole(n) and n > 0 for n in shape):
            raise OptionError(f"shape of Npy must be whole numbers of at least 1, as in (3, 4), {got(self.shape)}")
        name = dtype_name("dtype of Npy", self.dtype, _DTYPES)
        if len(shape) > 32 or math.prod(map(int, shape)) * np.dtype(name).itemsize > 2**31 - 1:
            raise OptionError(f"shape of Npy must have at most 32 dimensions and less than 2 GiB, {got(self.shape)}")
        return {"array": {"shape": [int(n) for n in shape], "dtype": name}}
