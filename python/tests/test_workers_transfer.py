"""What a worker makes arrives as it was made: structures, types, shapes and memory."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from shardfeed.torch import Batch, Bytes, Ragged  # noqa: E402
from shardfeed.torch._workers._transfer import NOT_KEPT, Packer, Parcel, Unpacker  # noqa: E402


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Sample:
    x: Any
    name: str


class Own(dict):
    pass


class Way:
    """A worker and a trainer in one process."""

    def __init__(self) -> None:
        self.packer, self.unpacker = Packer(), Unpacker()
        self.batch = np.zeros(4096, np.uint8)
        self.sent = 0  # bytes of structures
        self.written = 0

    def through(self, value: Any) -> Any:
        slot = np.full(1 << 20, 0xAA, np.uint8)
        address = self.batch.__array_interface__["data"][0]
        parcel = self.packer.pack(value, (address, address + self.batch.nbytes), lambda size: slot[:size])
        self.sent, self.written = len(parcel.structure), parcel.used
        maker = made_by(self.unpacker, parcel)
        return maker(parcel.numbers, (self.batch, slot[: parcel.used]), parcel.rest)


def made_by(unpacker: Unpacker, parcel: Parcel) -> Any:
    """What makes the result, as the trainer finds it."""
    return unpacker.learn(parcel.number, parcel.structure) if parcel.structure else unpacker.makers[parcel.number]


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.detach().clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8).tolist()


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        if (a.dtype, a.shape, a.requires_grad) != (b.dtype, b.shape, b.requires_grad):
            return False
        if a.layout is not torch.strided:
            return torch.equal(a.to_dense(), b.to_dense())
        return a.numel() == 0 or bits(a) == bits(b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
    if isinstance(a, Bytes):
        return a.text == b.text and same(a.values, b.values) and same(a.offsets, b.offsets)
    if isinstance(a, Ragged):
        return same(a.values, b.values) and same(a.offsets, b.offsets)
    if isinstance(a, Sample):
        return same(a.x, b.x) and a.name == b.name
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or a != a


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
DTYPES += [torch.bool, torch.complex64, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn]


@st.composite
def tensors(draw: Any) -> Any:
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    tensor = torch.arange(int(np.prod(shape)), dtype=torch.int64).reshape(shape).to(torch.uint8).float().to(dtype)
    how = draw(st.sampled_from(["plain", "turned", "strided", "wide"]))
    if how == "turned" and tensor.ndim > 1:
        return tensor.transpose(0, -1)
    if how == "strided" and tensor.ndim:
        return tensor[::2]
    if how == "wide" and tensor.ndim:
        return tensor[:1].expand(3, *tensor.shape[1:]) if len(tensor) else tensor
    return tensor


def arrays() -> Any:
    made = [
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["2024-01-01", "2025-01-01"], "M8[D]"),
        np.array([], np.float32),
        np.array(3),
        np.array([("a", 1)], [("name", "S3"), ("n", "i4")]),
        np.array(["abc", "d"]),
        np.array(["object", None], object),
        np.arange(10)[::-2],
        np.arange(4, dtype=">i4"),
    ]
    return st.sampled_from(made)


OTHERS = [
    None,
    True,
    3,
    2**70,
    2.5,
    float("nan"),
    "text",
    b"bytes",
    datetime.date(2024, 1, 1),
    {1: "one"},
    {1, 2},
    np.float32(1.5),
    slice(1, 2),
]


def values() -> Any:
    column = tensors().filter(lambda t: t.ndim > 0)
    leaf = st.one_of(tensors(), arrays(), st.sampled_from(OTHERS))
    binary = st.builds(
        lambda n, text: Bytes(torch.arange(n, dtype=torch.uint8), torch.tensor([0, n], dtype=torch.int32), text),
        st.integers(0, 5),
        st.booleans(),
    )
    ragged = st.builds(lambda t: Ragged(t, torch.tensor([0, len(t)], dtype=torch.int32)), column)
    scalars = st.lists(st.integers(), max_size=4)
    keys = st.text(max_size=3)

    def more(inner: Any) -> Any:
        return st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(keys, inner, max_size=3),
            st.dictionaries(keys, inner, max_size=3).map(Batch),
            st.dictionaries(keys, inner, max_size=3).map(Own),
            st.dictionaries(keys, inner, max_size=3).map(collections.OrderedDict),
            st.builds(Pair, inner, inner),
            st.builds(Sample, inner, keys),
            st.builds(lambda v: Ragged({"a": v}, torch.tensor([0, 1], dtype=torch.int32)), inner),
        )

    return st.recursive(st.one_of(leaf, binary, ragged, scalars), more, max_leaves=8)


WAY = Way()  # one for all examples: structures are sent once


@settings(deadline=None, max_examples=300)
@given(values())
def test_values(value: Any) -> None:
    assert same(WAY.through(value), value)


def test_a_structure_is_sent_once() -> None:
    way = Way()
    for n in range(3):
        value = {"x": torch.full((n, 2), 7.0), "words": [str(n)] * n, "loss": n / 2, "pair": Pair(n, np.arange(n))}
        assert same(way.through(value), value)
        assert (way.sent > 0) == (n == 0), n
    assert way.through({"x": 1}) == {"x": 1} and way.sent > 0


def test_structures_without_end() -> None:
    """Both sides keep a thousand; the others come with each result."""
    way = Way()
    for n in range(1100):
        assert same(way.through({f"column {n}": torch.ones(1)}), {f"column {n}": torch.ones(1)})
    assert len(way.packer._known) == len(way.unpacker.makers) == 1000
    assert way.packer.pack({"column 1099": torch.ones(1)}, (0, 0), lambda size: np.empty(size, np.uint8)).number == NOT_KEPT


def test_what_lies_in_the_batch_is_not_written() -> None:
    way = Way()
    way.batch[:] = np.arange(4096) % 251
    column = torch.from_numpy(way.batch[256:512].view(np.int32))
    array = way.batch[1024:1032]
    got = way.through({"x": column, "part": column[3:5], "array": array, "list": [column]})
    assert way.written == 0
    assert same(got, {"x": column, "part": column[3:5], "array": array, "list": [column]})
    column[0] = -5
    assert got["x"][0] == -5 and got["list"][0][0] == -5, "the same memory"
    way.through({"x": column, "new": column + 1, "some": column[::2]})
    assert way.written == 256 + 128


def test_results_are_written_once_and_not_copied() -> None:
    way = Way()
    slot = np.zeros(4096, np.uint8)
    parcel = way.packer.pack({"a": torch.arange(3), "own": Sample(torch.arange(4), "x"), "array": np.arange(5)}, (0, 0), lambda size: slot)
    got = made_by(way.unpacker, parcel)(parcel.numbers, (way.batch, slot), parcel.rest)
    for part in (got["a"].numpy(), got["own"].x.numpy(), got["array"]):
        assert slot.__array_interface__["data"][0] <= part.__array_interface__["data"][0] < slot.__array_interface__["data"][0] + 4096
        assert part.flags.writeable


def test_large_objects_lie_in_the_slot() -> None:
    way = Way()
    words = [f"word {n}" for n in range(10_000)]
    assert way.through({"words": words}) == {"words": words}
    assert way.written > 50_000
    assert same(way.through(Own(words=words, x=torch.arange(3))), Own(words=words, x=torch.arange(3)))


def test_tensors_that_are_more_than_their_memory() -> None:
    own = torch.nn.Parameter(torch.arange(3.0))
    weighted = torch.arange(3.0, requires_grad=True)
    sparse = torch.eye(3).to_sparse()
    named = torch.arange(3)
    named.name_of_it = "x"
    way = Way()
    for value in (own, weighted, sparse):
        assert same(way.through([value])[0], value)
    assert way.through([named])[0].name_of_it == "x"
    assert way.through((torch.arange(2) + 1j).conj()).tolist() == [-1j, 1 - 1j]


def test_what_cannot_be_pickled() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        Way().through({"x": lambda: None})
