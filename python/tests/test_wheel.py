"""The wheel: what is in it, and that it works where there is no Go."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
MACHINES = {"amd64": ("x86_64", 62), "arm64": ("aarch64", 183)}  # wheels' name, ELF's number

NOT_FETCHED = 3  # exit code of tools/turbojpeg/build

LICENCES = ("LICENSE", "NOTICE", "THIRD_PARTY_LICENSES")  # ours, and those of the engine's modules

TURBOJPEG = ("libturbojpeg.LICENSE.md", "libturbojpeg.README.ijg", "libturbojpeg.so.0")  # beside the engine, which loads it

DYNAMIC, INTERPRETER = 2, 3  # kinds of an ELF program's segments

READ_ALL = """
import sys, shardfeed
assert "site-packages" in shardfeed.__file__, shardfeed.__file__
rows = 0
for batch in shardfeed.StreamingDataset(sys.argv[1], batch_size=256):
    rows += len(batch["id"])
print(rows)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds the wheel for an architecture, once."""
    return functools.cache(lambda goarch: build(tmp_path_factory.mktemp(goarch), goarch))


def build(directory: Path, goarch: str, **environment: str) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(directory), str(PACKAGE)]
    subprocess.run(command, check=True, env={**os.environ, "GOARCH": goarch, **environment})
    (wheel,) = directory.glob("*.whl")
    return wheel


def segments(program: bytes) -> set[int]:
    """The kinds of segments that a 64-bit, little-endian ELF file has."""
    (start,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    return {struct.unpack_from("<I", program, start + i * size)[0] for i in range(count)}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("goarch", sorted(MACHINES))
def test_what_is_in_it(wheels: Callable[[str], Path], goarch: str) -> None:
    wheel = wheels(goarch)
    machine, number = MACHINES[goarch]
    assert wheel.name.endswith(f"-py3-none-manylinux_2_17_{machine}.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        program = archive.read("shardfeed/_bin/shardfeed")
        assert archive.getinfo("shardfeed/_bin/shardfeed").external_attr >> 16 & 0o111
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert program[:4] == b"\x7fELF" and program[18] == number
    assert {DYNAMIC, INTERPRETER} <= segments(program), "without a loader the engine cannot load libjpeg-turbo"
    assert str(PACKAGE.parent).encode() not in program, "paths of the machine that built it"
    assert {"shardfeed/__init__.py", "shardfeed/py.typed", "shardfeed/torch/__init__.py"} <= set(names)
    for licence in LICENCES:
        (name,) = [name for name in names if name.endswith(f".dist-info/licenses/{licence}")]
        with zipfile.ZipFile(wheel) as archive:
            assert archive.read(name) == (PACKAGE.parent / licence).read_bytes()
    requires = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert requires == ["Requires-Dist: numpy>=1.24"]
    library = subprocess.run([PACKAGE.parent / "tools" / "turbojpeg" / "build", goarch], capture_output=True, text=True)
    if library.returncode == NOT_FETCHED:
        pytest.skip(f"the wheel has no libjpeg-turbo: {library.stderr}")
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(f"shardfeed/_bin/{name}") for name in TURBOJPEG}
    assert held["libturbojpeg.so.0"] == Path(library.stdout.strip()).read_bytes()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_static_engine(tmp_path: Path) -> None:
    with zipfile.ZipFile(build(tmp_path, "amd64", SHARDFEED_TURBOJPEG="off")) as archive:
        assert not {f"shardfeed/_bin/{name}" for name in TURBOJPEG} & set(archive.namelist())
        program = archive.read("shardfeed/_bin/shardfeed")
    assert not {DYNAMIC, INTERPRETER} & segments(program), "the engine needs a loader where it is installed"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_it_works_without_go(tmp_path: Path, wheels: Callable[[str], Path], shards: Path, runtime: Path) -> None:
    wheel = wheels("amd64")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    dropped = ("PYTHONPATH", "SHARDFEED_BIN", "SHARDFEED_TEST_BIN", "GOROOT")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment["PATH"] = f"{python.parent}:/usr/bin:/bin"
    assert shutil.which("go", path=environment["PATH"]) is None
    run = subprocess.run([str(python), "-c", READ_ALL, str(shards)], env=environment, cwd=tmp_path, text=True, capture_output=True)
    assert (run.stdout, run.stderr) == ("4000\n", "")
    command = [str(python.parent / "shardfeed"), "count", str(shards)]
    counted = subprocess.run(command, env=environment, cwd=tmp_path, check=True, text=True, capture_output=True)
    assert counted.stdout == "4000\n"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_editable_install(tmp_path: Path) -> None:
    """A copy of the repository's part that it takes, so that the checkout stays as it is."""
    copy = tmp_path / "repository"
    root = PACKAGE.parent
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "python", "cmd", "go.mod", "go.sum", "LICENSE"], cwd=root, check=True, capture_output=True
    )
    for name in tracked.stdout.decode().split("\0"):
        if name and (root / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name, follow_symlinks=False)
    main = copy / "cmd" / "shardfeed"
    shutil.rmtree(main)
    main.mkdir()
    (main / "main.go").write_text('package main\n\nfunc main() { println("an engine") }\n')
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SHARDFEED_BIN")}
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", str(copy / "python")]
    subprocess.run(install, check=True, env=environment)
    code = "from shardfeed._engine._process import find_binary; print(find_binary())"
    program = subprocess.run([python, "-c", code], check=True, env=environment, capture_output=True, text=True).stdout.strip()
    assert program == str(copy / "python" / "src" / "shardfeed" / "_bin" / "shardfeed")
    assert subprocess.run([program], check=True, capture_output=True).stderr == b"an engine\n"


LIBRARY_BUILT = """#!/bin/sh
mkdir -p built
for f in libturbojpeg.so.0 LICENSE.md README.ijg; do echo "$1 $TURBOJPEG_REQUIRE_SIMD $f" >built/$f; done
echo turbojpeg: a word >&2
echo "$PWD/built/libturbojpeg.so.0"
"""

LIBRARY_FAILED = """#!/bin/sh
echo progress >&2
echo turbojpeg: cargo is missing >&2
exit 3
"""


def library_hook(module: Path, script: str) -> tuple[Any, list[str]]:
    """The hook in a repository whose library is built by a script, "" for none; and the list of its warnings."""
    program = module / "tools" / "turbojpeg" / "build"
    program.parent.mkdir(parents=True)
    if script:
        program.write_text(script)
        program.chmod(0o755)
    spec = importlib.util.spec_from_file_location("hatch_build", PACKAGE / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    hatch_build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hatch_build)
    warned: list[str] = []

    class Hook(hatch_build.EngineHook):  # type: ignore[name-defined]
        app = SimpleNamespace(display_warning=warned.append)

    return object.__new__(Hook), warned


@pytest.mark.parametrize("wanted", ["auto", "require"])
def test_the_library_comes_with_its_licences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TURBOJPEG_REQUIRE_SIMD", raising=False)
    hook, warned = library_hook(tmp_path, LIBRARY_BUILT)
    files = hook._turbojpeg(tmp_path, tmp_path, "arm64", wanted)
    assert sorted(f.name for f in files) == sorted(TURBOJPEG)
    simd = "1" if wanted == "require" else ""
    assert (tmp_path / "libturbojpeg.README.ijg").read_text() == f"arm64 {simd} README.ijg\n"
    assert warned == ["turbojpeg: a word"]
    assert hook._turbojpeg(tmp_path, tmp_path, "arm64", "off") == [], "off"
    assert not [name for name in TURBOJPEG if (tmp_path / name).exists()], "those of an earlier build stay"


@pytest.mark.parametrize(
    "script, reason", [(LIBRARY_FAILED, "turbojpeg: cargo is missing"), ("", "No such file")], ids=["failed", "absent"]
)
def test_a_wheel_without_the_library_says_so_once(tmp_path: Path, script: str, reason: str) -> None:
    hook, warned = library_hook(tmp_path, script)
    assert hook._turbojpeg(tmp_path, tmp_path, "amd64", "auto") == []
    (line,) = warned
    assert reason in line
    assert "decodes JPEG in Go" in line
    with pytest.raises(RuntimeError, match=reason):
        hook._turbojpeg(tmp_path, tmp_path, "amd64", "require")


def test_a_source_without_go_says_what_is_missing(tmp_path: Path) -> None:
    hook = PACKAGE / "hatch_build.py"
    code = f"""if True:
        import importlib.util
        spec = importlib.util.spec_from_file_location("hatch_build", {str(hook)!r})
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        hook = object.__new__(module.EngineHook)
        hook._build(__import__("pathlib").Path({str(PACKAGE.parent)!r}), __import__("pathlib").Path("/nonexistent/x"), "amd64")
    """
    run = subprocess.run([sys.executable, "-c", code], env={"PATH": "/nonexistent"}, capture_output=True, text=True)
    assert "takes Go" in run.stderr
