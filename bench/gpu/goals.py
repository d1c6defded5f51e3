"""The figures of models.py and jpeg.py as tables, and whether they reach the goals."""

import collections

HEAD = ("case", "cores", "loader", "rows/s", "of the ceiling", "waits", "cores busy", "ms of a core a row", "first batch, s")
WAYS = {
    "rows_per_second": "{:,.0f}",
    "of_ceiling": "{:.3f}",
    "waits": "{:.1%}",
    "cores_busy": "{:.1f}",
    "processor_ms_a_row": "{:.3f}",
    "first_seconds": "{:.2f}",
}
STEPS = (
    *("loader", "steps/s", "launch, ms: p50", "p90", "p99", "most", "p99 of no loader's"),
    *("device, ms: p50", "p90", "p99", "most", "p50 of no loader's"),
)
HELD_UP = 2  # of the launch's p99 without a loader

# What is measured, the value that it must reach and the one to aim at, a function of all records
# that returns the value or None, its unit, and whether smaller values are better.
Goal = collections.namedtuple("Goal", "what must aim find unit most", defaults=("x", False))


class Records(list):
    def of(self, **wanted):
        """The records with these values."""
        return [record for record in self if all(record.get(key) == value for key, value in wanted.items())]

    def best(self, figure, loaders, **wanted):
        """The largest figure of these loaders, or None."""
        return max((r[figure] for r in self.of(**wanted) if r.get("loader") in loaders and figure in r), default=None)


def ratio(value, of):
    return None if value is None or not of else value / of


def judged(goals, records):
    """A record for each goal. Figures of small data are not judged."""
    records = Records(records)
    for goal in goals:
        found = goal.find(records)
        if found is None:
            verdict = "not measured"
        elif any(record.get("size") == "small" for record in records):
            verdict = "not judged"
        else:
            reached = [found <= of if goal.most else found >= of for of in (goal.must, goal.aim)]
            verdict = "MISSED" if not reached[0] else "met, and the aim" if reached[1] else "met"
        yield {
            "goal": goal.what,
            "must": goal.must,
            "aim": goal.aim,
            "found": found,
            "unit": goal.unit,
            "most": goal.most,
            "verdict": verdict,
        }


def table(verdicts):
    """The goals in Markdown."""
    rows = [("goal", "must", "aim", "found", "")]
    for v in verdicts:
        sign = "<=" if v["most"] else ">="
        found = "" if v["found"] is None else f"{v['found']:.3g} {v['unit']}"
        rows.append((v["goal"], f"{sign} {v['must']:g} {v['unit']}", f"{sign} {v['aim']:g} {v['unit']}", found, v["verdict"]))
    return markdown(rows)


def figures(records, case="case"):
    """The figures of loaders in Markdown."""
    rows = [HEAD]
    for record in records:
        if "loader" in record and any(name in record for name in WAYS):
            values = [way.format(record[name]) if name in record else "" for name, way in WAYS.items()]
            rows.append((record[case], record["cores"], record["loader"], *values))
    return markdown(rows)


def steps(records):
    """How long the steps of a training take, in Markdown, and what holds up their launches."""
    base = next((record for record in records if record["loader"] == "no loader"), None)
    rows, held_up = [STEPS], []
    for record in records:
        row = [record["loader"], f"{record['steps_per_second']:.2f}"]
        for what, compared in (("launch", 99), ("device", 50)):
            row += [f"{record[f'{what}_ms_p{p}']:.2f}" for p in (50, 90, 99, 100)]
            of = base and ratio(record[f"{what}_ms_p{compared}"], base[f"{what}_ms_p{compared}"])
            row.append(f"{of:.2f}" if of else "")
            if what == "launch" and of and of > HELD_UP:
                held_up.append(f"{record['loader']} ({of:.2f}x)")
        rows.append(row)
    if base is None:
        said = "Launches are not compared: there are no steps without a loader."
    elif held_up:
        said = f"Launches are held up (p99 over twice that without a loader) with: {', '.join(held_up)}."
    else:
        said = "Launches are not held up."
    return markdown(rows) + "\n" + said + "\n"


def markdown(rows):
    rows = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in rows)
