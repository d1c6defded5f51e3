"""Checks of arguments about pixels: colors, ranges of numbers, jitters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import OptionError
from ._checks import did_you_mean, got, is_number, is_whole

Pair = tuple[float, float]
Factor = float | Pair  # torchvision's: 0.4 is (0.6, 1.4)
Jitter = float | Sequence[Factor] | Mapping[str, Factor]

JITTERS = ("brightness", "contrast", "saturation", "hue")
_MOST_FACTOR, _MOST_HUE = 100.0, 0.5
_LEFT = {"brightness": "black images", "contrast": "gray surfaces", "saturation": "gray images"}


def within(name: str, value: Any, least: float, most: float) -> float:
    if not is_number(value) or not least <= value <= most:
        raise OptionError(f"{name} must be a number from {least:g} to {most:g}, {got(value)}")
    return float(value)


def _pair(pair: Any, fits: Callable[[float, float], bool]) -> list[float] | None:
    """Two numbers that fit together, or None."""
    values = list(pair) if isinstance(pair, (list, tuple, np.ndarray)) else []
    if len(values) != 2 or not all(map(is_number, values)) or not fits(*values):
        return None
    return [float(v) for v in values]


def span(name: str, pair: Any, most: float) -> list[float]:
    values = _pair(pair, lambda low, high: 0 < low <= high <= most)
    if values is None:
        raise OptionError(f"{name} must be two numbers above 0 and at most {most:g}, the smaller one first, {got(pair)}")
    return values


def color(name: str, given: Any, most: int = 255) -> list[int]:
    values = [given] * 3 if is_whole(given) else list(given) if isinstance(given, (list, tuple, np.ndarray)) else []
    if len(values) != 3 or not all(is_whole(v) and 0 <= v <= most for v in values):
        raise OptionError(f"{name} must be a whole number from 0 to {most}, or one for each of red, green and blue, {got(given)}")
    return [int(v) for v in values]


def jitter(given: Any) -> dict[str, list[float]]:
    """The ranges of the factors; a step that changes nothing is left out."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name in given:
            if name not in JITTERS:
                raise OptionError(f"color_jitter takes {', '.join(JITTERS)}, got {name!r}{did_you_mean(name, JITTERS)}")
        factors = dict(given)
    elif is_number(given):
        factors = dict.fromkeys(JITTERS[:3], given)
    elif isinstance(given, (list, tuple)) and 1 <= len(given) <= len(JITTERS):
        factors = dict(zip(JITTERS, given))
    else:
        raise OptionError(
            "color_jitter must be a number, up to four as in (0.4, 0.4, 0.4, 0.1) for brightness, contrast, saturation and hue, or a dict "
            f"of them, {got(given)}"
        )
    ranges = {name: factor(name, value) for name, value in factors.items()}
    return {name: value for name, value in ranges.items() if value is not None}


def factor(name: str, given: Any) -> list[float] | None:
    """The range of one factor; None changes nothing."""
    hue = name == "hue"
    center, least, most = (0.0, -_MOST_HUE, _MOST_HUE) if hue else (1.0, 0.0, _MOST_FACTOR)
    if given is None:
        return None
    if is_number(given):
        if not 0 <= given <= (_MOST_HUE if hue else _MOST_FACTOR - 1):
            raise OptionError(f"{name} of color_jitter must be a number from 0 to {_MOST_HUE if hue else _MOST_FACTOR - 1:g}, {got(given)}")
        low, high = max(least, center - given), center + given
    else:
        pair = _pair(given, lambda low, high: least <= low <= high <= most)
        if pair is None:
            raise OptionError(
                f"{name} of color_jitter must be a number, or two from {least:g} to {most:g}, the smaller one first, {got(given)}"
            )
        low, high = pair
    if low == high == center:
        return None
    if low == high == 0.0:
        raise OptionError(f"{name} of color_jitter must not be only 0, which leaves {_LEFT[name]}, {got(given)}")
    return [low, high]
