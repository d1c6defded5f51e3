"""The types of arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")  # what a data set or loader yields


class Expression(Protocol):
    """A condition of pyarrow.compute."""

    def is_valid(self) -> Any: ...

    def isin(self, values: Any) -> Any: ...


Path = str | os.PathLike[str]
Address = Path | Sequence[Path]
Condition = tuple[str, str, Any]
Manifest = Path | Mapping[str, Any]
Filters = str | Sequence[Condition] | Sequence[Sequence[Condition]] | Expression
Unknown = Literal["error"] | int
Length = int | Sequence[int | None]  # one for all levels of lists, or one for each
Lengths = Length | Mapping[str, Length]
Tail = Literal["drop", "pad", "short", "carry"]
Decoder = Literal["auto", "turbo", "go"]


class StackOptions(TypedDict, total=False):
    """A matrix of columns, where a list of them does not say enough."""

    columns: Sequence[str]
    dtype: Any
    null: Any
    keep: bool | Sequence[str]


Stack = Sequence[str] | StackOptions
