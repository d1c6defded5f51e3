"""What a contender is asked to deliver."""

import dataclasses
import json
import pathlib


@dataclasses.dataclass(frozen=True)
class Task:
    """One set, and how it is to be delivered. groups are the row groups of a file, buffer the rows that a contender may mix at once."""

    contender: str
    directory: str
    own: str  # where the contender keeps what it makes of the set: a conversion, an index
    id: str  # the column that numbers the rows
    batch: int
    buffer: int  # 0: its default
    rows: int
    group_rows: int
    workers: int = 0
    seed: int = 1
    columns: tuple = ()  # all when empty
    matrix: bool = False  # the columns as one float32 matrix "x", nulls as NaN
    memory: str = ""  # the limit that ours gets
    lanes: int = 0  # of ours; 0 leaves them to its rule
    unit_rows: int = 0  # of ours; 0 is whole row groups
    tokenizer: str = ""  # the path of a tokenizer.json
    block: int = 0  # tokens of a block of text; rows are blocks then
    tokens: int = 0  # of a packed block, or of a batch of rows of like lengths; rows counts tokens then
    strategy: str = ""  # of packing
    sources: int = 0  # of a mixture; 0 is one data set
    way: str = ""  # the library that decodes images
    pixels: str = ""  # uint8 or float32
    step: float = 0.004  # seconds of a training step
    rank: int = 0
    world_size: int = 1

    @property
    def files(self):
        return [str(path) for path in sorted(pathlib.Path(self.directory).glob("*.parquet"))]

    @property
    def wanted(self):
        """The columns as libraries take them: None for all."""
        return list(self.columns) or None

    @classmethod
    def parse(cls, text):
        members = json.loads(text)
        return cls(**{**members, "columns": tuple(members["columns"])})
