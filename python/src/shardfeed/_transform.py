"""Functions that the user maps over batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ._args._checks import got, type_name
from ._batch import Batch
from ._calls import ENDS, ended
from ._engine._raw_batch import RawBatch
from ._iterator import BatchIterator
from ._rows import Row, RowIterator
from ._waited import MAP, Waited
from .errors import OptionError


class Function(Protocol):
    """A function of the user's, as an iteration applies it.

    Messages name it by ``what``. The wait of a training for it counts for ``cause``.
    """

    @property
    def cause(self) -> int: ...

    @property
    def what(self) -> str: ...

    @property
    def function(self) -> Callable[..., Any]: ...

    def __call__(self, value: Any, epoch: int, step: int, rank: int, /) -> Any: ...


@dataclass(frozen=True)
class Transform:
    """A function of a batch, and with random of a numpy Generator too.

    The generator depends only on the seed, the epoch, the step and the rank, so that the result is
    the same after a resume.
    """

    what: ClassVar[str] = "the function of map"
    cause: ClassVar[int] = MAP
    function: Callable[..., Any]
    random: bool
    seed: int

    def __call__(self, batch: Any, epoch: int, step: int, rank: int) -> Any:
        if not self.random:
            return self.function(batch)
        return self.function(batch, np.random.default_rng(seed_of(self.seed, epoch, step, rank)))


def seed_of(seed: int, epoch: int, step: int, rank: int) -> int:
    """Returns the seed of a step of a rank, of 64 bits."""
    words = b"".join(n.to_bytes(8, "little") for n in (seed, epoch, step, rank))
    return int.from_bytes(hashlib.blake2b(words, digest_size=8).digest(), "little")


def check_function(function: Any, of: str = "map") -> None:
    if not callable(function):
        raise OptionError(f"{of} needs a function of a batch, got {function!r}")


ROW_VALID = "_row_valid"  # the mask of rows


@dataclass(frozen=True)
class Mask:
    """A function that selects the rows of a batch that count, or decides for one row. The others
    stay, marked as not valid.
    """

    what: ClassVar[str] = "the function of filter"
    cause: ClassVar[int] = MAP
    function: Callable[[Any], Any]

    def __call__(self, value: Any, epoch: int, step: int, rank: int) -> Any:
        if isinstance(value, Batch):
            value._mask(mask_of(self.function(value), value.rows))
            return value
        return masked_row(value, self.function)


def mask_of(kept: Any, rows: int, of: str = "filter") -> np.ndarray:
    """What a function of filter or select returned for a batch, as an array."""
    mask = np.asarray(kept)
    if mask.dtype != np.bool_ or mask.shape != (rows,):
        raise OptionError(f"the function of {of} must return a bool for each of the {rows} rows, got {shape_of(mask)}")
    return mask


def shape_of(mask: Any) -> str:
    return f"{mask.dtype}{list(mask.shape)}" if mask.ndim else f"{mask.dtype} alone"


def masked_row(row: Any, function: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns a row with the function's result as its mask."""
    if not isinstance(row, Mapping) or ROW_VALID not in row:
        raise OptionError(
            f"filter needs a batch or row of the data set with its mask {ROW_VALID!r}, got {type_name(row)}: filter before map, or keep "
            f"{ROW_VALID!r} in the function of map"
        )
    kept = function(row)
    if not isinstance(kept, bool) and (str(getattr(kept, "dtype", "")) not in ("bool", "torch.bool") or kept.ndim):
        raise OptionError(f"the function of filter must return True or False for a row, {got(kept)}")
    return {**row, ROW_VALID: row[ROW_VALID] & bool(kept)}


@dataclass(frozen=True)
class Collate:
    """A function that gets what the transforms made, and makes what is handed out."""

    function: Callable[[Any], Any]
    what: str = "collate_fn"
    cause: int = MAP

    def __call__(self, value: Any, epoch: int, step: int, rank: int) -> Any:
        return self.function(value)


class Functions:
    """The functions of one iteration, which are applied one after another."""

    __slots__ = ("_each", "_rank")

    def __init__(self, each: Sequence[Function], rank: int) -> None:
        self._each = tuple(each)
        self._rank = rank

    def __call__(self, value: Any, epoch: int, step: int, waited: Waited | None = None) -> Any:
        """Applies them, and charges their time if a training waits for it."""
        for function in self._each:
            if waited is not None:
                waited.turns_to(function.cause)
            try:
                value = function(value, epoch, step, self._rank)
            except ENDS as e:
                raise ended(function.what, function.function, e) from e
            if waited is not None:
                waited.spent(function.cause)
        return value


class MappedIterator:
    """Batches or rows of one iteration, with the functions applied to each.

    Several threads may take from it: each batch or row comes once, and the functions run in the
    thread that takes it.
    """

    def __init__(self, source: BatchIterator | RowIterator, functions: Functions) -> None:
        self._source = source
        self._functions = functions

    def __iter__(self) -> MappedIterator:
        return self

    def __next__(self) -> Any:
        source = self._source
        at: Row | RawBatch
        try:
            if isinstance(source, RowIterator):
                at = source.take()
                value = self._functions(at.columns, at.epoch, at.step)
            else:
                at, value = self._batch(source)
            _, after, total = at.moves
        except Exception:
            raise
        except BaseException as e:
            source.interrupted(e)
            raise
        place = source.place
        place.total += total
        if after > place.after:  # no call, as in BatchIterator
            place.after = after
        return value

    def _batch(self, source: BatchIterator) -> tuple[RawBatch, Any]:
        waited = source.waited
        watch = waited.start()
        try:
            raw, batch = source.make(source._batch)
            return raw, self._functions(batch, raw.epoch, raw.step, waited)
        finally:
            waited.stop(watch)

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._source.close()
