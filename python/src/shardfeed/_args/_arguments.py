"""Errors for calls that do not fit: misspelt names, arguments by position, arguments left out."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, get_type_hints

from .._documented import documented
from ..errors import ShardfeedError, nearer
from ._checks import did_you_mean, got

P = ParamSpec("P")
C = TypeVar("C", bound=type[Any])

# What users know by another name, or from another class.
_ELSEWHERE = {
    "data": "the first argument of a data set is uri",
    "path": "the first argument is uri",
    "dataset": "the first argument of a DataLoader is data",
    "sampler": "the engine shuffles and splits the rows: see shuffle, seed, rank and world_size; a MapDataset takes samplers",
    "batch_sampler": "the engine makes the batches: see batch_size, shuffle and tail; a MapDataset takes batch samplers",
    "generator": "the order depends on seed alone",
    "num_replicas": "give world_size",
    "where": "give filters",
    "predicate": "give filters, or see shardfeed.select",
    "split": "give parts and part",
    "datasets": "give sources",
    "streams": "give sources",
    "probabilities": "give sources, each with its weight",
    "stopping_strategy": "give stop",
    "bucket": "batches of rows have no numbers: give it to a StreamingDataset",
    "pack": "blocks of rows have no numbers: give it to a StreamingDataset",
    "tokenizer": "text becomes tokens before the engine packs it: write token lists into the table, or tokenise batches with .map",
    "with_valid": "it is a method: with_valid('column') of a torch data set or loader",
    "filter": "give filters; a function goes to the method filter, as in loader.filter(function)",
    "map": "it is a method: loader.map(function)",
    "transform": "give the function to the method map, as in loader.map(function)",
    "skip": "it is a method: loader.skip(3) leaves out the first 3 batches of each epoch",
    "take": "it is a method: loader.take(3) ends each epoch after 3 batches",
    "in_order": "batches always come in order",
    "pin_memory_device": "give device",
}
_LOADER_ONLY = (
    "collate_fn",
    "device",
    "pin_memory",
    "num_workers",
    "threads",
    "prefetch",
    "prefetch_factor",
    "persistent_workers",
    "worker_init_fn",
    "headspace",
    "image_device",
    "image_cpu_share",
)


def checked(options: type, required: str | None) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Gives an __init__ that takes **options their names, types and defaults, by a TypedDict, and
    errors that name an argument that is misspelt or given by position. required must be given; None
    requires no argument.
    """
    defaults = {p.name: p.default for p in parameters_of(options)}

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        *own, _ = inspect.signature(init).parameters.values()
        signature = inspect.Signature([*own, *parameters_of(options)], return_annotation="None")
        parameters = signature.parameters
        _, first, *_ = parameters

        @functools.wraps(init)
        def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:  # the name in tracebacks
            name = type(self).__name__
            if unknown := [k for k in kwargs if k not in parameters or k == "self"]:
                raise TypeError(unknown_arguments(name, unknown, list(parameters)[1:]))
            if len(args) > 1:
                raise TypeError(by_position(name, first, args[1]))
            if not args and first not in kwargs and "sources" not in kwargs:
                raise TypeError(f"{name} needs {first}: an address such as 's3://bucket/path', a path, or a list of them")
            if required is not None and required not in kwargs:
                raise TypeError(missing_batch_size(name))
            try:
                init(self, *args, **{**defaults, **kwargs})
            except ShardfeedError as e:
                raise nearer(e)  # noqa: B904 - the same error

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__annotations__ = {**{p.name: p.annotation for p in own[1:]}, **get_type_hints(options), "return": None}
        return __init__  # type: ignore[return-value]

    return decorate


def parameters_of(options: type) -> list[inspect.Parameter]:
    """The keyword parameters of a TypedDict. A default other than None is in Annotated."""
    found = []
    for name, hint in get_type_hints(options, include_extras=True).items():
        default = getattr(hint, "__metadata__", (None,))[0]
        written = options.__annotations__[name]
        kind = re.sub(r"Annotated\[(.*), .*?\]", r"\1", str(getattr(written, "__forward_arg__", written)))
        found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    return found


def by_position(name: str, first: str, second: object) -> str:
    return f"{name} takes only {first} by position, {got(second)} as well: give other arguments by name"


def missing_batch_size(name: str) -> str:
    return f"{name} needs batch_size: rows of a batch on this rank, or None for single rows"


def unknown_arguments(name: str, unknown: Iterable[str], known: list[str]) -> str:
    """Names the arguments that a class does not have, and suggests others."""
    return "\n".join(f"{name} has no argument {each!r}{_hint(each, known)}" for each in unknown)


def _hint(name: str, known: list[str]) -> str:
    if name in _LOADER_ONLY:
        return ": it belongs to shardfeed.torch.DataLoader"
    if name in _ELSEWHERE:
        return f": {_ELSEWHERE[name]}"
    return did_you_mean(name, known)


def arguments(cls: C) -> C:
    """Documents a dataclass of arguments, and has it suggest a name for one that it does not have."""
    made, known = cls.__init__, names(cls.__init__)

    @functools.wraps(made)
    def __init__(self: Any, *args: Any, **more: Any) -> None:
        if unknown := [name for name in more if name not in known]:
            raise TypeError(unknown_arguments(cls.__name__, unknown, known))
        made(self, *args, **more)

    cls.__init__ = __init__
    return documented(cls)


def names(function: Callable[..., Any]) -> list[str]:
    """The parameters of a method, without self."""
    return list(inspect.signature(function).parameters)[1:]


def describe_loader(loader: type, dataset: type) -> None:
    """Gives a class that takes a data set's arguments as **options their documentation and their
    signature.
    """
    _, begin, arguments = (inspect.getdoc(dataset) or "").partition("    batch_size (")
    if loader.__doc__ and begin:  # python -OO has no docstrings
        loader.__doc__ = f"{inspect.cleandoc(loader.__doc__)}\n\n{begin}{arguments}"
    own, more = (list(inspect.signature(vars(c)["__init__"]).parameters.values()) for c in (loader, dataset))
    own = [p for p in own if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    loader.__signature__ = inspect.Signature([*own[1:], *more[2:]])  # type: ignore[attr-defined]


def describe_dataset(derived: type, dataset: type) -> None:
    """Gives a data set derived from another one the documentation of its arguments."""
    _, begin, arguments = (inspect.getdoc(dataset) or "").partition("Args:\n")
    if derived.__doc__ and begin:
        derived.__doc__ = f"{inspect.cleandoc(derived.__doc__)}\n\n{begin}{arguments}"
