"""Names of columns that an option answers: names, dotted paths, and patterns of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase


class Names:
    """The names in an option, by the engine's rule: a pattern means whole columns if it matches
    one, and else of members of structs, by its parts between dots.
    """

    def __init__(self, names: Collection[str], columns: Sequence[str]) -> None:
        self._names = frozenset(names)
        patterns = [name for name in names if any(c in name for c in "*?[")]
        self._whole = [p for p in patterns if any(_matches(p, column) for column in columns)]
        self._parts = [p.split(".") for p in patterns if "." in p and p not in self._whole]

    def have(self, path: str, parts: tuple[str, ...]) -> bool:
        """Whether a node is named. parts is the path without the items of lists."""
        if path in self._names:
            return True
        if len(parts) == 1:
            return any(_matches(p, parts[0]) for p in self._whole)
        return any(len(p) == len(parts) and all(map(_matches, p, parts)) for p in self._parts)


def _matches(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern.replace("[^", "[!"))
