"""Images: the files in a column as tensors, held against Pillow and what torchvision made."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import os
import pickle
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image as Pillow

import shardfeed.torch
from shardfeed import Image, MapDataset, Source, StreamingDataset, errors

ROOT = Path(__file__).resolve().parents[2]
NOT_FETCHED = 3  # exit code of tools/turbojpeg/build
SIZE = 32
RANDOM = Image(SIZE, crop="random_resized", flip=0.5, color_jitter=0.3)

pytestmark = [pytest.mark.usefixtures("job", "turbo"), pytest.mark.filterwarnings("ignore::shardfeed.PaddingWarning")]


OUTSIDE = dict(os.environ)  # the tests' engines get a cache of their own


@pytest.fixture(scope="session")
def library() -> str:
    """libjpeg-turbo as the wheel has it, built once for all runs."""
    build = subprocess.run([ROOT / "tools" / "turbojpeg" / "build"], capture_output=True, text=True, env=OUTSIDE)
    if build.returncode == NOT_FETCHED:
        pytest.skip(build.stderr.strip())
    assert build.returncode == 0, build.stderr
    return build.stdout.strip()


@pytest.fixture
def turbo(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDFEED_LIBTURBOJPEG", library)


@pytest.fixture(scope="session")
def files() -> list[bytes]:
    return pictures.many(48)


@pytest.fixture(scope="session")
def table(files: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures.write(tmp_path_factory.mktemp("pictures"), files)


def opened(table: Path, image: Image = RANDOM, **given: Any) -> StreamingDataset:
    return StreamingDataset(table, **{"batch_size": 5, "images": {"img": image}, **given})


def by_id(batches: Iterable[Any]) -> dict[int, bytes]:
    """The tensor of each row that counts."""
    rows: dict[int, bytes] = {}
    for batch in batches:
        valid = np.asarray(batch.row_valid)
        for i, image in zip(np.asarray(batch["id"])[valid], np.asarray(batch["img"])[valid]):
            assert int(i) not in rows
            rows[int(i)] = image.tobytes()
    return rows


def test_all_of_a_picture_is_what_pillow_makes(table: Path, files: list[bytes]) -> None:
    for dtype, layout in [("uint8", "CHW"), ("float32", "HWC"), ("float16", "CHW")]:
        image = Image(size=(20, 28), dtype=dtype, layout=layout, reducing_gap=None)
        for batch in opened(table, image, shuffle=False):
            got = np.moveaxis(batch["img"], 1, 3) if layout == "CHW" else batch["img"]
            assert batch["img"].dtype == dtype and got.shape[1:] == (20, 28, 3)
            scale = 1 if dtype == "uint8" else 255
            for i, pixels in zip(batch["id"], got):
                want = pictures.resized(pictures.decoded(files[i]), 20, 28)
                assert np.abs(pixels.astype(np.float64) * scale - want).max() <= 1.13, (i, dtype)  # float16 adds an eighth


def test_what_torchvision_made_of_a_photo(tmp_path: Path) -> None:
    """images/testdata has its results for whole pictures and both filters."""
    corpus = zipfile.ZipFile(ROOT / "images" / "testdata" / "corpus.zip")
    photo = corpus.read("photo.png")
    width, height = Pillow.open(io.BytesIO(photo)).size
    pictures.write(tmp_path, [photo], shards=1)
    compared = 0
    for name in corpus.namelist():
        kind, _, rest = name.removeprefix("resize/").removesuffix(".png").partition("-")
        filter, *box = rest.split("-")
        if kind not in ("pil", "torchvision") or not name.startswith("resize/") or box[:4] != ["0", "0", str(width), str(height)]:
            continue
        w, h = map(int, box[4:])
        [batch] = opened(tmp_path, Image(size=(h, w), interpolation=filter, layout="HWC"), batch_size=1)
        want = np.asarray(Pillow.open(io.BytesIO(corpus.read(name)))).astype(int)
        assert np.abs(batch["img"][0].astype(int) - want).max() <= 1, name
        compared += 1
    assert compared == 12


def test_evaluation_is_resize_and_center_crop(table: Path, files: list[bytes]) -> None:
    image = Image.imagenet_eval(size=28, resize=32, reducing_gap=None)
    mean, std = np.array(image.mean), np.array(image.std)
    for batch in opened(table, image, shuffle=False):
        for i, pixels in zip(batch["id"], np.moveaxis(batch["img"], 1, 3)):
            want = (pictures.centered(pictures.decoded(files[i]), 32, 28) / 255 - mean) / std
            assert np.abs((pixels - want) * std * 255).max() <= 1.001, i


def test_bfloat16(table: Path) -> None:
    def read(dtype: Any) -> Any:
        return shardfeed.torch.StreamingDataset(table, batch_size=48, shuffle=False, images={"img": Image(SIZE, dtype=dtype)})

    [whole], [half] = read("float32"), read(torch.bfloat16)
    assert half["img"].dtype == torch.bfloat16 and half["img"].shape == (48, 3, SIZE, SIZE)
    assert torch.equal(half["img"], whole["img"].to(torch.bfloat16))


def test_crops_depend_on_seed_epoch_and_row_alone(table: Path) -> None:
    want = by_id(opened(table))
    assert len(want) == 48 == len(set(want.values()))
    for world_size, batch_size in [(2, 5), (3, 4)]:
        got: dict[int, bytes] = {}
        for rank in range(world_size):
            got |= by_id(opened(table, rank=rank, world_size=world_size, batch_size=batch_size))
        assert got == want, world_size
    assert by_id(opened(table, shuffle=False)) == want
    assert by_id(opened(table, collate_workers=1, columns=["img", "id"])) == want
    dataset = opened(table)
    first, second = by_id(dataset), by_id(dataset)
    assert first == want and not set(second.values()) & set(want.values())
    assert not set(by_id(opened(table, seed=1)).values()) & set(want.values())


def test_a_column_of_its_own_does_not_change_the_crops(tmp_path: Path, files: list[bytes]) -> None:
    tables = pictures.write(tmp_path, files)
    for path in tables.glob("*.parquet"):
        read = pq.read_table(path)
        pq.write_table(read.append_column("thumb", read["img"]), path, row_group_size=8)
    [batch] = StreamingDataset(tables, batch_size=48, images={"img": RANDOM, "thumb": RANDOM})
    assert by_id([batch]) == by_id(opened(tables, columns=["id", "img"]))
    assert not (batch["img"] == batch["thumb"]).all(axis=(1, 2, 3)).any()


@pytest.mark.parametrize("after", range(1, 10))
def test_resume_on_another_world_size_repeats_the_crops(table: Path, after: int) -> None:
    want = by_id(opened(table))
    dataset, got = opened(table), {}
    batches = iter(dataset)
    for _ in range(after):
        got |= by_id([next(batches)])
    state = pickle.loads(pickle.dumps(dataset.state_dict()))
    for rank in range(2):
        rest = opened(table, rank=rank, world_size=2)
        rest.load_state_dict(state)
        got |= by_id(rest)
    assert got == want


def mean_of(batch: Any) -> Any:
    """Gets the tensor, also in a worker process."""
    assert batch["img"].dtype == torch.uint8 and batch["img"].shape[1:] == (3, SIZE, SIZE)
    return batch["id"].clone(), batch["img"].float().mean(dim=(1, 2, 3))


@pytest.mark.parametrize("given", [{}, {"num_workers": 2}, {"threads": 2}], ids=str)
def test_map_gets_the_tensors(table: Path, given: dict[str, Any]) -> None:
    want = {i: np.frombuffer(image, np.uint8).mean() for i, image in by_id(opened(table)).items()}
    loader = shardfeed.torch.DataLoader(table, batch_size=5, images={"img": RANDOM}, **given).map(mean_of)
    got = {int(i): float(mean) for ids, means in loader for i, mean in zip(ids, means)}
    assert got == pytest.approx(want, rel=1e-5)


def test_tensors_lie_in_the_slot(table: Path) -> None:
    """They are where the engine wrote them."""
    dataset = shardfeed.torch.StreamingDataset(table, batch_size=8, images={"img": RANDOM})
    for batch in dataset:
        ring = dataset._batches_of().connection.ring
        assert batch["img"].is_contiguous() and batch["img"].shape == (8, 3, SIZE, SIZE)
        assert ring.address <= batch["img"].data_ptr() < ring.address + ring.bytes.nbytes


@pytest.mark.parametrize("on_error", ["raise", "mask", "skip"])
def test_damaged_files(tmp_path: Path, files: list[bytes], on_error: str, caplog: pytest.LogCaptureFixture) -> None:
    bad: dict[int, bytes | None] = {3: files[3][:200], 20: b"no image at all", 33: None}
    table = pictures.write(tmp_path, [bad.get(i, file) for i, file in enumerate(files)])
    dataset = opened(table, shuffle=False, on_error=on_error, **({} if on_error == "raise" else {"max_lost": 0.2}))
    if on_error == "raise":
        with pytest.raises(errors.DataError, match=r"part-0\.parquet.*row group 0.*img"):
            list(dataset)
        return
    want = by_id(opened(pictures.write(tmp_path / "whole", files), shuffle=False))
    caplog.set_level(logging.WARNING, "shardfeed")
    assert by_id(dataset) == {i: image for i, image in want.items() if i not in bad}
    stats = dataset.stats()
    assert stats["lost_rows"] == 3 and {place["column"] for place in stats["lost"]} == {"img"}
    told = [r.getMessage() for r in caplog.records if "lost" in r.getMessage()]
    assert [t.split(" is lost")[0] for t in told] == [
        "row 3",
        f"epoch 0: rank 0 lost 3 of {len(files)} rows: stats()['lost'] lists their places",
    ]


def test_damaged_files_by_number(tmp_path: Path, files: list[bytes]) -> None:
    """A map-style data set leaves them out, or marks them; a row alone is an error."""
    table = pictures.write(tmp_path, [files[3][:200] if i == 3 else file for i, file in enumerate(files)])
    given: dict[str, Any] = {"images": {"img": RANDOM}}
    with pytest.raises(errors.DataError, match=r"row 3: .*truncated.*on_error=\"skip\" leaves them out"):
        MapDataset(table, **given)[[1, 3]]
    skip, mask = MapDataset(table, on_error="skip", **given), MapDataset(table, on_error="mask", **given)
    assert skip[[5, 3, 1]]["id"].tolist() == [5, 1]
    with pytest.raises(errors.DataError, match=r"rows \[3\] of 1 are lost"):
        skip[3]
    batch = mask[[5, 3, 1]]
    assert (batch["id"].tolist(), batch.row_valid.tolist()) == ([5, 1, 3], [True, True, False])
    assert not mask[3]["_row_valid"] and not mask[3]["img"].any()
    first = next(iter(shardfeed.torch.DataLoader(skip, batch_size=5)))
    assert first["id"].tolist() == [0, 1, 2, 4]
    first = next(iter(shardfeed.torch.DataLoader(mask, batch_size=5)))
    assert first["_row_valid"].tolist() == [True] * 4 + [False]
    for data, rows in [(skip, 4), (mask, 5)]:
        assert len(next(iter(torch.utils.data.DataLoader(data, batch_size=5)))["id"]) == rows


@pytest.mark.parametrize("form", ["GIF", "BMP", "TIFF", "WEBP"])
def test_formats(tmp_path: Path, form: str) -> None:
    """The first frame of what Pillow writes has the pixels that Pillow reads."""
    frames = [pictures.drawn(seed, SIZE, SIZE) for seed in range(3)]
    file = io.BytesIO()
    more = {} if form == "BMP" else {"save_all": True, "append_images": frames[1:]}
    frames[0].save(file, form, **more)
    table = pictures.write(tmp_path, [file.getvalue()], shards=1)
    got = next(iter(opened(table, Image(SIZE, layout="HWC"), batch_size=1)))["img"][0]
    want = np.asarray(Pillow.open(io.BytesIO(file.getvalue())).convert("RGB"))
    assert np.array_equal(got, want)


@pytest.mark.parametrize("form", ["PNG", "GIF", "TIFF", "WEBP"])
def test_background(tmp_path: Path, form: str) -> None:
    """Alpha is laid on a color as by Pillow's paste."""
    picture = pictures.drawn(1, SIZE, SIZE).convert("RGBA")
    alpha = (np.indices((SIZE, SIZE)).sum(0) * 7 % 256).astype(np.uint8)
    alpha[:9] = 0
    picture.putalpha(Pillow.fromarray(alpha))
    file = io.BytesIO()
    picture.save(file, form, **({"lossless": True} if form == "WEBP" else {}))
    table = pictures.write(tmp_path, [file.getvalue()], shards=1)
    got = next(iter(opened(table, Image(SIZE, layout="HWC", background=(250, 10, 100)), batch_size=1)))["img"][0]
    stored = Pillow.open(io.BytesIO(file.getvalue())).convert("RGBA")
    want = Pillow.new("RGB", stored.size, (250, 10, 100))
    want.paste(stored.convert("RGB"), mask=stored.getchannel("A"))
    assert np.array_equal(got, np.asarray(want))
    assert not np.array_equal(got, np.asarray(stored.convert("RGB")))


def test_null_images(tmp_path: Path, files: list[bytes]) -> None:
    """A row without a file has a picture of one color."""
    table = pictures.write(tmp_path, [None if i == 3 else file for i, file in enumerate(files)])
    with pytest.raises(errors.DataError, match=r"it is null; null=0 of its Image makes such images black"):
        list(opened(table))
    got = by_id(opened(table, dataclasses.replace(RANDOM, null=(9, 8, 7)), shuffle=False))
    image = np.frombuffer(got[3], np.uint8).reshape(3, -1)
    assert [set(plane.tolist()) for plane in image] == [{9}, {8}, {7}]


def test_an_image_that_cannot_be_decoded_is_masked(tmp_path: Path, files: list[bytes]) -> None:
    """Its row has a label, and a picture that is black."""
    table = pictures.write(tmp_path, [b"no image at all" if i == 7 else file for i, file in enumerate(files)])
    given = {"batch_size": 5, "images": {"img": RANDOM}, "shuffle": False, "on_error": "mask", "max_lost": 0.2}
    for batch in shardfeed.torch.DataLoader(table, **given):
        assert 7 not in batch["id"][batch["_row_valid"]]
    assert 7 not in [
        int(row["id"]) for row in shardfeed.torch.StreamingDataset(table, **{**given, "batch_size": None}) if row["_row_valid"]
    ]


def test_limits_are_the_rows(table: Path) -> None:
    for image, words in [(Image(max_pixels=100), "raise max_pixels"), (Image(max_bytes=100), "raise max_bytes")]:
        with pytest.raises(errors.DataError, match=words):
            list(opened(table, image))


def test_orientation(tmp_path: Path) -> None:
    picture = pictures.drawn(3, 60, 40)
    file = io.BytesIO()
    exif = Pillow.Exif()
    exif[274] = 6
    picture.save(file, "PNG", exif=exif)
    jpeg = io.BytesIO()
    picture.save(jpeg, "JPEG", quality=95, exif=exif)
    table = pictures.write(tmp_path, [jpeg.getvalue()], shards=1)
    stored = pictures.decoded(jpeg.getvalue())
    for upright, want in [(True, stored.transpose(Pillow.Transpose.ROTATE_270)), (False, stored)]:
        [batch] = opened(table, Image((30, 20), exif=upright, layout="HWC"))
        assert np.abs(batch["img"][0].astype(int) - pictures.resized(want, 30, 20)).max() <= 1


def test_map_dataset(table: Path) -> None:
    want = by_id(opened(table, Image(SIZE), shuffle=False))
    dataset = MapDataset(table, images={"img": Image(SIZE)})
    assert dataset[7]["img"].shape == (3, SIZE, SIZE) and dataset[7]["img"].tobytes() == want[7]
    assert by_id([dataset[[5, 40, 3]]]) == {i: want[i] for i in (5, 40, 3)}


def test_map_dataset_draws_by_row_and_epoch(table: Path) -> None:
    stream = opened(table)
    epochs = [by_id(stream) for _ in range(3)]
    dataset = MapDataset(table, images={"img": RANDOM})
    for epoch in (0, 2, 1, 0):
        dataset.set_epoch(epoch)
        assert dataset[7]["img"].tobytes() == epochs[epoch][7] == dataset[[1, 7]]["img"][1].tobytes()
        assert dataset.locate(7).row == 7 and dataset[7]["img"].tobytes() == epochs[epoch][7]
        assert pickle.loads(pickle.dumps(dataset))[9]["img"].tobytes() == epochs[epoch][9]
    with pytest.raises(errors.OptionError, match="epoch must be"):
        dataset.set_epoch(-1)


@pytest.mark.parametrize("given", [{}, {"num_workers": 1, "persistent_workers": True}], ids=str)
def test_map_loader_draws_by_row_and_epoch(table: Path, given: dict[str, Any]) -> None:
    stream = opened(table)
    epochs = [by_id(stream) for _ in range(3)]
    loader = shardfeed.torch.DataLoader(MapDataset(table, images={"img": RANDOM}), batch_size=7, shuffle=True, **given)

    def read() -> dict[int, bytes]:
        return {int(i): image.numpy().tobytes() for batch in loader for i, image in zip(batch["id"], batch["img"])}

    with contextlib.closing(loader):
        assert read() == epochs[0] and read() == epochs[1]
        loader.set_epoch(0)
        assert read() == epochs[0]
        loader.load_state_dict(loader.state_dict())
        assert read() == epochs[1] and read() == epochs[2]


def test_members_of_structs(tmp_path: Path, files: list[bytes], table: Path) -> None:
    """Hugging Face's images are structs of bytes and a path."""
    rows = [{"bytes": file, "path": f"{i}.jpg"} for i, file in enumerate(files)]
    pq.write_table(pa.table({"id": range(48), "image": pa.array(rows)}), tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=48, shuffle=False, images={"image.bytes": Image(SIZE)})
    [batch] = dataset
    assert dataset.schema["image"].children[0].shape == (3, SIZE, SIZE)
    want = by_id(opened(table, Image(SIZE), shuffle=False))
    assert [image.tobytes() for image in batch["image.bytes"]] == list(want.values())


def test_mixtures(tmp_path: Path, files: list[bytes], table: Path) -> None:
    other = pictures.write(tmp_path, files[::-1])
    sources = {"a": Source(table, weight=1), "b": Source(other, weight=1)}
    dataset = shardfeed.torch.StreamingDataset(sources=sources, batch_size=8, row_ids=True, images={"img": Image(SIZE)})
    want = [by_id(opened(t, Image(SIZE))) for t in (table, other)]
    seen = 0
    for batch in dataset:
        assert batch["img"].shape == (8, 3, SIZE, SIZE)
        for i, source, image in zip(batch["id"].tolist(), batch["source"].tolist(), batch["img"]):
            assert image.numpy().tobytes() == want[source][i]
            seen += 1
    assert seen == 96


def test_single_rows(table: Path) -> None:
    rows = list(opened(table, batch_size=None))
    assert {row["id"]: row["img"].tobytes() for row in rows} == by_id(opened(table))


def test_what_is_shown(table: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "shardfeed"):
        dataset = opened(table, Image(SIZE, dtype="float32"))
    field = dataset.schema["img"]
    assert (field.dtype, field.shape) == (np.float32, (3, SIZE, SIZE))
    assert f"float32[3, {SIZE}, {SIZE}]" in repr(dataset.schema) and f"float32[3, {SIZE}, {SIZE}]" in dataset._repr_html_()
    assert any("JPEG is decoded by libjpeg-turbo" in r.getMessage() for r in caplog.records)
    list(dataset)
    assert dataset.stats()["image_decoder"] == "turbo"
    assert StreamingDataset(table, batch_size=5).stats()["image_decoder"] == ""
    assert repr(RANDOM) == f"Image(size={SIZE}, crop='random_resized', flip=0.5, color_jitter=0.3)"


def test_decoders_are_alike_within_three(table: Path) -> None:
    [turbo], [go] = (opened(table, Image(SIZE, reducing_gap=None), batch_size=48, shuffle=False, image_decoder=d) for d in ("turbo", "go"))
    assert np.abs(turbo["img"].astype(int) - go["img"]).max() <= 3
    dataset = opened(table, Image(SIZE), image_decoder="go")
    list(dataset)
    assert dataset.stats()["image_decoder"] == "go"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"image_decoder": "turbo"}, {"image_decoder": "go"}], "image_decoder: turbo on rank 0, go on rank 1"),
        ([{"image": Image(SIZE)}, {"image": Image(SIZE, flip=0.5)}], "images: img=.* on rank 0, img=.*flip.* on rank 1"),
    ],
    ids=["decoders", "images"],
)
def test_ranks_that_make_other_tensors_are_refused(table: Path, given: list[dict[str, Any]], words: str) -> None:
    ranks = [opened(table, rank=rank, world_size=2, **these) for rank, these in enumerate(given)]
    for dataset in ranks:
        dataset._agree = "ranks of one line"
    first = iter(ranks[0])
    next(first)
    with pytest.raises(errors.RankMismatchError, match=words) as caught:
        next(iter(ranks[1]))
    assert ("give image_decoder='go' to all ranks" in str(caught.value)) == ("decoder" in words)


class TestWithoutTheLibrary:
    """libjpeg-turbo is not where the engine looks for it."""

    @pytest.fixture(autouse=True)
    def absent(self, turbo: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHARDFEED_LIBTURBOJPEG", str(tmp_path / "absent.so"))

    def test_turbo_is_refused(self, table: Path) -> None:
        with pytest.raises(errors.OptionError, match=r"image_decoder is turbo, which cannot be used here.*absent\.so"):
            opened(table, image_decoder="turbo")

    def test_auto_warns_and_decodes_in_go(self, table: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "shardfeed"):
            dataset = opened(table)
        assert any("three times as long as libjpeg-turbo" in r.getMessage() for r in caplog.records)
        assert len(by_id(dataset)) == 48
        assert dataset.stats()["image_decoder"] == "go"

    def test_go_says_nothing(self, table: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "shardfeed"):
            list(opened(table, image_decoder="go"))
        assert not caplog.records


def test_training(tmp_path: Path) -> None:
    """A small network learns which color a picture has, over two epochs of a loader with workers' map."""
    rng = np.random.default_rng(0)
    colors = np.array([[220, 40, 40], [40, 220, 40], [40, 40, 220]])
    files = []
    for i in range(120):
        noise = rng.integers(-30, 30, (48, 64, 3))
        files.append(pictures.encoded(Pillow.fromarray((colors[i % 3] + noise).clip(0, 255).astype(np.uint8))))
    table = pictures.write(tmp_path, files, row_group=30)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(3))
    image = Image.imagenet_train(size=SIZE, color_jitter=0.1)
    loader = shardfeed.torch.DataLoader(table, batch_size=12, drop_last=True, images={"img": image})
    model(torch.zeros(1, 3, SIZE, SIZE))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _epoch in range(2):
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["img"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert len(losses) == 20 and np.mean(losses[-5:]) < 0.2 < losses[0]


def located(i: int) -> tuple[bytes, bytes]:
    """A picture whose red and green are the place of a pixel, and a mask of 16 bits with the same."""
    width, height = 30 + i % 7, 25 + i % 5
    y, x = np.mgrid[0:height, 0:width]
    picture = np.stack([x, y, x * 0 + i], -1).astype(np.uint8)
    return pictures.encoded(Pillow.fromarray(picture), "PNG"), pictures.encoded(Pillow.fromarray((x + 256 * y).astype(np.uint16)), "PNG")


PAIR = {
    "img": Image((16, 12), crop="random_resized", flip=0.5, interpolation="nearest"),
    "mask": Image(like="img", channels=1, interpolation="nearest", dtype="uint16"),
}


def pairs_by_id(batches: Iterable[Any]) -> dict[int, bytes]:
    rows: dict[int, bytes] = {}
    for batch in batches:
        picture, mask = batch["img"].astype(int), batch["mask"]
        assert mask.dtype == np.uint16 and mask.shape[1:] == (1, 16, 12)
        assert (mask[:, 0] == picture[:, 0] + 256 * picture[:, 1]).all()
        rows |= {int(i): m.tobytes() for i, m in zip(batch["id"], mask)}
    return rows


def test_masks_have_the_crops_of_their_pictures(tmp_path: Path) -> None:
    """Also on another world size, and after a resume on one."""
    pairs = [located(i) for i in range(48)]
    tables = pictures.write(tmp_path, [picture for picture, _ in pairs])
    for k, path in enumerate(sorted(tables.glob("*.parquet"))):
        masks = pa.array([mask for _, mask in pairs[24 * k : 24 * k + 24]], pa.binary())
        pq.write_table(pq.read_table(path).append_column("mask", masks), path, row_group_size=8)
    given: dict[str, Any] = {"batch_size": 5, "images": PAIR, "tail": "drop"}
    want = pairs_by_id(StreamingDataset(tables, **{**given, "tail": "short"}))
    assert len(want) == 48 == len(set(want.values()))
    dataset = StreamingDataset(tables, **given)
    batches = iter(dataset)
    got = pairs_by_id([next(batches), next(batches)])
    state = dataset.state_dict()
    for rank in range(2):
        rest = StreamingDataset(tables, rank=rank, world_size=2, **{**given, "batch_size": 2})
        rest.load_state_dict(state)
        got |= pairs_by_id(rest)
    assert got.items() <= want.items() and len(got) >= 46


def test_pictures_of_16_bits(tmp_path: Path) -> None:
    """Those of OpenCV and tifffile are in uint16 what these read, and in floats the same of 65,535."""
    with zipfile.ZipFile(ROOT / "images" / "testdata" / "deep.zip") as deep:
        files = {name: deep.read(name) for name in deep.namelist() if "want/" + name in deep.namelist() and "rgb" in name}
        want = {name: np.frombuffer(deep.read("want/" + name), "<u2").reshape(29, 41, -1)[..., :3] for name in files}
    names = [name for name in files if "associated" not in name]
    assert len(names) > 12
    tables = pictures.write(tmp_path, [files[name] for name in names])
    image = Image((29, 41), layout="HWC", dtype=torch.uint16)
    for kind, scale in {"uint16": 1, "float32": np.float32(65535)}.items():
        rows = 0
        for batch in StreamingDataset(tables, batch_size=5, images={"img": dataclasses.replace(image, dtype=kind)}, tail="short"):
            assert batch["img"].dtype == kind
            for i, got in zip(batch["id"], batch["img"]):
                assert (got == want[names[i]].astype(kind) / scale).all(), names[i]
                rows += 1
        assert rows == len(names)
    batch = next(iter(shardfeed.torch.StreamingDataset(tables, batch_size=3, images={"img": image})))
    assert batch["img"].dtype == torch.uint16 and batch["img"].to(torch.int32).max() == 65535
    with pytest.raises(errors.OptionError, match="'uint16' excludes color_jitter: they change 8 bits"):
        Image(dtype="uint16", color_jitter=0.4)


def test_geometry_is_that_of_the_pixels(tmp_path: Path) -> None:
    """Sizes and boxes are columns, by which boxes follow: here they are held against the place in each pixel."""
    pairs = [located(i) for i in range(20)]
    tables = pictures.write(tmp_path, [picture for picture, _ in pairs])
    for image in [PAIR["img"], Image((40, 50), crop="letterbox", fill=200, interpolation="nearest"), Image(20, crop="center")]:
        dataset = StreamingDataset(tables, batch_size=6, images={"img": dataclasses.replace(image, geometry=True)}, tail="short")
        assert dataset.schema["img_size"].shape == (2,) and dataset.schema["img_box"].shape == (4,)
        for batch in dataset:
            for i, pixels, size, (x0, y0, x1, y1) in zip(batch["id"], batch["img"], batch["img_size"], batch["img_box"]):
                height, width = 25 + i % 5, 30 + i % 7
                assert size.tolist() == [height, width]
                if image.crop == "random_resized":
                    assert pixels[0].min() == min(x0, x1) and pixels[1].min() == y0
                    assert (pixels[0, 0, 0] > pixels[0, 0, -1]) == (x0 > x1)
                elif image.crop == "letterbox":
                    seen = pixels[2] != 200
                    rows, columns = seen.any(1).sum(), seen.any(0).sum()
                    assert abs(rows - 40 * height / (y1 - y0)) <= 1 and abs(columns - 50 * width / (x1 - x0)) <= 1
                    assert x0 <= 0 and y0 <= 0 and x1 >= width and y1 >= height
                else:
                    assert x1 - x0 == pytest.approx(min(height, width), abs=1.5)
