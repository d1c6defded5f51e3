"""Puts the engine into the wheel: builds ../cmd/shardfeed, a static program, for the platform that the wheel is for.

GOARCH=arm64 in the environment makes the wheel for arm64 on any machine that has Go. The engine calls no GPU: trainers pin its ring and
copy from it. So it is built with the tag nocuda; what can call CUDA's driver needs glibc's loader.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Go's name of an architecture, and Python's of the same.
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}

# The program asks nothing of the C library; Go needs a kernel that is younger than what this tag
# says.
TAG = "py3-none-manylinux_2_17_{}"


class EngineHook(BuildHookInterface[Any]):
    """Builds the engine before a wheel, and before an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the program into the package's folder, and names it and the platform to the wheel."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        goarch = os.environ.get("GOARCH") or self._machine()
        if goarch not in ARCHITECTURES:
            raise RuntimeError(f"shardfeed runs on {' and '.join(ARCHITECTURES)}, not on {goarch}")
        folder = root / "src" / "shardfeed" / "_bin" if version == "editable" else root / "build" / goarch
        program = folder / "shardfeed"
        self._build(root.parent, program, goarch)
        if version != "editable":
            build_data["force_include"][str(program)] = "shardfeed/_bin/shardfeed"
        build_data["pure_python"] = False
        build_data["tag"] = TAG.format(ARCHITECTURES[goarch])

    def _machine(self) -> str:
        machine = platform.machine()
        return next((go for go, python in ARCHITECTURES.items() if python == machine), machine)

    def _build(self, module: Path, program: Path, goarch: str) -> None:
        go = shutil.which("go")
        if go is None:
            raise RuntimeError("building shardfeed from source takes Go (https://go.dev/dl); a wheel for this machine needs none")
        if not (module / "cmd" / "shardfeed").is_dir():
            raise RuntimeError(f"{module} is not the shardfeed repository: install from a checkout, as in pip install ./python")
        environment = {**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": goarch}
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_name(f"shardfeed.{os.getpid()}")  # replaced as a whole: an engine may run the old one
        try:
            command = [go, "build", "-trimpath", "-tags=nocuda", "-ldflags=-s -w", "-o", str(part), "./cmd/shardfeed"]
            subprocess.run(command, cwd=module, env=environment, check=True)
            part.replace(program)
        finally:
            part.unlink(missing_ok=True)
