"""Compiled kernels that are kept on disk."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from shardfeed._args import _storage
from shardfeed.torch._jpeg import _cubins
from shardfeed.torch._jpeg._cubins import Cubins


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """What is compiled, in place of NVRTC."""
    calls: list[tuple[str, int, int]] = []

    def make(text: str, major: int, minor: int) -> bytes:
        calls.append((text, major, minor))
        return f"{text} for {major}.{minor}".encode()

    monkeypatch.setattr(_cubins, "compiled", make)
    monkeypatch.setattr(_cubins, "_version", lambda: ("12", "8"))
    return calls


def test_a_second_start_compiles_nothing(compiled, tmp_path):
    directory = tmp_path / "cache" / "kernels"
    for _ in range(3):
        assert Cubins(directory).find("text", 9, 0) == b"text for 9.0"
    assert len(compiled) == 1
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700 and len(list(directory.iterdir())) == 1


def test_other_kernels_are_compiled(compiled, tmp_path, monkeypatch):
    """Of another text, architecture, compiler or with other options."""
    cubins = Cubins(tmp_path)
    assert cubins.find("text", 9, 0) and cubins.find("text", 10, 0) and cubins.find("other", 9, 0)
    monkeypatch.setattr(_cubins, "_version", lambda: ("13", "0"))
    cubins.find("text", 9, 0)
    monkeypatch.setattr(_cubins, "_OPTIONS", ())
    cubins.find("text", 9, 0)
    assert len(compiled) == 5 and len(list(tmp_path.iterdir())) == 5


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def turned(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def another(path: Path) -> None:
    """A whole file, of other kernels."""
    path.write_bytes(_cubins._content("0" * 32 + ".cubin", b"other"))


def writable(path: Path) -> None:
    path.chmod(0o666)


def linked(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("harm", [Path.unlink, cut, turned, another, writable, linked, directory, fifo])
def test_files_that_cannot_be_trusted_are_made_again(compiled, tmp_path, harm: Callable[[Path], None]):
    place = tmp_path / "kernels"
    Cubins(place).find("text", 9, 0)
    (path,) = place.iterdir()
    harm(path)
    for _ in range(2):
        assert Cubins(place).find("text", 9, 0) == b"text for 9.0"
    assert len(compiled) == (3 if harm is directory else 2)


@pytest.mark.parametrize("mode", [0o777, 0o500, 0o000])
def test_directories_that_cannot_be_used(compiled, tmp_path, mode):
    """Others may write to it, or this user may not: kernels are compiled, and nothing fails."""
    place = tmp_path / "kernels"
    place.mkdir()
    place.chmod(mode)
    for _ in range(2):
        assert Cubins(place).find("text", 9, 0) == b"text for 9.0"
    place.chmod(0o700)
    if mode == 0o777 or os.geteuid() != 0:
        assert len(compiled) == 2 and not list(place.iterdir())


def test_without_a_directory(compiled, tmp_path):
    (tmp_path / "file").touch()
    for place in (None, tmp_path / "file" / "kernels", Path("/proc/kernels")):
        assert Cubins(place).find("text", 9, 0) == b"text for 9.0"
    assert len(compiled) == 3


def test_few_are_kept(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(_cubins, "_MOST", 3)
    (tmp_path / "old.part").touch()
    os.utime(tmp_path / "old.part", (0, 0))
    (tmp_path / "new.part").touch()
    (tmp_path / "notes.txt").touch()
    cubins = Cubins(tmp_path)
    for minor in range(3):
        cubins.find("text", 9, minor)
        for path in tmp_path.glob("*.cubin"):
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    cubins.find("text", 9, 0)  # the oldest is used again
    cubins.find("text", 9, 3)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".cubin") == ["new.part", "notes.txt"]
    before = len(compiled)
    for minor in (0, 2, 3):
        cubins.find("text", 9, minor)
    assert len(compiled) == before and len(list(tmp_path.glob("*.cubin"))) == 3


PROGRAM = """
import sys
from pathlib import Path
from shardfeed._args import _storage  # noqa: E402
from shardfeed.torch._jpeg import _cubins
_cubins.compiled = lambda text, major, minor: b"kernels" * 100_000
_cubins._version = lambda: ("12", "8")
sys.stdin.readline()
print(all(_cubins.Cubins(Path(sys.argv[1])).find(str(n), 9, 0) == b"kernels" * 100_000 for n in range(20)))
"""


def test_processes_at_once(tmp_path):
    processes = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0] for process in processes]
    assert answers == ["True\n"] * 3
    assert len(list(tmp_path.iterdir())) == 20


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HOME": "home"},
        {"HOME": "home", "XDG_CACHE_HOME": "xdg"},
        {"XDG_CACHE_HOME": "xdg", "SLURM_TMPDIR": "slurm"},
        {"SLURM_TMPDIR": "slurm", "SHARDFEED_CACHE_DIR": "own"},
    ],
)
def test_kernels_are_beside_the_index(runtime, tmp_path, monkeypatch, variables):
    for name in ("HOME", "XDG_CACHE_HOME", "SLURM_TMPDIR", "SHARDFEED_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    for given, flags in [(None, []), (tmp_path / "given", ["--cache-dir", str(tmp_path / "given")])]:
        command = [os.environ["SHARDFEED_BIN"], "doctor", "--json", *flags, str(tmp_path)]
        index = json.loads(subprocess.run(command, capture_output=True).stdout)["index"]["path"]
        kept = _storage.kept("kernels", given)
        assert index == ("" if kept is None else str(kept.with_name("index")))
