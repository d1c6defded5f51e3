"""The arguments of a data set: what reaches the engine, and which errors refuse the rest."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shardfeed
from shardfeed import StreamingDataset, augment
from shardfeed._args import _storage
from shardfeed._options import Options
from shardfeed.errors import OptionError

ROOT = Path(__file__).resolve().parents[2]


def spec(uri="s3://b/p", batch_size=8, **given):
    return Options(uri, batch_size, **given).spec()


def test_defaults():
    told = spec()
    assert told.pop("env") == _storage.environment(os.environ)
    assert told == {
        "addresses": ["s3://b/p"],
        "snapshot": "",
        "refresh": "",
        "sources": [],
        "partition_types": {},
        "stop": "",
        "epoch_size": 0,
        "curriculum": [],
        "batching": "",
        "weights_in": "",
        "tokens": "",
        "columns": None,
        "row_ids": False,
        "seeds": False,
        "filters": "",
        "now": "",
        "directory": "",
        "parts": {},
        "part": "",
        "part_key": "",
        "part_seed": 0,
        "subsample": 0.0,
        "rows": "",
        "rows_new": "",
        "weight": "",
        "manifest": "",
        "manifest_text": None,
        "plan": "",
        "strict": False,
        "missing": "error",
        "invalid_utf8": "refuse",
        "on_error": "raise",
        "max_lost": 0.0,
        "shuffle": True,
        "shuffle_buffer": "",
        "seed": 0,
        "lanes": 0,
        "unit_rows": 0,
        "start": "",
        "max_world_size": 0,
        "batch_size": 8,
        "tail": "",
        "memory": "",
        "cache_dir": "",
        "cache_limit": "",
        "decoded_limit": "",
        "cache_policy": "",
        "no_cache": False,
        "index_dir": "",
        "storage": {},
        "null": {},
        "pad": [],
        "pack": None,
        "bucket": None,
        "cast": {},
        "hash": {},
        "scale": {},
        "stack": {},
        "images": {},
        "boxes": {},
        "image_decoder": "",
        "vocabulary": {},
        "unknown": {},
        "tokenize": {},
        "slots": 0,
        "workers": 0,
    }


def test_members_are_those_of_the_protocol():
    assert set(spec()) == {name for path, types in SPEC.items() for type in types for name in members(path, type)}
    assert set(spec(pad={"x": 0})["pad"][0]) | {"within"} == set(members("spec.go", "Pad"))


# The types that a Spec consists of, by their files.
SPEC = {
    "spec.go": ["Spec", "Choice", "Caching", "Features"],
    "iterable/option_groups.go": ["Order", "Mixing"],
    "iterable/internal/transform/vocabulary.go": ["Words"],
    "iterable/lost.go": ["Losses"],
}


def members(path: str, type: str) -> list[str]:
    source = (ROOT / path).read_text()
    struct = source[source.index(f"type {type} struct") :].split("\n}\n")[0]
    return re.findall(r'json:"(\w+)[",]', struct)


@pytest.mark.parametrize(
    "given, member, told",
    [
        ({"shuffle_buffer": 1000}, "shuffle_buffer", "1000"),
        ({"shuffle_buffer": "1000"}, "shuffle_buffer", "1000"),
        ({"shuffle_buffer": "512MiB"}, "shuffle_buffer", f"{512 << 20}B"),
        ({"shuffle_buffer": "1GiB/rank"}, "shuffle_buffer", f"{1 << 30}B/rank"),
        ({"shuffle_buffer": " 8 gib / Node "}, "shuffle_buffer", f"{8 << 30}B/node"),
        ({"shuffle_buffer": "20000/rank"}, "shuffle_buffer", "20000/rank"),
        ({"memory": "1.5GiB"}, "memory", str(3 << 29)),
        ({"memory": "2 gb"}, "memory", "2000000000"),
        ({"memory": 1 << 30}, "memory", str(1 << 30)),
        ({"cache_limit": "50%"}, "cache_limit", "50%"),
        ({"cache_limit": 0.25}, "cache_limit", "25%"),
        ({"decoded_limit": "20%"}, "decoded_limit", "20%"),
        ({"decoded_limit": "20GiB"}, "decoded_limit", str(20 << 30)),
        ({"decoded_limit": 0}, "decoded_limit", "0"),
        ({"decoded_limit": 0.0}, "decoded_limit", "0"),
        ({"cache_limit": "100GiB"}, "cache_limit", str(100 << 30)),
        ({"drop_last": True}, "tail", "drop"),
        ({"drop_last": True, "tail": "drop"}, "tail", "drop"),
        ({"tail": "carry"}, "tail", "carry"),
        ({"cache": False}, "no_cache", True),
        ({"columns": ("a", "b.c")}, "columns", ["a", "b.c"]),
        ({"seed": 2**64 - 1}, "seed", 2**64 - 1),
        ({"filters": [("a", ">", 1)]}, "filters", "a > 1"),
        ({"filters": "a > 1"}, "directory", ""),
        ({"filters": "a in @drop.txt"}, "directory", os.getcwd()),
        ({"parts": {"train": 9, "val": 1}, "part": "val"}, "parts", {"train": 9.0, "val": 1.0}),
        ({"parts": {"train": np.float32(0.5)}, "part": "train"}, "parts", {"train": 0.5}),
        ({"subsample": 0.1}, "subsample", 0.1),
        ({"part_seed": 2**64 - 1}, "part_seed", 2**64 - 1),
        ({"rows": "keep.rows"}, "rows", os.path.abspath("keep.rows")),
        ({"rows_new": "drop"}, "rows_new", "drop"),
        ({"weight": "times"}, "weight", "times"),
        ({"seed": np.int64(3)}, "seed", 3),
        ({"batch_size": None}, "batch_size", 1),
        ({"slots": 5}, "slots", 5),
        ({"uri": ["s3://a/", "hdfs:///b", "s3a://c"]}, "addresses", ["s3://a/", "hdfs:///b", "s3a://c"]),
        ({"uri": "data/*.parquet"}, "addresses", [os.path.abspath("data/*.parquet")]),
        ({"uri": Path("~/data")}, "addresses", [os.path.expanduser("~/data")]),
        ({"cache_dir": "here"}, "cache_dir", os.path.abspath("here")),
        ({"null": {"a": 1, "b": True, "c": "x", "d": np.float32(0.5)}}, "null", {"a": 1, "b": True, "c": "x", "d": 0.5}),
        (
            {"null": {"a": b"\0\xff", "b": float("nan"), "c": np.datetime64("NaT")}},
            "null",
            {"a": {"base64": "AP8="}, "b": "NaN", "c": -(2**63)},
        ),
        ({"vocabulary": {"l": ["cat", "dog"]}}, "vocabulary", {"l": ["cat", "dog"]}),
        ({"vocabulary": {"l": {"dog": 1, "cat": 0}}}, "vocabulary", {"l": ["cat", "dog"]}),
        ({"vocabulary": {"l": ["cat"], "k": ["x", "y"]}, "unknown": -100}, "unknown", {"l": -100, "k": -100}),
        ({"vocabulary": {"l": ["cat"], "k": ["x", "y"]}, "unknown": {"k": np.int64(2)}}, "unknown", {"k": 2}),
        ({"vocabulary": {"l": ["cat"], "k": ["x", "y"]}, "unknown": {"l": "error", "k": 0}}, "unknown", {"k": 0}),
        ({"vocabulary": {"l": ["cat"]}, "unknown": "error"}, "unknown", {}),
        (
            {"storage_options": {"anon": True, "client_kwargs": {"region_name": "x"}, "token": None}},
            "storage",
            {"anon": "true", "client_kwargs.region_name": "x"},
        ),
        (
            {"storage_options": {"endpoint_override": "http://h", "no_sign_request": True}},
            "storage",
            {"endpoint_override": "http://h", "no-sign-request": "true"},
        ),
        ({"storage_options": {"endpoint-url": "http://h", "region": "r"}}, "storage", {"endpoint-url": "http://h", "region": "r"}),
        (
            {"storage_options": {"extra_conf": {"dfs.x": 3}, "user": "u", "hdfs.slots": 4}},
            "storage",
            {"dfs.x": "3", "user": "u", "hdfs.slots": "4"},
        ),
    ],
    ids=str,
)
def test_told(given, member, told):
    assert spec(**given)[member] == told


def pad(**given):
    return {"column": "t", "value": 0, "max_length": 0, "to_max": False, "multiple": 0, "left": False, "cut_left": False} | given


@pytest.mark.parametrize(
    "given, told",
    [
        ({"pad": {"t": 0}}, [pad()]),
        ({"pad": {"t": None}}, [pad(value=None)]),
        ({"pad": {"t": 1, "u": 2}, "max_length": 5}, [pad(value=1, max_length=5), pad(column="u", value=2, max_length=5)]),
        ({"pad": {"t": 1, "u": 2}, "max_length": {"u": 5}}, [pad(value=1), pad(column="u", value=2, max_length=5)]),
        ({"pad": {"t": {"value": 3, "side": "left", "cut": "left", "multiple": 8}}}, [pad(value=3, left=True, cut_left=True, multiple=8)]),
        ({"pad": {"t": {"max_length": 7, "to_max": True}}}, [pad(value=None, max_length=7, to_max=True)]),
    ],
    ids=str,
)
def test_pads(given, told):
    assert spec(**given)["pad"] == told


@pytest.mark.parametrize(
    "given, words",
    [
        ({"uri": ""}, "uri is empty"),
        ({"uri": []}, "uri is empty"),
        ({"uri": 3}, "uri must be an address such as 's3://bucket/path', a path, or a list of them, got an int"),
        ({"batch_size": 0}, "^batch_size must be at least 1, got 0$"),
        ({"batch_size": 2**31}, "must be at most"),
        ({"batch_size": "8"}, "^batch_size must be a whole number, got '8'$"),
        ({"batch_size": True}, "must be a whole number, got True"),
        ({"columns": "price"}, r"columns must be a list of names, got 'price': give columns=\['price'\]"),
        ({"columns": []}, r"names or dotted paths, or None for all columns, got \[\]"),
        ({"columns": {"id": 1}}, "columns must be a list of names"),
        ({"uri": None}, "a list of them, got None"),
        ({"shuffle": False, "shuffle_buffer": 10}, "shuffle=False reads in file order, got shuffle_buffer as well"),
        ({"shuffle": False, "lanes": 2, "start": "direct"}, "got lanes, start as well"),
        ({"shuffle_buffer": "many"}, "shuffle_buffer must be .* '512MiB' .bytes. or '100000' .rows., .*, got 'many'"),
        ({"shuffle_buffer": "1GiB/gpu"}, "shuffle_buffer must be .* with '/rank' or '/node', got '1GiB/gpu'"),
        ({"shuffle_buffer": "0/rank"}, "above 0 and below 2.*63, got '0'"),
        ({"shuffle_buffer": 0}, "above 0 and below 2.*63, got 0"),
        ({"memory": "5 parsecs"}, "memory must be a whole number, or a size as in '512MiB', got '5 parsecs'"),
        ({"memory": 1.5}, "got 1.5"),
        ({"memory": "1.5"}, "got '1.5'"),
        ({"cache_limit": "150%"}, "part of the free space as in '50%'"),
        ({"cache_limit": 1.5}, "part of the free space as in '50%'"),
        ({"seed": -1}, r"seed must be a whole number from 0 to 2\*\*64 - 1, got -1"),
        ({"seed": 1.0}, "seed must be .* got 1.0"),
        ({"tail": "padd"}, "tail must be 'drop', 'pad', 'short' or 'carry', got 'padd'; did you mean 'pad'"),
        ({"drop_last": True, "tail": "pad"}, "drop_last=True means tail='drop', got tail='pad' as well"),
        ({"start": "fast"}, "'filled' or 'direct'"),
        ({"missing": "nul"}, "did you mean 'null'"),
        ({"refresh": "step"}, "^refresh must be 'epoch', got 'step'$"),
        ({"invalid_utf8": "drop"}, "'refuse' or 'replace'"),
        ({"on_error": "ignore"}, "on_error must be 'raise', 'mask' or 'skip', got 'ignore'"),
        ({"on_error": "mask", "max_lost": 2}, "max_lost must be a number above 0 and at most 1, got 2"),
        ({"max_lost": 0.1}, "max_lost needs on_error='mask' or 'skip', got max_lost=0.1 alone"),
        ({"cache": False, "cache_limit": "1GiB"}, "cache=False keeps nothing"),
        ({"cache": False, "decoded_limit": "1GiB"}, "cache=False keeps nothing"),
        ({"decoded_limit": False}, "decoded_limit must be a whole number, or a size as in '512MiB', got False"),
        ({"cache_limit": False}, "cache_limit must be a whole number, or a size as in '512MiB', got False"),
        ({"decoded_limit": "150%"}, "part of the free space as in '50%'"),
        ({"cache_policy": "mru"}, "did you mean 'lru'"),
        ({"cache_policy": "keep=7"}, "cache_policy must be"),
        ({"cache_dir": ""}, "cache_dir must be a path, got ''"),
        ({"slots": 1}, "slots must be at least 2, got 1"),
        ({"null": ["a"]}, r"null must be a dict, as in null=\{'price': 0.0\}, got \['a'\]"),
        (
            {"null": {"a": [1]}},
            r"null of column 'a' must be a number, True or False, text, bytes, a date, datetime, time, Decimal or UUID, got \[1\]",
        ),
        ({"null": {"a": np.timedelta64(5, "s")}}, "a datetime.time, a whole number"),
        ({"pad": {"t": {"valu": 1}}}, "got 'valu'; did you mean 'value'"),
        ({"pad": {"t": {"side": "top"}}}, "side in the pad of column 't' must be 'left' or 'right', got 'top'"),
        ({"pad": {"t": {"to_max": True}}}, "to_max needs a max_length"),
        ({"max_length": 5}, "name their columns in pad"),
        ({"pad": {"t": 0}, "max_length": {"u": 5}}, "max_length names column 'u'"),
        ({"pad": {"t": 0}, "max_length": 0}, "at least 1"),
        ({"vocabulary": {"l": {"a": 0, "b": 2}}}, "must number its 2 words from 0 to 1, each once"),
        ({"vocabulary": {"l": {"a": 0, "b": "1"}}}, "each once"),
        ({"pad": {"t": {"max_length": 3, "to_max": "yes"}}}, "to_max in the pad of column 't' must be True or False, got 'yes'"),
        ({"vocabulary": {"l": "abc"}}, "must be a list of words"),
        ({"unknown": 0}, "unknown numbers words that a vocabulary lacks, got 0 alone"),
        ({"vocabulary": {"l": ["a"]}, "unknown": {"k": 0}}, "unknown names column 'k', which is not in vocabulary"),
        ({"vocabulary": {"l": ["a"]}, "unknown": 2}, "unknown of column 'l' must be 'error' or a whole number from -100 to 1, .*got 2"),
        ({"vocabulary": {"l": ["a"]}, "unknown": -101}, "from -100 to 1, .*got -101"),
        ({"vocabulary": {"l": ["a"]}, "unknown": True}, "from -100 to 1, .*got True"),
        ({"vocabulary": {"l": ["a"]}, "unknown": "index"}, "must be 'error' or a whole number .*got 'index'"),
        ({"vocabulary": {"l": ["a"]}, "unknown": {"l": None}}, "got None"),
        ({"vocabulary": {"l": []}}, "a list of str with at least one"),
        ({"storage_options": {"endpointurl": "x"}}, "unknown storage option 'endpointurl': did you mean 'endpoint_url' or"),
        ({"storage_options": {"zzzzzz": "x"}}, "known are the options of s3fs"),
        ({"storage_options": {"host": "x"}}, "hdfs://host:port/path"),
        ({"storage_options": {"key": ["x"]}}, "'key' must be text, a number, True or False, got a list"),
        ({"storage_options": "anon"}, "storage_options must be a dict"),
    ],
    ids=str,
)
def test_refused(given, words):
    with pytest.raises(OptionError, match=words) as caught:
        spec(**given)
    assert isinstance(caught.value, ValueError)


IN_MEMORY = {
    "a frame": (pd.DataFrame({"id": [1]}), "got a pandas.DataFrame: write it with to_parquet"),
    "a table": (pa.table({"id": [1]}), "got a pyarrow.Table: write it to a parquet file"),
    "an array": (np.zeros(3), "got a numpy.ndarray: write it to a parquet file"),
    "a dict": ({"id": [1]}, "got a dict"),
    "bytes": (b"s3://b/p", "got a bytes"),
    "a list of arrays": ([np.zeros(3)], "a list with a numpy.ndarray in it"),
    "a list of frames": ([pd.DataFrame({"id": [1]})], "a list with a pandas.DataFrame in it: write it with to_parquet"),
    "names of columns": (["id", "label"], "there are no files 'id', 'label': uri must be .*; columns are named in columns="),
}


@pytest.mark.parametrize(("uri", "words"), IN_MEMORY.values(), ids=IN_MEMORY)
def test_data_in_memory_is_not_an_address(uri, words):
    with pytest.raises(OptionError, match=words):
        spec(uri)


def test_all_problems_at_once():
    with pytest.raises(OptionError) as caught:
        spec(batch_size="8", seed=-1, tail="padd", storage_options={"key": ["secret"]})
    first, *rest = str(caught.value).splitlines()
    assert first == "4 arguments are wrong:" and len(rest) == 4
    for name in ("batch_size must be", "seed must be", "tail must be", "storage option 'key'"):
        assert any(line.startswith(f"  - {name}") for line in rest), name
    assert "secret" not in str(caught.value)


MISSPELT = {
    "one": ({"batch_size": 8, "colums": ["id"]}, "StreamingDataset has no argument 'colums'; did you mean 'columns'?"),
    "two": (
        {"batchsize": 8, "sed": 1},
        "no argument 'batchsize'; did you mean 'batch_size'\\?\\n.* no argument 'sed'; did you mean 'seed'\\?",
    ),
    "the loader's": ({"batch_size": 8, "num_workers": 2}, "no argument 'num_workers': it belongs to shardfeed.torch.DataLoader"),
    "torch's": ({"batch_size": 8, "sampler": None}, "no argument 'sampler': the engine shuffles"),
    "unlike any": ({"batch_size": 8, "zzz": 1}, "no argument 'zzz'$"),
    "left out": ({}, "StreamingDataset needs batch_size: rows of a batch"),
}


@pytest.mark.parametrize(("given", "words"), MISSPELT.values(), ids=MISSPELT)
def test_misspelt_arguments(given, words):
    with pytest.raises(TypeError, match=words):
        StreamingDataset("s3://b/p", **given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: shardfeed.Image(sze=3), "Image has no argument 'sze'; did you mean 'size'"),
        (lambda: shardfeed.Boxes(off="image"), "did you mean 'of'"),
        (lambda: shardfeed.Pack({"t": 3}, stratgy="bfd"), "did you mean 'strategy'"),
        (lambda: shardfeed.Bucket({"t": 3}, colums=1), "Bucket has no argument 'colums'"),
        (lambda: shardfeed.Source("x", wieght=2), "did you mean 'weight'"),
        (lambda: shardfeed.Tokenizer("x", max_token=3), "did you mean 'max_tokens'"),
        (lambda: augment.RandAugment(magnitud=3), "did you mean 'magnitude'"),
    ],
)
def test_misspelt_arguments_of_options(make, words):
    with pytest.raises(TypeError, match=words):
        make()


def test_arguments_by_position():
    with pytest.raises(TypeError, match="takes only uri by position, got 8 as well: give other arguments by name"):
        StreamingDataset("s3://b/p", 8)
    with pytest.raises(TypeError, match="needs uri: an address"):
        StreamingDataset(batch_size=8)


def test_storage_names_are_those_of_the_stores():
    parse = (ROOT / "shard/s3/parse.go").read_text()
    aliases = parse[parse.index("var aliases") : parse.index("// setters")]
    setters = parse[parse.index("func setters") : parse.index("// flatten")]
    names = set(re.findall(r'"([\w.]+)":', aliases)) | set(re.findall(r'"([\w.]+)":', setters))
    assert names == _storage.S3
    options = (ROOT / "shard/hdfs/options.go").read_text()
    known = options[options.index("func known") : options.index("// ParseOptions")]
    assert set(re.findall(r'^\s*"([\w.]+)":', known, re.M)) == _storage.HDFS
    for store, package in (("gs", "gs"), ("az", "azure")):
        options = (ROOT / "shard" / package / "options.go").read_text()
        given = set(re.findall(rf'"({store}\.\w+)":', options))
        assert given == {name for name in _storage.WEB if name.startswith(store + ".")}
    metastores = set(re.findall(r'= "(hive\.[\w.]+)"', (ROOT / "table/hive/options.go").read_text()))
    assert metastores == {name for name in _storage.WEB if name.startswith("hive.")}
    flags = (ROOT / "cmd/shardfeed/flag_table.go").read_text()
    assert set(re.findall(r'set: "storage", name: "([\w-]+)"', flags)) - {"storage-option"} == _storage.FLAGS


def test_environment_of_the_trainer():
    kept = {"AWS_PROFILE": "p", "KRB5CCNAME": "/c", "HADOOP_CONF_DIR": "/d", "https_proxy": "h", "HOME": "/h", "SHARDFEED_CACHE_DIR": "/x"}
    assert _storage.environment(kept | {"PATH": "/bin", "SECRET": "s", "SHARDFEED_LOG": "debug"}) == kept


def test_a_plan_is_a_path_or_an_address():
    assert spec(plan="runs/a.plan")["plan"] == os.path.abspath("runs/a.plan")
    assert spec(plan=Path("runs/a.plan"))["plan"] == os.path.abspath("runs/a.plan")
    assert spec(plan="s3://bucket/a.plan")["plan"] == "s3://bucket/a.plan"
    with pytest.raises(OptionError, match="plan must be a path, got 7"):
        spec(plan=7)
