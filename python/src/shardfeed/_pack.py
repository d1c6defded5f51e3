"""Packing: documents in blocks of one size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._args._arguments import arguments
from ._args._checks import Problems, encoded, got, number, one_of
from ._fim import FillInTheMiddle, token
from .errors import OptionError

_MADE = ("position_ids", "doc_ids", "seq_lengths", "cu_seqlens", "max_seqlen")
_OF_BATCH = ("cu_seqlens", "max_seqlen")  # not of single rows
_FORM = 'as in pack={"token_ids": 8192}, or a shardfeed.Pack'


@arguments
@dataclass(frozen=True)
class Pack:
    """How lists of tokens become dense blocks: a row of a batch is a block then.

    The documents of a block are rows of one row group, in an order that differs by epoch. Lists
    that are not named and have as many items as the named ones, as masks and labels, are packed
    alike. Each other column becomes a list with one value for each document of the block.

    Args:
        columns (dict): ``{column: tokens}``: the lists, and the size of a block, the same for all.
        strategy ("wrapped", "bfd" or "bfd_split", default "wrapped"): how documents are put into
            blocks. "wrapped" joins them and cuts at each block's size: all blocks but one of a row
            group are full. "bfd" keeps each document whole and puts it into the block that then has
            the least room left; a document longer than a block loses its end. "bfd_split" cuts such
            a document into blocks and a rest first, and loses nothing.
        eos (int or str, default None): a token behind each document. A str is the text of a token,
            as in "<|endoftext|>", of a column of ``tokenize``.
        bos (int or str, default None): a token before each document.
        value (int or str, default 0): fills the rest of a block after its last document. In a
            column "labels" -100 does.
        fim (shardfeed.FillInTheMiddle, default None): permutes documents for models that write the
            middle between a prefix and a suffix.
        length (str, default None): a column with the lengths of the lists. Blocks are counted by
            it, and without it by the lists themselves.
        with_columns (list, default ()): columns that are added to each batch: "position_ids" and
            "doc_ids" (int32, ``[rows, tokens]``; -1 in padding), "seq_lengths" (the tokens of
            each document in a block), and for kernels that take the batch as one sequence
            "cu_seqlens" (int32) and "max_seqlen" (an int).
        labels ("same" or "next", default None): adds "labels", int64, of the column of that name or
            else of the tokens. "same" is the token itself, for models that shift labels, and "next"
            the token after it. Labels at the edges and outside of documents are -100.
    """

    columns: Mapping[str, int]
    strategy: Literal["wrapped", "bfd", "bfd_split"] = "wrapped"
    eos: int | str | None = None
    bos: int | str | None = None
    value: int | str = 0
    fim: FillInTheMiddle | None = None
    length: str | None = None
    with_columns: Sequence[str] = ()
    labels: Literal["same", "next"] | None = None

    def spec(self, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's form. The engine checks it against the data."""
        found = Problems() if problems is None else problems
        spec = {
            "columns": found.of(_sizes, self.columns),
            "strategy": found.of(one_of, "strategy of pack", self.strategy, "wrapped", "bfd", "bfd_split"),
            **(found.of(_token, "eos", self.eos) or {}),
            **(found.of(_token, "bos", self.bos) or {}),
            **(found.of(_token, "value", 0 if self.value is None else self.value) or {}),
            **({} if self.fim is None else {"fim": found.of(_fim, self.fim, found)}),
            "length": found.of(_length, self.length),
            "with": found.of(_names, self.with_columns),
            "labels": "" if self.labels is None else found.of(one_of, "labels of pack", self.labels, "same", "next"),
        }
        if problems is None:
            found.report()
        return spec


def spec(given: Any, *, rows: bool, padded: Iterable[str], problems: Problems) -> dict[str, Any] | None:
    """Returns the engine's form of the argument pack.

    rows is true if the data set yields single rows; padded are the columns of pad.
    """
    if given is None:
        return None
    pack = given if isinstance(given, Pack) else problems.of(_short, given)
    if pack is None:
        return None
    out = pack.spec(problems)
    for column in padded:
        if column in (out["columns"] or {}):
            problems.found.append(f"pad and pack name column {column!r}, whose blocks have one size: leave one of the two out")
    for name in out["with"] or ():
        if rows and name in _OF_BATCH:
            problems.found.append(f"with_columns of pack has {name!r}, which is of a batch: batch_size=None yields rows; give batch_size=1")
    return out


def _short(given: Any) -> Pack:
    if not isinstance(given, Mapping):
        raise OptionError(f"pack must be a dict of tokens by column, {_FORM}, {got(given)}")
    return Pack(given)


def _sizes(columns: Any) -> dict[str, int]:
    if not isinstance(columns, Mapping) or not columns or not all(isinstance(name, str) and name for name in columns):
        raise OptionError(f"pack must name columns and the tokens of a block, {_FORM}, {got(columns)}")
    sizes = {}
    for name, size in columns.items():
        if size is None:
            raise OptionError(f"pack of column {name!r} must be a whole number of tokens, {got(size)}")
        sizes[encoded("pack", name)] = number(f"pack of column {name!r}", size, most=2**24)
    if len(set(sizes.values())) > 1:
        raise OptionError(f"pack must have one size for all columns, {got(dict(columns))}")
    return sizes


def _token(name: str, value: Any) -> dict[str, Any]:
    """A token by its number or its text, which are two fields of the engine's form."""
    if value is None:
        return {name: None}
    found = token(f"{name} of pack", value)
    return {f"{name}_text" if isinstance(found, str) else name: found}


def _fim(given: Any, problems: Problems) -> dict[str, Any]:
    if not isinstance(given, FillInTheMiddle):
        raise OptionError(f"fim of pack must be a shardfeed.FillInTheMiddle, {got(given)}")
    return given.spec(problems)


def _length(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise OptionError(f"length of pack must be the name of a column, {got(value)}")
    return encoded("length of pack", value)


def _names(given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    for name in names:
        one_of("each of with_columns of pack", name, *_MADE)
    return list(dict.fromkeys(names))
