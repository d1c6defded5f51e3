"""Functions mapped over the batches of a data set."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardfeed import Batch, StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")


def ids(batch: Batch) -> list[int]:
    return batch["id"].tolist()


def noisy(batch: Batch, generator: np.random.Generator) -> tuple[int, float]:
    return batch.step, generator.random()


def test_map_is_applied_to_each_batch(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=300, seed=3)
    plain = [ids(batch) for batch in dataset]
    mapped = dataset.map(ids)
    assert list(mapped) == plain
    assert list(mapped.map(len)) == [300] * 13 + [100], "on top of the first one, and epochs of its own"
    assert len(mapped) == 14 and mapped.size == 4000 and mapped.schema == dataset.schema


def test_map_of_rows(shards: Path) -> None:
    rows = StreamingDataset(shards, batch_size=None, shuffle=False).map(lambda row: int(row["id"]))
    assert list(rows) == list(range(4000))
    steps = StreamingDataset(shards, batch_size=None, shuffle=False).map(lambda row, g: (int(row["id"]), g.random()), random=True)
    drawn = list(steps)
    assert [row for row, _ in drawn] == list(range(4000)) and len({number for _, number in drawn}) == 4000


def test_random_depends_on_the_place_alone(shards: Path) -> None:
    def make(seed: int = 3) -> Any:
        return StreamingDataset(shards, batch_size=400, seed=seed, columns=["id"]).map(noisy, random=True)

    first = make()
    epochs = [list(first), list(first)]
    assert len({number for epoch in epochs for _, number in epoch}) == 20
    resumed = make()
    batches = iter(resumed)
    for _ in range(4):
        next(batches)
    again = make()
    again.load_state_dict(resumed.state_dict())
    assert list(again) == epochs[0][4:], "after a resume"
    assert list(again) == epochs[1]
    assert list(make(seed=4)) != epochs[0]
    copy = pickle.loads(pickle.dumps(make()))
    assert list(copy) == epochs[0], "in another process"


def test_threads_share_a_mapped_iterator(shards: Path) -> None:
    batches = iter(StreamingDataset(shards, batch_size=50).map(ids))
    taken: list[int] = []
    threads = [threading.Thread(target=lambda: [taken.extend(batch) for batch in batches]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(4000))


def test_what_cannot_be_called(shards: Path) -> None:
    with pytest.raises(errors.OptionError, match="map needs a function of a batch, got 3"):
        StreamingDataset(shards, batch_size=8).map(3)


def test_a_notebook_shows_a_data_set(shards: Path) -> None:
    dataset = StreamingDataset([shards / "part-0.parquet", shards / "part-1.parquet"], batch_size=8)
    shown = dataset._repr_html_()
    for text in ("StreamingDataset", "part-1.parquet", "<td style='text-align:left'>2000</td>", "list&lt;int32&gt;", "0 of 1"):
        assert text in shown, text
    batch = next(iter(dataset))
    shown = batch._repr_html_()
    assert "Batch of 8 rows: epoch 0, step 0" in shown and f"{batch['id'][0]}, {batch['id'][1]}" in shown
    assert f"&#x27;{batch['text'][0]}&#x27;" in shown, "escaped"
    batch.release()
    assert "released" in batch._repr_html_()
