"""Arrow's C data interface in capsules, by ctypes.

https://arrow.apache.org/docs/format/CDataInterface.html defines the structs, of which all
members have 64 bits. A consumer moves a struct out of its capsule, and its parts out of the struct,
and releases each when it is done, in any thread. A part keeps the whole export.

Each release calls Python, which loses an exception that is being raised in that thread at that
moment. Where pyarrow is loaded, it exports in place of this module: its releases call no Python.
Capsules have no destructor for the same reason: sweep finds the unused ones.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._node import Node

_Word = ctypes.c_int64
_NULLABLE = 2  # ARROW_FLAG_NULLABLE


class _Export:
    """The structs of a node and all below it. It lives until each of them is released."""

    __slots__ = ("address", "keep", "words")

    def __init__(self, words: int) -> None:
        self.words = np.zeros(words, np.int64)
        self.address = _address(self.words)
        self.keep: list[Any] = []


# What consumers hold, by the private_data of each struct.
_held: dict[int, Any] = {}
_keys = itertools.count(1)

# The capsules that someone may have, by address, each with its struct's words and kind.
_capsules: dict[int, tuple[Any, np.ndarray, Any]] = {}

_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _callback(prototype: Any, function: Callable[..., Any]) -> int:
    """Returns the address of a C function that calls a Python one, for ever: a consumer may call it
    while the interpreter ends.
    """
    made = prototype(function)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return ctypes.cast(made, ctypes.c_void_p).value or 0


class _Struct:
    """A struct of the interface: its capsule's name, its words, and the places of some."""

    def __init__(self, name: bytes, words: int, release_at: int, children_at: int | None) -> None:
        self.name = name
        self.words = words
        self.release_at = release_at
        self.children_at = children_at
        self.at = (_Word * words).from_address
        self.releaser = _callback(ctypes.CFUNCTYPE(None, ctypes.c_void_p), self._release)

    def _release(self, address: int, held: dict[int, Any] = _held, word: Any = _Word) -> None:
        own = self.at(address)
        export = held.pop(own[self.release_at + 1], None)  # its memory holds the parts
        own[self.release_at] = 0
        if self.children_at is None:
            export.close()
        elif own[4]:
            for child in (word * own[4]).from_address(own[self.children_at]):
                if self.at(child)[self.release_at]:  # else it was moved out
                    self._release(child)

    def capsule(self, words: np.ndarray) -> Any:
        sweep()
        made = _new_capsule(_address(words), self.name, None)
        _capsules[id(made)] = made, words, self
        return made

    def drop(self, words: np.ndarray) -> None:
        """Releases the content of a capsule, unless it was moved out."""
        if words[self.release_at]:
            self._release(_address(words))

    def move(self, export: _Export, to: int) -> None:
        ctypes.memmove(to, export.address, 8 * self.words)
        export.words[self.release_at] = 0


def _references(entry: tuple[Any, ...]) -> int:
    return sys.getrefcount(entry[0])


_UNUSED = _references((object(),))


def sweep() -> None:
    """Releases the content of unused capsules."""
    for key, entry in list(_capsules.items()):
        if _references(entry) == _UNUSED and _capsules.pop(key, None) is not None:
            entry[2].drop(entry[1])


_SCHEMA = _Struct(b"arrow_schema", 9, release_at=7, children_at=5)
_ARRAY = _Struct(b"arrow_array", 10, release_at=8, children_at=6)
_STREAM = _Struct(b"arrow_array_stream", 5, release_at=3, children_at=None)


def array_capsules(node: Node, requested_schema: Any) -> tuple[Any, Any]:
    """Exports an array as capsules of an ArrowSchema and an ArrowArray."""
    _check_request(node, requested_schema)
    return schema_capsule(node), _ARRAY.capsule(_export_array(node).words)


def schema_capsule(node: Node) -> Any:
    """Exports the type of an array as a capsule of an ArrowSchema."""
    return _SCHEMA.capsule(export_schema(node).words)


def stream_capsule(node: Node, requested_schema: Any) -> Any:
    """Exports a batch as the capsule of an ArrowArrayStream that has only this batch."""
    _check_request(node, requested_schema)
    return _STREAM.capsule(_Stream(node).words)


def _check_request(node: Node, requested_schema: Any) -> None:
    """Refuses other columns. Other types of the same columns are a wish, which is not fulfilled:
    the consumer casts.
    """
    if requested_schema is None:
        return
    own = _SCHEMA.at(_get_pointer(requested_schema, _SCHEMA.name))
    wanted = [_text(_SCHEMA.at(child)[1]) for child in (_Word * own[4]).from_address(own[5])] if own[4] else []
    if node.format == "+s" and wanted != [child.name for child in node.children]:
        raise ValueError(f"the requested schema has the columns {wanted}, the batch has {[child.name for child in node.children]}")


def _text(address: int) -> str:
    return ctypes.string_at(address).decode() if address else ""


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


class _Writer:
    """Writes the structs of an export, and lists of pointers behind them."""

    def __init__(self, words: int) -> None:
        self.export = _Export(words)
        self._used = 0
        self._keys: list[int] = []

    def take(self, words: int) -> int:
        """Allocates words, and returns their offset in bytes."""
        at, self._used = self._used, self._used + words
        return at

    def put(self, at: int, *words: int) -> int:
        """Writes words and returns their address."""
        self.export.words[at : at + len(words)] = words
        return self.export.address + 8 * at

    def key(self) -> int:
        """Returns the private_data of a struct that keeps the export."""
        self._keys.append(next(_keys))
        return self._keys[-1]

    def finish(self) -> _Export:
        """Keeps the export until its structs are released."""
        _held.update(dict.fromkeys(self._keys, self.export))
        return self.export


def _export_array(root: Node) -> _Export:
    nodes = list(_walk(root))
    writer = _Writer(sum(_ARRAY.words + len(n.buffers) + len(n.children) for n in nodes))
    writer.export.keep.append(root)
    _put_array(writer, root, writer.take(_ARRAY.words))
    return writer.finish()


def _put_array(writer: _Writer, node: Node, at: int) -> int:
    buffers = writer.put(writer.take(len(node.buffers)), *(0 if b is None else _address(b) for b in node.buffers))
    places = [writer.take(_ARRAY.words) for _ in node.children]
    pointers = writer.take(len(places))
    children = writer.put(pointers, *(_put_array(writer, child, place) for child, place in zip(node.children, places)))
    counts = node.length, node.nulls, 0, len(node.buffers), len(node.children)
    return writer.put(at, *counts, buffers, children, 0, _ARRAY.releaser, writer.key())


def export_schema(root: Node) -> _Export:
    nodes = list(_walk(root))
    writer = _Writer(sum(_SCHEMA.words + len(n.children) for n in nodes))
    _put_schema(writer, root, writer.take(_SCHEMA.words))
    return writer.finish()


def _put_schema(writer: _Writer, node: Node, at: int) -> int:
    places = [writer.take(_SCHEMA.words) for _ in node.children]
    pointers = writer.take(len(places))
    children = writer.put(pointers, *(_put_schema(writer, child, place) for child, place in zip(node.children, places)))
    texts = [node.format.encode() + b"\0", _name(node.name) + b"\0", _metadata(node)]
    kind, name, metadata = (_keep(writer.export, text) for text in texts)
    return writer.put(at, kind, name, metadata, node.nullable and _NULLABLE, len(places), children, 0, _SCHEMA.releaser, writer.key())


def _name(name: str) -> bytes:
    if "\0" in name:
        raise ValueError(f"Arrow's C interface has no names with a zero byte, got column {name!r}")
    return name.encode()


def _keep(export: _Export, text: bytes) -> int:
    if not text:
        return 0
    memory = np.frombuffer(text, np.uint8)
    export.keep.append(memory)
    return _address(memory)


def _metadata(node: Node) -> bytes:
    if not node.extension:
        return b""
    pairs = {"ARROW:extension:name": node.extension, "ARROW:extension:metadata": node.metadata}
    texts = [text.encode() for text in itertools.chain(*pairs.items())]
    return struct.pack("=i", len(pairs)) + b"".join(struct.pack("=i", len(text)) + text for text in texts)


def _type_of(node: Node) -> Node:
    """The node without its values."""
    return node._replace(length=0, nulls=0, buffers=(), children=tuple(map(_type_of, node.children)))


class _Stream:
    """A stream of one batch. Its functions may be called in any thread."""

    def __init__(self, node: Node) -> None:
        self.words = np.zeros(_STREAM.words, np.int64)
        self.type = _type_of(node)
        self.schema: _Export | None = export_schema(node)  # the first, so that an error is raised now
        self.node: Node | None = node
        self.error: Any = None
        key = next(_keys)
        self.words[:] = _GET_SCHEMA, _GET_NEXT, _GET_LAST_ERROR, _STREAM.releaser, key
        _held[key] = self

    def close(self) -> None:
        if self.schema is not None:
            _SCHEMA.drop(self.schema.words)

    def get_schema(self, out: int) -> None:
        schema, self.schema = self.schema, None
        _SCHEMA.move(schema or export_schema(self.type), out)

    def get_next(self, out: int) -> None:
        node, self.node = self.node, None
        if node is None:
            _ARRAY.at(out)[_ARRAY.release_at] = 0  # the end
        else:
            _ARRAY.move(_export_array(node), out)


def _stream_at(address: int) -> _Stream:
    return _held[_STREAM.at(address)[4]]


def _attempt(stream: int, do: Callable[[_Stream], None]) -> int:
    own = _stream_at(stream)
    try:
        do(own)
    except BaseException as e:  # all reach the consumer, in whose thread this runs
        own.error = np.frombuffer(f"{type(e).__name__}: {e}".encode() + b"\0", np.uint8)
        return errno.EIO
    return 0


def _get_schema(stream: int, out: int) -> int:
    return _attempt(stream, lambda own: own.get_schema(out))


def _get_next(stream: int, out: int) -> int:
    return _attempt(stream, lambda own: own.get_next(out))


def _get_last_error(stream: int) -> int:
    error = _stream_at(stream).error
    return 0 if error is None else _address(error)


_GET_SCHEMA = _callback(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p), _get_schema)
_GET_NEXT = _callback(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p), _get_next)
_GET_LAST_ERROR = _callback(ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p), _get_last_error)
