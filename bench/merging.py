"""The spans of a set's projected column chunks, and the cheapest requests that cover them."""

import dataclasses
import itertools

import pyarrow.parquet as pq

HOLE = 1 << 20  # bytes between two spans that one request may read over
PART = 16 << 20  # bytes of a request at most
LATENCY, SPEED = 0.020, 60e6  # seconds to the first byte of a request, and bytes a second on its connection


@dataclasses.dataclass(frozen=True)
class File:
    """A shard: for each row group the spans (first byte, byte after the last) of its projected chunks, in order; chunks end at data."""

    name: str
    groups: tuple
    data: int

    @property
    def needed(self):
        return sum(end - first for group in self.groups for first, end in group)


def files(directory, columns=None, count=None):
    """The shards of a set, or the first of them."""
    return [describe(path, columns) for path in sorted(directory.glob("*.parquet"))[:count]]


def describe(path, columns):
    metadata, groups, data = pq.read_metadata(path), [], 0
    for g in range(metadata.num_row_groups):
        spans = []
        for c in range(metadata.num_columns):
            chunk = metadata.row_group(g).column(c)
            first = chunk.data_page_offset
            if chunk.has_dictionary_page:
                first = min(first, chunk.dictionary_page_offset)
            data = max(data, first + chunk.total_compressed_size)
            if columns is None or chunk.path_in_schema.partition(".")[0] in columns:
                spans.append((first, first + chunk.total_compressed_size))
        groups.append(tuple(sorted(spans)))
    return File(path.name, tuple(groups), data)


def runs(spans):
    """The requests that reading over holes up to HOLE makes, before long ones are cut."""
    merged = []
    for first, end in spans:
        if merged and first - merged[-1][1] <= HOLE:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return merged


def parts(run):
    """A run in even parts of PART at most."""
    first, end = run
    count = -(-(end - first) // PART)
    edges = [first + (end - first) * i // count for i in range(count + 1)]
    return list(itertools.pairwise(edges))


def requests(files):
    """How many requests all runs are, cut into parts."""
    return sum(len(parts(run)) for f in files for group in f.groups for run in runs(group))


def cost(requested):
    """Seconds on connections of these requests, given by their bytes."""
    return sum(LATENCY + n / SPEED for n in requested)


def best(spans):
    """The least cost of requests that cover the spans; each reach of the last request is tried."""
    least = [0.0]
    for i in range(len(spans)):
        least.append(min(least[j] + cost([spans[i][1] - spans[j][0]]) for j in range(i + 1)))
    return least[-1]


def best_of(files):
    """The least cost for all row groups if units are read one by one."""
    return sum(best(group) for f in files for group in f.groups)
