"""The columns of a Spark DataFrame, as parquet and shardfeed have them."""

from __future__ import annotations

from typing import Any

from .._args._checks import did_you_mean, got, type_name
from ..errors import OptionError

_REFUSED = {
    "void": "give it a type, as in cast('string')",
    "interval": "write its months, days and microseconds as columns",
    "variant": "take values out with variant_get, or write to_json of it",
}
_UNHASHED = ("map", "variant")


def frame_of(value: Any) -> Any:
    """Returns a DataFrame of a session in this process; the error names what is missing."""
    from pyspark.sql import DataFrame

    if not isinstance(value, DataFrame):
        hint = ": spark.createDataFrame makes one" if type_name(value) == "a pandas.DataFrame" else ""
        raise OptionError(f"frame must be a DataFrame of Spark, {got(value)}{hint}")
    if getattr(value, "_jdf", None) is None:
        raise OptionError("frame is of Spark Connect, which hides its plan and file systems: run convert in a driver of Spark itself")
    if value.isStreaming:
        raise OptionError("frame is a stream, which has no end: write it with writeStream, and give its directory to shardfeed")
    return value


def chosen(frame: Any, columns: Any) -> Any:
    """The frame with these columns, in this order. None means all."""
    if columns is not None:
        if not isinstance(columns, (list, tuple)) or not columns or not all(isinstance(name, str) for name in columns):
            raise OptionError(f"columns must be a list of names of columns, {got(columns)}")
        for name in columns:
            if name not in frame.columns:
                raise OptionError(f"columns has {name!r}, which is not in the frame{did_you_mean(name, frame.columns)}")
        frame = frame.select(*(column(name) for name in columns))
    if not frame.columns:
        raise OptionError("frame has no columns")
    if twice := sorted({name for name in frame.columns if frame.columns.count(name) > 1}):
        raise OptionError(f"frame has {', '.join(map(repr, twice))} more than once: rename one of them with withColumnRenamed or alias")
    return frame


def with_arrays(frame: Any) -> Any:
    """The frame with arrays of float32 in place of vectors. A null stays one."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as f

    problems = [problem for field in frame.schema.fields for problem in _problems(field.name, field.dataType, top=True)]
    if problems:
        raise OptionError("frame has columns that cannot be written:\n  - " + "\n  - ".join(problems))
    if not any(_is_vector(field.dataType) for field in frame.schema.fields):
        return frame

    def written(field: Any) -> Any:
        values = column(field.name)
        if not _is_vector(field.dataType):
            return values
        return f.when(values.isNotNull(), vector_to_array(values, "float32")).alias(field.name)

    return frame.select(*(written(field) for field in frame.schema.fields))


def shuffled(frame: Any) -> Any:
    """The frame with its rows sorted by a hash of them, in partitions by that hash."""
    from pyspark.sql import functions as f

    hashed = [column(field.name) for field in frame.schema.fields if not _has(field.dataType, _UNHASHED)]
    if not hashed:
        raise OptionError("shuffle_rows needs a column that Spark can hash, and maps are all there is: leave it out, or add a key")
    key = f.xxhash64(*hashed)
    return frame.repartition(key).sortWithinPartitions(key)


def column(name: str) -> Any:
    """The column of this name, which may have dots."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")


def _problems(path: str, kind: Any, top: bool = False) -> list[str]:
    if kind.typeName() in _REFUSED:
        return [f"{path}, {kind.simpleString()}: {_REFUSED[kind.typeName()]}"]
    if _is_vector(kind):
        return [] if top else [f"{path}, a vector within a list or struct: make it a column of its own"]
    if type(kind).__name__ == "MatrixUDT":
        return [f"{path}, a matrix: make it a list of floats"]
    return [problem for name, inner in _inner(kind) for problem in _problems(f"{path}.{name}", inner)]


def _has(kind: Any, names: tuple[str, ...]) -> bool:
    return kind.typeName() in names or any(_has(inner, names) for _, inner in _inner(kind))


def _inner(kind: Any) -> list[tuple[str, Any]]:
    """The types within a type, by name."""
    if kind.typeName() == "array":
        return [("element", kind.elementType)]
    if kind.typeName() == "map":
        return [("key", kind.keyType), ("value", kind.valueType)]
    return [(field.name, field.dataType) for field in kind.fields] if kind.typeName() == "struct" else []


def _is_vector(kind: Any) -> bool:
    """Whether it is a vector of pyspark.ml, or of pyspark.mllib."""
    return type(kind).__name__ == "VectorUDT"
