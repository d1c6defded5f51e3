"""Draws what a command prints to a terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS = 112

# The picture has a dark ground on light pages too.
THEME = TerminalTheme(
    (0x16, 0x1B, 0x22),
    (0xD0, 0xD7, 0xDE),
    [
        (0x30, 0x36, 0x3D),
        (0xFF, 0x7B, 0x72),
        (0x7E, 0xE7, 0x87),
        (0xE3, 0xB3, 0x41),
        (0x79, 0xC0, 0xFF),
        (0xD2, 0xA8, 0xFF),
        (0x56, 0xD4, 0xDD),
        (0xD0, 0xD7, 0xDE),
    ],
    [
        (0x6E, 0x76, 0x81),
        (0xFF, 0xA1, 0x98),
        (0x9B, 0xF0, 0xA0),
        (0xF2, 0xCC, 0x60),
        (0xA5, 0xD6, 0xFF),
        (0xE2, 0xC5, 0xFF),
        (0x76, 0xE3, 0xEA),
        (0xFF, 0xFF, 0xFF),
    ],
)

# Fonts come from the reader's system.
FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="VIEW" role="img" aria-label="LABEL">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect x="-12" y="-10" width="100%" height="100%" rx="8" fill="#161b22"/>
<!-- {terminal_width} {terminal_height} -->
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</svg>
"""


def draw(command: list[object], file: Path) -> None:
    """Draws a command of the program and what it prints."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(_printed(command)))
    svg = console.export_svg(theme=THEME, code_format=FORMAT, unique_id=file.stem)
    width, height = map(float, re.search(r"<!-- ([\d.]+) ([\d.]+) -->", svg).groups())
    svg = svg.replace("LABEL", f"shardfeed {command[1]}").replace("VIEW", f"-12 -10 {width + 24:.0f} {height + 20:.0f}")
    file.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


def _printed(command: list[object]) -> str:
    """What a command prints to a terminal of COLUMNS columns with 256 colors."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with subprocess.Popen(list(map(str, command)), stdout=theirs, stdin=theirs, env={**os.environ, "TERM": "xterm-256color"}) as process:
        os.close(theirs)
        printed = b""
        try:
            while more := os.read(ours, 1 << 16):
                printed += more
        except OSError:  # the terminal's other end is closed
            pass
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {printed.decode()}")
    return printed.decode().replace("\r\n", "\n").rstrip("\n")
