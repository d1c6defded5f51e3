"""Records of runs, kept as lines of JSON, so that tables can be made of them again."""

import json
import statistics


class Records:
    def __init__(self, path):
        self.path = path
        self.runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def noisy(self):
        """Whether the runs were beside noisy neighbours."""
        return any("noise" in r for r in self.runs)

    def add(self, run):
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")

    def all(self, part, data, contender=None):
        """Runs that ended well."""
        return [
            r
            for r in self.runs
            if r["part"] == part and r["set"] == data and contender in (None, r["contender"]) and (contender is None or "error" not in r)
        ]

    def one(self, part, data, contender):
        """The last run."""
        runs = self.all(part, data, contender)
        return runs[-1] if runs else None

    def values(self, part, data, contender, key):
        return [r[key] for r in self.all(part, data, contender)]

    def median(self, part, data, contender, key):
        values = self.values(part, data, contender, key)
        return statistics.median(values) if values else None

    def error(self, parts, data, contenders):
        """Why the last run of one of them failed, or None."""
        failed = (r for r in reversed(self.runs) if "error" in r and r["part"] in parts and r["set"] == data)
        return next((r["error"] for r in failed if r["contender"] in contenders), None)

    def ratios(self, part, data, ours, rival, key, rival_key=None):
        """The quartiles of the ratios, each taken within a round; None when no round has both."""
        rivals = {r["round"]: r[rival_key or key] for r in self.all(part, data, rival)}
        each = [r[key] / rivals[r["round"]] for r in self.all(part, data, ours) if r["round"] in rivals]
        if not each:
            return None
        return statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
