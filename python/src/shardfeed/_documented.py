"""Constructors that are documented where their class is."""

from __future__ import annotations

import re
from typing import Any, TypeVar

C = TypeVar("C", bound=type[Any])


def documented(cls: C) -> C:
    """Gives the constructor of a class the text of the class, which documents the arguments, and puts
    a signature that is made of a list in the order of the text.

    Without its own text, ``help()`` shows the one of ``object.__init__``.
    """
    cls.__init__.__doc__ = cls.__doc__
    if (signature := getattr(cls.__init__, "__signature__", None)) is not None:
        listed = ", ".join(re.findall(r"^ {8}(\w+(?:, \w+)*)(?: \(|:)", cls.__doc__ or "", re.MULTILINE)).split(", ")
        place = {name: n for n, name in enumerate(listed)}
        ordered = sorted(signature.parameters.values(), key=lambda p: (p.kind, place.get(p.name, 0)))
        cls.__init__.__signature__ = signature.replace(parameters=ordered)
    return cls
