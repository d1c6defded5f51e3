"""Data sets made of another one: with functions, with some of the batches, in another process."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

from ._args._window import Window
from ._opened import Opened
from ._warn import ShardfeedWarning, warn
from .errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Self

_copied: Counter[str] = Counter()  # objects that were mapped from data sets, by their agreement


class Derived(Opened):
    """A data set of which others are made. They share its data, and count epochs of their own."""

    def skip(self, count: int) -> Self:
        """The same data without the first batches of each epoch on every rank, or the first rows
        with ``batch_size=None``.

        The order stays, and the skipped rows are not read. States fit with and without it. Where
        the data is shuffled, each epoch skips other rows: to divide it into a training and a
        validation set give ``parts``. The result counts its own epochs.
        """
        if self._spec["shuffle"] and not self._spec["parts"]:
            text = f"shardfeed: skip({count}) of shuffled data skips other rows in each epoch; parts= divides data for good"
            warn(text, ShardfeedWarning)
        return self._windowed(self._window.skip(count))

    def take(self, count: int) -> Self:
        """The same data with only the first batches of each epoch on every rank, or the first
        rows with ``batch_size=None``.

        All that hold for an epoch hold for what is taken: ``len()``, states, and the next ``iter()``
        is the next epoch, of other rows where the data is shuffled. A resume with another number
        of ranks or batch size ends with the step in which that many batches end there. The result
        counts its own epochs.
        """
        return self._windowed(self._window.take(count))

    def _windowed(self, window: Window) -> Any:
        if self._spec["tail"] == "carry":
            raise OptionError('tail="carry" moves rows into the next epoch, and skip and take choose batches of each: give another tail')
        other = self._copy()
        other._window = window
        len(other)  # reports a window without batches
        return other

    def _check_masks(self) -> None:
        """Refuses masks of packed batches, where a row is several documents, and of buckets."""
        if self._spec["bucket"] is not None:
            raise OptionError("filter does not go with bucket, which makes batches of the rows that come: leave rows out with filters")
        if self._spec["pack"] is not None:
            raise OptionError("filter masks rows, and a row of a packed batch is several documents: leave some out with filters")

    def _masked(self, mask: Any) -> Any:
        masked = self._mapped(mask)
        masked._with_row_valid = True
        masked._check_added()
        return masked

    def _mapped(self, transform: Any) -> Any:
        mapped = self._copy()
        mapped._transforms = (*self._transforms, transform)
        return mapped

    def _copy(self) -> Any:
        """Another data set of the same data."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        other._id = uuid.uuid4().hex
        _copied[self._agree] += 1
        other._number = _copied[self._agree]
        other._forget()
        other._keep_open()
        return other

    def __getstate__(self) -> dict[str, Any]:
        names = ["_spec", "_rows_wanted", "_with_row_valid", "_rank_given", "_timeout", "_id", "_job", "_agree", "_opened"]
        names += ["_replication", "_mesh", "_number", "_inventory", "_opening", "_follows"]
        names += ["_pending_state", "_pending_epoch", "_carried_records", "_transforms", "_window"]
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()
