"""Several images of one column, under names of their own."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
import torch

import shardfeed.torch
from shardfeed import Boxes, Image, MapDataset, StreamingDataset, errors

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore::shardfeed.PaddingWarning")]
RANDOM = Image(24, of="img", crop="random_resized", flip=0.5, color_jitter=0.3)
SIZES = {"large": Image((40, 32), of="img", crop="random_resized", scale=(0.4, 1)), "small": RANDOM}
CROPS = {
    "global": Image(40, of="img", views=2, crop="random_resized", scale=(0.4, 1), flip=0.5),
    "local": Image(24, of="img", views=3, crop="random_resized", scale=(0.05, 0.4), flip=0.5),
}


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


@pytest.mark.parametrize("after", range(1, 5))
def test_resume_on_another_world_size(table: Path, after: int) -> None:
    want = by_id(opened(table, CROPS), "global", "local")
    dataset = opened(table, CROPS)
    batches = iter(dataset)
    got = by_id([next(batches) for _ in range(after)], "global", "local")
    for rank in range(2):
        rest = opened(table, CROPS, rank=rank, world_size=2)
        rest.load_state_dict(dataset.state_dict())
        got |= by_id(rest, "global", "local")
    assert got == want and len(want) == 24


def test_views_are_different_crops(table: Path) -> None:
    """The first is that of an Image without views."""
    dataset = opened(table, CROPS)
    assert dataset.schema["global"].shape == (2, 3, 40, 40) and dataset.schema["local"].shape == (3, 3, 24, 24)
    one = {
        int(i): t
        for b in opened(table, {"global": dataclasses.replace(CROPS["global"], views=None)})
        for i, t in zip(b["id"], b["global"].copy())
    }
    views = set()
    for batch in dataset:
        for i, tensors in zip(batch["id"], batch["global"]):
            assert (tensors[0] == one[int(i)]).all()
            views |= {t.tobytes() for t in tensors}
    assert len(views) == 48


def test_views_are_torchvisions(table: Path) -> None:
    """torchvision.transforms.v2 resizes with torch's antialiased interpolation; geometry has the boxes."""
    files = pictures.many(24, ("JPEG", "PNG"))
    images = {name: dataclasses.replace(image, geometry=True, reducing_gap=None) for name, image in CROPS.items()}
    dataset = opened(table, images, tail="short")
    assert dataset.schema["local_box"].shape == (3, 4)
    seen = 0
    for batch in dataset:
        for name, image in images.items():
            for i, tensors, boxes in zip(batch["id"], batch[name], batch[f"{name}_box"]):
                if files[int(i)][:1] != b"\x89":  # decoders of JPEG differ
                    continue
                picture = torch.from_numpy(np.asarray(pictures.decoded(files[int(i)])).copy()).permute(2, 0, 1)
                for pixels, (x0, y0, x1, y1) in zip(tensors, boxes.astype(int)):
                    crop = picture[None, :, y0:y1, min(x0, x1) : max(x0, x1)]
                    want = torch.nn.functional.interpolate(crop, (image.size,) * 2, mode="bilinear", antialias=True)[0]
                    if x0 > x1:
                        want = want.flip(-1)
                    assert np.abs(want.numpy().astype(int) - pixels).max() <= 1
                    seen += 1
    assert seen == 12 * 5


def test_refused(table: Path) -> None:
    with pytest.raises(errors.OptionError, match=r"images\[\"a\"\] does not apply: it is of \"imgs\": no such column is read"):
        next(iter(opened(table, {"a": Image(of="imgs")})))
    with pytest.raises(Exception, match='the image "a" is of column "imgs"'):
        next(iter(opened(table, {"a": Image(of="imgs")}, columns=["id"])))
    with pytest.raises(errors.OptionError, match='it is of "img", which has 2 views, each with a crop of its own; boxes follow one'):
        next(iter(opened(table, {"img": Image(views=2)}, boxes={"id": Boxes("img")})))
