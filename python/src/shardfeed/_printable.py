"""Text from files, made safe for a terminal: names of columns and strings are the data of strangers."""

from __future__ import annotations

import re

# Control characters except tab and line feed, C1 included; characters that change the direction of
# text, or break its lines.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with every unsafe character escaped, as \\x1b or \\u202e."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}" if found[0] <= "\xff" else f"\\u{ord(found[0]):04x}", text)
