"""Loaders whose states have forms of their own, with a count of their batches beside."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator, Mapping
from typing import Any


class Counted:
    """A loader with the state of a stream. step is the rows of a batch over all ranks."""

    def __init__(self, loader: Any, step: int) -> None:
        self._loader, self._step = loader, step
        self._epoch = self._taken = 0

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            self._taken += 1
            yield batch
        self._epoch, self._taken = self._epoch + 1, 0

    def state_dict(self) -> dict[str, Any]:
        own = base64.b64encode(pickle.dumps(self._loader.state_dict())).decode()
        return {"shardfeed": {"epoch": self._epoch, "position": self._taken * self._step}, "own": own}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        place = state["shardfeed"]
        self._epoch, self._taken = place["epoch"], place["position"] // self._step
        if "own" in state:
            self._loader.load_state_dict(pickle.loads(base64.b64decode(state["own"])))

    def ended(self) -> bool:
        """Whether an epoch's last batch was taken: torchdata's state is of either epoch there."""
        return self._taken == len(self._loader)
