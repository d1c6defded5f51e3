#!/usr/bin/env python3
"""agree.py ENCODE [--long SIZE] [NAME ...]: compares package tokenize with `tokenizers` and `tiktoken`.

ENCODE is the program tokenize/testdata/encode. Without --long, small tokenizers of each combination
of parts are trained and get hard documents. With it, vocabularies of models get SIZE MB of documents
each. NAMEs choose some of them. It fails if a document has other tokens.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RUST_BACKTRACE"] = "0"

import corpus
import numpy as np
from tokenizers import Tokenizer

BATCH = 256


def ours(encode, file, documents, template=False):
    """The tokens of documents, and the seconds it took; or the error."""
    texts = [d.encode() for d in documents]
    data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    done = subprocess.run([encode, *(["-template"] if template else []), file], input=data, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode().strip())
    words, at, tokens = np.frombuffer(done.stdout, "<u4"), 0, []
    while at < len(words):
        n = int(words[at])
        tokens.append(words[at + 1 : at + 1 + n])
        at += 1 + n
    return tokens, float(done.stderr)


def theirs(file, documents, template=False):
    """The tokens that `tokenizers` has, and the seconds it took. It panics at some documents: they have None."""
    tokenizer, tokens, spent = Tokenizer.from_file(str(file)), [], 0.0
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for i in range(0, len(documents), BATCH):
        start = time.process_time()
        batch = attempt(tokenizer, documents[i : i + BATCH], template)
        spent += time.process_time() - start
        tokens += [None if e is None else np.array(e.ids, "<u4") for e in batch]
    return tokens, spent


def attempt(tokenizer, documents, template):
    try:
        return tokenizer.encode_batch_fast(documents, add_special_tokens=template)
    except BaseException as e:
        if type(e).__name__ != "PanicException":
            raise
        return [None] if len(documents) == 1 else [attempt(tokenizer, [d], template)[0] for d in documents]


def compare(name, got, want, documents, times=None):
    """Prints one line and returns the number of documents that differ."""
    assert len(got) == len(want) == len(documents)
    panics = [i for i in range(len(documents)) if want[i] is None]
    want = [got[i] if want[i] is None else want[i] for i in range(len(documents))]
    bad = [i for i in range(len(documents)) if not np.array_equal(got[i], want[i])]
    size = sum(len(d.encode()) for d in documents)
    speed = f", {size / 1e6 / times[0]:.1f} MB/s, {times[1] / times[0]:.1f} times as fast" if times else ""
    if panics:
        speed += f"; tokenizers panics at {len(panics)}"
    print(f"{name}: {len(documents)} documents, {size} bytes, {sum(map(len, want))} tokens, {len(bad)} differ{speed}", flush=True)
    for i in sorted(bad, key=lambda i: len(documents[i]))[:3]:
        at = next((k for k, (a, b) in enumerate(zip(got[i], want[i])) if a != b), min(len(got[i]), len(want[i])))
        print(f"  {ascii(documents[i])[:200]}: token {at}: {got[i][at : at + 6]}, want {want[i][at : at + 6]}")
    return len(bad)


def templated(encode, name, file, documents):
    """Compares some documents with the tokens of the template, if the file has one."""
    processor = json.loads(pathlib.Path(file).read_text(encoding="utf-8")).get("post_processor")
    if not processor or processor["type"] == "ByteLevel":
        return 0
    some = documents[:: max(1, len(documents) // 1000)]
    return compare(name + ", template", ours(encode, file, some, True)[0], theirs(file, some, True)[0], some)


def small(encode, names):
    import parts

    wrong, combinations = 0, parts.combinations()
    texts = corpus.system(300_000) + [" ".join(corpus.WORDS + corpus.EMOJI + corpus.CONTRACTIONS)] * 20
    with tempfile.TemporaryDirectory() as directory:
        for i, (name, combination) in enumerate(combinations.items()):
            if names and name not in names:
                continue
            file = pathlib.Path(directory, name + ".json")
            text, contents = parts.trained(name, combination, texts)
            file.write_text(text, encoding="utf-8")
            documents = corpus.torture(name, i, len(combinations), contents, most=1200) + texts[:40]
            got, mine = ours(encode, file, documents)
            want, yours = theirs(file, documents)
            wrong += compare(name, got, want, documents, (mine, yours)) + templated(encode, name, file, documents)
    return wrong


def large(encode, names, megabytes):
    import texts
    import vocabularies

    wrong = 0
    documents = [d for name in texts.TEXTS for d in texts.documents(name, megabytes * 1_000_000 // len(texts.TEXTS))]
    for name, file in vocabularies.files():
        if names and name not in names:
            continue
        try:
            got, mine = ours(encode, file, documents)
        except RuntimeError as e:
            print(f"{name}: {e}")
            continue
        want, yours = theirs(file, documents)
        wrong += compare(name, got, want, documents, (mine, yours)) + templated(encode, name, file, documents)
        del want
        if encoding := vocabularies.tiktoken(name):
            some = documents[:: max(1, megabytes // 10)]
            start = time.process_time()
            want = [np.array(encoding.encode(d, disallowed_special=()), "<u4") for d in some]
            spent = time.process_time() - start
            got, mine = ours(encode, file, some)
            wrong += compare(name + ", tiktoken", got, want, some, (mine, spent))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("encode")
    parser.add_argument("--long", type=int, metavar="SIZE")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    wrong = large(args.encode, args.names, args.long) if args.long else small(args.encode, args.names)
    print(f"{wrong} documents differ")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
