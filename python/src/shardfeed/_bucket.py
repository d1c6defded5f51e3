"""Buckets: batches of rows of about the same length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._args._arguments import arguments
from ._args._checks import Problems, encoded, got, number
from .errors import OptionError

_FORM = 'as in bucket={"token_ids": 16384}, or a shardfeed.Bucket'
_MOST = 2**24


@arguments
@dataclass(frozen=True)
class Bucket:
    """Batches of rows of about the same length, for models that pad rows to the longest.

    A batch has as many rows as keep within a budget of tokens when all are as long as the longest
    of them, so batches differ in their number of rows. Its rows are of one row group, in an order
    that differs by epoch. Every row comes once an epoch, and all ranks make equally many steps.

    Args:
        columns (dict): ``{column: tokens}``: one column of lists, or of their lengths, and the
            tokens of a batch at most. A row that is longer is a batch of its own.
        multiple (int, default 1): lengths are rounded up to a multiple of it, as ``pad`` with
            ``multiple`` does.
        max_rows (int, default None): the most rows of a batch. None sets no bound.
    """

    columns: Mapping[str, int]
    multiple: int = 1
    max_rows: int | None = None

    def spec(self, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's form. The engine checks it against the data."""
        found = Problems() if problems is None else problems
        spec = {
            "columns": found.of(_column, self.columns),
            "multiple": found.of(number, "multiple of bucket", self.multiple, most=_MOST),
            "max_rows": found.of(number, "max_rows of bucket", self.max_rows, most=_MOST),
        }
        if problems is None:
            found.report()
        return spec


def spec(given: Any, *, batch_size: Any, packed: bool, problems: Problems) -> dict[str, Any] | None:
    """Returns the engine's form of the argument bucket."""
    if given is None:
        return None
    bucket = given if isinstance(given, Bucket) else problems.of(_short, given)
    if bucket is None:
        return None
    if batch_size != 1:
        problems.found.append(f"bucket makes the batches: give batch_size=1, {got(batch_size)}")
    if packed:
        problems.found.append("bucket makes batches of rows, and pack makes blocks: leave one of the two out")
    return bucket.spec(problems)


def _short(given: Any) -> Bucket:
    if not isinstance(given, Mapping):
        raise OptionError(f"bucket must be a dict of tokens by column, {_FORM}, {got(given)}")
    return Bucket(given)


def _column(columns: Any) -> dict[str, int]:
    if not isinstance(columns, Mapping) or len(columns) != 1 or not all(isinstance(name, str) and name for name in columns):
        raise OptionError(f"bucket must name one column and the tokens of a batch, {_FORM}, {got(columns)}")
    [(name, tokens)] = columns.items()
    if tokens is None:
        raise OptionError(f"bucket of column {name!r} must be a whole number of tokens, {got(tokens)}")
    return {encoded("bucket", name): number(f"bucket of column {name!r}", tokens, most=_MOST)}
