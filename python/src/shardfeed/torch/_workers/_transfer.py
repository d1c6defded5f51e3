"""How a result gets from a worker to the trainer: its structure once, and for each batch numbers,
and tensors in shared memory.

A structure is a tuple, the same for all results that differ only in numbers and values:

    ("tensor", dtype, dimensions, order)      order: of the dimensions in memory; None: as they are
    ("array", dtype, dimensions, fortran)     of numpy
    ("dict" or "batch", keys, members)
    ("list" or "tuple", members)
    ("named", class, members)                 a named tuple
    ("bytes", text, values, offsets)
    ("ragged", values, offsets)
    ("object",)                               anything else, by pickle

The numbers of a tensor or array are its place and its shape. A place is twice the offset, and one
more in the slot of the result: an even place is in the slot of the batch.
"""

from __future__ import annotations

import io
import itertools
import pickle
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch

from .._batch import Batch
from .._tensors import Bytes, Ragged

_ALIGN = 64
_INLINE = 16 << 10  # bytes of a pickle that goes with the frame; a larger one is written to the slot
_KEPT = 1000  # structures that both sides keep
NOT_KEPT = 0xFFFFFFFF

_TEXT = {str}
_SCALARS = {type(None), bool, int, float, complex, str, bytes}

_NUMPY = {
    torch.bool: "?",
    torch.uint8: "u1",
    torch.int8: "i1",
    torch.int16: "<i2",
    torch.int32: "<i4",
    torch.int64: "<i8",
    torch.float16: "<f2",
    torch.float32: "<f4",
    torch.float64: "<f8",
    torch.complex64: "<c8",
    torch.complex128: "<c16",
}
_BY_SIZE = {1: "u1", 2: "<i2", 4: "<i4", 8: "<i8"}  # of types that numpy lacks

Memory = Callable[[int], np.ndarray]  # returns the slot of the result, of at least this size


class Parcel(NamedTuple):
    """A result, as a worker sends it."""

    numbers: list[int]
    number: int  # of the structure
    structure: bytes  # if it is new
    rest: bytes  # the pickled objects
    used: int  # bytes of the result's slot
    uses_batch: bool


class Packer:
    """Writes results, in a worker."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def pack(self, value: Any, batch: tuple[int, int], memory: Memory) -> Parcel:
        """Writes a result. batch is the address range of the batch's slot, whose values stay there."""
        one = _Packing(batch)
        node = one.structure(value)
        rest, many = one.pickled()
        structure = (node, *many)
        used = one.write(memory) if one.size else 0
        number = self._known.get(structure, NOT_KEPT)
        new = b""
        if number == NOT_KEPT:
            new = pickle.dumps(structure, 5)
            if len(self._known) < _KEPT:
                number = self._known[structure] = len(self._known)
        return Parcel(one.numbers, number, new, rest, used, one.uses_batch)


class _Packing:
    """One result."""

    def __init__(self, batch: tuple[int, int]) -> None:
        self.numbers: list[int] = []
        self.size = 0  # bytes to write
        self.uses_batch = False
        self._from, self._to = batch
        self._writes: list[tuple[int, Any]] = []  # offset, and a tensor or array
        self._objects: list[Any] = []

    def structure(self, value: Any) -> Any:
        kind = type(value)
        if kind is torch.Tensor:
            if _plain(value):
                return self._tensor(value)
        elif kind is np.ndarray:
            if not value.dtype.hasobject:
                return self._array(value)
        elif kind is dict or kind is Batch:
            if set(map(type, value)) <= _TEXT:
                members = tuple([self.structure(member) for member in value.values()])
                return "dict" if kind is dict else "batch", tuple(value), members
        elif kind is Bytes:
            return "bytes", value.text, self.structure(value.values), self.structure(value.offsets)
        elif kind is Ragged:
            return "ragged", self.structure(value.values), self.structure(value.offsets)
        elif kind is list or kind is tuple:
            if not set(map(type, value)) <= _SCALARS:
                return kind.__name__, tuple([self.structure(member) for member in value])
        elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return "named", kind, tuple([self.structure(member) for member in value])
        self._objects.append(value)
        return ("object",)

    def _tensor(self, tensor: torch.Tensor) -> Any:
        order, dense = None, tensor.is_contiguous()
        if not dense:
            order = tuple(sorted(range(tensor.ndim), key=tensor.stride, reverse=True))
            turned = tensor.permute(order)
            if dense := turned.is_contiguous():
                tensor = turned
            else:
                order = None
        shape = tensor.shape
        self._place(tensor, tensor.data_ptr() if dense else 0, tensor.nbytes)
        self.numbers += shape
        return "tensor", tensor.dtype, len(shape), order

    def _array(self, array: np.ndarray) -> Any:
        fortran = not array.flags.c_contiguous and array.flags.f_contiguous
        inside = fortran or array.flags.c_contiguous
        self._place(array, array.__array_interface__["data"][0] if inside else 0, array.nbytes)
        self.numbers += array.shape
        return "array", array.dtype, array.ndim, fortran

    def _place(self, what: Any, address: int, size: int) -> None:
        if size and self._from <= address and address + size <= self._to:
            self.numbers.append((address - self._from) * 2)
            self.uses_batch = True
            return
        self.numbers.append(self.size * 2 + 1 if size else 1)
        if size:
            self._writes.append((self.size, what))
            self.size += -(-size // _ALIGN) * _ALIGN

    def pickled(self) -> tuple[bytes, tuple[Any, int, bool]]:
        """The objects as bytes; and the structures of the tensors in them, how many buffers of
        theirs there are, and whether the bytes are in the slot.
        """
        objects = self._objects
        if not objects:
            return b"", ((), 0, False)
        if set(map(type, objects)) <= _SCALARS:
            data, nodes, buffers = pickle.dumps(objects, 5), (), []
        else:
            pickler = _Pickler(self)
            pickler.dump(objects)
            data, nodes, buffers = pickler.file.getvalue(), tuple(pickler.nodes), pickler.buffers
        for buffer in buffers:
            self._bytes(buffer.raw())
        if len(data) > _INLINE:
            self._bytes(data)
            return b"", (nodes, len(buffers), True)
        return data, (nodes, len(buffers), False)

    def _bytes(self, data: Any) -> None:
        array = np.frombuffer(data, np.uint8)
        self._place(array, array.__array_interface__["data"][0], array.nbytes)
        self.numbers.append(array.nbytes)

    def write(self, memory: Memory) -> int:
        """Writes all to the slot, and returns the bytes used of it."""
        slot = memory(self.size)
        for offset, what in self._writes:
            if isinstance(what, torch.Tensor):
                _tensor_at(slot, offset, what.dtype, what.shape).copy_(what)
            else:
                fortran = not what.flags.c_contiguous and what.flags.f_contiguous
                np.ndarray(what.shape, what.dtype, slot, offset, order="F" if fortran else "C")[...] = what
        return self.size


class _Pickler(pickle.Pickler):
    """Pickles objects without the memory of tensors and arrays in them."""

    def __init__(self, packing: _Packing) -> None:
        self.file = io.BytesIO()
        self.buffers: list[pickle.PickleBuffer] = []
        self.nodes: list[Any] = []
        self._packing = packing
        super().__init__(self.file, 5, buffer_callback=self.buffers.append)

    def persistent_id(self, value: Any) -> int | None:
        if type(value) is not torch.Tensor or not _plain(value):
            return None
        self.nodes.append(self._packing._tensor(value))
        return len(self.nodes) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: Any, tensors: Sequence[torch.Tensor], buffers: Any) -> None:
        super().__init__(io.BytesIO(data), buffers=buffers)
        self._tensors = tensors

    def persistent_load(self, pid: Any) -> torch.Tensor:
        return self._tensors[pid]


def _plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is its memory, type and shape, on the host."""
    return (
        tensor.is_cpu
        and tensor.layout is torch.strided
        and not (tensor.requires_grad or tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_nested or tensor.__dict__)
    )


def _tensor_at(slot: np.ndarray, offset: int, dtype: torch.dtype, shape: Sequence[int]) -> torch.Tensor:
    known = _NUMPY.get(dtype)
    if known is not None:
        return torch.from_numpy(np.ndarray(tuple(shape), known, slot, offset))
    return torch.from_numpy(np.ndarray(tuple(shape), _BY_SIZE[dtype.itemsize], slot, offset)).view(dtype)


# Makes a result of its numbers, the slots of the batch and of the result, and the objects.
Maker = Callable[[Sequence[int], tuple[Any, Any], Any], Any]
# Makes a part of a result of a list of all its tensors and arrays, whose last item is the objects.
_Part = Callable[[list[Any]], Any]


class Unpacker:
    """Reads results, in the trainer."""

    def __init__(self) -> None:
        self.makers: dict[int, Maker] = {}  # of the structures that the worker has numbered

    def learn(self, number: int, structure: bytes) -> Maker:
        """What makes the results of a structure, which the worker sends the first time."""
        maker = _Compiler().compile(*pickle.loads(structure))
        if number != NOT_KEPT:
            self.makers[number] = maker
        return maker


class _Compiler:
    """Makes a function of a structure, which knows where each of its numbers is.

    It makes all tensors and arrays in one loop, and then what they are parts of.
    """

    def __init__(self) -> None:
        self._numbers = 0
        self._objects = itertools.count()
        self._leaves: list[_Leaf] = []

    def compile(self, node: Any, nodes: Any, buffers: int, in_slot: bool) -> Maker:
        make = self._node(node)
        objects = next(self._objects)
        result, self._leaves = self._leaves, []
        if not objects:
            return lambda numbers, slots, rest: make(_made(result, numbers, slots))
        for n in nodes:
            self._node(n)
        for _ in range(buffers + in_slot):
            self._leaf(1, np.dtype("u1"))
        others = self._leaves

        def whole(numbers: Sequence[int], slots: tuple[Any, Any], rest: Any) -> Any:
            pieces = _made(others, numbers, slots)
            data = pieces.pop() if in_slot else rest
            leaves = _made(result, numbers, slots)
            leaves.append(_Unpickler(data, pieces[: len(nodes)], pieces[len(nodes) :]).load())
            return make(leaves)

        return whole

    def _leaf(self, dimensions: int, dtype: np.dtype[Any], order: str = "C", finish: Callable[[Any], Any] | None = None) -> _Part:
        """Adds an array, or what finish makes of it. Its numbers are its place, and its shape."""
        place = self._numbers
        self._numbers += 1 + dimensions
        self._leaves.append((place, place + 1, self._numbers, dtype, order, finish))
        return itemgetter(len(self._leaves) - 1)

    def _tensor(self, dtype: torch.dtype, dimensions: int, order: tuple[int, ...] | None) -> _Part:
        storage = np.dtype(_NUMPY.get(dtype) or _BY_SIZE[dtype.itemsize])
        if dtype in _NUMPY and order is None:
            return self._leaf(dimensions, storage, finish=torch.from_numpy)
        back = None if order is None else tuple(sorted(range(dimensions), key=order.__getitem__))

        def viewed(array: np.ndarray) -> torch.Tensor:
            tensor = torch.from_numpy(array)
            if dtype not in _NUMPY:
                tensor = tensor.view(dtype)
            return tensor if back is None else tensor.permute(back)

        return self._leaf(dimensions, storage, finish=viewed)

    def _node(self, node: Any) -> _Part:
        kind = node[0]
        if kind == "tensor":
            return self._tensor(*node[1:])
        if kind == "array":
            return self._leaf(node[2], node[1], "F" if node[3] else "C")
        if kind == "object":
            at = next(self._objects)
            return lambda leaves: leaves[-1][at]
        if kind in ("dict", "batch"):
            return _dict(node[1], [self._node(n) for n in node[2]], dict if kind == "dict" else Batch)
        if kind == "bytes":
            values, offsets, text = self._node(node[2]), self._node(node[3]), node[1]
            return lambda leaves: Bytes(values(leaves), offsets(leaves), text)
        if kind == "ragged":
            values, offsets = self._node(node[1]), self._node(node[2])
            return lambda leaves: Ragged(values(leaves), offsets(leaves))
        members = [self._node(n) for n in node[-1]]
        if kind == "named":
            new = node[1]
            return lambda leaves: new(*[make(leaves) for make in members])
        sequence = list if kind == "list" else tuple
        return lambda leaves: sequence([make(leaves) for make in members])


# How to make a tensor or array: the indices of its place, and of the start and end of its shape in
# the numbers; the type and order of the array, and what makes the tensor of it.
_Leaf = tuple[int, int, int, np.dtype[Any], Any, Callable[[Any], Any] | None]


def _made(leaves: Sequence[_Leaf], numbers: Sequence[int], slots: tuple[Any, Any]) -> list[Any]:
    """Tensors and arrays of a result."""
    made, ndarray = [], np.ndarray
    for place, lo, hi, dtype, order, finish in leaves:
        at = numbers[place]
        array = ndarray(numbers[lo:hi], dtype, slots[at & 1], at >> 1, None, order)
        made.append(array if finish is None else finish(array))
    return made


def _dict(keys: tuple[str, ...], members: list[_Part], kind: Any) -> _Part:
    return lambda leaves: kind(zip(keys, [make(leaves) for make in members]))
