#!/usr/bin/env python3
"""gen.py OUT [ROWS]: writes the matrix, OUT/<writer>/<feature>/<name>.parquet, by every writer. The same files every time.

Spark needs a Java runtime (17); without one its files are left out, and stderr says so.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

WRITERS = ["pyarrow", "duckdb", "polars", "fastparquet", "spark"]
ROWS = 300
HERE = pathlib.Path(__file__).parent


def main():
    out = pathlib.Path(sys.argv[1])
    write_all(out, int(sys.argv[2]) if len(sys.argv) > 2 else ROWS)


def write_all(out, rows):
    for writer in WRITERS:
        start = time.monotonic()
        if writer == "spark" and not java():
            print("matrix: NO JAVA on this machine, so no file by Spark is compared (a Java 17 runtime is needed)", file=sys.stderr)
            continue
        write(writer, out, rows)
        count = sum(1 for _ in (out / writer).rglob("*.parquet"))
        print(f"matrix: {count:4} files of {rows} rows by {writer} in {time.monotonic() - start:.1f} s", file=sys.stderr)


def write(writer, out, rows):
    """Runs one writer in a process of its own, so that what it prints is only shown when it fails."""
    code = f"import pathlib, write_{writer} as w; w.files(pathlib.Path({str(out)!r}), {rows})"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"matrix: {writer} failed:\n{done.stderr[-4000:]}")


def java():
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


def directory(rows=ROWS):
    """The matrix in the user's cache, made where it is absent; its name changes with the generator and the writers' versions."""
    sources = sorted([*HERE.glob("write_*.py"), HERE / "values.py", HERE.parent / "requirements.txt"])
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:12]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "shardfeed"
    target = cache / f"matrix-{digest}-{rows}{'' if java() else '-no-java'}"
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "matrix.lock"):
        if not target.exists():
            unfinished = target.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            write_all(unfinished, rows)
            unfinished.rename(target)
    return target


@contextlib.contextmanager
def own_cache():
    """Lets the programs that are started keep their index of these files apart from the user's."""
    with tempfile.TemporaryDirectory(prefix="shardfeed-matrix-") as directory:
        os.environ["SHARDFEED_CACHE_DIR"] = directory
        yield


@contextlib.contextmanager
def locked(path):
    with path.open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
