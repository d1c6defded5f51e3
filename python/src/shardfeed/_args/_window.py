"""Windows: which batches of each epoch ``skip`` and ``take`` leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from ._checks import got, is_whole


@dataclass(frozen=True)
class Window:
    """A range of the batches of an epoch: from first on, at most ``most`` of them. None is all."""

    first: int = 0
    most: int | None = None

    def skip(self, count: Any) -> Window:
        """The window without its first batches."""
        count = _count("skip", count, 0)
        if self.most is not None and count >= self.most:
            raise OptionError(f"skip({count}) leaves nothing of the {self.most} batches that take left: skip fewer")
        return Window(self.first + count, None if self.most is None else self.most - count)

    def take(self, count: Any) -> Window:
        """The first batches of the window."""
        count = _count("take", count, 1)
        return Window(self.first, count if self.most is None else min(count, self.most))

    def divided(self, workers: int) -> Window:
        """The window of each worker, where workers share the rows of a rank."""
        if self.first % workers or (self.most or 0) % workers:
            given = [f"skip({self.first})"] if self.first else []
            given += [] if self.most is None else [f"take({self.most})"]
            raise OptionError(f"{workers} workers share the batches of skip and take: give multiples of {workers}, got {'.'.join(given)}")
        return Window(self.first // workers, None if self.most is None else self.most // workers)

    def of_join(self) -> dict[str, int]:
        """The members of Join and Ask."""
        return {"skip": self.first, "take": self.most or 0}

    def rows(self, size: int, global_batch: int) -> tuple[int, int]:
        """Returns the window's first row, and the one after its last, in an epoch of size rows."""
        end = size if self.most is None else min(size, (self.first + self.most) * global_batch)
        return min(self.first * global_batch, end), end


WHOLE = Window()


def _count(name: str, count: Any, least: int) -> int:
    if not is_whole(count) or count < least:
        raise OptionError(f"{name} must be a number of batches of at least {least}, {got(count)}")
    return int(count)
