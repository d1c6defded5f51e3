"""Files by pyarrow: the widest choice of encodings, page versions and codecs."""

import base64
import itertools

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

import values as v

CODECS = ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]  # lz4 is LZ4_RAW here

# Encodings that pyarrow writes, and the columns that each can hold.
ENCODINGS = {
    "PLAIN": list(v.FLAT),
    "RLE": ["bool"],
    "DELTA_BINARY_PACKED": [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "date", "time_ms", "time_us", "timestamp_ms",
        "timestamp_us_utc", "timestamp_ns",
    ],
    "DELTA_LENGTH_BYTE_ARRAY": ["string", "label", "binary"],
    "DELTA_BYTE_ARRAY": ["string", "label", "binary", "fixed16", "fixed33", "decimal38_10", "float16"],
    "BYTE_STREAM_SPLIT": [
        "float16", "float32", "float64", "int32", "int64", "uint32", "date", "timestamp_us", "fixed1", "fixed16", "fixed33", "decimal38_10",
        "decimal5_2", "decimal76_40",
    ],
}  # fmt: skip


def write(out, group, name, table, **options):
    path = out / "pyarrow" / group / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"store_schema": False, "row_group_size": 400, "compression": "snappy"} | options
    pq.write_table(table, path, **options)


def files(out, rows):
    flat, nested = v.flat_table(v.FLAT, rows), v.nested_table(v.NESTED, rows)
    types(out, rows)
    encodings(out, rows)
    pages(out, flat, nested)
    nullability(out, rows)
    shapes(out, rows, flat, nested)
    schemas(out, rows)
    refused(out, rows)


def types(out, rows):
    """One file per type, so that a type that fails is seen by its name."""
    for name in v.FLAT:
        write(out, "types", name, v.flat_table([name], rows))
    for name in v.NESTED:
        write(out, "nesting", name, v.nested_table([name], rows), data_page_size=256)
    integers = ["decimal5_2", "decimal9_0", "decimal18_18", "decimal19_4"]
    write(out, "types", "decimal_as_integer", v.flat_table(integers, rows), store_decimal_as_integer=True)
    instants = v.flat_table(["timestamp_ns", "timestamp_ms"], rows)
    write(out, "types", "int96", instants, use_deprecated_int96_timestamps=True)
    write(out, "types", "null", v.table({"nothing": pa.nulls(rows), "id": pa.array(range(rows))}))
    write(out, "types", "version_1_0", v.flat_table(["int32", "string", "timestamp_ms", "timestamp_us_utc"], rows), version="1.0")
    write(out, "types", "version_2_4", v.flat_table(["uint32", "timestamp_us"], rows), version="2.4")
    extension = v.table(
        {
            "id": pa.ExtensionArray.from_storage(pa.uuid(), v.array("fixed16", rows)),
            "doc": pa.ExtensionArray.from_storage(pa.json_(), pa.array([f'{{"n": {i}}}' for i in range(rows)])),
        }
    )
    write(out, "types", "uuid_json", extension)


def encodings(out, rows):
    for encoding, names in ENCODINGS.items():
        for name in names:
            t = v.flat_table([name], rows)
            for version in ("1.0", "2.0"):
                write(out, f"encoding {encoding}", f"{name}-v{version[0]}", t, use_dictionary=False, column_encoding=encoding,
                      data_page_version=version, data_page_size=2048)  # fmt: skip
    for name in v.FLAT:
        t = v.flat_table([name], rows)
        repeated = pa.Table.from_arrays([t.column(0).take(pa.array([i * i % 23 for i in range(rows)]))], schema=t.schema)
        write(out, "encoding dictionary", name, repeated, data_page_size=512)
        if "_ns" not in name:  # version 1.0 has no nanoseconds
            write(out, "encoding dictionary", f"{name}-old", repeated, version="1.0", data_page_size=512)
        write(out, "encoding dictionary", f"{name}-mixed", t, dictionary_pagesize_limit=128, data_page_size=512, write_batch_size=16)
    delta_nested = v.nested_table(["list_int", "list_list", "struct_list"], rows)
    write(out, "encoding DELTA_BINARY_PACKED", "nested", delta_nested.select(["list_int", "list_list"]), use_dictionary=False,
          column_encoding="DELTA_BINARY_PACKED", data_page_size=256)  # fmt: skip


def pages(out, flat, nested):
    """Every codec with every page form, over all types at once."""
    for codec, version, dictionary, size in itertools.product(CODECS, ("1.0", "2.0"), (True, False), (128, 1 << 20)):
        name = f"v{version[0]}-{'dict' if dictionary else 'plain'}-{'tiny' if size == 128 else 'large'}"
        options = {"compression": codec, "data_page_version": version, "use_dictionary": dictionary, "data_page_size": size,
                   "write_batch_size": 32 if size == 128 else 1024}  # fmt: skip
        write(out, f"codec {codec}", f"flat-{name}", flat, **options)
        write(out, f"codec {codec}", f"nested-{name}", nested, **options)
    for version, index, checksum in itertools.product(("1.0", "2.0"), (True, False), (True, False)):
        name = f"v{version[0]}{'-index' if index else ''}{'-crc' if checksum else ''}"
        options = {"data_page_version": version, "write_page_index": index, "write_page_checksum": checksum, "data_page_size": 512,
                   "compression": "zstd"}  # fmt: skip
        write(out, "page index, crc", f"flat-{name}", flat, **options)
        write(out, "page index, crc", f"nested-{name}", nested, **options)


def nullability(out, rows):
    for version in ("1.0", "2.0"):
        options = {"data_page_version": version, "data_page_size": 512}
        write(out, "nullability", f"required-flat-v{version[0]}", v.flat_table(v.FLAT, rows, nullable=False), **options)
        write(out, "nullability", f"required-nested-v{version[0]}", v.nested_table(v.NESTED, rows, nullable=False), **options)
        all_null = v.table({name: pa.array([None] * rows, t) for name, (t, _) in v.FLAT.items()})
        write(out, "nullability", f"all-null-flat-v{version[0]}", all_null, **options)
        # pyarrow writes no nulls of fixed-size lists.
        all_null = v.table({name: pa.array([None] * rows, t) for name, t in v.NESTED.items() if not name.startswith("fixed")})
        write(out, "nullability", f"all-null-nested-v{version[0]}", all_null, **options)
        no_null = v.table({n: v.array(n, rows, nullable=False) for n in v.FLAT})
        write(out, "nullability", f"no-null-flat-v{version[0]}", no_null, **options)
        late = v.table({"late": pa.array([None] * (rows - 3) + [1, 2, 3]), "early": pa.array([1, 2, 3] + [None] * (rows - 3))})
        write(out, "nullability", f"runs-v{version[0]}", late, **options)


def shapes(out, rows, flat, nested):
    write(out, "shapes", "no-rows-flat", flat.slice(0, 0))
    write(out, "shapes", "no-rows-nested", nested.slice(0, 0))
    write(out, "shapes", "one-row", flat.slice(0, 1))
    write(out, "shapes", "one-row-nested", nested.slice(0, 1))
    write(out, "shapes", "row-group-of-one", flat.slice(0, 9), row_group_size=1)
    path = out / "pyarrow" / "shapes" / "empty-row-groups.parquet"
    with pq.ParquetWriter(path, flat.schema, store_schema=False) as w:
        for start, count in ((0, 0), (0, 5), (5, 0), (5, 20), (25, 0)):
            w.write_table(flat.slice(start, count))
    arrow_types(out, rows, flat, nested)
    few = min(rows, 300)
    big = {
        "text": pa.array(["x" * (i * 997 % 90_000) for i in range(few)]),
        "blob": pa.array([b"\x00\xff" * (i * 331 % 40_000) for i in range(few)]),
    }
    for codec in CODECS:
        write(out, "shapes", f"big-strings-{codec}", v.table(big), compression=codec, use_dictionary=False, row_group_size=few // 3)
    long_lists = v.table({"ids": pa.array([list(range(i * 37 % 5000)) for i in range(few)], pa.list_(pa.int32()))})
    write(out, "shapes", "long-lists", long_lists, data_page_size=4096, use_dictionary=False)


def arrow_types(out, rows, flat, nested):
    """Arrow's own types, which the file names in its metadata and parquet stores as something else."""
    columns = {
        "dictionary": flat["label"].combine_chunks().dictionary_encode(),
        "large_string": flat["string"].cast(pa.large_string()).combine_chunks(),
        "string_view": flat["string"].cast(pa.string_view()).combine_chunks(),
        "seconds": pa.array(range(rows), pa.timestamp("s")),
        "duration": pa.array(range(rows), pa.duration("us")),
        "zone": pa.array(range(rows), pa.timestamp("us", "Asia/Seoul")),
        "date64": pa.array([86_400_000 * i for i in range(rows)], pa.date64()),
        "fixed_list": nested["fixed_list"].combine_chunks(),
        "large_list": nested["list_int"].cast(pa.large_list(pa.int32())).combine_chunks(),
    }
    write(out, "shapes", "arrow-schema", v.table(columns), store_schema=True)


def schemas(out, rows):
    """Names that stand in the way of paths and of JSON."""
    ids = pa.array(range(rows))
    names = ["a.b", "a", "한국어", "with space", 'quote"', "back\\slash", "", "CASE", "case", "0", "emoji 😀", "a/b", "list.element"]
    columns = [ids] * len(names)
    columns[1] = pa.array([{"b": i, "c.d": str(i)} for i in range(rows)])
    write(out, "schemas", "names", pa.Table.from_arrays(columns, names=names))
    write(out, "schemas", "many-columns", pa.table({f"c{i:04d}": ids for i in range(1500)}).slice(0, 3))
    # Legacy two-level naming of a three-level list ("item" instead of "element").
    write(out, "schemas", "list-item", v.nested_table(["list_int", "list_struct"], rows), use_compliant_nested_type=False)


class Keys(pe.KmsClient):
    """Keys that protect nothing."""

    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)


def refused(out, rows):
    """Encrypted files, which have to be refused: with an open footer and a secret column, and with a secret footer."""
    for name, plaintext in (("secret-column", True), ("secret-footer", False)):
        path = out / "pyarrow" / "refused" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        config = pe.EncryptionConfiguration(
            footer_key="footer", column_keys={"column": ["label"]}, plaintext_footer=plaintext, double_wrapping=False
        )
        keys = pe.CryptoFactory(lambda _: Keys()).file_encryption_properties(pe.KmsConnectionConfig(), config)
        table = v.flat_table(["int32", "label"], rows)
        with pq.ParquetWriter(path, table.schema, encryption_properties=keys) as w:
            w.write_table(table)
