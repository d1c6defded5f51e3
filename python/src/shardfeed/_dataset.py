"""StreamingDataset: parquet as batches in training order."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import numpy as np

from . import _compared, _sources
from ._args import _checks
from ._args._arguments import checked
from ._args._checks import Problems
from ._args._types import Address, T
from ._batch import Batch
from ._documented import documented
from ._engine import _now, _rank, _replicas
from ._engine._connected import agreement
from ._iterated import Iterated
from ._keywords import DatasetOptions
from ._options import Options
from ._transform import Mask, Transform, check_function
from ._warn import ShardfeedWarning, warn

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger("shardfeed")

S = TypeVar("S")
R = TypeVar("R")
Row = dict[str, Any]


@documented
class StreamingDataset(Iterated, Generic[T]):
    """Batches of parquet shards: shuffled, split over ranks, each row once an epoch, resumable.

    One ``iter()`` is one epoch, and the next one is the next epoch. An iteration that is left early
    has used up its epoch. Batches are :class:`Batch`, mappings from column name to array. With
    ``batch_size=None`` single rows come, as dicts. A data set need not be closed.

    Args:
        uri (str, Path, or list of them): what to read: an address such as
            ``s3://bucket/table/dt=*/`` or ``hdfs://namenode/table``, or a path. Globs and ``{a,b}``
            are expanded. It is left out if sources is given.
        batch_size (int or None): rows of a batch on this rank. None yields single rows.
        sources (dict, default None): several data sets by name, ``{"web": Source(uri, weight=7),
            "code": Source(uri, weight=2)}``: each batch has samples of all by weight. Columns are
            united by name; see ``missing``. :meth:`set_weights` changes the weights.
        stop ("first" or "all", default None): when an epoch of sources ends: when the first of them
            has given all its samples, or when all have. None is "first".
        epoch_size (int, default None): samples of an epoch, over all ranks. Rows are read pass
            after pass, each once a pass, and an epoch continues the pass of the one before. None is
            all rows, or what stop makes of sources.
        curriculum (list, default None): weights of sources that come later, ``[(1_000_000, {"web":
            3})]``: from this sample on, counted over all epochs and ranks. It needs epoch_size.
        batching ("stratified" or "per_source", default None): whether each batch has samples of all
            sources, or each step is of one source on all ranks. An epoch is of whole steps then, and
            a resumed run keeps batch_size x world_size. None is "stratified".
        weights_in ("samples" or "tokens", default None): what weights of sources are in. Tokens are
            counted when the data set is opened, and states keep the counts. None is "samples".
        tokens (str, default None): the list column whose items are tokens, for
            ``weights_in="tokens"``. None is bucket's column, or the one list column that is read;
            blocks of pack all have as many.
        columns (list of str, default None): names, dotted paths or patterns ("num_*") of the
            columns. None reads all. Columns of ``stack`` are read in any case.
        filters (str, list of tuples, or pyarrow Expression, default None): read the rows for which
            it is true: a text, ``'price >= 10 and lang in ("en", "de")'``, or as pyarrow has it,
            ``[("price", ">=", 10), ("lang", "in", ["en", "de"])]``, where a list of lists is OR, or
            a condition of pyarrow.compute. ``in @drop.txt`` names a file with a value on each line,
            and ``dt >= today() - interval '7 days'`` is by the day on which the run began.
        parts (dict, default None): ``{"train": 9, "val": 1}`` divides all rows by weight, before
            filters; ``part`` is the one that is read.
        part (str, default None): the name of the part that is read.
        part_key (str, default None): a column: all rows with one value of it are in one part. None
            divides by exact shares of rows.
        part_seed (int, default 0): draws which rows are in which part. It is not ``seed``: parts
            stay what they are in every run.
        subsample (float, default None): read this share of the part's rows, as in 0.1.
        rows (str or Path, default None): a file that lists the rows to read, of ``shardfeed
            select`` or :func:`shardfeed.select`.
        rows_new ("error", "keep" or "drop", default None): what to do with the rows of shards that
            the file of ``rows`` does not know. None is "error".
        weight (str, default None): a column with how often each row comes: 2.5 is twice or three
            times, drawn by the row, the same in each epoch.
        pack (dict or Pack, default None): ``{"token_ids": 8192}`` makes dense blocks of 8,192
            tokens of the lists in each row group; a block is a row then. See :class:`Pack` for
            strategies, eos and bos, position ids, cu_seqlens and labels.
        bucket (dict or Bucket, default None): ``{"token_ids": 16384}`` makes batches of rows of
            about the same length, as many as 16,384 tokens hold when all are padded to the
            longest. ``batch_size`` is 1 then. See :class:`Bucket`.
        shuffle (bool, default True): shuffle by ``seed``, differently in each epoch. False reads in
            file order.
        shuffle_buffer (int or str, default None): how much is mixed at once, over all ranks: rows
            (100_000), or bytes with a unit ("512MiB"). "1GiB/rank" and "8GiB/node" are for each
            rank or node of the world at the start; a state keeps the product. None is 1 % of the
            data, between 256 MiB and 2 GiB; of data under 2 GiB it is an eighth, or four row
            groups where that is more, between 64 and 256 MiB.
        seed (int, default 0): the seed of the order, from 0 to 2**64 - 1.
        rank, world_size (int, default None): give both or neither. None takes torchrun's
            environment, else Ray Train's, else an initialised process group, else
            jax.distributed, else rank 0 of 1. Ranks are compared when an iteration starts; the
            constructor waits for no other rank but rank 0, see opening.
        replication (int, default None): how many ranks in a row see the same batches, as tensor and
            pipeline parallel ranks must: with 2, ranks 0 and 1 are data rank 0. It must divide the
            world size. ``rank`` and ``world_size`` of the data set then count data ranks. On
            one machine a batch is made once for all of them.
        mesh (DeviceMesh, default None): the data dimensions of torch's DeviceMesh, as
            ``mesh["dp"]``, in place of rank, world_size and replication: ranks that differ in other
            dimensions see the same batches.
        drop_last (bool, default False): leave out the rows that do not fill a batch on every rank;
            the same as tail="drop".
        tail ("drop", "pad", "short" or "carry", default None): what happens to the rows that do not
            fill a batch on every rank: they are left out, padded to whole batches, given as short
            batches (which may be empty on some ranks), or carried into the next epoch. None is
            "short" on one rank and "pad" on several.
        with_row_valid (bool, default False): add the mask ``"_row_valid"`` to every batch of
            tensors or in Arrow's format, and to every single row: True for a row of the data, False
            for padding, which repeats other rows. ``on_error="mask"`` always adds it. A column of
            that name in the data is an error. A :class:`Batch` has ``row_valid`` in any case. The
            mask of nulls is
            another one: ``valid`` of a Batch, and ``with_valid`` of a data set of tensors.
        row_ids (bool, default False): add the columns ``"_row"``, the number of the row in the list
            of shards (int64, see :meth:`locate`), and ``"source"``, the number of the address that
            found its shard, or with sources the number of the source (int32).
        seeds (bool, default False): add the column ``"_seed"``, an int64 for each row by the seed,
            the epoch and the row: random numbers made of it are the same for any world size and
            batch size.
        memory (int or str, default None): limit of this rank's stream in bytes, or with a unit
            ("4GiB"). One that is too small is an error before the first read. None is a quarter of
            the machine's memory, divided by the ranks on it.
        cache (bool, default True): keep remote shards on the local disk.
        cache_dir (str or Path, default None): directory of the cache. None is $SHARDFEED_CACHE_DIR,
            else shardfeed in $SLURM_TMPDIR or $XDG_CACHE_HOME, else ~/.cache/shardfeed.
        cache_limit (int, float or str, default None): size of the cache in bytes, with a unit
            ("200GiB"), or as a part of the free space ("50%", 0.5). None is the smaller of half the
            free space and 100 GiB.
        cache_policy ("keep", "keep=7d" or "lru", default None): what a full cache does: keep what was
            used in the last 24 hours, or in the time that is given, which is best for epochs, or
            drop the least recently used. None is "keep".
        decoded_limit (int, float or str, default None): how much of decoded columns to keep on the
            local disk, as cache_limit, so that epochs after the first need not decode again; 0 is
            off. None is what cache_limit leaves for data on servers, whose bytes come first, and
            nothing for local files, which are kept decoded below cache_dir.
        index_dir (str or Path, default None): directory where footers are kept. None is beside the
            cache.
        storage_options (dict, default None): options of the store by the names of s3fs, pyarrow or
            the command. None takes the environment.
        null (dict, default None): ``{column: value}``: the value in place of a null. Without it a
            null is NaN in floats, else 0, False or empty, and one warning names the column.
        pad (dict, default None): ``{column: value}`` makes lists dense, [rows, longest], and adds
            ``<column>_lengths``. Lists of lists become [rows, most lists, longest], with the
            lengths of the inner ones in ``<column>_lengths_2``. The value may be a dict of value,
            max_length, to_max, multiple, side and cut.
        max_length (int, tuple or dict, default None): most items of padded lists, for all or
            ``{column: items}``; a tuple has a number for each level of lists, or None. Longer lists
            are cut.
        vocabulary (dict, default None): ``{column: words}`` turns strings into the index of their
            word, int64. A path names a file of ``shardfeed vocab --save``.
        unknown ("error", int or dict, default "error"): what to do with a string that is not in the
            vocabulary: raise, or give it this index, for all or ``{column: index}``. The index is
            from 0 to the number of words, which is the place after the last one, or down to -100,
            which torch's losses ignore. Nulls are not unknown: see null.
        tokenize (dict, default None): ``{"text": "tokenizer.json"}`` makes tokens of the texts of a
            column, lists of int32, as the library ``tokenizers`` does. ``pack`` and ``bucket`` may
            name the column then. The value is a path, an address, a ``tokenizers.Tokenizer``, or
            a :class:`Tokenizer`, which has options: ``join`` makes the tokens of other columns. A
            source of ``sources`` may have a tokenizer in place of this one.
        cast (dict, default None): ``{column: dtype}``: the dtype of a column, or of the items of
            its lists, as in "int32", "bfloat16", torch.float16 or "datetime64[us]". Floats are rounded, and floats
            become integers without their fraction, as torch does; a value that does not fit raises
            DataError with its place. Here and below a column may be a pattern, as in "num_*".
        hash (dict, default None): ``{column: buckets}``: the XXH64 of a value modulo the buckets,
            int64. Texts, binary values and numbers can be hashed.
        scale (dict, default None): ``{column: (mean, deviation)}``: subtract the mean and divide by
            the deviation, to float32, or float64 in columns of that.
        stack (dict, default None): ``{name: columns}`` makes one matrix [rows, columns] of these
            columns, in the schema's order, which leave the batch. Lists of one size give a column
            for each item. Instead of the columns there may be a dict of columns, dtype (default
            "float32"), null (default NaN, or 0 in integers) and keep (columns that stay, or True
            for all). ``schema[name].features`` names the matrix's columns.
        images (dict, default None): ``{column: Image(size=224, crop="random_resized")}`` decodes
            the images whose bytes are in a column, and makes tensors of them, [rows, 3, 224, 224].
            Lists of files become lists of tensors. ``{column: Npy((3, 4), "float32")}`` makes
            tensors of the arrays of numpy's files. See :class:`Image` and :class:`Npy`. An Image
            in place of the dict is for all pictures that Hugging Face's library or petastorm
            declares. "auto", in place of the dict or of an Image, decodes as petastorm's schema
            beside the shards declares.
        boxes (dict, default None): ``{column: Boxes(of="image", drop_with=["labels"])}`` moves boxes
            with the crop, the resize and the flip of an image, and drops the ones that fall out of
            it. ``Keypoints(of="image")`` moves points. See :class:`Boxes` and :class:`Keypoints`.
        image_decoder ("auto", "turbo" or "go", default "auto"): who decodes JPEG: libjpeg-turbo 3,
            or a decoder in Go, which is slower and gives slightly other pixels. "auto" is
            libjpeg-turbo if it is found; all ranks must have the same one.
            ``stats()["image_decoder"]`` names it.
        snapshot (str or int, default None): which snapshot of a table to read, ``"delta+s3://..."`` or
            ``"iceberg+s3://..."``: a version or ID, a tag, a branch, or a time such as
            "2026-01-31T12:00:00Z". None is the latest.
        refresh ("epoch", default None): read the latest snapshot of a table, or of the branch that
            snapshot names, in each epoch. All ranks take the same one when the first of them starts
            the epoch, and a state resumes with its own. ``size`` and ``len()`` are of the epoch
            that was started last. None stays on one snapshot.
        manifest (str, Path or dict, default None): a saved list of shards to continue with, as
            :meth:`manifest` returns it, or the file that has it; shards that were added later are
            not read.
        plan (str or Path, default None): a file of ``shardfeed plan --save``, as a path or an address
            on servers. It pins the shards and the order.
        opening ("each" or "first", default None): who lists the shards and reads their footers in a
            job of several nodes: each node, or rank 0 for all of them, which hands on what it found
            through the store of torch's process group. None is "first" where the group has the
            job's ranks before this is called, there are several nodes, all addresses are on servers,
            and there is no plan; else "each".
        strict (bool, default False): refuse a directory that holds *.md, *.json, *.txt or *.crc
            files beside its parquet files. False leaves them out and names them in one warning.
        missing ("error" or "null", default "error"): how to read a column, or a partition, that some
            shards lack.
        partition_types (dict, default None): types of partition columns, ``{"month": "int32"}``:
            "bool", "int8" to "int64", "uint8" to "uint64", "float32", "float64", "date" or "string".
            A partition that it does not name has the first of int64, float64, bool, date and string
            that all its values show.
        invalid_utf8 ("refuse" or "replace", default "refuse"): what to do with strings that are not
            UTF-8.
        on_error ("raise", "mask" or "skip", default "raise"): what to do about rows whose data is
            corrupt, gone or changed since the shards were listed. "mask" puts other rows of the
            batch in their places and counts them as padding in the mask ``"_row_valid"``;
            "skip" leaves them out, so that a batch may be shorter or empty. Steps, len() and
            states stay the same, on every rank. ``stats()["lost"]`` names the places. The first one
            is logged, then their number, and the number of lost rows at the end of an epoch.
        max_lost (float, default None): the largest share of an epoch's rows on this rank that may
            be lost; above it iteration raises. One place may always be. None is 0.001.
        lanes, unit_rows, max_world_size (int, default None): pin parts of the plan: how many lanes,
            the most rows of a unit, the most ranks to plan for. ``shardfeed plan`` shows them. None
            follows from the data.
        start ("filled" or "direct", default None): how an epoch starts: with a full shuffle buffer,
            or with the first batch as soon as it can be made. None is "filled".
        slots (int, default None): batches that may be ready or held at once, at least 2. None is by
            the machine.
        collate_workers (int, default None): goroutines that make batches. None is by the machine.
        timeout (float, default 600): seconds of any wait for the engine before FeedTimeoutError.
            None has no limit.

    Wrong arguments, addresses and columns raise in the constructor, in one error if possible.
    """

    @overload
    def __init__(
        self: StreamingDataset[Batch], uri: Address | None = None, *, batch_size: int, **options: Unpack[DatasetOptions]
    ) -> None: ...

    @overload
    def __init__(
        self: StreamingDataset[Row], uri: Address | None = None, *, batch_size: None, **options: Unpack[DatasetOptions]
    ) -> None: ...

    @checked(DatasetOptions, required="batch_size")
    def __init__(self, uri: Address | None = None, *, batch_size: int | None, **options: Unpack[DatasetOptions]) -> None:
        problems = Problems()
        self._spec = Options(uri, batch_size, **options).spec(problems)
        self._rows_wanted = batch_size is None
        rank, world_size = self._rank_given = options["rank"], options["world_size"]
        if rank is not None or world_size is not None:
            problems.of(_rank.resolve, rank, world_size)
        self._replication = problems.of(_replicas.number, options["replication"]) or 1
        self._mesh = problems.of(_replicas.from_mesh, options["mesh"])
        if options["mesh"] is not None and (rank, world_size, options["replication"]) != (None, None, None):
            problems.found.append("mesh says which ranks see the same batches: leave out rank, world_size and replication")
        self._with_row_valid = bool(problems.of(_checks.flag, "with_row_valid", options["with_row_valid"])) or options["on_error"] == "mask"
        self._timeout = problems.of(_checks.seconds, "timeout", options["timeout"])
        opening = options["opening"] or None
        problems.of(_checks.one_of, "opening", opening or "", "", "each", "first")
        problems.report()
        self._share()  # replication divides the world size
        self._id = uuid.uuid4().hex
        self._job = _rank.job()
        self._agree = agreement()
        self._number = 0  # of the objects that were made of this one's arguments
        self._pending_state = self._pending_epoch = None
        self._carried_records = []
        self._inventory = ""
        self._opening = opening
        self._follows = self._spec["snapshot"]
        self._forget()
        self._opened = self._open(opening)
        self._spec = _now.opened(self._spec, self._opened)
        self._compare_tokens(options["tokenize"], options["sources"])
        for warning in self._opened.get("warnings") or ():
            log.warning("%s", warning)
        for note in self._opened.get("files") or ():
            warn(f"shardfeed: {note}", ShardfeedWarning)
        for note in self._opened.get("info") or ():
            log.info("%s", note)
        self._check_added()

    def _compare_tokens(self, tokenize: Mapping[str, Any] | None, sources: Mapping[str, _sources.Source] | None) -> None:
        """Compares the tokens of a few documents with what the library tokenizers makes."""
        if tokenize:
            share = self._share()
            try:
                with self._lock:
                    _compared.compare(tokenize, sources, self._control(), share.rank, share.world_size)
            except BaseException:
                self._let_go(everything=True)  # the engine has documents once for each opening
                raise

    def __iter__(self) -> Iterator[T]:
        return self._iterate()

    @overload
    def map(self: StreamingDataset[S], function: Callable[[S], R], *, random: Literal[False] = False) -> StreamingDataset[R]: ...

    @overload
    def map(
        self: StreamingDataset[S], function: Callable[[S, np.random.Generator], R], *, random: Literal[True]
    ) -> StreamingDataset[R]: ...

    def map(self, function: Callable[..., Any], *, random: bool = False) -> StreamingDataset[Any]:
        """The same data with a function applied to each batch, or to each row with
        ``batch_size=None``.

        It runs in the process that iterates, when a batch is asked for. With random it gets a numpy
        Generator as its second argument, seeded by the seed, the epoch, the step and the rank. The
        result counts its own epochs.
        """
        check_function(function)
        return self._mapped(Transform(function, random, self._spec["seed"]))

    def filter(self, function: Callable[[T], Any]) -> StreamingDataset[T]:
        """The same data with rows masked: the function gets a batch, and returns a bool for each
        row. With ``batch_size=None`` it gets a row, and returns True or False.

        Rows for which it is False stay in the batch, and ``row_valid`` of the batch, or
        ``"_row_valid"`` of the row, is False for them as for padding. Steps, order and state are
        as with all rows. To leave rows out give ``filters``, or see :func:`shardfeed.select`. The
        result counts its own epochs.
        """
        check_function(function, "filter")
        self._check_masks()
        return self._masked(Mask(function))

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "a data set has no rows by number: iterate over it. To torch's DataLoader give a shardfeed.torch.StreamingDataset, "
            "and batch_size=None"
        )
