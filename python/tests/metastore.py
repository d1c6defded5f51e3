"""A client of a Hive metastore, for tests that make and change tables there, and tables that grow in it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest

PARQUET = "org.apache.hadoop.hive.ql.io.parquet."
CALL = 0x80010001
BOOL, BYTE, DOUBLE, I16, I32, I64, TEXT, STRUCT, MAP, LIST = 2, 3, 4, 6, 8, 10, 11, 12, 13, 15
NUMBERS = {BYTE: ">b", I16: ">h", I32: ">i", I64: ">q", DOUBLE: ">d", BOOL: ">?"}


class Number(int):
    """A number with its type on the wire."""

    kind = I32

    def __new__(cls, value: int, kind: int = I32) -> Number:
        made = super().__new__(cls, value)
        made.kind = kind
        return made


class Struct(dict[int, Any]):
    """The values of fields by their numbers in hive_metastore.thrift."""


def kind_of(value: Any) -> int:
    kinds = {bool: BOOL, str: TEXT, Struct: STRUCT, dict: MAP, list: LIST, float: DOUBLE}
    return value.kind if isinstance(value, Number) else kinds[type(value)]


def encode(value: Any) -> bytes:
    if (kind := kind_of(value)) in NUMBERS:
        return struct.pack(NUMBERS[kind], value)
    if isinstance(value, str):
        return struct.pack(">i", len(value.encode())) + value.encode()
    if isinstance(value, Struct):
        return b"".join(struct.pack(">bh", kind_of(v), k) + encode(v) for k, v in value.items()) + b"\0"
    if isinstance(value, dict):
        return struct.pack(">bbi", TEXT, TEXT, len(value)) + b"".join(encode(k) + encode(v) for k, v in value.items())
    return struct.pack(">bi", kind_of(value[0]) if value else TEXT, len(value)) + b"".join(map(encode, value))


class Metastore:
    """A connection to a metastore."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self.address, self.connection = address, socket.create_connection((host, int(port)), 60)
        self.file = self.connection.makefile("rb")

    def close(self) -> None:
        self.file.close()
        self.connection.close()

    def call(self, method: str, *arguments: Any) -> Any:
        given = Struct(dict(enumerate(arguments, 1)))
        self.connection.sendall(struct.pack(">I", CALL) + encode(method) + struct.pack(">i", 1) + encode(given))
        self._read(">I"), self._value(TEXT), self._read(">i")
        answer = self._value(STRUCT)
        assert set(answer) <= {0}, f"{method}: {answer}"
        return answer.get(0)

    def _read(self, form: str) -> Any:
        content = self.file.read(struct.calcsize(form))
        assert len(content) == struct.calcsize(form), "the metastore ended the connection"
        return struct.unpack(form, content)[0]

    def _value(self, kind: int) -> Any:
        if kind in (BOOL, DOUBLE):
            return self._read(NUMBERS[kind])
        if kind in NUMBERS:
            return Number(self._read(NUMBERS[kind]), kind)
        if kind == TEXT:
            return self.file.read(self._read(">i")).decode()
        if kind == STRUCT:
            found = Struct()
            while field := self._read(">b"):
                number = self._read(">h")
                found[number] = self._value(field)
            return found
        if kind == MAP:
            key, value = self._read(">b"), self._read(">b")
            return {self._value(key): self._value(value) for _ in range(self._read(">i"))}
        item = self._read(">b")
        return [self._value(item) for _ in range(self._read(">i"))]

    def create(self, name: str, location: Path, keys: list[Struct], **parameters: str) -> None:
        """Makes a table with the column id."""
        parameters |= {"EXTERNAL": "TRUE"}
        self.call("create_table", Struct({1: name, 2: "default", 7: storage(location), 8: keys, 9: parameters, 12: "EXTERNAL_TABLE"}))

    def change(self, name: str, **parameters: str) -> None:
        """Changes parameters of a table."""
        table = self.call("get_table", "default", name)
        table[9].update(parameters)
        self.call("alter_table", "default", name, table)

    def add(self, name: str, location: Path, *values: str) -> None:
        """Adds a partition."""
        self.call("add_partition", Struct({1: list(values), 2: "default", 3: name, 6: storage(location), 7: {}}))


def column(name: str, kind: str) -> Struct:
    return Struct({1: name, 2: kind})


def storage(location: Path) -> Struct:
    """A StorageDescriptor of parquet."""
    serde = Struct({2: PARQUET + "serde.ParquetHiveSerDe", 3: {}})
    classes = {3: PARQUET + "MapredParquetInputFormat", 4: PARQUET + "MapredParquetOutputFormat"}
    more = {5: False, 6: Number(-1), 7: serde, 8: [], 9: [], 10: {}}
    return Struct({1: [column("id", "bigint")], 2: f"file:{location}", **classes, **more})


def address() -> str:
    """Where the metastore of tools/tables/metastore is; skips the test without it."""
    return os.environ.get("SHARDFEED_HIVE") or pytest.skip("SHARDFEED_HIVE names no Hive metastore: make test-spark")


# A step of a table's growth is a directory of files. They are copied into the table, and then a call is made if it has one.
CALL_OF_STEP = "_metastore.json"


def step(directory: Path, to: Path) -> None:
    """Makes a step, each file under its name when it is whole."""
    for file in sorted(path for path in directory.rglob("*") if path.is_file() and path.name != CALL_OF_STEP):
        there = to / file.relative_to(directory)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, there.with_name(f"_{file.name}"))
        there.with_name(f"_{file.name}").rename(there)
    if (call := directory / CALL_OF_STEP).exists():
        host, method, arguments, named = json.loads(call.read_text())
        metastore = Metastore(host)
        getattr(metastore, method)(*arguments, **named)
        metastore.close()
        began = int(time.time())
        while int(time.time()) == began:  # the metastore has times in seconds
            time.sleep(0.01)
    (to / f"_step-{directory.name}").touch()


def next_step(steps: Path, to: Path) -> None:
    """Makes the first step that was not made."""
    for directory in sorted(steps.iterdir()):
        if not (to / f"_step-{directory.name}").exists():
            step(directory, to)
            return
