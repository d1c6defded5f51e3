"""Boxes and points: numbers of a column that follow the crops of an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ._args._arguments import arguments
from ._args._checks import Checked, Problems, encoded, flag, got, is_number, one_of
from .errors import OptionError

_FORM = 'as in boxes={"boxes": shardfeed.Boxes(of="image")}'


@arguments
@dataclass(frozen=True, kw_only=True, repr=False)
class Boxes(Checked):
    """How a column of boxes follows the crop, the resize and the flip of an image.

    Boxes become float32, [n, 4] in each row. A column has a list of boxes of 4 numbers each, one
    list with the numbers of all boxes, or a list of structs with a box, as in ``"objects.bbox"``.

    Args:
        of (str): the column of images, one of ``images``.
        format ("xyxy", "xywh" or "cxcywh", default "xyxy"): left, top, right, bottom; left, top,
            width, height, as COCO has them; the middle, width, height. All in pixels.
        clip (bool, default True): cut boxes off at the edges of the image.
        min_size (float, default 1): the width and the height that a box must have in the image, in
            its pixels. Smaller ones are dropped.
        drop (bool, default True): False drops no box.
        drop_with (sequence of str, default ()): columns of lists as long as the boxes', as of
            labels, whose items are dropped with the boxes.
    """

    of: str = field(kw_only=False)
    format: Literal["xyxy", "xywh", "cxcywh"] = "xyxy"
    clip: bool = True
    min_size: float = 1.0
    drop: bool = True
    drop_with: Sequence[str] = ()

    def spec(self) -> dict[str, Any]:
        """Returns the engine's form, or raises one error with all that is wrong."""
        found = Problems()
        spec = _shared(self, found)
        spec["format"] = found.of(one_of, "format", self.format, "xyxy", "xywh", "cxcywh")
        spec["min_size"] = found.of(_min_size, self.min_size)
        found.report("Boxes: ")
        return spec


@arguments
@dataclass(frozen=True, kw_only=True, repr=False)
class Keypoints(Checked):
    """How a column of points follows the crop, the resize and the flip of an image.

    Points become float32 in the lists that they have; with ``drop=True`` they become [n, 2] or
    [n, 3] in each row.

    Args:
        of (str): the column of images, one of ``images``.
        format ("xy" or "xyv", default "xy"): two numbers, or three as COCO has them: the last is
            the visibility. Of a point outside of the image, or with the visibility 0, all three
            become 0.
        clip (bool, default False): move points outside of the image to its edge.
        drop (bool, default False): drop points outside of the image.
        drop_with (sequence of str, default ()): columns of lists as long as the points', whose
            items are dropped with them.
    """

    of: str = field(kw_only=False)
    format: Literal["xy", "xyv"] = "xy"
    clip: bool = False
    drop: bool = False
    drop_with: Sequence[str] = ()

    def spec(self) -> dict[str, Any]:
        """Returns the engine's form, or raises one error with all that is wrong."""
        found = Problems()
        spec = _shared(self, found)
        spec["format"] = found.of(one_of, "format", self.format, "xy", "xyv")
        found.report("Keypoints: ")
        return spec


def boxes(given: Any) -> dict[str, dict[str, Any]]:
    """The engine's form of the argument boxes."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k for k in given):
        raise OptionError(f"boxes must be a dict of Boxes by column, {_FORM}, {got(given)}")
    for column, b in given.items():
        if not isinstance(b, (Boxes, Keypoints)):
            raise OptionError(f"boxes of column {column!r} must be a shardfeed.Boxes, {_FORM}, or a shardfeed.Keypoints, {got(b)}")
    return {encoded("boxes", column): b.spec() for column, b in given.items()}


def _shared(given: Boxes | Keypoints, found: Problems) -> dict[str, Any]:
    spec = {
        "of": found.of(_name, given.of),
        "clip": found.of(flag, "clip", given.clip),
        "drop": found.of(flag, "drop", given.drop),
        "drop_with": found.of(_names, given.drop_with),
    }
    if spec["drop_with"] and not given.drop:
        found.found.append("drop_with contradicts drop=False, which drops nothing")
    return spec


def _name(of: Any) -> str:
    if not isinstance(of, str) or not of:
        raise OptionError(f"of must be the name of a column of images, {got(of)}")
    return encoded("of", of)


def _names(given: Any) -> list[str]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) and name for name in given):
        raise OptionError(f"drop_with must be a list of columns, as in ['labels'], {got(given)}")
    return [encoded("drop_with", name) for name in given]


def _min_size(size: Any) -> float:
    if not is_number(size) or not 0 < size <= 2**31 - 1:
        raise OptionError(f"min_size must be a number above 0, {got(size)}")
    return float(size)
