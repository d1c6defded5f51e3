"""Files by Polars: its own encoder, page index by default."""

import polars as pl

import values as v

CODECS = ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4"]
UNKNOWN = ("fixed1", "fixed16", "fixed33", "decimal39_3", "decimal76_40", "map", "map_int", "map_struct", "map_map", "list_map", "deep")


def files(out, rows):
    flat = {n: pl.from_arrow(v.array(n, rows)) for n in v.FLAT if n not in UNKNOWN}
    nested = {n: pl.from_arrow(v.nested(n, rows)) for n in v.NESTED if n not in UNKNOWN}

    def write(group, name, columns, **options):
        path = out / "polars" / group / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(columns).write_parquet(path, **({"row_group_size": 400} | options))

    for name, column in {**flat, **nested}.items():
        write("types", name, {name: column})
    write(
        "types",
        "categorical",
        {"c": flat["label"].cast(pl.Categorical), "e": flat["label"].cast(pl.Enum(flat["label"].drop_nulls().unique()))},
    )
    write("types", "null", {"nothing": pl.Series([None] * rows), "id": pl.Series(range(rows))})
    write("types", "duration", {"duration": pl.Series(range(rows)).cast(pl.Duration("us"))})
    for codec in CODECS:
        for size in (256, 1 << 20):
            name = "tiny" if size == 256 else "large"
            write(f"codec {codec}", f"flat-{name}", flat, compression=codec, data_page_size=size)
            write(f"codec {codec}", f"nested-{name}", nested, compression=codec, data_page_size=size)
    write("shapes", "no-rows", {n: c.head(0) for n, c in {**flat, **nested}.items()})
    write("shapes", "one-row", {n: c.head(1) for n, c in {**flat, **nested}.items()})
    write("page index, crc", "no-statistics", {**flat, **nested}, statistics=False)
