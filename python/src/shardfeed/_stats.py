"""The figures that ``stats()`` returns. A test makes this of their JSON Schema."""

from __future__ import annotations

from typing import TypedDict


class StatsStorage(TypedDict):
    # requests that list
    lists: int
    # requests that describe one file
    looks: int
    # requests for bytes
    reads: int
    # bytes that arrived, holes between ranges included
    read_bytes: int
    # requests made again after a fault, those for the rest of a body included
    retries: int
    # second requests because the first was slow to answer
    hedges: int
    # answers that asked to slow down
    throttled: int
    # changes to another server for the same thing
    failovers: int
    # requests that may be in flight now
    window: int


class StatsStore(TypedDict):
    # as "s3://bucket", "hdfs://service", "webhdfs://host:9870", "file://"
    store: str
    # requests that list
    lists: int
    # requests that describe one file
    looks: int
    # requests for bytes
    reads: int
    # bytes that arrived, holes between ranges included
    read_bytes: int
    # requests made again after a fault, those for the rest of a body included
    retries: int
    # second requests because the first was slow to answer
    hedges: int
    # answers that asked to slow down
    throttled: int
    # changes to another server for the same thing
    failovers: int
    # requests that may be in flight now
    window: int
    # requests for bytes that were answered
    answers: int
    # requests that failed, or whose answer broke off; requests that were given up do not count
    errors: int
    # requests now
    in_flight: int
    # of all requests, summed, with those in flight so far
    seconds: float
    # from a request for bytes to the start of its answer, summed over Answers
    first_byte_seconds: float
    # with at least one request for bytes in flight
    busy_seconds: float


class StatsCache(TypedDict):
    directory: str
    # reads and leases served entirely from the disk
    hits: int
    # reads that fetched something
    misses: int
    # reads that went to the source without filling: the cache is full, off or too slow, or the
    # read was a ReadAt
    bypassed: int
    # asked for and served from the disk
    hit_bytes: int
    # fetched to be filled, including bytes between two runs of a block
    miss_bytes: int
    # fetched and not filled
    bypass_bytes: int
    # written to the disk
    filled_bytes: int
    # lent from decoded files
    decoded_hit_bytes: int
    # written to decoded files
    decoded_filled_bytes: int
    # read from the disk, or from the system's memory for files; bytes that were mapped already
    # do not count
    disk_read_bytes: int
    # with at least one such read
    disk_read_seconds: float
    # with at least one write of FilledBytes or DecodedFilledBytes
    disk_write_seconds: float
    # fetched or decoded, and waiting for the disk now
    pending_bytes: int
    # reads that waited for another's fill
    waited: int
    # bytes that were fetched and not written: memory or disk was full, or the disk failed
    dropped: int
    # blocks that failed their checksum; they were fetched again
    bad: int
    # shards that were evicted, and decoded files
    evicted: int
    # times that the disk failed
    trouble: int


class StatsDevice(TypedDict):
    name: str
    model: str
    # all that was copied from
    page_locked: bool
    copies: int
    copied_bytes: int
    # on the host, after collation
    host_copied_bytes: int


class StatsLost(TypedDict):
    shard: str
    # null: the footer, and with it the whole shard
    row_group: int | None
    # of the row group
    first_row: int
    rows: int
    # null: not known
    column: str | None
    # byte offset in the shard; null: not known
    page: int | None
    error: str


class StatsWaitNow(TypedDict):
    # that holds up the batch now
    cause: str
    # since next() began
    seconds: float


class StatsWait(TypedDict):
    # in next()
    seconds: float
    # seconds of the loop, since its first next()
    of: float
    # by cause; they add up to Seconds
    parts: dict[str, float] | None
    # the next() in progress, once it has lasted a second, or null
    now: StatsWaitNow | None


class StatsAudit(TypedDict):
    epoch: int
    # that have come to the end
    ranks: int
    # of the world
    of_ranks: int
    proved: bool
    # that each came exactly once, if there are no faults
    rows: int
    lost: int
    padded: int
    worlds: list[int] | None
    faults: list[str] | None
    not_seen: list[str] | None
    text: str


class StatsSeats(TypedDict):
    nodes: int
    lanes: int
    held: int
    read: int


class StatsImageDevice(TypedDict):
    device: str
    why: str
    nvjpeg: str
    nvrtc: str
    hardware: bool
    columns: dict[str, str] | None


class Stats(TypedDict, total=False):
    """What ``stats()`` returns."""

    rows: int
    # of packed blocks, padding included; 0 without --pack
    tokens: int
    batches: int
    seconds: float
    user_seconds: float
    system_seconds: float
    cpu_seconds: float
    first_batch_seconds: float
    # of the batches' columns
    decoded_bytes: int
    read_bytes: int
    # that came decoded from the local disk
    kept_decoded_bytes: int
    peak_rss_bytes: int
    # reserved before the first read
    budget_bytes: int
    row_groups_per_batch: float
    storage: StatsStorage
    # each bucket, name service and server, local files and memory
    stores: list[StatsStore] | None
    # null: no cache was used
    cache: StatsCache | None
    device: StatsDevice | None
    # that could not be read, under --on-error mask or skip
    lost_rows: int
    # the places of lost rows
    lost: list[StatsLost] | None
    # that lost tokens, under --pack-strategy bfd and max_tokens of --tokenize
    truncated_documents: int
    # made of texts, by --tokenize
    tokenized_tokens: int
    # texts of these that contain special tokens
    special_documents: int
    # that --pack-fim moved beyond the ends of blocks, and lost
    displaced_tokens: int
    # of JPEGs: turbo or go; empty: no images were decoded
    image_decoder: str
    # by the engine's processors
    images_decoded: int
    # JPEGs that the trainer's GPU decodes, under image_device
    images_on_device: int
    # of these, that it refused, and the engine decoded
    images_refused: int
    # of the JPEGs, that the engine decodes now; null: all
    image_cpu_share: float | None
    # Sources are how many samples of each source all ranks together took, since the first
    # epoch.
    sources: dict[str, int] | None
    # null under torch's own workers, for which the training waits
    wait: StatsWait | None
    # of the last epoch
    audit: StatsAudit | None
    # null: lanes have no seats
    seats: StatsSeats | None
    # of a DataLoader; null with image_device="cpu"
    image_device: StatsImageDevice | None
