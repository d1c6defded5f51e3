"""Tensors cut from one array, compared with arrays made one by one."""

from __future__ import annotations

import pickle
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed.torch import StreamingDataset  # noqa: E402
from shardfeed.torch._bands import Bands  # noqa: E402

pytestmark = pytest.mark.usefixtures("runtime")

ROWS = 1000
INT64S = ["id", "twice", "some"]
FLOATS = ["x", "y", "z"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    ids = np.arange(ROWS)
    directory = tmp_path_factory.mktemp("bands")
    columns = {
        "id": ids,
        "x": ids.astype(np.float32) / 3,
        "name": [f"row {i}" for i in ids],
        "twice": ids * 2,
        "y": -ids.astype(np.float32),
        "some": pa.array([None if i % 5 == 0 else i for i in ids.tolist()]),
        "day": pa.array((ids % 300).astype(np.int32), pa.date32()),
        "z": pa.array([None if i % 7 == 0 else i / 2 for i in ids.tolist()], pa.float32()),
        "label": (ids % 9).astype(np.int32),
        "vector": pa.FixedSizeListArray.from_arrays(np.repeat(ids, 3).astype(np.float32), 3),
        "due": pa.array(ids * 1000, pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), directory / "part.parquet", row_group_size=300)
    return directory


def tensors(table, **options):
    return StreamingDataset(str(table), seed=4, **options)


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@pytest.mark.parametrize("size", [1, 7, 64, 100, 300])
def test_bands_hold_what_arrays_hold(table, size):
    ours = list(tensors(table, batch_size=size))
    arrays = list(shardfeed.StreamingDataset(str(table), batch_size=size, seed=4))
    assert len(ours) == len(arrays) == -(-ROWS // size)
    for batch, expected in zip(ours, arrays):
        assert list(batch) == list(expected), "in the schema's order"
        for name in INT64S + FLOATS:
            assert batch[name].dtype == (torch.int64 if name in INT64S else torch.float32)
            assert batch[name].is_contiguous() and batch[name].shape == (expected.rows,)
            np.testing.assert_array_equal(batch[name].numpy(), expected[name])
        assert batch["name"].tolist() == expected["name"].tolist()
        np.testing.assert_array_equal(batch["vector"].numpy(), expected["vector"])
        np.testing.assert_array_equal(batch["due"].numpy(), expected["due"].view(np.int64))


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_bands_lie_in_one_memory_and_are_tensors_of_their_own(table):
    for size in (64, 100):
        batch = next(iter(tensors(table, batch_size=size)))
        memory = {name: batch[name].untyped_storage().data_ptr() for name in INT64S + FLOATS}
        assert len({memory[name] for name in INT64S}) == 1, "cut out of one array"
        assert len({memory[name] for name in FLOATS}) == 1
        others = batch["twice"].clone(), batch["x"].clone()
        weight = torch.ones(size, requires_grad=True)
        loss = (weight * batch["x"]).sum()
        batch["y"].mul_(2)  # autograd keeps x for the way back, and y is another tensor
        batch["id"].fill_(-1)
        loss.backward()
        assert torch.equal(weight.grad, batch["x"])
        assert [batch[n]._version for n in ("x", "y", "id", "twice")] == [0, 1, 1, 0]
        assert not batch["y"]._is_view()
        assert torch.equal(batch["twice"], others[0]) and torch.equal(batch["x"], others[1])


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_bands_outlive_their_batch(table):
    stream = iter(tensors(table, batch_size=64))
    kept, seen = [], []
    for batch in stream:
        kept.append(batch["twice"])
        seen.append(batch["id"].clone())
    assert torch.equal(torch.cat(kept), torch.cat(seen) * 2), "slots with a column in use are not written again"
    copied = pickle.loads(pickle.dumps(kept[0]))
    assert torch.equal(copied, kept[0])


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_columns_that_lie_elsewhere_are_found_one_by_one(table):
    layout = shardfeed.StreamingDataset(str(table), batch_size=64)
    batch = next(iter(layout))
    bands = Bands(batch._layout)
    assert bands.names == tuple(INT64S + FLOATS)
    memory, nodes = batch._raw.bytes.copy(), list(batch._raw.nodes)
    at = batch._layout.at["twice"] + 4
    moved = memory.size - 64 * 8
    memory[moved : moved + 64 * 8] = memory[nodes[at] : nodes[at] + 64 * 8]
    memory[nodes[at] : nodes[at] + 64 * 8] = 0
    nodes[at] = moved
    for _ in range(2):
        for name, tensor in zip(bands.names, bands.tensors(memory, tuple(nodes), 64)):
            expected = batch[name]
            np.testing.assert_array_equal(tensor.numpy(), expected)
    for name, tensor in zip(bands.names, bands.tensors(batch._raw.bytes, batch._raw.nodes, 64)):
        np.testing.assert_array_equal(tensor.numpy(), batch[name])


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_bands_are_cut_by_several_threads_at_once(table):
    batches = list(shardfeed.StreamingDataset(str(table), batch_size=64, seed=4))
    bands, wrong = Bands(batches[0]._layout), []

    def cut(batch):
        for _ in range(1000):
            tensors = bands.tensors(batch._raw.bytes, batch._raw.nodes, batch.rows)
            if len(tensors[0]) != batch.rows or tensors[1][-1] != batch["twice"][-1]:
                wrong.append(batch.step)

    threads = [threading.Thread(target=cut, args=(batch,)) for batch in (batches[0], batches[-1])]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert batches[0].rows != batches[-1].rows and not wrong


def test_no_bands(table):
    batch = next(iter(tensors(table, batch_size=64, columns=["name", "day", "label"])))
    assert list(batch) == ["name", "day", "label"] and len(batch["label"]) == 64
    alone = next(iter(tensors(table, batch_size=64, columns=["twice", "x", "name"])))
    assert alone["twice"].untyped_storage().data_ptr() != alone["x"].untyped_storage().data_ptr()
