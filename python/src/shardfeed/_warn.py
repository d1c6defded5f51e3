"""Warnings at the user's line: the nearest caller outside of this package."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from types import FrameType

from ._printable import printable

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class ShardfeedWarning(UserWarning):
    """A warning of this package."""

    def __init__(self, *args: object) -> None:
        """Makes the warning of a text. This package warns; see the class for when."""
        super().__init__(*args)


class PaddingWarning(ShardfeedWarning):
    """The last step of an epoch has rows of padding."""


class MixingWarning(ShardfeedWarning):
    """Batches of sorted data would be lopsided: few row groups come to each."""


def _user_frame() -> tuple[FrameType, int]:
    """The frame, and how many frames above the caller's it is."""
    frame, level = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return frame, level


def warn(text: str, category: type[Warning]) -> None:
    """Warns at the user's line."""
    warnings.warn(printable(text), category, stacklevel=_user_frame()[1] + 1)


def place() -> str:
    """Names the user's line, the same on every machine that runs the program."""
    frame, _ = _user_frame()
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class _Named(logging.Filter):
    """Puts the package's name before messages that Python prints without it, as it does when
    logging is not configured.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        if not logging.getLogger(record.name).hasHandlers() and not text.startswith("shardfeed: "):
            record.msg = f"shardfeed: {text}"
        return True


def name_log() -> None:
    """Prefixes the package's log lines with its name."""
    log = logging.getLogger("shardfeed")
    if not any(isinstance(f, _Named) for f in log.filters):
        log.addFilter(_Named())
