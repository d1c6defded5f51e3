"""What a rank notes while it runs, and the places of its states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Trace:
    """The lines of a rank. Each is written at once, so that a killed rank loses none."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def note(self, kind: str, **what: Any) -> None:
        self._file.write(json.dumps({"kind": kind, **what}).encode() + b"\n")


def place(state: dict[str, Any]) -> dict[str, int]:
    return {"epoch": state["shardfeed"]["epoch"], "position": state["shardfeed"]["position"]}
