"""Constructors that are documented where their class is."""

from __future__ import annotations

from typing import Any, TypeVar

C = TypeVar("C", bound=type[Any])


def documented(cls: C) -> C:
    """Gives the constructor of a class the text of the class, which documents the arguments.

    Without a text of its own, ``help()`` shows that of ``object.__init__``.
    """
    cls.__init__.__doc__ = cls.__doc__
    return cls
