"""Images: the bytes of a column as tensors, cropped and augmented by the engine."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from ._args._arguments import arguments
from ._args._checks import Checked, Problems, encoded, flag, got, is_number, is_whole, number, one_of
from ._args._features import dtype_name
from ._args._pixels import Jitter, Pair, color, jitter, span, within
from ._npy import Npy
from .augment import Step
from .errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Unpack

AUTO = "auto"  # as a schema declares it
_FORM = 'as in images={"img": shardfeed.Image(size=224)}'
_DTYPES = ("uint8", "float32", "float16", "bfloat16", "uint16")
_FILTERS = ("bilinear", "bicubic", "nearest", "nearest-exact")
_CROPS = ("center", "random_resized", "letterbox", "scale_jitter")
_SHARED = ("size", "views", "crop", "resize", "scale", "ratio", "flip", "exif")  # a column that is like another has them of it
_MOST_SIDE = 2**14
_MOST_VIEWS = 256
_MOST_STEPS = 8
_MOST_LIMIT = 2**31 - 1
_SHARE, _RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
_FACTOR, _MOST_SCALE = (0.1, 2.0), 10.0  # of "scale_jitter"
_IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


class ImageOptions(TypedDict, total=False):
    """The arguments of Image."""

    size: int | tuple[int, int] | None
    of: str | None
    like: str | None
    views: int | None
    channels: Literal[1, 3, 4]
    crop: Literal["center", "random_resized", "letterbox", "scale_jitter"] | None
    fill: int | Sequence[int]
    background: int | Sequence[int] | None
    null: int | Sequence[int] | None
    resize: int | None
    scale: Pair | None
    ratio: Pair | None
    flip: float
    color_jitter: Jitter | None
    augment: Sequence[Step]
    interpolation: Literal["bilinear", "bicubic", "nearest", "nearest-exact"]
    mean: Sequence[float] | None
    std: Sequence[float] | None
    layout: Literal["CHW", "HWC"]
    dtype: Any
    exif: bool
    geometry: bool
    reducing_gap: float | None
    max_bytes: int | None
    max_pixels: int | None
    max_scans: int | None


@arguments
@dataclass(frozen=True, kw_only=True, repr=False)
class Image(Checked):
    """How the images in a column are decoded, cropped, resized and augmented.

    A row gives a tensor of 3 channels, RGB, of 4 with alpha, or of one. Names and defaults are as in
    ``torchvision.transforms.v2``; resizing is antialiased. JPEG, PNG, WebP, GIF,
    BMP and TIFF can be decoded, of animations the first frame. What
    is random depends on the data set's seed, the epoch and the row.

    Args:
        size (int or (height, width), default 224): of the result. One number is both.
        of (str, default None): the column with the files, for several results of one column: each
            has its own name in ``images``. The column with the files leaves the batch. None is the
            column of that name.
        like (str, default None): the column whose draw this one shares: its size, crop, flip and
            orientation, as a mask or a depth map has them of its picture. The two pictures of a row
            have one size. size, views, crop, resize, scale, ratio, flip and exif stay out then.
        views (int, default None): how many images are made of each picture, each with a crop, a
            flip and colors of its own: [rows, views, 3, 224, 224]. None is one, without that
            dimension.
        channels (3, 4 or 1, default 3): 3 is RGB. 4 is RGB and alpha, which is opaque in
            files without alpha. 1 is a picture of one channel: gray, or the indices of a palette. The
            tensor has a dimension of 1 for it.
        crop ("center", "random_resized", "letterbox" or "scale_jitter", default None): which part
            of a picture is taken. None takes all of it and scales it to size, "center" resizes first
            and takes the center, "random_resized" takes a random part and scales it, as RandomResizedCrop,
            "letterbox" scales all of it to fit into size, in the middle, "scale_jitter" scales it to
            fit, times a random factor, and takes a random part or leaves it in the upper left
            corner, as ScaleJitter and the detection references of torchvision.
        fill (int or 3 ints, default 0): the color around a picture that is scaled to less than
            size. All colors are from 0 to 255, and to 65,535 with dtype="uint16".
        background (int or 3 ints, default None): the color under pictures with alpha, as white
            is of drawings. None drops alpha.
        null (int or 3 ints, default None): the color of the image of a row without a file. None
            makes such a row an error, for on_error.
        resize (int, default None): the shorter side before a center crop. None is the longer one of
            size.
        scale (pair, default None): the share of the area of a random part. None is (0.08, 1). With
            "scale_jitter" it is the factor, up to 10, and None is (0.1, 2).
        ratio (pair, default None): width by height of a random part. None is (3/4, 4/3).
        flip (float, default 0): the probability of a horizontal flip.
        color_jitter (float, sequence or dict, default None): random colors, as ColorJitter: 0.4 is
            brightness, contrast and saturation by factors from 0.6 to 1.4; (0.4, 0.4, 0.4, 0.1)
            adds hue from -0.1 to 0.1; ``{"hue": 0.1}`` names them. Each may be a pair in place of
            a number, as in ``{"brightness": (0.5, 1.2)}``.
        augment (sequence of steps, default ()): random changes after all that and before mean and
            std, in this order, of ``shardfeed.augment``: RandAugment, AutoAugment,
            TrivialAugmentWide, ColorJitter, GaussianBlur, RandomGrayscale, RandomSolarize and
            RandomErasing, as in ``[augment.RandAugment(), augment.RandomErasing(p=0.25)]``. They
            need channels=3.
        interpolation ("bilinear", "bicubic", "nearest" or "nearest-exact", default "bilinear"): the
            filter of the resize. The nearest ones take samples as they are stored, of 8 or 16 bits,
            as masks need: "nearest" is torch's, "nearest-exact" Pillow's.
        mean, std (3 floats, or one for one channel; default None): normalise values from 0 to 1 by
            channel. They need a dtype of floats.
        layout ("CHW" or "HWC", default "CHW"): the order of the dimensions behind the rows.
        dtype (default "uint8"): "uint8", "uint16", "float32", "float16" or "bfloat16", or one of
            torch or numpy. Floats are 0 to 1 without mean and std, of 255 or of the 65,535 of 16
            bits. "uint16" is from 0 to 65,535, also of files of 8 bits, whose values are multiplied
            by 257; with channels=1 and a nearest filter they are as they are stored. "uint8" has
            the upper 8 of 16 bits, and floats have these with color_jitter or augment, which
            "uint16" excludes.
        exif (bool, default True): turn pictures upright as their EXIF orientation says.
        geometry (bool, default False): add two columns, for boxes and points. ``<column>_size``,
            int32 [rows, 2], is height and width of the picture, upright. ``<column>_box``, float32
            [rows, 4], or [rows, views, 4], is the part of it that the tensor shows, as x0, y0, x1,
            y1: x0 is above x1 if it is flipped. Dots of a column's name become underscores.
        reducing_gap (float or None, default 2): decode a JPEG at 1/2, 1/4 or 1/8 of its size where
            the part is then still this many times as large as the result: quicker, and nearly the
            same pixels. None never does. The name is Pillow's.
        max_bytes, max_pixels, max_scans (int, default None): what a file may have: bytes, width x
            height, and scans of a progressive JPEG. A row beyond is an error of that row. None is
            256 MiB, 89,478,485 (Pillow's limit) and 100.
    """

    size: int | tuple[int, int] | None = field(default=None, kw_only=False)
    of: str | None = None
    like: str | None = None
    views: int | None = None
    channels: Literal[1, 3, 4] = 3
    crop: Literal["center", "random_resized", "letterbox", "scale_jitter"] | None = None
    fill: int | Sequence[int] = 0
    background: int | Sequence[int] | None = None
    null: int | Sequence[int] | None = None
    resize: int | None = None
    scale: Pair | None = None
    ratio: Pair | None = None
    flip: float = 0.0
    color_jitter: Jitter | None = None
    augment: Sequence[Step] = ()
    interpolation: Literal["bilinear", "bicubic", "nearest", "nearest-exact"] = "bilinear"
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    layout: Literal["CHW", "HWC"] = "CHW"
    dtype: Any = "uint8"
    exif: bool = True
    geometry: bool = False
    reducing_gap: float | None = 2.0
    max_bytes: int | None = None
    max_pixels: int | None = None
    max_scans: int | None = None

    @classmethod
    def imagenet_train(cls, **changes: Unpack[ImageOptions]) -> Image:
        """The training transform of torchvision's references: a random resized crop to 224, a flip
        of every other image, normalised float32.

        changes are arguments in place of the preset's.
        """
        preset: dict[str, Any] = {"size": 224, "crop": "random_resized", "flip": 0.5, "dtype": "float32", **_IMAGENET}
        return cls(**{**preset, **changes})

    @classmethod
    def imagenet_eval(cls, **changes: Unpack[ImageOptions]) -> Image:
        """The evaluation transform: the shorter side to 256, the center of 224, normalised float32.
        Another size is as large a part of resize.

        changes are arguments in place of the preset's.
        """
        preset: dict[str, Any] = {"size": 224, "crop": "center", "dtype": "float32", **_IMAGENET}
        image = cls(**{**preset, **changes})
        if "resize" in changes or image.crop != "center":
            return image
        return dataclasses.replace(image, resize=round(max(_size(224 if image.size is None else image.size)) * 256 / 224))

    def spec(self) -> dict[str, Any]:
        """Returns the engine's form, or raises one error with all that is wrong."""
        share, most_share = (_FACTOR, _MOST_SCALE) if self.crop == "scale_jitter" else (_SHARE, 1.0)
        found = Problems()
        dtype = found.of(dtype_name, "dtype", self.dtype, _DTYPES)
        most = 65535 if dtype == "uint16" else 255
        spec = {
            "size": found.of(_size, 224 if self.size is None else self.size),
            "of": "" if self.of is None else found.of(_column, "of", self.of),
            "like": "" if self.like is None else found.of(_column, "like", self.like),
            "views": found.of(number, "views", self.views, most=_MOST_VIEWS),
            "channels": found.of(_count, self.channels),
            "crop": "" if self.crop is None else found.of(one_of, "crop", self.crop, *_CROPS),
            "fill": found.of(color, "fill", self.fill, most),
            "background": None if self.background is None else found.of(color, "background", self.background, most),
            "null": None if self.null is None else found.of(color, "null", self.null, most),
            "resize": found.of(number, "resize", self.resize, most=_MOST_SIDE),
            "scale": found.of(span, "scale", share if self.scale is None else self.scale, most=most_share),
            "ratio": found.of(span, "ratio", _RATIO if self.ratio is None else self.ratio, most=1000.0),
            "flip": found.of(within, "flip", self.flip, 0.0, 1.0),
            "color_jitter": found.of(jitter, self.color_jitter),
            "augment": found.of(_steps, self.augment),
            "interpolation": found.of(one_of, "interpolation", self.interpolation, *_FILTERS),
            "mean": found.of(_channels, "mean", self.mean, self.channels),
            "std": found.of(_channels, "std", self.std, self.channels),
            "layout": found.of(one_of, "layout", self.layout, "CHW", "HWC"),
            "dtype": dtype,
            "exif": found.of(flag, "exif", self.exif),
            "geometry": found.of(flag, "geometry", self.geometry),
            "reducing_gap": found.of(_gap, self.reducing_gap),
            "max_bytes": found.of(number, "max_bytes", self.max_bytes, most=_MOST_LIMIT),
            "max_pixels": found.of(number, "max_pixels", self.max_pixels, most=_MOST_LIMIT),
            "max_scans": found.of(number, "max_scans", self.max_scans, most=_MOST_LIMIT),
        }
        self._go_together(spec, found)
        found.report("Image: ")
        return spec

    def _go_together(self, spec: dict[str, Any], found: Problems) -> None:
        """Refuses arguments that contradict each other, and drops arguments that another has."""
        if self.like is not None:
            defaults = {f.name: f.default for f in dataclasses.fields(self)}
            if given := [name for name in _SHARED if getattr(self, name) != defaults[name]]:
                found.found.append(f"like={self.like!r} shares {', '.join(_SHARED)}; leave {' and '.join(given)} out")
            spec["size"], spec["crop"] = [], ""
            spec["exif"] = True
        if self.channels != 3 and self.background is not None:
            found.found.append("background needs channels=3: one channel is taken without alpha, and four keep it")
        if self.channels == 4 and str(self.interpolation).startswith("nearest"):
            found.found.append(f"channels=4 needs interpolation='bilinear' or 'bicubic', got {self.interpolation!r}")
        if self.channels in (1, 4):
            found.found += [f"{name} needs channels=3" for name in ("color_jitter", "augment") if spec[name]]
        for step in [step for step in self.augment if step.moves] if spec["augment"] else ():
            for name in ("like", "geometry"):
                if getattr(self, name):
                    found.found.append(f"{step!r} moves pixels, which {name} does not follow; leave one of the two out")
        if spec["dtype"] == "uint16" and (changes := [name for name in ("color_jitter", "augment") if spec[name]]):
            found.found.append(
                f"dtype='uint16' excludes {' and '.join(changes)}: they change 8 bits; leave out one, or give uint8 or a float"
            )
        if spec["fill"] and any(spec["fill"]) and spec["crop"] not in ("letterbox", "scale_jitter") and self.like is None:
            found.found.append(f"fill must go with crop='letterbox' or 'scale_jitter', got crop={self.crop!r}")
        unused = {"random_resized": [], None: [], "scale_jitter": ["ratio"]}.get(spec["crop"], ["scale", "ratio"])
        for name in unused:
            spec[name] = None
        if given := [name for name in unused if getattr(self, name) is not None]:
            found.found.append(f"{' and '.join(given)} must go with crop='random_resized', got crop={self.crop!r}")
        if self.resize is not None and spec["crop"] not in ("center", None):
            found.found.append(f"resize must go with crop='center', got crop={self.crop!r}: size is the size of the result")
        if spec["crop"] == "center" and spec["size"] and spec["resize"] and spec["resize"] < max(spec["size"]):
            found.found.append(f"resize must be at least the longer side of size, {max(spec['size'])}, got {spec['resize']}")
        given = [name for name in ("mean", "std") if getattr(self, name) is not None]
        if len(given) == 1:
            found.found.append(f"mean and std must both be given or both left out, got {given[0]} alone")
        if given and spec["dtype"] in ("uint8", "uint16"):
            found.found.append(
                f"mean and std need dtype='float32', 'float16' or 'bfloat16', got {spec['dtype']!r}, which is not normalised"
            )


def images(given: Any) -> dict[str, dict[str, Any]]:
    """The engine's form of the argument images."""
    if given is None:
        return {}
    if isinstance(given, str) and given == AUTO:
        given = {"*": AUTO}
    if isinstance(given, Image):
        given = {"*": given}  # all columns that Hugging Face's library, or petastorm, declares as pictures
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k for k in given):
        raise OptionError(f"images must be a dict of Image by column, {_FORM}, an Image for all declared pictures, or 'auto', {got(given)}")
    for column, image in given.items():
        if not isinstance(image, (Image, Npy)) and not (isinstance(image, str) and image == AUTO):
            raise OptionError(f"images of column {column!r} must be a shardfeed.Image, {_FORM}, a shardfeed.Npy, or 'auto', {got(image)}")
    return {encoded("images", column): {"declared": True} if isinstance(image, str) else image.spec() for column, image in given.items()}


def decoder(given: Any, images: Any) -> str:
    """The engine's form of the argument image_decoder."""
    decoder = one_of("image_decoder", given, "auto", "turbo", "go")
    if decoder != "auto" and not images:
        raise OptionError(f"image_decoder={decoder!r} decodes images, and no column has any: give images, {_FORM}")
    return "" if decoder == "auto" else decoder


def _size(size: Any) -> list[int]:
    sides = [size, size] if is_whole(size) else list(size) if isinstance(size, (list, tuple, np.ndarray)) else []
    if len(sides) != 2 or not all(map(is_whole, sides)):
        raise OptionError(f"size must be a whole number or a pair (height, width), {got(size)}")
    if not all(1 <= side <= _MOST_SIDE for side in sides):
        raise OptionError(f"size must be from 1 to {_MOST_SIDE}, {got(size)}")
    return [int(side) for side in sides]


def _column(name: str, column: Any) -> str:
    if not isinstance(column, str) or not column:
        raise OptionError(f"{name} must be the name of a column of images, {got(column)}")
    return encoded(name, column)


def _count(channels: Any) -> int:
    if not is_whole(channels) or channels not in (1, 3, 4):
        raise OptionError(f"channels must be 1, 3 or 4, {got(channels)}")
    return int(channels)


def _channels(name: str, values: Any, channels: int) -> list[float] | None:
    if values is None:
        return None
    if channels == 1 and is_number(values):
        values = [values]
    listed = list(values) if isinstance(values, (list, tuple, np.ndarray)) else []
    if channels == 1 and len(listed) == 1:
        listed *= 3
    if len(listed) != 3 or not all(is_number(v) and math.isfinite(v) for v in listed):
        raise OptionError(f"{name} must be 3 numbers, one for each of red, green and blue, {got(values)}")
    if name == "std" and min(listed) <= 0:
        raise OptionError(f"std must be above 0, {got(values)}")
    return [float(v) for v in listed]


def _steps(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(step, Step) for step in given):
        raise OptionError(f"augment must be a list of steps, as in [shardfeed.augment.RandAugment()], {got(given)}")
    if len(given) > _MOST_STEPS:
        raise OptionError(f"augment must have at most {_MOST_STEPS} steps, got {len(given)}")
    return [step.spec() for step in given]


def _gap(gap: Any) -> float:
    if gap is None:
        return -1.0
    if not is_number(gap) or not 1 <= gap < math.inf:
        raise OptionError(f"reducing_gap must be a number of at least 1, or None to decode at full size, {got(gap)}")
    return float(gap)
