"""Boxes and Keypoints: what reaches the engine, and where boxes are in batches."""

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as Pil

from shardfeed import Boxes, Image, Keypoints, MapDataset, StreamingDataset, errors
from shardfeed._options import Options
from shardfeed.torch import DataLoader

pytestmark = pytest.mark.usefixtures("job")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def table(tmp_path):
    """Pictures of 40 x 20 with 0 to 3 boxes of 4 x 4."""
    file = io.BytesIO()
    Pil.fromarray(np.arange(40 * 20 * 3).astype(np.uint8).reshape(20, 40, 3)).save(file, "PNG")
    rows = range(12)
    boxes = [[[10 * k, 5 * k, 10 * k + 4, 5 * k + 4] for k in range(i % 4)] for i in rows]
    columns = {
        "image": pa.array([file.getvalue()] * 12),
        "boxes": pa.array(boxes, pa.list_(pa.list_(pa.float64()))),
        "labels": pa.array([[10 * i + k for k in range(i % 4)] for i in rows], pa.list_(pa.int64())),
        "objects": pa.array(
            [[{"bbox": [x, y, 4, 4], "kind": f"{i}.{x}"} for x, y, _, _ in all] for i, all in enumerate(boxes)],
            pa.list_(pa.struct({"bbox": pa.list_(pa.float32(), 4), "kind": pa.string()})),
        ),
        "points": pa.array([[[x, y, 2, x + 4, y + 4, 1] for x, y, _, _ in all] for all in boxes], pa.list_(pa.list_(pa.int32()))),
    }
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    return str(tmp_path)


CROP = {"image": Image((20, 20), crop="center", resize=20)}  # the middle, x from 10 to 30


def test_boxes_follow_and_drop_labels(table) -> None:
    boxes = {"boxes": Boxes("image", drop_with=["labels", "points"]), "points": Keypoints("image", format="xyv")}
    (batch,) = DataLoader(table, batch_size=12, shuffle=False, images=CROP, boxes=boxes)
    for i in range(12):
        kept = [k for k in range(i % 4) if 10 <= 10 * k < 30]
        assert batch["boxes"][i].reshape(-1, 4).tolist() == [[10 * k - 10, 5 * k, 10 * k - 6, 5 * k + 4] for k in kept]
        assert batch["labels"][i].tolist() == [10 * i + k for k in kept]
    assert batch["boxes"].values.shape == (9, 4) and str(batch["boxes"].values.dtype) == "torch.float32"
    shown = [10 * k - 10 for i in range(12) for k in (1, 2) if k < i % 4]
    assert batch["points"].values.tolist() == [[x, x // 2 + 5, 2, x + 4, x // 2 + 9, 1] for x in shown]


@pytest.mark.parametrize("after", range(1, 6))
def test_resume_on_another_world_size(table, after) -> None:
    """Boxes, points and a mask are those of an epoch that was not interrupted, after each of its steps."""
    images = {
        "image": Image(16, crop="random_resized", scale=(0.3, 1), flip=0.5),
        "mask": Image(of="image", like="image", interpolation="nearest"),
    }
    boxes = {"boxes": Boxes("image", drop_with=["labels"]), "points": Keypoints("image", format="xyv")}

    def opened(**given):
        return StreamingDataset(table, batch_size=2, images=images, boxes=boxes, **given)

    def rows(batches):
        for batch in batches:
            for i in np.flatnonzero(batch.row_valid):
                points = [np.asarray(p).tolist() for p in batch["points"][i]]
                lists = [np.asarray(batch[name][i]).tolist() for name in ("labels", "boxes")]
                yield [*lists, points, batch["image"][i].tobytes(), batch["mask"][i].tobytes()]

    want = sorted(rows(opened()))
    dataset = opened()
    batches = iter(dataset)
    got = list(rows(next(batches) for _ in range(after)))
    for rank in range(2):
        rest = opened(rank=rank, world_size=2)
        rest.load_state_dict(dataset.state_dict())
        got += rows(rest)
    assert sorted(got) == want and len(want) == 12 and len({row[3] for row in want}) == 12 and any(row[1] for row in want)


def test_boxes_of_structs_and_padded(table) -> None:
    boxes = {"objects.bbox": Boxes("image", format="xywh"), "boxes": Boxes("image")}
    (batch,) = StreamingDataset(table, batch_size=12, shuffle=False, images=CROP, boxes=boxes, pad={"boxes": -1})
    assert batch["boxes"].shape == (12, 2, 4) and batch["boxes_lengths"].tolist() == [0, 0, 1, 2] * 3
    objects = batch.to_arrow().column("objects").to_pylist()
    assert objects[3] == [{"bbox": [0, 5, 4, 4], "kind": "3.10"}, {"bbox": [10, 10, 4, 4], "kind": "3.20"}]
    assert objects[1] == [] and len(objects[2]) == 1


def test_boxes_of_maps(table) -> None:
    data = MapDataset(table, images=CROP, boxes={"boxes": Boxes("image", drop=False, clip=False)})
    (row,) = data.__getitems__([3])
    assert np.asarray(row["boxes"]).tolist() == [[-10, 0, -6, 4], [0, 5, 4, 9], [10, 10, 14, 14]]


def test_members_are_the_engines() -> None:
    struct = re.search(r"type inJSON struct \{(.*?)\n\}", (ROOT / "images/boxes/options.go").read_text(), re.S)[1]
    assert set(Boxes("image").spec()) == set(re.findall(r'json:"(\w+)', struct))
    assert Boxes("image", format="xywh", min_size=2, drop_with=("a",)).spec() == {
        "of": "image",
        "format": "xywh",
        "clip": True,
        "min_size": 2.0,
        "drop": True,
        "drop_with": ["a"],
    }
    assert Keypoints("image").spec() == {"of": "image", "format": "xy", "clip": False, "drop": False, "drop_with": []}


@pytest.mark.parametrize(
    "given, words",
    [
        ({"of": ""}, r"^Boxes: of must be the name of a column of images, got ''$"),
        ({"of": "image", "format": "xy"}, "format must be 'xyxy', 'xywh' or 'cxcywh', got 'xy'"),
        ({"of": "image", "min_size": 0}, "min_size must be a number above 0, got 0"),
        ({"of": "image", "drop_with": "labels"}, r"drop_with must be a list of columns, as in \['labels'\], got 'labels'"),
        ({"of": "image", "drop": False, "drop_with": ["labels"]}, "drop_with contradicts drop=False, which drops nothing"),
        ({"of": 3, "clip": 1}, "2 arguments are wrong"),
    ],
    ids=str,
)
def test_refused(given, words) -> None:
    with pytest.raises(errors.OptionError, match=words):
        Boxes(**given)


def test_refused_by_datasets(table) -> None:
    for given, words in [
        ({"boxes": {"boxes": "xywh"}}, "boxes of column 'boxes' must be a shardfeed.Boxes"),
        ({"boxes": [Boxes("image")]}, "boxes must be a dict of Boxes by column"),
    ]:
        with pytest.raises(errors.OptionError, match=words):
            Options("s3://b/p", 8, **given).spec()
    for boxes, words in [
        (
            {"boxes": Boxes("picture")},
            r'boxes\["boxes"\] does not apply: it is of "picture", which must be a column of images',
        ),
        ({"labels": Boxes("image", drop_with=["boxes", "image"])}, 'items are dropped from ragged lists, and column "image" is'),
    ]:
        with pytest.raises(errors.OptionError, match=words):
            next(iter(StreamingDataset(table, batch_size=4, images=CROP, boxes=boxes)))
