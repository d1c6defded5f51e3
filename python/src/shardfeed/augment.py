"""Random changes of an image, as the steps of ``Image(augment=[...])``.

Names, arguments and results equal torchvision.transforms.v2 on uint8 tensors. The engine takes the
steps, in their order, on the 8-bit pixels of the image after its crop, resize, flip and
color jitter, and before it is normalised. What is random depends on the data set's seed, the epoch,
the row and the column, and a step's draws do not depend on steps of other kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from ._args._arguments import arguments
from ._args._checks import Checked, Problems, got, is_number, is_whole, number, one_of, share
from ._args._pixels import JITTERS, Factor, Pair, color, factor, span, within
from .errors import OptionError

__all__ = [
    "AutoAugment",
    "ColorJitter",
    "GaussianBlur",
    "RandAugment",
    "RandomErasing",
    "RandomGrayscale",
    "RandomSolarize",
    "Step",
    "TrivialAugmentWide",
]

Interpolation = Literal["nearest", "bilinear"]
Color = int | Sequence[int]


@arguments
@dataclass(frozen=True, repr=False)
class Step(Checked):
    """A random change of an image: one of the classes of this module."""

    moves: ClassVar[bool] = False  # pixels, so that masks and boxes would not fit any more
    _name: ClassVar[str]

    def spec(self) -> dict[str, Any]:
        """Returns the engine's form, or raises one error with all that is wrong."""
        found = Problems()
        spec = self._spec(found)
        found.report(type(self).__name__ + ": ")
        return {"step": self._name, **spec}

    def _spec(self, found: Problems) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, repr=False)
class _Auto(Step):
    """A step that takes operations of a policy."""

    moves: ClassVar[bool] = True
    interpolation: Interpolation = "nearest"
    fill: Color = 0

    def _spec(self, found: Problems) -> dict[str, Any]:
        return {
            "interpolation": found.of(one_of, "interpolation", self.interpolation, "nearest", "bilinear"),
            "fill": found.of(color, "fill", self.fill),
        }


@arguments
@dataclass(frozen=True, kw_only=True, repr=False)
class RandAugment(_Auto):
    """Takes num_ops operations at random: shear, translation, rotation, brightness, color,
    contrast, sharpness, posterization, solarization, autocontrast, equalization, identity.

    Args:
        num_ops (int, default 2): how many, up to 16.
        magnitude (int, default 9): of the operations, from 1 to num_magnitude_bins - 1.
        num_magnitude_bins (int, default 31): how many magnitudes there are.
        interpolation ("nearest" or "bilinear", default "nearest"): how shears, translations and
            rotations sample.
        fill (int or 3 ints, default 0): the color outside of the picture after these.
    """

    _name: ClassVar[str] = "rand_augment"
    num_ops: int = field(default=2, kw_only=False)
    magnitude: int = field(default=9, kw_only=False)
    num_magnitude_bins: int = 31

    def _spec(self, found: Problems) -> dict[str, Any]:
        bins = found.of(_bins, self.num_magnitude_bins)
        return {
            "num_ops": found.of(_whole, "num_ops", self.num_ops, 1, 16),
            "magnitude": found.of(_whole, "magnitude", self.magnitude, 1, (bins or 31) - 1),
            "num_magnitude_bins": bins,
            **super()._spec(found),
        }


@arguments
@dataclass(frozen=True, kw_only=True, repr=False)
class AutoAugment(_Auto):
    """Takes one of the 25 pairs of operations that were found for ImageNet.

    Args:
        policy ("imagenet", default "imagenet"): the pairs.
        interpolation ("nearest" or "bilinear", default "nearest"): how shears, translations and
            rotations sample.
        fill (int or 3 ints, default 0): the color outside of the picture after these.
    """

    _name: ClassVar[str] = "auto_augment"
    policy: Literal["imagenet"] = field(default="imagenet", kw_only=False)

    def _spec(self, found: Problems) -> dict[str, Any]:
        if self.policy != "imagenet":
            found.found.append(f"policy must be 'imagenet', {got(self.policy)}")
        return {"policy": self.policy, **super()._spec(found)}


@arguments
@dataclass(frozen=True, kw_only=True, repr=False)
class TrivialAugmentWide(_Auto):
    """Takes one operation of RandAugment's with a random magnitude from a wider range.

    Args:
        num_magnitude_bins (int, default 31): how many magnitudes there are.
        interpolation ("nearest" or "bilinear", default "nearest"): how shears, translations and
            rotations sample.
        fill (int or 3 ints, default 0): the color outside of the picture after these.
    """

    _name: ClassVar[str] = "trivial_augment_wide"
    num_magnitude_bins: int = field(default=31, kw_only=False)

    def _spec(self, found: Problems) -> dict[str, Any]:
        return {"num_magnitude_bins": found.of(_bins, self.num_magnitude_bins), **super()._spec(found)}


@arguments
@dataclass(frozen=True, repr=False)
class ColorJitter(Step):
    """Changes brightness, contrast, saturation and hue in random order, with a probability.

    ``Image(color_jitter=...)`` does so for every image, before all steps.

    Args:
        brightness, contrast, saturation, hue (float or pair, default 0): the factors: 0.4 is from
            0.6 to 1.4, and a hue of 0.1 from -0.1 to 0.1. A pair is the range.
        p (float, default 1): the probability.
    """

    _name: ClassVar[str] = "color_jitter"
    brightness: Factor = 0.0
    contrast: Factor = 0.0
    saturation: Factor = 0.0
    hue: Factor = 0.0
    p: float = field(default=1.0, kw_only=True)

    def _spec(self, found: Problems) -> dict[str, Any]:
        given = {name: found.of(factor, name, getattr(self, name)) for name in JITTERS}
        if all(value is None for value in given.values()) and not found.found:
            found.found.append("one of brightness, contrast, saturation and hue must change something")
        return {**{name: value for name, value in given.items() if value is not None}, "p": found.of(share, "p", self.p)}


@arguments
@dataclass(frozen=True, repr=False)
class GaussianBlur(Step):
    """Blurs with a Gaussian, with a probability.

    Args:
        kernel_size (int or (width, height)): of the kernel, odd, less than twice the image.
        sigma (float or pair, default (0.1, 2)): the standard deviation, or the range from which it
            is drawn.
        p (float, default 1): the probability.
    """

    _name: ClassVar[str] = "gaussian_blur"
    kernel_size: int | tuple[int, int]
    sigma: float | Pair = (0.1, 2.0)
    p: float = field(default=1.0, kw_only=True)

    def _spec(self, found: Problems) -> dict[str, Any]:
        sigma = (self.sigma, self.sigma) if is_number(self.sigma) else self.sigma
        return {
            "kernel_size": found.of(_kernel, self.kernel_size),
            "sigma": found.of(span, "sigma", sigma, most=1000.0),
            "p": found.of(share, "p", self.p),
        }


@arguments
@dataclass(frozen=True, repr=False)
class RandomGrayscale(Step):
    """Removes the colors, with a probability. The image keeps three channels.

    Args:
        p (float, default 0.1): the probability.
    """

    _name: ClassVar[str] = "random_grayscale"
    p: float = 0.1

    def _spec(self, found: Problems) -> dict[str, Any]:
        return {"p": found.of(share, "p", self.p)}


@arguments
@dataclass(frozen=True, repr=False)
class RandomSolarize(Step):
    """Inverts the values from a threshold on, with a probability.

    Args:
        threshold (float): from 0 to 255.
        p (float, default 0.5): the probability.
    """

    _name: ClassVar[str] = "random_solarize"
    threshold: float
    p: float = 0.5

    def _spec(self, found: Problems) -> dict[str, Any]:
        return {"threshold": found.of(within, "threshold", self.threshold, 0.0, 255.0), "p": found.of(share, "p", self.p)}


@arguments
@dataclass(frozen=True, repr=False)
class RandomErasing(Step):
    """Fills a random rectangle with a color, with a probability.

    The color is one before normalisation: (124, 116, 104) becomes about 0 with ImageNet's mean.

    Args:
        p (float, default 0.5): the probability.
        scale (pair, default (0.02, 0.33)): the rectangle's share of the area.
        ratio (pair, default (0.3, 3.3)): its height by its width.
        value (int or 3 ints, default 0): the color, from 0 to 255.
    """

    _name: ClassVar[str] = "random_erasing"
    p: float = 0.5
    scale: Pair = (0.02, 0.33)
    ratio: Pair = (0.3, 3.3)
    value: Color = 0

    def _spec(self, found: Problems) -> dict[str, Any]:
        return {
            "p": found.of(share, "p", self.p),
            "scale": found.of(span, "scale", self.scale, most=1.0),
            "ratio": found.of(span, "ratio", self.ratio, most=1000.0),
            "value": found.of(color, "value", self.value),
        }


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if value is None:
        raise OptionError(f"{name} must be a whole number, got None")
    return number(name, value, least, most)


def _bins(value: Any) -> int:
    return _whole("num_magnitude_bins", value, 2, 1024)


def _kernel(size: Any) -> list[int]:
    sides = [size, size] if is_whole(size) else list(size) if isinstance(size, (list, tuple, np.ndarray)) else []
    if len(sides) != 2 or not all(is_whole(side) and 1 <= side <= 255 and side % 2 for side in sides):
        raise OptionError(f"kernel_size must be an odd number from 1 to 255, or a pair (width, height), {got(size)}")
    return [int(side) for side in sides]
