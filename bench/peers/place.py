"""Where a run happens: the environments, the sets, the temporary directories, and the result of a run."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import entries
from cage import Cage

HERE = pathlib.Path(__file__).parent
BENCH = HERE.parent
ROOT = BENCH.parent

TIMEOUT = 180.0
SAMPLE = 0.2  # seconds between looks at the memory
BUFFER = 8 << 20


class Failed(Exception):
    """A run that didn't end well, with what it said."""


class Place:
    def __init__(self, scale=1.0):
        self.scale = scale
        self.data = pathlib.Path(os.environ.get("SHARDFEED_BENCH_DATA") or BENCH / "data") / ("smoke" if scale < 1 else "")
        self.environments = {}

    # Sets

    def directory(self, data):
        return self.data / data.name

    def own(self, contender, data):
        return self.data / "peers" / f"{contender.module}-{data.name}"

    def stamp(self, contender, data):
        """The file with the cost of a conversion."""
        return self.data / "peers" / f"{contender.module}-{data.name}.json"

    def files(self, data):
        return max(2, round(data.files * self.scale))

    def make(self, data):
        command = [sys.executable, str(BENCH / "gen.py"), data.name, "--out", str(self.data), "--scale", str(self.scale)]
        subprocess.run(command, check=True)

    def converted(self, contender, data):
        """What the conversion of a set took; it is made once."""
        stamp = self.stamp(contender, data)
        if not stamp.exists():
            subprocess.run(["rm", "-rf", str(self.own(contender, data))], check=True)
            stamp.parent.mkdir(parents=True, exist_ok=True)
            result = self.run(contender, data, "convert", timeout=1800)
            stamp.write_text(json.dumps(result))
        return json.loads(stamp.read_text())

    def warm(self, contender, data):
        """Brings what the contender reads into the page cache."""
        directory = self.own(contender, data) if contender.converts else self.directory(data)
        buffer = bytearray(BUFFER)
        for path in directory.rglob("*"):
            if path.is_file():
                with path.open("rb", buffering=0) as file:
                    while file.readinto(buffer):
                        pass

    # Runs

    def python(self, contender):
        """The interpreter of a contender's environment."""
        if contender.requirements not in self.environments:
            base = _venv(ROOT / entries.BASE)  # without it nothing runs
            own = HERE / "requirements" / f"{contender.requirements}.txt"
            try:
                self.environments[contender.requirements] = _venv(own, base) if contender.requirements else base
            except subprocess.CalledProcessError as e:
                raise Failed(f"the packages of {own.name} could not be installed") from e
        return f"{self.environments[contender.requirements]}/bin/python"

    def task(self, contender, data, **changes):
        rows = self.files(data) * data.file_rows
        return {
            "contender": contender.name,
            "directory": str(self.directory(data)),
            "own": str(self.own(contender, data)),
            "id": data.id,
            "batch": data.batch,
            "buffer": 0 if contender.default_buffer else rows // 10,
            "rows": rows,
            "group_rows": data.group_rows,
            "workers": contender.workers,
            "columns": (),
            **changes,
        }

    def run(self, contender, data, mode, *arguments, sampled=False, timeout=TIMEOUT, task=None, environment=None):
        """One run in a cage of its own; its figures, and with sampled the most memory that was seen."""
        python = self.python(contender)
        with tempfile.TemporaryDirectory(prefix="sfbench-") as directory, Cage() as cage:
            out = pathlib.Path(directory, "out")
            command = self.command(python, mode, contender, data, out, arguments, task)
            with open(f"{directory}/log", "w+") as log:
                process = cage.start(command, surroundings(directory, environment), stdout=log, stderr=log)
                memory = _wait(process, cage, timeout, pathlib.Path(f"{out}.read") if sampled else None)
                if process.returncode != 0 or not out.exists():
                    log.seek(0)
                    raise Failed(_reason(process, log.read()))
            return json.loads(out.read_text()) | memory

    def command(self, python, mode, contender, data, out, arguments, task):
        described = json.dumps(self.task(contender, data, **(task or {})))
        return [python, str(HERE / "contenders" / "deliver.py"), mode, contender.module, described, str(out), *map(str, arguments)]


def surroundings(directory, more=None):
    """The environment of a run: caches, sockets and indexes of its own, so that each starts alike, and no network."""
    return {
        "SHARDFEED_BIN": str(ROOT / "bin" / "shardfeed"),
        "SHARDFEED_CACHE_DIR": f"{directory}/cache",
        "SHARDFEED_RUNTIME_DIR": f"{directory}/run",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT / "python" / "src")]),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONWARNINGS": "ignore",
        "HF_HUB_OFFLINE": "1",
        "NO_ALBUMENTATIONS_UPDATE": "1",
        "HF_HOME": f"{directory}/hf",
        "RAY_TMPDIR": f"{directory}/ray",
        **(more or {}),
    }


def _wait(process, cage, timeout, read):
    """Waits for the end; with read, a file that is made when the stream is read, the memory is sampled until then."""
    deadline, next_look = time.monotonic() + timeout, 0.0
    most = most_own = 0
    while process.poll() is None:
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            break
        if read and not read.exists() and time.monotonic() >= next_look:
            total, own = cage.memory()
            most, most_own = max(most, total), max(most_own, own)
            next_look = time.monotonic() + SAMPLE
        time.sleep(0.02)
    return {"pss_bytes": most, "own_bytes": most_own} if read else {}


def _reason(process, text):
    lines = [line for line in text.splitlines() if line.strip()]
    return f"exit {process.returncode}: {' / '.join(lines[-3:])[:600]}"


def _venv(*arguments):
    done = subprocess.run([str(ROOT / "tools" / "venv"), *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()
