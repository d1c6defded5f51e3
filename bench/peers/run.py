#!/usr/bin/env python3
"""run.py [--sets shop,tokens] [--contenders take_once,ray] [--parts speed,look] [--rounds 9]: the comparison with other loaders.

Each run is a process of its own whose processor time includes all its children and the engine; contenders take turns. Records
go to bench/results as lines of JSON, and the tables are made of them: --table FILE makes them again, --append FILE adds to what is there.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import signal
import sys
import tempfile

import entries
import parts
import report
from place import ROOT, Place
from records import Records

sys.path.append(str(ROOT / "bench"))

import noise


def main():
    args = arguments()
    if args.table:
        print("\n".join(report.lines(Records(args.table))))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no run is left behind
    place = Place(0.1 if args.smoke else 1.0)
    wish = parts.Wish(args.sets, args.contenders, args.rounds, args.cap)
    for data in wish.sets:
        place.make(data)
    records = Records(args.append or new_file(args.smoke))
    with noise.on(os.sched_getaffinity(0)) if args.noisy else contextlib.nullcontext():
        for part in args.parts:
            for run in parts.ALL[part](place, wish):
                records.add({**run, "noise": noise.TEXT} if args.noisy else run)
                print(f"bench: {json.dumps(run)}", file=sys.stderr, flush=True)
    text = "\n".join(report.lines(records))
    print(text)
    records.path.with_suffix(".md").write_text(text + "\n")


def new_file(smoke):
    """Where records go; a smoke run's mean nothing and are not kept."""
    if smoke:
        return pathlib.Path(tempfile.mkdtemp(prefix="sfbench-"), "peers.jsonl")
    return ROOT / "bench" / "results" / f"peers-{datetime.datetime.now():%Y-%m-%d-%H%M}.jsonl"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=among({s.name: s for s in (*entries.SETS, *entries.AGAIN)}), default="shop,tokens,tabular")
    parser.add_argument("--contenders", type=among({c.name: c for c in entries.NAMED}), default=",".join(c.name for c in entries.NAMED))
    parser.add_argument("--parts", type=among({name: name for name in parts.ALL}), default=",".join(parts.ALL))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cap", type=float, default=5.0, help="seconds after the first batch when a slow contender is stopped")
    parser.add_argument("--append", type=pathlib.Path, help="add to these records")
    parser.add_argument("--table", type=pathlib.Path, help="only make the tables of these records")
    parser.add_argument("--noisy", action="store_true", help="beside processes that copy memory at the lowest priority")
    parser.add_argument("--smoke", action="store_true", help="each part once, on a tenth of the files")
    args = parser.parse_args()
    args.rounds = 1 if args.smoke else args.rounds
    return args


def among(known):
    """A type of option: names with commas between."""

    def parsed(text):
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(known)}")
        return tuple(known[name] for name in names)

    return parsed


if __name__ == "__main__":
    main()
