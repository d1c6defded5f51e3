"""encode.py ENCODE TOKENIZER ROUNDS MB: compares the speed of package tokenize, `tokenizers` and tiktoken.

They take turns on MB of each text, with one thread. It prints JSON: MB per second of processor time,
by text and encoder. "first" is a new encoder of package tokenize, "second" its second pass. With
ROUNDS 0 it prints the path of the tokenizer.json.
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

THEIRS, BATCH = 500_000, 64  # bytes, documents


def ours(encode, file, documents):
    raw = [d.encode() for d in documents]
    done = subprocess.run([encode, "-passes", "2", file], input=b"".join(struct.pack("<I", len(d)) + d for d in raw), capture_output=True)
    size = sum(map(len, raw))
    return [size / 1e6 / float(seconds) for seconds in done.stderr.split()]


def spent(documents, run):
    start = time.process_time()
    run(documents)
    return sum(len(d.encode()) for d in documents) / 1e6 / (time.process_time() - start)


def main():
    encode, name, rounds, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    file = dict(vocabularies.files())[name]
    if not rounds:
        print(file)
        return
    theirs, tiktoken = Tokenizer.from_file(str(file)), vocabularies.tiktoken(name)
    theirs.no_truncation()
    theirs.no_padding()

    def batches(documents):
        for i in range(0, len(documents), BATCH):
            theirs.encode_batch_fast(documents[i : i + BATCH], add_special_tokens=False)

    found = {}
    for text in texts.TEXTS:
        documents = cached(text, megabytes * 1_000_000)
        some = list(texts.limit(documents, THEIRS))
        each = found.setdefault(text, {"first": [], "second": [], "tokenizers": [], "tiktoken": []})
        for _ in range(rounds):
            first, second = ours(encode, file, documents)
            each["first"].append(first)
            each["second"].append(second)
            each["tokenizers"].append(spent(some, batches))
            if tiktoken:
                each["tiktoken"].append(spent(some, lambda d: [tiktoken.encode(t, disallowed_special=()) for t in d]))
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
