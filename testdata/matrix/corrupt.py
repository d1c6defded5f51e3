#!/usr/bin/env python3
"""corrupt.py BIN COUNT SEED: damages files of the matrix at random and asks `BIN cat` to print them.

Whatever the damage, the program must end, with exit 0 and nothing on stderr or with exit 1 and one line `shardfeed: ...`; what it
prints must be whole JSON lines; and its memory must stay small. A file that it fails on is kept and named. Exits 1 when there is any.
"""

import concurrent.futures
import itertools
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import gen
import judge

LIMIT = 20  # seconds for one file
MEMORY = 1 << 30  # bytes of resident memory; the files have at most SIZE bytes
SIZE = 256 << 10


def main():
    binary, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    files = [f for f in sorted(gen.directory().rglob("*.parquet")) if f.stat().st_size <= SIZE]
    keep = pathlib.Path(tempfile.mkdtemp(prefix="shardfeed-corrupt-"))
    workers = os.cpu_count()
    shares = [range(w, count, workers) for w in range(workers)]
    with gen.own_cache(), concurrent.futures.ProcessPoolExecutor(workers) as pool:
        parts = list(
            pool.map(damage_some, itertools.repeat(binary), itertools.repeat(files), shares, itertools.repeat(seed), itertools.repeat(keep))
        )
    problems = [p for _, found in parts for p in found]
    refused = sum(n for n, _ in parts)
    for p in problems[:50]:
        print(p)
    print(f"{count} damaged files: {refused} refused, {count - refused - len(problems)} read, {len(problems)} failures")
    if problems:
        sys.exit(1)
    keep.rmdir()


def damage_some(binary, files, numbers, seed, keep):
    """How many of these files were refused, and what went wrong with others."""
    refused, problems = 0, []
    for number in numbers:
        r = random.Random(seed * 1_000_003 + number)
        source = r.choice(files)
        how, data = damage(r, source.read_bytes())
        path = keep / f"{seed}-{number}.parquet"
        path.write_bytes(data)
        code, problem = check(binary, path)
        if problem:
            problems.append(f"{path} ({how} of {source}): {problem}")
            continue
        refused += code
        path.unlink()
    return refused, problems


def damage(r, data):
    """A damaged copy and the name of the damage; the footer is hit as often as the pages, though it is small."""
    footer = int.from_bytes(data[-8:-4], "little") + 8
    low, high = (max(len(data) - footer, 0), len(data)) if r.random() < 0.5 else (0, max(len(data) - footer, 1))
    at, length = r.randrange(low, high), r.choice((1, 1, 2, 4, 16, 200))
    kind = r.choice(("flip", "flip", "flip", "byte", "edge", "overwrite", "truncate", "delete", "insert", "copy"))
    b = bytearray(data)
    if kind == "flip":
        for _ in range(r.choice((1, 1, 1, 3))):
            b[r.randrange(low, high)] ^= 1 << r.randrange(8)
    elif kind == "byte":
        b[at] = r.randrange(256)
    elif kind == "edge":
        b[at] = r.choice((0, 1, 0x7F, 0x80, 0xFF))
    elif kind == "overwrite":
        b[at : at + length] = r.randbytes(len(b[at : at + length]))
    elif kind == "truncate":
        # The footer's end is kept in half of them, so that more than the missing magic is seen.
        b = b[:at] + (b[-footer:] if r.random() < 0.5 else b"")
    elif kind == "delete":
        del b[at : at + length]
    elif kind == "insert":
        b[at:at] = r.randbytes(length)
    else:
        other = r.randrange(len(b))
        b[at : at + length] = b[other : other + len(b[at : at + length])]
    return kind, bytes(b)


def check(binary, path):
    """The exit code, and what is wrong with how the program took the file."""
    try:
        done = subprocess.run([binary, "cat", str(path)], capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return 0, f"no end within {LIMIT} s"
    text = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        return 0, f"exit {done.returncode}: {text[:500]}"
    if done.returncode == 0 and text:
        return 0, f"exit 0, and on stderr: {text[:500]}"
    if done.returncode == 1 and not (text.startswith(f"shardfeed: {path}: ") and text.count("\n") == 1 and text.endswith("\n")):
        return 0, f"exit 1, and not one line `shardfeed: <uri>: ...` on stderr: {text[:500]}"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10  # of all files so far, so the first that passes the limit is named
    if peak > MEMORY:
        return 0, f"{peak >> 20} MiB of memory for a file of {path.stat().st_size} bytes"
    return done.returncode, broken_lines(done.stdout)


def broken_lines(out):
    if out and not out.endswith(b"\n"):
        return "the last line has no end"
    for line in out.split(b"\n")[:-1]:
        try:
            judge.parse(line.decode())
        except ValueError as e:
            return f"{e}: {line[:200]!r}"
    return None


if __name__ == "__main__":
    main()
