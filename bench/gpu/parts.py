"""Runs the parts of a benchmark within its time.

Each group of cores is a process. A part that fails, crashes or hangs, or for which too little time
is left, costs only itself: later parts run in another process. Figures are kept as they come.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
START = 60  # seconds of a process, before its first part and between parts
SLOW, MORE = 3, 60  # a part is stopped after SLOW times its seconds, and MORE

# What it measures, the seconds that it takes on the machine it is planned for, and its arguments.
Part = collections.namedtuple("Part", "name seconds arguments", defaults=({},))


def options(doc, name, what, known, data, minutes):
    """The parser of a program's options. what is measured, one of known, is chosen by an option of
    its own.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(f"--{what}", default=",".join(known))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / f"{name}-{time.strftime('%Y-%m-%d-%H%M')}.jsonl")
    parser.add_argument("--data", type=pathlib.Path, help=f"where the data is made and kept; a directory of this run otherwise, {data}")
    parser.add_argument("--seconds", type=float, default=6, help="how long each loader is measured")
    parser.add_argument("--minutes", type=float, default=minutes, help="when what is still running is stopped")
    parser.add_argument("--smoke", action="store_true", help="little of everything, on the cores there are: shows that it runs")
    return parser


def chosen(parser, args, what, known):
    """What the option names."""
    found = getattr(args, what).split(",")
    if unknown := set(found) - set(known):
        parser.error(f"there is no {what.removesuffix('s')} {', '.join(sorted(unknown))}")
    return found


def given(args):
    """The arguments of the process of a part."""
    size = "small" if args.smoke else "large"
    return {"device": args.device, "data": str(args.data), "size": size, "seconds": 0.01 if args.smoke else args.seconds}


class Runner:
    """Collects the figures of all parts, and a line for each that was not measured."""

    def __init__(self, program, given, deadline, out):
        self.program, self.given, self.deadline, self.out = program, given, deadline, out
        self.records, self.missing = [], []

    def run(self, plan):
        """Runs a plan: cores -> parts."""
        have = sorted(os.sched_getaffinity(0))
        for cores, parts in plan.items():
            if cores > len(have):
                self.missing += [f"{part.name} on {cores} cores: there are {len(have)}" for part in parts]
                continue
            while parts:
                parts = parts[self._process(parts, have[:cores]) :]

    def keep(self, record):
        """Keeps a figure: in the file at once."""
        self.records.append(record)
        line = json.dumps(record)
        print(line, flush=True)
        self.out.write(line + "\n")
        self.out.flush()

    def _process(self, parts, cores):
        """Measures parts in a process. Returns how many are over, at least one."""
        until = time.time() + self.deadline - time.monotonic()
        given = {**self.given, "until": until, "parts": [part._asdict() for part in parts]}
        over, why = 0, ""
        with started([sys.executable, str(self.program), json.dumps(given)], cores) as process:
            watch = Watch(process, self.deadline, START)
            for line in process.stdout:
                try:
                    record = json.loads(line)
                except ValueError:  # of a library
                    print(line, end="", flush=True)
                    continue
                if "begins" in record:
                    watch.set(SLOW * parts[over].seconds + MORE)
                elif "over" in record:
                    watch.set(START)
                    self._note(parts[over], cores, record["over"])
                    over += 1
                else:
                    self.keep(record)
            why = watch.end() or f"the process ended with {process.wait()}"
        if over < len(parts):
            self._note(parts[over], cores, why)
            over += 1
        return over

    def _note(self, part, cores, why):
        if why:
            self.missing.append(f"{part.name} on {len(cores)} cores: {why}")
            print(f"NOT MEASURED: {self.missing[-1]}", file=sys.stderr, flush=True)


class Watch:
    """Stops a process that says nothing for too long."""

    def __init__(self, process, deadline, seconds):
        self._process, self._deadline, self._why = process, deadline, ""
        self._timer = None
        self.set(seconds)

    def set(self, seconds):
        self.end()
        left = self._deadline - time.monotonic()
        why = f"it took longer than {seconds:.0f} s" if seconds < left else "the time was over"
        self._timer = threading.Timer(max(0, min(seconds, left)), self._stop, [why])
        self._timer.start()

    def _stop(self, why):
        self._why = why
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self):
        """Returns why it was stopped."""
        if self._timer is not None:
            self._timer.cancel()
        return self._why


def work(measure):
    """Measures the parts of the program's argument in turn. measure gets the argument and a part,
    and yields records.
    """
    given = json.loads(sys.argv[1])
    for part in given["parts"]:
        left = given["until"] - time.time()
        if left < part["seconds"] / 2:
            say({"over": f"{max(0, left):.0f} s are left, and it takes about {part['seconds']} s"})
            continue
        say({"begins": part["name"]})
        why = ""
        try:
            for record in measure(given, part):
                say(record)
        except Exception as e:  # the other parts can still be measured
            traceback.print_exc()
            why = f"{type(e).__name__}: {e}".splitlines()[0][:300]
        say({"over": why})


def say(record):
    print(json.dumps(record), flush=True)


@contextlib.contextmanager
def opened(args):
    """The file of --out, while processes find the engine and the package, and data has a place."""
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-gpu-") as scratch:
        os.environ.setdefault("SHARDFEED_RUNTIME_DIR", os.path.join(scratch, "run"))
        os.environ.setdefault("SHARDFEED_BIN", str(ROOT / "bin" / "shardfeed"))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python" / "src"), os.environ.get("PYTHONPATH", "")])
        args.data = args.data or pathlib.Path(scratch) / "data"
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("w") as out:
            yield out


@contextlib.contextmanager
def started(command, cores):
    """A process on these cores, which is stopped at the end with its children."""
    pinned = {"preexec_fn": lambda: os.sched_setaffinity(0, cores), "start_new_session": True}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **pinned)
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
