"""Checks of single arguments.

Each returns the value in its plain form, or raises an error with the allowed values and the value.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import numbers
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..errors import OptionError, nearer

P = ParamSpec("P")
T = TypeVar("T")

_EPOCHS = 2**62  # beyond any count of epochs; the next number still fits into 64 bits
_SHOWN = 80  # characters of a value in an error


def regular(name: str, flags: int) -> int:
    """An opener that refuses what is not a regular file: opening a named pipe waits for its writer."""
    if not stat.S_ISREG(os.stat(name).st_mode):
        raise OSError("it is not a regular file")
    return os.open(name, flags | os.O_CLOEXEC)


class Problems:
    """Collects what is wrong with the arguments of one call, so that one error lists all of it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def of(self, check: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Returns what the check returns. When the check refuses, notes why and returns None."""
        try:
            return check(*args, **kwargs)
        except OptionError as e:
            self.found.append(str(e))
            return None

    def report(self, of: str = "") -> None:
        """Raises one error when something was found. of comes first in its text."""
        if len(self.found) == 1:
            raise OptionError(of + self.found[0])
        if self.found:
            raise OptionError(f"{of}{len(self.found)} arguments are wrong:\n  - " + "\n  - ".join(self.found))


class Checked:
    """A dataclass of arguments that are checked when they are given."""

    def __post_init__(self) -> None:
        try:
            self.spec()
        except OptionError as e:
            raise nearer(e)  # noqa: B904 - the same error

    def spec(self) -> dict[str, Any]:
        """Returns the engine's form, or raises one error with all that is wrong."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """The arguments that are not the defaults."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type] # subclasses are dataclasses
        given = [f for f in fields if repr(getattr(self, f.name)) != repr(f.default)]
        return f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in given)})"


def got(value: Any) -> str:
    """A value in an error: as Python writes it, or its type where that is long."""
    text = repr(value)
    return f"got {text}" if len(text) <= _SHOWN and "\n" not in text else f"got {type_name(value)}"


def type_name(value: Any) -> str:
    """The type of a value with its package, as in pandas.DataFrame."""
    if value is None:
        return "None"
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    name = kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A hint to append to an error; empty when no known name is near."""
    near = difflib.get_close_matches(str(name), list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number. True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def number(name: str, value: Any, least: int = 1, most: int = 2**63 - 1) -> int:
    """Returns a whole number, and 0 for None."""
    if value is None:
        return 0
    if not is_whole(value):
        raise OptionError(f"{name} must be a whole number, {got(value)}")
    if value < least:
        raise OptionError(f"{name} must be at least {least}, got {value}")
    if value > most:
        raise OptionError(f"{name} must be at most {most}, got {value}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name} must be True or False, {got(value)}")
    return bool(value)


def one_of(name: str, value: Any, *known: str) -> str:
    """Returns one of the known words. An empty one is allowed without being named in errors."""
    if not isinstance(value, str) or value not in known:
        words = [repr(k) for k in known if k]
        hint = did_you_mean(value, (k for k in known if k))
        one = f"{', '.join(words[:-1])} or {words[-1]}" if words[1:] else words[0]
        raise OptionError(f"{name} must be {one}, {got(value)}{hint}")
    return value


def seed(value: Any, name: str = "seed") -> int:
    if not is_whole(value) or not 0 <= value < 2**64:
        raise OptionError(f"{name} must be a whole number from 0 to 2**64 - 1, {got(value)}")
    return int(value)


def seconds(name: str, value: Any) -> float | None:
    """Returns a time to wait. None and infinity have no limit."""
    if value is None:
        return None
    if not is_number(value) or not value > 0:
        raise OptionError(f"{name} must be a number of seconds above 0, or None for no limit, {got(value)}")
    return None if math.isinf(value) else float(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number. True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def share(name: str, value: Any, least: float | None = None) -> float:
    """A share of a whole: above 0, or at least least, and at most 1. None is 0."""
    if value is None:
        return 0.0
    if not is_number(value) or not (least or 0) <= value <= 1 or not value:
        raise OptionError(f"{name} must be {f'from {least:f} to 1' if least else 'a number above 0 and at most 1'}, {got(value)}")
    return float(value)


def parts(given: Any) -> dict[str, float]:
    """The weights of parts by name."""
    found = {}
    for name, weight in named("parts", given, '{"train": 9, "val": 1}').items():
        if not is_number(weight) or not 0 <= weight < math.inf:
            raise OptionError(f"parts[{name!r}] must be a weight of at least 0, {got(weight)}")
        found[encoded("parts", name)] = float(weight)
    if given is not None and not found:
        raise OptionError("parts must not be empty; leave it out to read all rows")
    return found


def epoch(value: Any) -> int:
    """Returns the number of an epoch."""
    if not is_whole(value) or not 0 <= value < _EPOCHS:
        raise OptionError(f"epoch must be a whole number from 0 to 2**62 - 1, {got(value)}")
    return int(value)


def function(name: str, value: Any, of: str) -> None:
    """Refuses what cannot be called. None is allowed."""
    if value is not None and not callable(value):
        raise OptionError(f"{name} must be a function of {of}, {got(value)}")


def path(name: str, value: Any) -> str:
    """Returns an absolute path, and an empty one for None."""
    if value is None:
        return ""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise OptionError(f"{name} must be a path, {got(value)}")
    return encoded(name, os.path.abspath(os.path.expanduser(os.fspath(value))))


def encoded(what: str, text: str, shown: Callable[[str], str] = str) -> str:
    """Refuses text that cannot be sent to the engine, such as a file name in another encoding."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError(f"{what} must be UTF-8, got {shown(text)!r}") from None
    if "\0" in text:
        raise OptionError(f"{what} must not hold a NUL byte, got {shown(text)!r}")
    return text


def word(name: str, value: Any) -> str:
    """Returns the name of a column or a part; empty for None."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise OptionError(f"{name} must be a name, {got(value)}")
    return encoded(name, value)


def snapshot(given: Any) -> str:
    """Returns the name of a table's snapshot, which may be a number; empty for None."""
    if isinstance(given, numbers.Integral) and not isinstance(given, bool):
        return str(int(given))
    if given is None or isinstance(given, str):
        return word("snapshot", given)
    raise OptionError(f"snapshot must be a version, an ID, a tag, a branch or a time, {got(given)}")


def named(name: str, given: Any, example: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(k, str) for k in given):
        raise OptionError(f"{name} must be a dict, as in {name}={example}, {got(given)}")
    return given
