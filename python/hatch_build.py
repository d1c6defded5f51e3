"""Puts the engine into the wheel: builds ../cmd/shardfeed for the platform that the wheel is for, and libjpeg-turbo, which it loads.

GOARCH=arm64 in the environment makes the wheel for arm64 on any machine that has Go. The engine calls no GPU: trainers pin its ring and
copy from it. So it is built with the tag nocuda. It loads libjpeg-turbo from its own folder, with glibc's loader; if ../tools/turbojpeg
cannot build that, the hook warns, the wheel comes without, and the engine decodes JPEG in Go. SHARDFEED_TURBOJPEG=require makes that an
error, as for releases, and SHARDFEED_TURBOJPEG=off builds a static engine, which loads nothing.
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

# Whether the wheel has libjpeg-turbo: if it can be built, always, or never.
TURBOJPEG = ("auto", "require", "off")

# Its files in the wheel, and as they are built. Both licences ask to go with the library.
LIBRARY = {"libturbojpeg.so.0": "libturbojpeg.so.0", "libturbojpeg.LICENSE.md": "LICENSE.md", "libturbojpeg.README.ijg": "README.ijg"}

# The program and libjpeg-turbo ask for no newer C library than this tag says, which the build of the
# latter checks; Go needs a younger kernel.
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
        wanted = os.environ.get("SHARDFEED_TURBOJPEG", "auto")
        if wanted not in TURBOJPEG:
            raise RuntimeError(f"SHARDFEED_TURBOJPEG must be {', '.join(TURBOJPEG[:-1])} or {TURBOJPEG[-1]}, got {wanted!r}")
        self._build(root.parent, program, goarch, "nocuda,noturbo" if wanted == "off" else "nocuda")
        files = [program, *self._turbojpeg(root.parent, folder, goarch, wanted)]
        if version != "editable":
            for file in files:
                build_data["force_include"][str(file)] = f"shardfeed/_bin/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = TAG.format(ARCHITECTURES[goarch])

    def _machine(self) -> str:
        machine = platform.machine()
        return next((go for go, python in ARCHITECTURES.items() if python == machine), machine)

    def _turbojpeg(self, module: Path, folder: Path, goarch: str, wanted: str) -> list[Path]:
        """Builds libjpeg-turbo into the folder, with the licences that go with it."""
        for name in LIBRARY:
            (folder / name).unlink(missing_ok=True)
        if wanted == "off":
            return []
        environment = {**os.environ, **({"TURBOJPEG_REQUIRE_SIMD": "1"} if wanted == "require" else {})}
        try:
            command = [module / "tools" / "turbojpeg" / "build", goarch]
            built = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as e:
            told = str(getattr(e, "stderr", "")).strip().splitlines()
            reason = told[-1] if told else str(e)
            if wanted == "require":
                raise RuntimeError(f"{reason}; SHARDFEED_TURBOJPEG=require asks for libjpeg-turbo") from e
            self.app.display_warning(f"{reason}: without libjpeg-turbo the engine decodes JPEG in Go, about 3.5 times as slowly")
            return []
        for line in built.stderr.splitlines():
            self.app.display_warning(line)
        library = Path(built.stdout.strip())
        return [Path(shutil.copy(library.parent / source, folder / name)) for name, source in LIBRARY.items()]

    def _build(self, module: Path, program: Path, goarch: str, tags: str = "nocuda") -> None:
        go = shutil.which("go")
        if go is None:
            raise RuntimeError("building shardfeed from source takes Go (https://go.dev/dl); a wheel for this machine needs none")
        if not (module / "cmd" / "shardfeed").is_dir():
            raise RuntimeError(f"{module} is not the shardfeed repository: install from a checkout, as in pip install ./python")
        environment = {**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": goarch}
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_name(f"shardfeed.{os.getpid()}")  # replaced as a whole: an engine may run the old one
        try:
            command = [go, "build", "-trimpath", f"-tags={tags}", "-ldflags=-s -w", "-o", str(part), "./cmd/shardfeed"]
            subprocess.run(command, cwd=module, env=environment, check=True)
            part.replace(program)
        finally:
            part.unlink(missing_ok=True)
