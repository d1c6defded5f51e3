"""The engine's side of a connection, driven by a test message by message: for what a real engine does rarely, or never."""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
from typing import Any

from shardfeed._engine import _protocol as protocol

NOT_RELEASED = (1 << 64) - 1
HEADER_AT = 4096
USED = HEADER_AT + 64 + 64 + 48


class FakeEngine:
    """Stands for an Engine, and for the process behind it. It says WELCOME and OPENED before it is asked."""

    job = "fake"
    build = "0"
    local_world_size = 1
    given = None
    wanted = True  # it wants to hear of releases

    def __init__(self, log: str = "/nonexistent/engine.log", opened: bool = True):
        self.log, self.socket = log, "/nonexistent/engine.sock"
        self.opened = opened
        self.memory: mmap.mmap | None = None
        self.words: list[tuple[int, memoryview]] = []  # the generations, and the words of their slots
        self.released: list[tuple[int, int, int]] = []

    def connect(self, timeout: float | None = None) -> socket.socket:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket = mine
        self.send(protocol.WELCOME, {"version": 1, "build": "0", "pid": 7, "id": "fake", "log": self.log})
        if self.opened:
            self.send(protocol.OPENED, {"rows": 10, "schema": []})
        return theirs

    def receive(self, *kinds: int) -> tuple[int, Any]:
        """Returns the next message, which is of one of the kinds. RELEASE comes once for each slot: its generation, number, and seq."""
        if self.released:
            return protocol.RELEASE, self.released.pop(0)
        self.socket.settimeout(60)
        header = self._exactly(8)
        size, kind, zero = protocol.HEADER.unpack(header)
        payload = self._exactly(size)
        assert zero == 0
        assert not kinds or kind in kinds, f"{kind} came, {kinds} were due"
        if kind != protocol.RELEASE:
            return kind, json.loads(payload)
        assert payload == b""
        self.released = self.look()  # nothing, where an earlier message has told of it
        return self.receive(*kinds)

    def kind(self) -> int:
        """The kind of the next message, as it came."""
        self.socket.settimeout(60)
        size, kind, _ = protocol.HEADER.unpack(self._exactly(8))
        self._exactly(size)
        return kind

    def look(self) -> list[tuple[int, int, int]]:
        """Reads which slots were released since it looked last, in the order of their batches."""
        found = []
        for generation, words in self.words:
            for slot, seq in enumerate(words):
                if seq != NOT_RELEASED:
                    found.append((generation, slot, seq))
                    words[slot] = NOT_RELEASED
        return sorted(found, key=lambda f: f[2])

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            if not part:
                raise EOFError
            got += part
        return got

    def nothing(self) -> bool:
        """Tells that no message has come."""
        self.socket.setblocking(False)
        try:
            return not self.socket.recv(1)
        except BlockingIOError:
            return True

    def send(self, kind: int, value: dict[str, Any]) -> None:
        self.socket.sendall(protocol.encode(kind, value))

    def ring(self, generation: int = 1, slots: int = 4, size: int = 8192) -> None:
        descriptor = os.memfd_create("fake")
        end = slots * size
        os.ftruncate(descriptor, end + 4096)
        self.memory, self.size, self.slots = mmap.mmap(descriptor, end + 4096), size, slots
        words = memoryview(self.memory)[end:].cast("Q")
        words[0] = self.wanted
        words[16 : 16 + slots] = memoryview(struct.pack(f"{slots}Q", *[NOT_RELEASED] * slots)).cast("Q")
        self.words.append((generation, words[16 : 16 + slots]))
        self.flag = words[:1]
        frame = protocol.HEADER.pack(24, protocol.RING, 0) + protocol.RING_PAYLOAD.pack(generation, slots, size, end)
        socket.send_fds(self.socket, [frame], [descriptor])
        os.close(descriptor)

    def join(self, **ring: int) -> None:
        """Says what an engine says before the first batch."""
        self.send(protocol.JOINED, {"epoch": 0, "next": {"epoch": 1, "position": 0}, "steps": 9, "schema": []})
        self.ring(**ring)

    def batch(self, seq: int, slot: int | None = None, generation: int = 1) -> None:
        """Announces a batch of one column: 8 bytes that are all seq."""
        assert self.memory is not None
        slot = seq % self.slots if slot is None else slot
        at = slot * self.size
        self.memory[at + 256 : at + 264] = bytes([seq % 256] * 8)
        protocol.SLOT_HEADER.pack_into(self.memory, at + HEADER_AT, protocol.SLOT_MAGIC, 1, seq, 8, 8, 0, seq, 8 * seq, 0, 8 * seq + 8)
        struct.pack_into("<14q", self.memory, at + HEADER_AT + 64, 8, 0, 0, 0, 256, 8, *([0] * 8))
        self.announce(generation, slot, seq, HEADER_AT, USED)

    def announce(self, generation: int, slot: int, seq: int, offset: int, used: int) -> None:
        frame = protocol.HEADER.pack(32, protocol.BATCH, 0) + protocol.BATCH_PAYLOAD.pack(generation, slot, seq, offset, used)
        self.socket.sendall(frame)

    def close(self) -> None:
        self.socket.close()
