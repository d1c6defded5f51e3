"""The shuffle buffer, of each rank or node, and what is said where it mixes too little."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import MixingWarning, StreamingDataset, _state, errors

ROWS = 8000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 row groups of 100 rows."""
    folder = tmp_path_factory.mktemp("sorted")
    pq.write_table(pa.table({"id": np.arange(ROWS)}), folder / "part-0.parquet", row_group_size=100)
    return folder


def opened(table: Path, shuffle_buffer: int | str, rank: int = 0, world_size: int = 1, **given: object) -> StreamingDataset:
    return StreamingDataset(
        table, batch_size=8, rank=rank, world_size=world_size, shuffle_buffer=shuffle_buffer, cache=False, seed=7, **given
    )


def ids(dataset: StreamingDataset) -> list[int]:
    return [int(i) for batch in dataset for i in batch["id"][batch.row_valid]]


def rows_of(state: dict[str, Any]) -> int:
    """The buffer that a state keeps."""
    return int(_state.unpack(state)["params"]["buffer"])


def test_a_buffer_of_each_rank(runtime: Path, table: Path) -> None:
    in_all = opened(table, 4000, world_size=4).state_dict()
    each = opened(table, "1000/rank", world_size=4).state_dict()
    assert each == in_all and rows_of(each) == 4000
    rest = opened(table, "1000/rank")  # resumed on one rank, in the order of the start
    rest.load_state_dict(each)
    whole = opened(table, 1)
    whole.load_state_dict(in_all)
    assert ids(rest) == ids(whole) != ids(opened(table, "1000/rank"))


def test_a_buffer_of_each_node(runtime: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = opened(table, "1000/node", world_size=8)
    with pytest.raises(errors.OptionError, match=r"^shuffle_buffer 1000/node needs to know .* 8 ranks a node has: set LOCAL_WORLD_SIZE"):
        len(dataset)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert rows_of(opened(table, "1000/node", world_size=8).state_dict()) == 2000
    with pytest.raises(errors.OptionError, match="6 ranks do not fill nodes of 4"):
        len(opened(table, "1000/node", world_size=6))
    assert rows_of(opened(table, "1000/node").state_dict()) == 1000


def test_poor_mixing_is_warned_of_once(runtime: Path, table: Path) -> None:
    poor = opened(table, 200, world_size=8)
    said = r"^shardfeed: if the rows are sorted, a global batch of 64 rows varies .*: a shuffle_buffer of 1MiB/rank would make it 1$"
    with pytest.warns(MixingWarning, match=said) as caught:
        next(iter(poor))
    assert len(caught) == 1 and caught[0].filename == __file__
    state = poor.state_dict()
    resumed = opened(table, 200, world_size=8)
    resumed.load_state_dict(state)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MixingWarning)
        next(iter(poor))
        next(iter(resumed))
        next(iter(opened(table, 200, rank=1, world_size=8)))
        next(iter(opened(table, "1MiB/rank", world_size=8)))
