"""The fake CUDA runtime of fakecudart/, and the processes that torch runs in on it."""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WITHIN = 250.0  # seconds


class Missing(Exception):
    """The fake cannot be built: no C compiler is installed, or torch has no CUDA."""


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="shardfeed-fakecudart-")  # goes with this process


@functools.cache
def library() -> Path:
    """Builds the fake, once a run."""
    import torch

    packages = Path(torch.__file__).resolve().parent.parent
    headers = [path.parent for path in packages.glob("nvidia/cu*/include/cuda_runtime_api.h")]
    if torch.version.cuda is None or not headers:
        raise Missing("this torch comes without CUDA's runtime and its headers")
    if shutil.which("cc") is None:
        raise Missing("there is no cc")
    built = Path(_directory().name) / "libfakecudart.so"
    source = HERE / "fakecudart"
    kernels = HERE.parent / "src" / "shardfeed" / "torch" / "_jpeg" / "kernel.cu"
    flags = [
        "-O2",
        "-ffp-contract=off",
        f'-DKERNEL_TEXT="{kernels}"',
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        "-pthread",
        "-Wl,-soname,libcuda.so.1",
    ]
    subprocess.run(
        ["cc", *flags, f"-I{source / 'include'}", f"-I{headers[0]}", *sorted(map(str, source.glob("*.c"))), "-o", str(built), "-lm"],
        check=True,
    )
    return built


@dataclass
class Copy:
    """A copy that a stream was given."""

    source: int
    from_kind: str
    to_kind: str
    bytes: int
    stream: int


@dataclass
class Journal:
    """What a process and its children asked of the fake."""

    calls: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)  # of the calls
    copies: list[Copy] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    registered: dict[int, int] = field(default_factory=dict)  # what is so at the end, by its address
    ever: list[tuple[int, int, int]] = field(default_factory=list)  # address, bytes and device of each registration
    ended: bool = False  # the process came to a proper end

    @classmethod
    def read(cls, path: Path) -> Journal:
        journal = cls()
        for line in path.read_text().splitlines() if path.exists() else []:
            journal._take(*line.split(" ")[1:])
        return journal

    def _take(self, call: str, *words: str) -> None:
        self.calls[call] += 1
        self.order.append(call)
        if call == "violation":
            self.violations.append(" ".join(words))
        elif call == "cudaHostRegister":
            assert words[2] == "1", "for all devices (cudaHostRegisterPortable)"
            self.registered[int(words[0], 16)] = int(words[1])
            self.ever.append((int(words[0], 16), int(words[1]), int(words[3])))
        elif call == "cudaHostUnregister":
            del self.registered[int(words[0], 16)]
        elif call == "copy":
            source, from_kind, _, to_kind, size, stream = words
            self.copies.append(Copy(int(source, 16), from_kind, to_kind, int(size), int(stream)))
        elif call == "end":
            self.ended = True

    def to_device(self) -> list[Copy]:
        return [copy for copy in self.copies if copy.to_kind == "device" and copy.from_kind != "device"]

    def clean(self) -> Journal:
        """Checks what is so after every job."""
        assert not self.violations, self.violations
        assert not self.registered, f"left page-locked: {self.registered}"
        return self


@dataclass
class Said:
    """What came of a job."""

    answer: Any
    text: str  # what it wrote
    journal: Journal


class Host:
    """A process that has torch imported, with the fake before torch's own runtime or without it;
    each job runs in a child of its own.
    """

    def __init__(self, directory: Path, fake: bool, jobs: str = "cuda.py") -> None:
        self._directory = directory
        self._jobs = 0
        self._own = {"SHARDFEED_LIBNVJPEG": str(library())} if fake else {}
        env = dict(os.environ) | ({"LD_PRELOAD": str(library())} if fake else {})
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "jobs" / jobs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def run(self, job: str, *arguments: Any, fails: bool = False, **variables: Any) -> Said:
        """Runs a function of the jobs. Variables are the fake's, as in copy_us=1000."""
        self._jobs += 1
        journal, text = (self._directory / f"{self._jobs}.{kind}" for kind in ("journal", "text"))
        names = {name: name.upper() if name.startswith(("fakenvjpeg", "shardfeed")) else f"FAKECUDART_{name.upper()}" for name in variables}
        env = dict(os.environ) | self._own | {names[name]: str(value) for name, value in variables.items()}
        env["FAKECUDART_JOURNAL"] = str(journal)
        self._send({"job": job, "arguments": arguments, "env": env, "text": str(text)})
        pid = int(self._receive())
        try:
            status = int(self._receive())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._receive()
            raise AssertionError(f"{job} did not end within {WITHIN:g} seconds:\n{text.read_text()}") from None
        written = text.read_text()
        assert (status != 0) == fails, f"{job} ended with {status}:\n{written}"
        lines = [line for line in written.splitlines() if line.startswith("{")]
        return Said(json.loads(lines[-1])["answer"] if lines else None, written, Journal.read(journal))

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _receive(self) -> str:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], WITHIN)[0]:
            raise TimeoutError
        line = self._process.stdout.readline()
        assert line, "the process of the jobs has ended"
        return line

    def close(self) -> None:
        self._process.communicate()
