"""encode.py ENCODE TOKENIZER ROUNDS MB: compares the speed of package tokenize, `tokenizers` and tiktoken.

They take turns on MB of each text, with one thread. Each starts every round with empty caches and
passes twice over the text; tiktoken has no cache. It prints JSON: for each text and encoder the MB
per second of processor time of each pass, in the order of the rounds. With ROUNDS 0 it prints the
path of the tokenizer.json, with -1 the bytes of our tables and of our encoder.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import time

os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
sys.path.append(str(pathlib.Path(__file__).parents[2] / "tokenize" / "testdata"))

import texts
import vocabularies
from tokenizers import Tokenizer

BATCH = 64  # documents of a call of tokenizers


def ours(encode, file, documents, option=("-passes", "2")):
    raw = [d.encode() for d in documents]
    done = subprocess.run([encode, *option, file], input=b"".join(struct.pack("<I", len(d)) + d for d in raw), capture_output=True)
    return [float(n) for n in done.stderr.split()]


def theirs(_, file, documents):
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    batches = [documents[i : i + BATCH] for i in range(0, len(documents), BATCH)]
    return [spent(tokenizer.encode_batch_fast, batches, add_special_tokens=False) for _ in range(2)]


def spent(encode, inputs, **options):
    start = time.process_time()
    for each in inputs:
        encode(each, **options)
    return time.process_time() - start


def main():
    encode, name, rounds, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    file, tiktoken = dict(vocabularies.files())[name], vocabularies.tiktoken(name)
    if not rounds:
        print(file)
        return
    if rounds < 0:
        documents = [d for text in texts.TEXTS for d in cached(text, megabytes * 1_000_000)]
        print(json.dumps(ours(encode, file, documents, ["-memory"])[1:]))
        return
    encoders = {"ours": ours, "tokenizers": theirs}
    if tiktoken:
        encoders["tiktoken"] = lambda _, file, documents: 2 * [spent(tiktoken.encode, documents, disallowed_special=())]
    found = {}
    for text in texts.TEXTS:
        documents = cached(text, megabytes * 1_000_000)
        size = sum(len(d.encode()) for d in documents) / 1e6
        each = found.setdefault(text, {key: [] for key in encoders})
        for _ in range(rounds):
            for key, passes in encoders.items():
                each[key].append([size / s for s in passes(encode, file, documents)])
    print(json.dumps(found))


def cached(text, size):
    """The documents, which take longer to make than to read."""
    path = texts.CACHE / f"bench-{text}-{size}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(texts.documents(text, size)))
    return json.loads(path.read_text())


if __name__ == "__main__":
    main()
