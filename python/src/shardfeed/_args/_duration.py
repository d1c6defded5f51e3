"""Times in the environment: as Go writes them, or in seconds."""

from __future__ import annotations

import re

from ..errors import OptionError

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_PART = re.compile(f"({_NUMBER})({'|'.join(_UNITS)})")
_WHOLE = re.compile(f"{_NUMBER}|(?:{_PART.pattern})+")


def seconds(name: str, text: str) -> float:
    """Returns the seconds of "90", "90s", "1m30s" or "500ms", the value of a variable."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise OptionError(f"{name} must be a time of at least 0, such as 60s, 1m30s or 60 (seconds), got {text!r}")
    parts = _PART.findall(text)
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else float(text)
