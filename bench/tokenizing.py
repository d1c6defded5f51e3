"""Texts: the speed of encoders, and batches of tokens from texts in parquet."""

import functools
import json
import os
import statistics
import subprocess
import tempfile

import check
import delivery
import gen
import process
import servers
import table
from delivery import CAP, entries, run

TOKENIZERS = ["gpt2", "gpt35turbo", "gptoss", "llama3", "qwen3", "deepseek_v3", "starcoder", "llama2", "gemma3", "gemini"]
TOKENIZERS += ["all_minilm_l6_v2", "t5", "umt5"]
TEXTS = ("english", "code", "languages", "torture")
TIKTOKEN = {"gpt35turbo", "gptoss"}
LENGTHS = {"": 4, " long": 15}  # MB of each text
TOKENIZER = "llama3"  # of the rows from parquet
BLOCK = 2048  # tokens
SET = entries.Set("texts", "text", 2, 6, 1_500, 3, 5_000)

COPIES = 28  # of the set are 1 GB of text

KEEP = "--decoded-limit", "100GiB"

OURS = entries.Contender("shardfeed", "text_ours")
TITAN = [entries.Contender(f"torchtitan's way{more}", "text_titan", workers=n) for n, more in enumerate(["", ", one worker"])]


def checks(directory):
    for name in TOKENIZERS:
        yield from memory(name)
        for text in TEXTS:
            for length in LENGTHS:
                yield encoder(name, text, length, "tokenizers", 8, 40)
                if name in TIKTOKEN:
                    yield encoder(name, text, length, "tiktoken", 2.5 if text == "languages" else 3, 6)
    for rival in TITAN:
        source = f"texts in blocks of {BLOCK:,} tokens: blocks per CPU-s to torch tensors, over {rival.name}"
        for more, counted, must, aim in (("counted before", True, 15, 30), ("first start", False, None, None)):
            yield from delivery.checks(
                directory,
                f"text, parquet, {rival.name}, {more}",
                SET,
                f"{source}; {more}",
                must,
                aim,
                lambda c, n, rival=rival, counted=counted: against(c, n, rival, counted),
                busy=False,
                at_most=False,
            )
    source = "1 GB of text on S3, counted before: bytes of shards that a second start reads"
    yield check.Check("text, counting, second start", ("texts",), source, 0, None, second_start, unit=" bytes", digits=0)
    source = f"texts in blocks of {BLOCK:,} tokens: CPU-s of 4 epochs with kept tokens over those that make them"
    yield from delivery.checks(directory, "text, kept tokens", SET, source, None, None, kept, busy=False)
    source = "texts in batches of 4,096 tokens: share of time that a training step of 4 ms waits"
    yield from delivery.checks(directory, "text, waiting", SET, source, 5, 2, waiting, unit=" %", busy=False)


def encoder(name, text, length, rival, must, aim):
    def measure(_, rounds):
        found = speeds(name, rounds, LENGTHS[length])[text]
        passes = [list(zip(*found[key])) for key in ("ours", rival)]
        first, second = (check.quartiles([a / b for a, b in zip(*both)]) for both in zip(*passes))
        speed = [[f"{statistics.median(p):.1f}" for p in each] for each in passes]
        more = "{0[0]} MB/s against {1[0]}; again {0[1]} against {1[1]}".format(*speed)
        return first, f"{more}, {second[1]:.1f}x"

    source = f"MB of {LENGTHS[length]} MB of {text} text per CPU-s by one thread with empty caches, over {rival}"
    return check.Check(f"text, encode{length}, {name}, {text}, {rival}", (), source, must, aim, measure, at_most=False)


def memory(name):
    for i, (what, must) in enumerate((("tables", 20), ("encoder", 16))):

        def measure(_, rounds, i=i):
            found = json.loads(encode(name, -1, LENGTHS[""]))
            return check.quartiles([found[i] / 1e6]), f"{found[0] / 1e6:.1f} MB of tables, {found[1] / 1e6:.1f} MB of an encoder"

        source = f"MB of {what} after {LENGTHS['']} MB of each text"
        yield check.Check(f"text, memory, {name}, {what}", (), source, must, None, measure, unit=" MB")


@functools.cache  # one run has all texts
def speeds(name, rounds, megabytes):
    return json.loads(encode(name, rounds, megabytes))


def encode(name, rounds, megabytes=0):
    """What rivals/encode.py prints."""
    encoder = built()
    python = check.environment("tokenize/testdata/requirements.txt") + "/bin/python"
    command = [python, str(check.HERE / "rivals" / "encode.py"), encoder, name, str(rounds), str(megabytes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, check.cores()[:1]))
    if done.returncode:
        raise process.Failed(f"rivals/encode.py {name}: exit {done.returncode}")
    return done.stdout


@functools.cache
def built():
    """The program that encodes by package tokenize."""
    root = check.HERE.parent
    if subprocess.run(["go", "build", "-o", "bin/", "./tokenize/testdata/encode"], cwd=root).returncode:
        raise servers.Missing("tokenize/testdata/encode could not be built")
    return str(root / "bin" / "encode")


@functools.cache
def tokenizer():
    """The path of the tokenizer.json of TOKENIZER."""
    return encode(TOKENIZER, 0).strip()


def against(case, rounds, rival, counted):
    first, later, theirs = epochs(case, rounds, rival)
    ours = [r["later_rows_per_cpu_second"] for r in later] if counted else [r["rows_per_cpu_second"] for r in first]
    more = f"{statistics.median(ours):,.0f} blocks per CPU-s against {delivery.median(theirs, 'rows_per_cpu_second'):,.0f}"
    return check.quartiles([a / b["rows_per_cpu_second"] for a, b in zip(ours, theirs)]), more


@functools.cache
def epochs(case, rounds, rival):
    """Ours from its start on, which counts; the second and third epoch of ours; and theirs."""
    task = {"batch": 4, "block": BLOCK, "tokenizer": tokenizer(), "id": "text"}
    return delivery.alternate(
        rounds,
        lambda: run(case, OURS, "epoch", "--touch", **task),
        lambda: run(case, OURS, "epochs", **task),
        lambda: run(case, rival, "epoch", "--touch", "--cap", CAP // 2, workers=rival.workers, **task),
    )


def second_start(place, _):
    copies = COPIES if len(list((place.directory / "texts").glob("*.parquet"))) == gen.SETS["texts"][0] else 2  # a small set: --smoke
    addresses = [place.put("texts", f"texts-{i}") for i in range(copies)]
    options = "--columns", "text", "--tokenize", f"text={tokenizer()}", "--pack", f"text={BLOCK}", "--no-cache", "--json"
    plan = table.Contender("plan", (str(table.BIN / "shardfeed"), "plan", *addresses, *options), whole=True)
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
        starts = []
        for _ in range(2):
            with place.logged() as (environment, log):
                found = process.run(plan, set(check.cores()), environment | {"SHARDFEED_CACHE_DIR": cache})
                read = sum(e["bytes"] for e in log() if e["method"] == "GET" and e["path"].endswith(".parquet"))
            starts.append((read, found["cpu_seconds"], found["tokenizing"][0]))
    (first, cpu, text), (second, later, again) = starts
    if text["counted"] != again["counted"]:
        raise process.Failed(f"the second start found {again['counted']}, and the first counted {text['counted']}")
    more = f"the first read {first / 1e6:,.1f} MB for {text['count_text_bytes'] / 1e6:,.0f} MB of text"
    more += f" in {cpu:.1f} CPU-s; the second took {later:.2f}"
    return [second] * 3, more


def kept(case, rounds):
    """Epochs of counted texts in turn: tokens are made, or read from where warm kept them."""
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-", dir=case.directory.parent) as cache:
        options = "--columns", "text", "--tokenize", f"text={tokenizer()}", "--pack", f"text={BLOCK}", "--cache-dir", cache
        subprocess.run(
            [table.BIN / "shardfeed", "warm", case.directory, *options, "--decoded", *KEEP], check=True, stdout=subprocess.DEVNULL
        )
        epochs = "--batch-size", "4", "--shuffle", "--seed", str(case.seed), "--epochs", "4"
        runs = [table.stream(case.directory, *options, *epochs, *more) for more in ((), KEEP)]
        made, read = zip(*([process.run(one, set(check.cores())) for one in runs] for _ in range(rounds)))
    if not all(r["kept_decoded_bytes"] for r in read):
        raise servers.Missing("no tokens were kept")
    took = [statistics.median(r["cpu_seconds"] for r in runs) for runs in (read, made)]
    more = "{:.2f} CPU-s for 4 epochs against {:.2f}".format(*took)
    return check.quartiles([a["cpu_seconds"] / b["cpu_seconds"] for a, b in zip(read, made)]), more


def waiting(case, rounds):
    task = {"batch": 2, "block": BLOCK, "tokenizer": tokenizer(), "id": "text"}
    runs = [run(case, OURS, "step", **task) for _ in range(rounds)]
    steps = statistics.median(r["step_seconds"] for r in runs)
    return check.quartiles([100 * r["wait_share"] for r in runs]), f"steps of {steps * 1e3:.1f} ms"
