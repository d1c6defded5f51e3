"""Why a training loop has no batch: names and numbers, as in the engine's package wait."""

from __future__ import annotations

CAUSES = ("open", "list", "count", "storage", "cache", "decode", "room", "memory", "collate", "map", "handover", "copy")
OPEN, LIST, COUNT = range(3)
MAP, HANDOVER, COPY = range(9, 12)
