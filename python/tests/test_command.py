"""The shardfeed command of the package, and what an import of the package loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import shardfeed


def run(code: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_starts_without_numpy(engine_binary: Path) -> None:
    code = "import sys; sys.modules['numpy'] = None; sys.argv[1:] = ['--version']; from shardfeed._command import main; main()"
    shown = run(code, SHARDFEED_BIN=str(engine_binary))
    assert shown.startswith(f"shardfeed {shardfeed.__version__} (")


def test_an_import_loads_what_is_used() -> None:
    code = "import sys, shardfeed; before = 'numpy' in sys.modules; shardfeed.StreamingDataset; print(before, 'numpy' in sys.modules)"
    assert run(code) == "False True\n"


def test_all_names_are_there() -> None:
    assert run("from shardfeed import *; import shardfeed; print(set(shardfeed.__all__) - set(globals()))") == "set()\n"
    code = "import shardfeed\ntry: shardfeed.nothing\nexcept AttributeError as e: print(e)"
    assert run(code) == "module 'shardfeed' has no attribute 'nothing'\n"
    assert set(shardfeed.__all__) <= set(dir(shardfeed))
    assert all(getattr(shardfeed, name).__module__.startswith("shardfeed.") for name in shardfeed._MODULES)


def test_the_engine_has_the_version_of_the_package(job: str, shards: Path) -> None:
    dataset = shardfeed.StreamingDataset(shards, batch_size=10, cache=False)
    assert dataset._control().welcome["build"].startswith(f"{shardfeed.__version__} (")
