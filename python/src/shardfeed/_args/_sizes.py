"""Sizes as users write them: bytes, or 512MiB, 1.5GiB, 1GB."""

from __future__ import annotations

import re
from typing import Any

from ..errors import OptionError
from ._checks import got, is_number, is_whole

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_UNITS |= {f"{unit}ib": _UNITS[unit] for unit in "kmgt"}

_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*")

_EACH = re.compile(r"(.*)/\s*(rank|node)\s*", re.IGNORECASE | re.DOTALL)


def parse(name: str, value: Any, example: str = "'512MiB'") -> tuple[int, bool]:
    """Returns a size, and whether it had a unit.

    The caller decides what a number without a unit counts.
    """
    if is_whole(value):
        number, unit = int(value), ""
    else:
        found = _SIZE.fullmatch(value) if isinstance(value, str) else None
        if found is None or found[2].lower() not in _UNITS or (not found[2] and not found[1].isdigit()):
            raise OptionError(f"{name} must be a whole number, or a size as in {example}, {got(value)}")
        unit = found[2]
        scale = _UNITS[unit.lower()]
        number = int(found[1]) * scale if found[1].isdigit() else int(float(found[1]) * scale)
    if not 0 < number < 2**63:
        raise OptionError(f"{name} must be above 0 and below 2**63, {got(value)}")
    return number, bool(unit)


def bytes_text(name: str, value: Any) -> str:
    """A number of bytes, in digits; empty for None."""
    return "" if value is None else str(parse(name, value)[0])


def buffer_text(name: str, value: Any) -> str:
    """A number of rows in digits, or of bytes with a unit, over all ranks or of each rank or node; empty
    for None.
    """
    if value is None:
        return ""
    each = _EACH.fullmatch(value) if isinstance(value, str) else None
    number, unit = parse(name, each[1] if each else value, "'512MiB' (bytes) or '100000' (rows), both also with '/rank' or '/node'")
    return f"{number}{'B' if unit else ''}{f'/{each[2].lower()}' if each else ''}"


def limit_text(name: str, value: Any, *, none: bool = False) -> str:
    """A number of bytes in digits, or a part of the free space in percent; empty for None.

    A float is a part: 0.5 is 50 %. The argument none allows 0.
    """
    if none and (value == "0" or (is_number(value) and value == 0)):
        return "0"
    text = f"{value * 100:g}%" if isinstance(value, float) else value
    if isinstance(text, str) and text.strip().endswith("%"):
        try:
            part = float(text.strip()[:-1])
        except ValueError:
            part = -1.0
        if not 0 < part <= 100:
            raise OptionError(f"{name} must be a part of the free space as in '50%' or 0.5, or bytes as in '100GiB', {got(value)}")
        return text.strip()
    return bytes_text(name, value)
