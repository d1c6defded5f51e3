"""Columns of tensors without an engine, and every type through one."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, namedtuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed import Bytes as HostBytes  # noqa: E402
from shardfeed import Ragged as HostRagged  # noqa: E402
from shardfeed import errors  # noqa: E402
from shardfeed.torch import Bytes, Ragged, StreamingDataset  # noqa: E402
from shardfeed.torch._batch import Batch, each  # noqa: E402
from shardfeed.torch._tensors import rows, to_tensors  # noqa: E402
from shardfeed.torch._transform import generator  # noqa: E402

TEXTS = ["a", "", "ünï", "dd"]
LISTS = [[1, 2], [], [3], [4, 5, 6]]


def offsets(lengths) -> torch.Tensor:
    return torch.tensor(np.concatenate([[0], np.cumsum(lengths)]), dtype=torch.int32)


@pytest.fixture
def texts() -> Bytes:
    encoded = [t.encode() for t in TEXTS]
    return Bytes(torch.frombuffer(bytearray(b"".join(encoded)), dtype=torch.uint8), offsets([len(e) for e in encoded]), True)


@pytest.fixture
def lists() -> Ragged:
    return Ragged(torch.tensor([i for row in LISTS for i in row]), offsets([len(row) for row in LISTS]))


def test_bytes(texts):
    assert texts.tolist() == list(texts) == TEXTS and len(texts) == 4
    assert texts[2] == texts[-2] == "ünï" and texts[1:3].tolist() == TEXTS[1:3] and texts[3:1].tolist() == []
    assert texts.lengths.tolist() == [1, 0, 5, 2]
    assert Bytes(texts.values, texts.offsets).tolist() == [t.encode() for t in TEXTS]
    with pytest.raises(IndexError):
        texts[4]
    assert texts[::2].tolist() == TEXTS[::2]
    assert int(texts[2:].offsets[0]) == 0, "offsets begin at 0 again"
    assert repr(texts) == "Bytes(4 strings, 8 bytes)"


def test_ragged(lists):
    assert lists.tolist() == [row.tolist() for row in lists] == LISTS and len(lists) == 4
    assert lists[3].tolist() == lists[-1].tolist() == [4, 5, 6] and lists[1:].tolist() == LISTS[1:]
    assert lists.lengths.tolist() == [2, 0, 1, 3]
    assert lists.to_padded(-1).tolist() == [[1, 2, -1], [-1] * 3, [3, -1, -1], [4, 5, 6]]
    assert lists.to_padded(0, 2).tolist() == [[1, 2], [0, 0], [3, 0], [4, 5]]
    assert lists[:0].to_padded().shape == (0, 0)
    assert [row.tolist() for row in lists.to_nested().unbind()] == LISTS
    assert repr(lists) == "Ragged(4 lists, 6 items)"


def test_lists_of_anything(texts, lists):
    of_texts = Ragged(texts, offsets([3, 1]))
    assert of_texts.tolist() == [TEXTS[:3], TEXTS[3:]] and of_texts[1].tolist() == ["dd"]
    of_structs = Ragged({"k": texts, "v": lists}, offsets([1, 3]))
    assert of_structs.tolist()[1] == [{"k": k, "v": v} for k, v in zip(TEXTS[1:], LISTS[1:])]
    assert of_structs[1]["v"].tolist() == LISTS[1:]
    for make in (Ragged.to_padded, Ragged.to_nested):
        with pytest.raises(TypeError, match="Bytes"):
            make(of_texts)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c)), lambda c: c.clone(), lambda c: c.cpu()]
)
def test_copies(texts, lists, again):
    assert again(texts).tolist() == TEXTS and again(texts).text
    assert again(lists).tolist() == LISTS


def test_where_they_go(texts, lists):
    nested = Ragged({"t": texts, "l": lists}, offsets([4]))
    there = nested.to("meta", non_blocking=True)
    assert {t.device.type for t in (there.offsets, there.values["t"].values, there.values["l"].offsets)} == {"meta"}
    assert lists.to(torch.float16).values.dtype == torch.int64, "the dtype of the rows is not that of the offsets"
    assert lists.to(torch.device("meta"), torch.float16).offsets.dtype == torch.int32


def test_where_batches_go(texts, lists):
    batch = Batch({"x": torch.ones(4), "s": {"t": texts}, "l": lists})
    there = batch.to("meta", torch.float16, non_blocking=True)
    assert isinstance(there, Batch) and there.rows == 4
    assert {t.device.type for t in (there["x"], there["s.t"].values, there["l"].values, there["l"].offsets)} == {"meta"}
    assert there["x"].dtype == torch.float32 and batch["x"].device.type == "cpu"


def test_without_a_copy():
    host = {"x": np.arange(4.0), "t": HostBytes(np.arange(65, 69, dtype=np.uint8), np.arange(5, dtype=np.int32), True)}
    host["r"] = HostRagged(host["t"], np.array([0, 4], np.int32))
    tensors = to_tensors(host)
    host["x"][0], host["t"].values[0] = 7, 90
    assert tensors["x"][0] == 7 and tensors["r"].tolist() == [["Z", "B", "C", "D"]]
    assert tensors["r"].numpy().values.values.ctypes.data == host["t"].values.ctypes.data


def test_each_knows_containers(lists):
    Point = namedtuple("Point", "x y")
    value = {"a": [torch.ones(1), (torch.ones(1), "text")], "p": Point(torch.ones(1), 3), "o": OrderedDict(r=lists)}
    twice = each(value, lambda t: t * 2, lambda o: (o, "other"))
    assert twice["a"][0] == 2 and twice["a"][1][0] == 2 and twice["a"][1][1] == ("text", "other")
    assert type(twice["p"]) is Point and twice["p"].y == (3, "other")
    assert type(twice["o"]) is OrderedDict and twice["o"]["r"].values.tolist() == [2, 4, 6, 8, 10, 12]
    assert value["a"][0] == 1


def test_rows(texts, lists):
    batch = {"n": torch.arange(4), "t": texts, "l": lists, "s": {"m": torch.arange(4) * 2}}
    got = list(rows(batch))
    assert [int(r["n"]) for r in got] == [0, 1, 2, 3] and [r["t"] for r in got] == TEXTS
    assert [r["l"].tolist() for r in got] == LISTS and int(got[3]["s"]["m"]) == 6


def test_generators_differ_by_everything():
    def first(*of):
        return torch.rand(1, generator=generator(*of)).item()

    places = [(1, 0, 0, 0), (2, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1), (2**64 - 1, 0, 0, 0)]
    assert len({first(*p) for p in places}) == len(places)
    assert first(1, 2, 3, 4) == first(1, 2, 3, 4)


EVERYTHING = {
    "bool": pa.array([True, False, None]),
    "i8": pa.array([1, -2, None], pa.int8()),
    "u8": pa.array([1, 255, None], pa.uint8()),
    "u16": pa.array([1, 65535, None], pa.uint16()),
    "u32": pa.array([1, 2**32 - 1, None], pa.uint32()),
    "u64": pa.array([1, 2**64 - 1, None], pa.uint64()),
    "f16": pa.array(np.array([1, 2, 3], np.float16)),
    "f64": pa.array([1.5, None, 2.5]),
    "date": pa.array([0, 1, None], pa.date32()),
    "time": pa.array([0, 1, None], pa.time64("us")),
    "ts": pa.array([0, 1, None], pa.timestamp("ns", "UTC")),
    "dec9": pa.array(["1.00", "2.50", None]).cast(pa.decimal128(9, 2)),
    "dec38": pa.array(["1.00", "-2.50", None]).cast(pa.decimal128(38, 2)),
    "fixed": pa.array([b"abc", b"def", None], pa.binary(3)),
    "text": pa.array(["x", None, "z"]),
    "coded": pa.array(["x", None, "x"]).dictionary_encode(),
    "binary": pa.array([b"\0", b"", None]),
    "list": pa.array([[1, 2], None, []], pa.list_(pa.int64())),
    "texts": pa.array([["a"], None, ["b", "c"]]),
    "deep": pa.array([[[1], []], None, [[2, 3]]]),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": 3, "b": "z"}]),
    "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "nothing": pa.nulls(3),
}

DTYPES = {
    "bool": torch.bool,
    "i8": torch.int8,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f16": torch.float16,
    "f64": torch.float64,
    "date": torch.int32,
    "time": torch.int64,
    "ts": torch.int64,
    "fixed": torch.uint8,
    "dec38": torch.int64,
    "nothing": torch.float64,
}


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@pytest.mark.parametrize("workers", [0, 1])
def test_every_type(job, tmp_path, workers):
    pq.write_table(pa.table(EVERYTHING), tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=3, shuffle=False, cache=False)
    (batch,) = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers)
    assert list(batch) == list(EVERYTHING)
    assert {name: batch[name].dtype for name in DTYPES} == DTYPES
    assert batch["u64"].tolist() == [1, 2**64 - 1, 0] and batch["dec9"].tolist() == [100, 250, 0]
    assert batch["date"].tolist() == batch["time"].tolist() == batch["ts"].tolist() == [0, 1, 0]
    assert bytes(batch["fixed"][1].tolist()) == b"def" and batch["fixed"].shape == (3, 3)
    assert (
        batch["text"].tolist() == ["x", "", "z"]
        and batch["coded"].tolist() == ["x", "", "x"]
        and batch["binary"].tolist() == [b"\0", b"", b""]
    )
    assert batch["list"].tolist() == [[1, 2], [], []] and batch["texts"].tolist() == [["a"], [], ["b", "c"]]
    assert batch["deep"].tolist() == [[[1], []], [], [[2, 3]]]
    assert batch["struct"]["a"].tolist() == [1, 0, 3] and batch["struct"]["b"].tolist() == ["x", "", "z"]
    assert batch["map"].tolist() == [[{"key": "k", "value": 1}], [], []]
    assert batch["f64"].isnan().tolist() == [False, True, False] and batch["nothing"].isnan().all()
    for unsigned in ("u16", "u32", "u64"):  # torch's own pickling lacks these
        del batch[unsigned]
    again = pickle.loads(pickle.dumps(batch))
    assert again["map"].tolist() == batch["map"].tolist() and torch.equal(again["dec38"], batch["dec38"])


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_masks_of_nulls(job, tmp_path):
    pq.write_table(pa.table(EVERYTHING), tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=3, shuffle=False, cache=False).with_valid("u8", "struct.a").with_valid("f16")
    (batch,) = pickle.loads(pickle.dumps(dataset))
    assert list(batch) == [*EVERYTHING, "u8_valid", "struct.a_valid", "f16_valid"]
    assert batch["u8_valid"].tolist() == [True, True, False] and batch["u8_valid"].dtype == torch.bool
    assert batch["struct.a_valid"].tolist() == [True, False, True] and batch["f16_valid"].all()
    with pytest.raises(errors.OptionError, match="no column 'u9'"):
        dataset.with_valid("u9")


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_rows_of_every_type(job, tmp_path):
    pq.write_table(pa.table(EVERYTHING), tmp_path / "a.parquet")
    got = list(StreamingDataset(tmp_path, batch_size=None, shuffle=False, cache=False))
    assert len(got) == 3 and list(got[0]) == list(EVERYTHING)
    assert (got[0]["text"], int(got[0]["i8"]), got[2]["deep"].tolist(), got[0]["struct"]["b"]) == ("x", 1, [[2, 3]], "x")


def test_a_dotted_path_reads_a_member(tmp_path):
    """In batches of both kinds, however they come: exact names have precedence."""
    photo = {"bytes": b"a", "size": {"w": 3, "h.x": 4}}
    table = pa.table({"image": [photo] * 4, "image.path": ["p"] * 4, "a.b": [{"c": 7}] * 4, "a": [{"b": {"c": 8}, "d": 9}] * 4})
    pq.write_table(table, tmp_path / "a.parquet")
    given = {"batch_size": 4, "shuffle": False, "cache": False}
    workers = {"num_workers": 1, "multiprocessing_context": "fork"}
    whole = [
        next(iter(shardfeed.StreamingDataset(tmp_path, **given))),
        next(iter(StreamingDataset(tmp_path, **given))),
        next(iter(shardfeed.torch.DataLoader(tmp_path, **given, device="cpu"))),
        next(iter(shardfeed.torch.DataLoader(shardfeed.MapDataset(tmp_path), batch_size=4))),
        next(iter(torch.utils.data.DataLoader(StreamingDataset(tmp_path, **given), batch_size=None, **workers))),
        shardfeed.MapDataset(tmp_path)[[0, 1, 2, 3]],
    ]
    whole += [copy.copy(whole[1]), pickle.loads(pickle.dumps(whole[1])), pickle.loads(pickle.dumps(whole[0]))]
    for batch in whole:
        assert batch["image.bytes"].tolist() == batch.get("image.bytes").tolist() == [b"a"] * 4
        assert batch["image.size.w"].tolist() == [3] * 4 and batch["image.size.h.x"].tolist() == [4] * 4
        assert batch["image.path"].tolist() == ["p"] * 4 and batch["a.b.c"].tolist() == [7] * 4 and batch["a.d"].tolist() == [9] * 4
        assert batch.get("image.what") is None and batch.get("image.path.x", 5) == 5
        with pytest.raises(KeyError, match=r"no column 'image\.byte'; did you mean 'image\.bytes'\?"):
            batch["image.byte"]
    assert "image.bytes" not in whole[1], "keys are columns"
