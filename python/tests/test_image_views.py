"""Several images of one column, under names of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
import torch

import shardfeed.torch
from shardfeed import Image, MapDataset, StreamingDataset, errors

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore::shardfeed.PaddingWarning")]
RANDOM = Image(24, of="img", crop="random_resized", flip=0.5, color_jitter=0.3)
SIZES = {"large": Image((40, 32), of="img", crop="random_resized", scale=(0.4, 1)), "small": RANDOM}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures.write(tmp_path_factory.mktemp("pictures"), pictures.many(24, ("JPEG", "PNG")), row_group=5)


def opened(table: Path, images: dict[str, Image], **given: Any) -> StreamingDataset:
    return StreamingDataset(table, **{"batch_size": 5, "image_decoder": "go", "images": images, **given})


def by_id(batches: Any, *names: str) -> dict[int, bytes]:
    rows = {}
    for batch in batches:
        valid = np.asarray(batch.row_valid)
        for i, *tensors in zip(np.asarray(batch["id"])[valid], *(np.asarray(batch[name])[valid] for name in names)):
            assert int(i) not in rows
            rows[int(i)] = b"".join(t.tobytes() for t in tensors)
    return rows


def test_results_of_one_column(table: Path) -> None:
    """Their files leave the batch, and each has the crops of its own name."""
    dataset = opened(table, SIZES, columns=["id"])
    assert dataset.schema["large"].shape == (3, 40, 32) and dataset.schema["small"].shape == (3, 24, 24)
    batches = list(dataset)
    assert list(batches[0]) == ["id", "large", "small"]
    assert by_id(batches, "small") == by_id(opened(table, {"small": RANDOM}), "small")
    assert not set(by_id(batches, "small").values()) & set(by_id(opened(table, {"other": RANDOM}), "other").values())
    tensors = next(iter(shardfeed.torch.DataLoader(table, batch_size=4, images=SIZES, image_decoder="go")))
    assert sorted(tensors) == ["id", "label", "large", "small"] and tensors["large"].shape == (4, 3, 40, 32)
    assert tensors["small"].dtype == torch.uint8
    row = MapDataset(table, images=SIZES, image_decoder="go")[3]
    assert row["large"].shape == (3, 40, 32) and "img" not in row


@pytest.mark.parametrize("after", [1, 2, 4])
def test_resume_on_another_world_size(table: Path, after: int) -> None:
    want = by_id(opened(table, SIZES), "large", "small")
    dataset = opened(table, SIZES)
    batches = iter(dataset)
    got = by_id([next(batches) for _ in range(after)], "large", "small")
    for rank in range(2):
        rest = opened(table, SIZES, rank=rank, world_size=2)
        rest.load_state_dict(dataset.state_dict())
        got |= by_id(rest, "large", "small")
    assert got == want and len(want) == 24


def test_refused(table: Path) -> None:
    with pytest.raises(errors.OptionError, match=r"images\[\"a\"\] does not apply: it is of \"imgs\": no such column is read"):
        next(iter(opened(table, {"a": Image(of="imgs")})))
    with pytest.raises(Exception, match='the image "a" is of column "imgs"'):
        next(iter(opened(table, {"a": Image(of="imgs")}, columns=["id"])))
