"""KeyboardInterrupts at chosen places of the package's code."""

from __future__ import annotations

import dis
import functools
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import shardfeed

_PACKAGE = str(Path(shardfeed.__file__).parent)


def sweep(operation: Callable[[], object], step: int = 1, prepare: Callable[[], object] = int) -> Iterator[str]:
    """Runs the operation again and again, each time with an interrupt at a later place, and yields
    the place, until it runs to its end. Nothing strikes prepare, which runs before.
    """
    at = 1
    while True:
        prepare()
        if not (place := _struck(operation, at)):
            return
        gc.collect(0)
        yield place
        at += step


def _struck(operation: Callable[[], object], number: int) -> str:
    """Runs the operation with an interrupt at the place with this number; returns the place, or ""
    when the operation has fewer.

    A place is where the interpreter of CPython handles signals: after a call, at the start of a
    function and of each turn of a loop.
    """
    seen, place = 0, ""

    def enter(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        instructions, before = _instructions(frame.f_code), "RESUME"

        def step(frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
            nonlocal seen, place, before
            if event == "opcode":
                name, same = instructions[frame.f_lasti]
                if same and before.startswith(("CALL", "RESUME", "JUMP_BACKWARD")):
                    seen += 1
                    if seen == number:
                        place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}, in {frame.f_code.co_name}"
                        raise KeyboardInterrupt
                before = name
            return step

        return step

    sys.settrace(enter)
    try:
        operation()
    except KeyboardInterrupt:
        assert place
    finally:
        sys.settrace(None)
    return place


@functools.cache
def _instructions(code: CodeType) -> dict[int, tuple[str, bool]]:
    """The name of each instruction, and whether an exception there has the same handler as one in
    the instruction before: only then does an exception before it look like one in the call before.
    """
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def handler(at: int) -> int | None:
        return next((entry.target for entry in table if entry.start <= at < entry.end), None)

    found, before = {}, 0
    for instruction in dis.get_instructions(code):
        found[instruction.offset] = instruction.opname, handler(instruction.offset) == handler(before)
        before = instruction.offset
    return found
