"""Image and image_decoder: what reaches the engine, and which errors refuse the rest."""

from __future__ import annotations

import dataclasses
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from shardfeed import Image, Npy, augment
from shardfeed._image import ImageOptions
from shardfeed._options import Options
from shardfeed.errors import OptionError

ROOT = Path(__file__).resolve().parents[2]
TOLD = {
    "size": [224, 224],
    "of": "",
    "like": "",
    "views": 0,
    "channels": 3,
    "crop": "",
    "fill": [0, 0, 0],
    "background": None,
    "null": None,
    "resize": 0,
    "scale": None,
    "ratio": None,
    "flip": 0.0,
    "color_jitter": {},
    "augment": [],
    "interpolation": "bilinear",
    "mean": None,
    "std": None,
    "layout": "CHW",
    "dtype": "uint8",
    "exif": True,
    "geometry": False,
    "reducing_gap": 2.0,
    "max_bytes": 0,
    "max_pixels": 0,
    "max_scans": 0,
}


def test_defaults() -> None:
    assert Image().spec() == TOLD
    assert repr(Image()) == "Image()"


def test_members_are_those_of_the_engine() -> None:
    source = (ROOT / "images" / "json.go").read_text()
    struct = source[source.index("type inJSON struct") :].split("\n}\n")[0]
    assert {*TOLD, *Npy((1,), "int8").spec(), "declared", "exact"} == set(re.findall(r'json:"(\w+)', struct))
    assert set(TOLD) == {f.name for f in dataclasses.fields(Image)} == set(ImageOptions.__annotations__)


@pytest.mark.parametrize(
    "given, told",
    [
        ({"size": 96}, {"size": [96, 96]}),
        ({"size": (96, 128)}, {"size": [96, 128]}),
        ({"size": np.array([96, 128])}, {"size": [96, 128]}),
        ({"crop": "random_resized"}, {"crop": "random_resized", "scale": [0.08, 1.0], "ratio": [3 / 4, 4 / 3]}),
        (
            {"crop": "random_resized", "scale": (0.5, 1), "ratio": [1, 1]},
            {"crop": "random_resized", "scale": [0.5, 1.0], "ratio": [1.0, 1.0]},
        ),
        ({"crop": "center", "resize": 256}, {"crop": "center", "resize": 256}),
        ({"dtype": torch.bfloat16}, {"dtype": "bfloat16"}),
        ({"dtype": np.float16}, {"dtype": "float16"}),
        (
            {"dtype": np.dtype("float32"), "mean": [0.5] * 3, "std": np.full(3, 0.25)},
            {"dtype": "float32", "mean": [0.5] * 3, "std": [0.25] * 3},
        ),
        ({"of": "img", "views": 2}, {"of": "img", "views": 2}),
        (
            {"like": "img", "channels": 1, "interpolation": "nearest", "dtype": "uint16"},
            {"size": [], "like": "img", "channels": 1, "interpolation": "nearest", "dtype": "uint16"},
        ),
        (
            {"channels": 1, "dtype": "float32", "mean": 0.5, "std": [0.25]},
            {"channels": 1, "dtype": "float32", "mean": [0.5] * 3, "std": [0.25] * 3},
        ),
        (
            {"crop": "letterbox", "fill": 114, "geometry": True, "null": 7},
            {"crop": "letterbox", "fill": [114] * 3, "geometry": True, "null": [7] * 3},
        ),
        ({"crop": "scale_jitter", "fill": 9}, {"crop": "scale_jitter", "scale": [0.1, 2.0], "fill": [9] * 3}),
        ({"crop": "scale_jitter", "scale": (0.5, 10)}, {"crop": "scale_jitter", "scale": [0.5, 10.0]}),
        ({"reducing_gap": None}, {"reducing_gap": -1.0}),
        (
            {"augment": [augment.RandAugment(3, 7, fill=9), augment.RandomGrayscale()]},
            {
                "augment": [
                    {
                        "step": "rand_augment",
                        "num_ops": 3,
                        "magnitude": 7,
                        "num_magnitude_bins": 31,
                        "interpolation": "nearest",
                        "fill": [9, 9, 9],
                    },
                    {"step": "random_grayscale", "p": 0.1},
                ]
            },
        ),
        ({"exif": False, "layout": "HWC", "interpolation": "bicubic"}, {"exif": False, "layout": "HWC", "interpolation": "bicubic"}),
        ({"max_bytes": 1, "max_pixels": 2, "max_scans": 3}, {"max_bytes": 1, "max_pixels": 2, "max_scans": 3}),
    ],
    ids=str,
)
def test_told(given, told) -> None:
    assert Image(**given).spec() == TOLD | told


@pytest.mark.parametrize(
    "given, told",
    [
        (0, {}),
        (0.25, {"brightness": [0.75, 1.25], "contrast": [0.75, 1.25], "saturation": [0.75, 1.25]}),
        (2, {"brightness": [0.0, 3.0], "contrast": [0.0, 3.0], "saturation": [0.0, 3.0]}),
        ((0.5,), {"brightness": [0.5, 1.5]}),
        ((0, 0.5, (1, 2), 0.1), {"contrast": [0.5, 1.5], "saturation": [1.0, 2.0], "hue": [-0.1, 0.1]}),
        ({"hue": (-0.25, 0.5)}, {"hue": [-0.25, 0.5]}),
        ({"hue": 0, "brightness": (1, 1), "contrast": None}, {}),
        ({"brightness": np.float32(0.5)}, {"brightness": [0.5, 1.5]}),
    ],
    ids=str,
)
def test_color_jitter_is_torchvisions(given, told) -> None:
    assert Image(color_jitter=given).spec()["color_jitter"] == told


def test_presets() -> None:
    train, evaluation = Image.imagenet_train(), Image.imagenet_eval()
    assert (train.size, train.crop, train.flip, train.dtype) == (224, "random_resized", 0.5, "float32")
    assert (evaluation.size, evaluation.crop, evaluation.resize, evaluation.dtype) == (224, "center", 256, "float32")
    assert train.mean == evaluation.mean == (0.485, 0.456, 0.406) and train.std == evaluation.std == (0.229, 0.224, 0.225)
    assert Image.imagenet_eval(size=384).resize == 439 and Image.imagenet_eval(size=384, resize=384).resize == 384
    assert Image.imagenet_train(flip=0, dtype="float16") == dataclasses.replace(train, flip=0, dtype="float16")
    assert pickle.loads(pickle.dumps(train)) == train and hash(train) == hash(Image.imagenet_train())
    assert Image.imagenet_eval(crop=None).resize is None


@pytest.mark.parametrize(
    "given, words",
    [
        ({"size": 0}, r"^Image: size must be from 1 to 16384, got 0$"),
        ({"size": "224"}, r"size must be a whole number or a pair \(height, width\), got '224'"),
        ({"size": (1, 2, 3)}, r"got \(1, 2, 3\)"),
        ({"size": True}, "got True"),
        ({"crop": "centre"}, "crop must be 'center', 'random_resized', 'letterbox' or 'scale_jitter', got 'centre'; did you mean 'center'"),
        ({"resize": 256}, "resize must go with crop='center', got crop=None"),
        ({"resize": 256, "crop": "random_resized"}, "resize must go with crop='center', got crop='random_resized'"),
        ({"resize": 200, "crop": "center"}, "resize must be at least the longer side of size, 224, got 200"),
        ({"scale": (0.1, 1)}, "scale must go with crop='random_resized', got crop=None"),
        ({"scale": (0.1, 1), "ratio": (1, 1), "crop": "center"}, "scale and ratio must go with .* got crop='center'"),
        ({"scale": (1, 0.5), "crop": "random_resized"}, r"scale must be two numbers above 0 and at most 1, the smaller .* got \(1, 0.5\)"),
        ({"scale": 0.5, "crop": "random_resized"}, "two numbers above 0 .* got 0.5"),
        ({"ratio": (0, 1), "crop": "random_resized"}, r"ratio must be two numbers above 0 and at most 1000, .* got \(0, 1\)"),
        ({"flip": 1.5}, "flip must be a number from 0 to 1, got 1.5"),
        ({"flip": True}, "flip must be a number from 0 to 1, got True"),
        ({"flip": float("nan")}, "got nan"),
        (
            {"interpolation": "linear"},
            "interpolation must be 'bilinear', .* or 'nearest-exact', got 'linear'; did you mean 'bilinear'",
        ),
        ({"mean": (0.5, 0.5, 0.5), "dtype": "float32"}, "mean and std must both be given or both left out, got mean alone"),
        ({"mean": (0, 0, 0), "std": (1, 1, 1)}, "mean and std need dtype='float32', 'float16' or 'bfloat16', got 'uint8'"),
        ({"like": "img", "size": 96, "flip": 0.5}, "like='img' shares size, views, .*; leave size and flip out"),
        ({"like": 3}, "like must be"),
        ({"views": 0}, "views must be at least 1, got 0"),
        ({"like": "img", "views": 2}, "like='img' shares size, views, .*; leave views out"),
        ({"of": ""}, "of must be the name of a column of images, got ''"),
        ({"background": 7, "channels": 1}, "background needs channels=3"),
        ({"null": [1, 2]}, "null must be a whole number from 0 to 255, or one for each of red, green and blue, got"),
        ({"fill": 114}, "fill must go with crop='letterbox' or 'scale_jitter', got crop=None"),
        ({"crop": "letterbox", "fill": 300}, "fill must be a whole number from 0 to 255, .* got 300"),
        ({"channels": 2}, "channels must be 1, 3 or 4, got 2"),
        ({"channels": 4, "interpolation": "nearest"}, "channels=4 needs interpolation='bilinear' or 'bicubic', got 'nearest'"),
        ({"channels": 4, "background": 7}, "background needs channels=3: one channel is taken without alpha, and four keep it"),
        ({"channels": 4, "color_jitter": 0.4}, "color_jitter needs channels=3"),
        ({"channels": 1, "color_jitter": 0.4}, "color_jitter needs channels=3"),
        (
            {"dtype": "uint16", "color_jitter": 0.1, "augment": [augment.RandomGrayscale()]},
            "dtype='uint16' excludes color_jitter and augment: they change 8 bits; leave out one, or give uint8 or a float",
        ),
        ({"dtype": np.uint16, "null": 65536}, "null must be a whole number from 0 to 65535, .* got 65536"),
        ({"mean": 0.5, "std": (1, 1, 1), "dtype": "float32"}, "mean must be 3 numbers, one for each of red, green and blue, got 0.5"),
        ({"mean": (0, 0, 0), "std": (1, 0, 1), "dtype": "float32"}, r"std must be above 0, got \(1, 0, 1\)"),
        ({"layout": "NCHW"}, "layout must be 'CHW' or 'HWC', got 'NCHW'"),
        ({"dtype": "int8"}, "dtype must be uint8, float32, float16, bfloat16 or uint16, got 'int8'"),
        ({"dtype": torch.float64}, "dtype must be .* got torch.float64"),
        ({"exif": 1}, "exif must be True or False, got 1"),
        ({"reducing_gap": 0}, "reducing_gap must be a number of at least 1, or None to decode at full size, got 0"),
        ({"max_pixels": 0}, "max_pixels must be at least 1, got 0"),
        ({"color_jitter": "strong"}, "color_jitter must be a number, up to four as in .* got 'strong'"),
        ({"color_jitter": (1, 1, 1, 0, 0)}, "up to four"),
        ({"color_jitter": {"bright": 1}}, "takes brightness, contrast, saturation, hue, got 'bright'; did you mean 'brightness'"),
        ({"color_jitter": {"hue": 0.6}}, "hue of color_jitter must be a number from 0 to 0.5, got 0.6"),
        ({"color_jitter": -0.1}, "brightness of color_jitter must be a number from 0 to 99, got -0.1"),
        ({"color_jitter": {"contrast": (2, 1)}}, r"contrast of color_jitter must be a number, or two from 0 to 100, .* got \(2, 1\)"),
        ({"color_jitter": {"brightness": (0, 0)}}, "must not be only 0, which leaves black images"),
    ],
    ids=str,
)
def test_refused(given, words) -> None:
    with pytest.raises(OptionError, match=words) as caught:
        Image(**given)
    assert str(caught.value).count("\n") == 0


def test_all_problems_come_at_once() -> None:
    with pytest.raises(
        OptionError, match=r"^Image: 3 arguments are wrong:\n  - size must .*\n  - flip must .*\n  - layout must "
    ) as caught:
        Image(size=0, flip=2, layout="x")
    assert not any("spec" in frame.name for frame in caught.traceback)  # the caller's line stands near the error


@pytest.mark.parametrize(
    "given, words",
    [
        (
            {"images": [Image()]},
            r"images must be a dict of Image by column, as in images=.*, an Image for all .*, or 'auto', got ",
        ),
        ({"images": {"": Image()}}, "images must be a dict of Image by column"),
        ({"images": {"img": 224}}, r"images of column 'img' must be a shardfeed.Image, as in .* got 224"),
        ({"image_decoder": "go"}, "image_decoder='go' decodes images, and no column has any: give images"),
        ({"images": {"img": Image()}, "image_decoder": "pil"}, "image_decoder must be 'auto', 'turbo' or 'go', got 'pil'"),
    ],
    ids=str,
)
def test_refused_by_a_data_set(given, words) -> None:
    with pytest.raises(OptionError, match=words):
        Options("s3://b/p", 8, **given).spec()


def test_told_by_a_data_set() -> None:
    told = Options("s3://b/p", 8, images={"a": Image(), "b": Image(96)}, image_decoder="turbo").spec()
    assert told["images"] == {"a": TOLD, "b": TOLD | {"size": [96, 96]}} and told["image_decoder"] == "turbo"
    assert Options("s3://b/p", 8, images={"a": Image()}, image_decoder="auto").spec()["image_decoder"] == ""
