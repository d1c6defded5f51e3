#!/usr/bin/env python3
"""run.py BIN [--full] [--only TEXT] [--dir DIR]: compares `BIN cat FILE` with what the files hold, value for value.

Prints a table of writer x feature and, for each file that differs, the first row and column. Exits 1 when any does.
--full adds the matrix with more rows; --only takes the files whose path holds TEXT; --dir takes a directory of files made elsewhere.
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import gen
import judge

LIMIT = 60  # seconds for one file
FULL_ROWS = 2500


def main():
    args = arguments()
    start = time.monotonic()
    directories = [args.dir] if args.dir else [gen.directory(rows) for rows in ([gen.ROWS, FULL_ROWS] if args.full else [gen.ROWS])]
    files = [(d, f) for d in directories for f in sorted(d.rglob("*.parquet")) if args.only in str(f)]
    with gen.own_cache(), concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(compare, itertools.repeat(args.bin), [f for _, f in files], chunksize=4))
    failed = 0
    cells = collections.defaultdict(lambda: [0, 0])
    for (d, f), problem in zip(files, problems):
        cell = cells[cell_of(f.relative_to(d))]
        cell[0] += 1
        if problem:
            cell[1] += 1
            failed += 1
            print(f"{f}: {problem}")
    print_table(cells)
    print(f"{len(files) - failed} of {len(files)} files agree, {time.monotonic() - start:.0f} s")
    if not files or failed:
        sys.exit(1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", help="the shardfeed program")
    parser.add_argument("--full", action="store_true", help="more rows too")
    parser.add_argument("--only", default="", help="files whose path holds this text")
    parser.add_argument("--dir", type=pathlib.Path, help="compare the files of this directory")
    return parser.parse_args()


def cell_of(relative):
    writer, feature = (*relative.parts, "", "")[:2]
    return writer, feature


def compare(binary, path):
    """None where the program prints what the file holds; else what is wrong, with the first place."""
    try:
        done = subprocess.run([binary, "cat", str(path)], capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT} s"
    errors = done.stderr.decode(errors="replace").strip()
    if path.parent.name == "refused":
        return refusal(done.returncode, errors, path)
    if done.returncode != 0:
        return f"exit {done.returncode}: {errors[:300]}"
    if errors:
        return f"printed on stderr: {errors[:300]}"
    lines = done.stdout.decode().split("\n")
    if lines.pop() != "":
        return "the last line has no end"
    return differ(lines, judge.rows(path)) or kept(binary, path, done.stdout)


def kept(binary, path, printed):
    """The first difference of rows that come from decoded row groups on disk, in file order and shuffled."""
    with tempfile.TemporaryDirectory(prefix="sfkept-") as directory:
        keep = ["--cache-dir", directory, "--decoded-limit", "1GiB"]
        shuffled = ["--shuffle", "--seed", "5"]
        run = functools.partial(subprocess.run, capture_output=True, timeout=LIMIT)
        mixed = run([binary, "cat", str(path), *shuffled]).stdout
        warm = run([binary, "warm", str(path), "--decoded", *keep])
        if warm.returncode != 0:
            return f"warm --decoded: exit {warm.returncode}: {warm.stderr.decode(errors='replace')[:300]}"
        for more, want in ([], printed), (shuffled, mixed):
            got = run([binary, "cat", str(path), *keep, *more])
            if got.returncode != 0 or got.stderr or got.stdout != want:
                said = got.stderr.decode(errors="replace")[:300]
                return f"kept decoded, cat {' '.join(more)} prints other rows: exit {got.returncode} {said}"
    return None


def refusal(code, errors, path):
    """What is wrong with how a file was refused."""
    if code == 1 and errors.startswith(f"shardfeed: {path}: ") and "\n" not in errors:
        return None
    return f"exit {code}, want 1 and one line on stderr: {errors[:300]}"


def differ(lines, want):
    """The first difference between printed lines and expected rows."""
    missing = object()
    for number, (line, row) in enumerate(itertools.zip_longest(lines, want, fillvalue=missing)):
        if line is missing or row is missing:
            return f"{len(lines)} rows printed, {'more' if line is missing else number} expected"
        try:
            got = judge.parse(line)
        except ValueError as e:
            return f"row {number}: {e}: {line[:200]}"
        if not judge.equal(got, row):
            return f"row {number}: {first_difference(got, row)}"
    return None


def first_difference(got, row):
    names, wanted = [k for k, _ in got], [k for k, _ in row]
    if names != wanted:
        return f"columns {names}, want {wanted}"
    name, g, w = next((k, g, w) for (k, g), (_, w) in zip(got, row) if not judge.equal(g, w))
    return f"column {name!r}: {str(g)[:300]}, want {str(w)[:300]}"


def print_table(cells):
    writers = sorted({w for w, _ in cells})
    features = sorted({f for _, f in cells})
    print(f"{'feature':36}" + "".join(f"{w:>14}" for w in writers))
    for feature in features:
        row = [cells.get((w, feature)) for w in writers]
        print(f"{feature:36}" + "".join(f"{text_of(cell):>14}" for cell in row))


def text_of(cell):
    if cell is None:
        return "-"
    count, failed = cell
    return f"{count} ok" if not failed else f"{failed}/{count} DIFFER"


if __name__ == "__main__":
    main()
