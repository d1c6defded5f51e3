"""The line on the terminal."""

from __future__ import annotations

import io
import sys

import pytest

from shardfeed._engine import _progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None, seconds: float) -> str:
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", stream)
    with _progress.Line() as line:
        clock[0] = seconds
        line.show({"shards": 12, "footers": 0, "of": 0, "doing": "list"})
        line.show({"shards": 12, "footers": 3, "of": 9, "doing": "footers"})
    return stream.getvalue() if stream else ""


def test_a_long_wait_is_shown_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), 2.1)
    lines = text.split("\r")
    assert lines[1:3] == ["shardfeed: listing, 12 shards", "shardfeed: reading footers, 3 of 9"]
    assert lines[3].strip() == "" and len(lines[3]) >= len(lines[2]) and text.endswith("\r")


def test_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), 1.9) == ""
    assert shown(monkeypatch, io.StringIO(), 10) == ""
    shown(monkeypatch, None, 10)
    closed = Terminal()
    closed.close()
    with _progress.Line() as line:
        monkeypatch.setattr(sys, "stderr", closed)
        line._write("x")


@pytest.mark.parametrize("doing", ["list", "footers", "memory", "first batch", "something new"])
def test_words(doing: str) -> None:
    assert _progress.describe({"doing": doing}).startswith("shardfeed: ")
