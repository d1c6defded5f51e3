"""Frames of the protocol between a trainer and its engine, which internal/engine/doc.go specifies."""

from __future__ import annotations

import json
from struct import Struct
from typing import Any

import numpy as np

from ..errors import ProtocolError

VERSION = 1

HELLO, OPEN, JOIN, RELEASE, LEAVE, EPOCH, ASK, TAKE, SELECT, MAP, MEET, WAITED = range(1, 13)
SHARE = 15
WELCOME, OPENED, PROGRESS, JOINED, RING, BATCH, END, ERROR, SESSION, NOTE, MAPPED, SELECTED, MET = range(65, 78)
HELD = 80

NAMES = {
    WELCOME: "WELCOME",
    OPENED: "OPENED",
    PROGRESS: "PROGRESS",
    JOINED: "JOINED",
    RING: "RING",
    BATCH: "BATCH",
    END: "END",
    ERROR: "ERROR",
    SESSION: "SESSION",
    NOTE: "NOTE",
    MAPPED: "MAPPED",
    SELECTED: "SELECTED",
    MET: "MET",
    HELD: "HELD",
}

MAX_PAYLOAD = 16 << 20

HEADER = Struct("<IHH")  # bytes of the payload, kind, 0
RING_PAYLOAD = Struct("<IIQQ")  # generation, slots, slot size, offset of this trainer's words
BATCH_PAYLOAD = Struct("<IIQQQ")  # generation, slot, seq, offset of the header, bytes used
BATCH_FRAME = Struct("<QIIQQQ")  # with the header, which is the same in each
BATCH_HEADER = BATCH_PAYLOAD.size | BATCH << 32

WORDS_LINE = 128  # bytes from the flag to the words of the slots

# Of a slot: magic, nodes, seq, rows, valid, epoch, step, position, next epoch, next position.
SLOT_HEADER = Struct("<IIQIIqqqqq")
SLOT_MAGIC = 0x31424653
NODE_BYTES = 64
NODE_FIELDS = 8

# Of a slot, after the descriptors: what the batch adds to the audit, when it was finished, and the
# number of the marks with which the used bytes end.
BESIDE = Struct("<32sqQ")


def encode(kind: int, value: dict[str, Any]) -> bytes:
    """Returns a frame that holds value as JSON."""
    payload = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    if len(payload) > MAX_PAYLOAD:
        raise ProtocolError(f"a message of {len(payload)} bytes is more than the protocol carries ({MAX_PAYLOAD})")
    return HEADER.pack(len(payload), kind, 0) + payload


def decode(kind: int, payload: bytes) -> dict[str, Any]:
    """Returns the object that a frame of JSON holds."""
    try:
        value = json.loads(payload)
    except ValueError as e:
        raise ProtocolError(f"the engine's {name(kind)} is not JSON: {e}") from None
    if not isinstance(value, dict):
        raise ProtocolError(f"the engine's {name(kind)} must be a JSON object")
    return value


RELEASED = HEADER.pack(0, RELEASE, 0)  # the frame that reports released slots


def take(rows: np.ndarray) -> bytes:
    """Returns the frame that asks for rows by number."""
    numbers = np.ascontiguousarray(rows, "<i8").tobytes()
    if len(numbers) > MAX_PAYLOAD:
        raise ValueError(f"at most {MAX_PAYLOAD // 8} rows can be asked for at once, got {len(rows)}")
    return HEADER.pack(len(numbers), TAKE, 0) + numbers


def name(kind: int) -> str:
    """Returns the name of a kind of frame, as messages give it."""
    return NAMES.get(kind, f"frame of kind {kind}")
