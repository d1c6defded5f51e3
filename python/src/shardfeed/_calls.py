"""Calls of the user's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .errors import ShardfeedError

R = TypeVar("R")

# These silently end a loop or a generator when a function that it calls raises them.
ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)


def call(what: str, function: Callable[..., R], *given: Any, **named: Any) -> R:
    """Calls a function of the user's. what says whose it is, as in "the function of map"."""
    try:
        return function(*given, **named)
    except ENDS as e:
        raise ended(what, function, e) from e


def ended(what: str, function: Any, error: BaseException) -> RuntimeError:
    """The error for a function that raised one of ENDS, as generators have it (PEP 479)."""
    return RuntimeError(
        f"{what} ({name_of(function)}) raised {type(error).__name__}, which would end the epoch before its last batch: catch it in the "
        "function, or give next() a default, as in next(items, None)"
    )


def interrupted(by: type[BaseException]) -> ShardfeedError:
    """The error of an iteration in which a KeyboardInterrupt or the like may have lost a batch."""
    return ShardfeedError(
        f"{by.__name__} ended this iteration: begin a new one. After load_state_dict(state_dict()) it continues where this one stopped"
    )


def name_of(function: Any) -> str:
    """The name of a function for messages: a partial has its function's, an object its class's."""
    while hasattr(function, "func"):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__qualname__))
