"""What nodes leave for each other in a store that answers late."""

from __future__ import annotations

import json
import threading

import torch.distributed as dist

from shardfeed.torch._ranks._board import Board


class Late(dist.HashStore):
    """A store whose first answer waits for a permit."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.permit = threading.Event(), threading.Event()

    def set(self, key: str, value: str) -> None:
        if not self.asked.is_set():
            self.asked.set()
            self.permit.wait(60)
        super().set(key, value)


def test_a_late_notice_does_not_lose_the_next() -> None:
    store = Late()
    board = Board(store, "job", 1)
    board.within(lambda: board.post("waits", [0], {"step": 1}), None, 0.0)
    assert store.asked.wait(60)
    assert board.within(lambda: [1], [], 0.0) == []  # the store is busy
    threading.Timer(0.2, store.permit.set).start()
    board.within(lambda: board.post("waits", [0], {"step": 2}), None, 60.0)
    assert [notice["step"] for notice in board.there("waits")] == [2]
    assert json.loads(store.get("job/waits/0"))["ranks"] == [0]
