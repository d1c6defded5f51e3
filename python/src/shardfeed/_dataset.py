"""StreamingDataset: parquet as batches in training order."""

from __future__ import annotations

import logging
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

import numpy as np

from . import _compared, _html, _overridden, _redact, _rows, _sources, _state
from ._args import _checks, _locate
from ._args._arguments import checked
from ._args._checks import Problems
from ._args._locate import RowPlace
from ._args._types import Address, T
from ._args._window import WHOLE, Window
from ._audit import Delivery
from ._batch import Batch, marked_rows
from ._columns import _names
from ._columns._layout import Layout
from ._columns._nulls import NullWatch
from ._columns._schema import Schema
from ._documented import documented
from ._engine import _now, _rank, _refresh, _replicas
from ._engine._connected import agreement, opening
from ._engine._connection import Connection
from ._engine._opening import EACH
from ._iterator import BatchIterator, Place
from ._keywords import DatasetOptions
from ._options import Options
from ._reported import Reported
from ._transform import ROW_VALID, Function, Functions, MappedIterator, Mask, Transform, check_function
from ._waited import OPEN
from ._warn import MixingWarning, PaddingWarning, ShardfeedWarning, warn
from .errors import OptionError, ShardfeedError, StateError, nearer

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

log = logging.getLogger("shardfeed")

_copied: Counter[str] = Counter()  # objects that were mapped from data sets, by their agreement

S = TypeVar("S")
R = TypeVar("R")
Row = dict[str, Any]


@documented
class StreamingDataset(Reported, Generic[T]):
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

    _transforms: tuple[Any, ...] = ()
    _window: Window = WHOLE
    _masks: tuple[str, ...] = ()  # columns whose masks the batches have

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
        self._pending_state: tuple[dict[str, Any], str] | None = None  # and its serial
        self._pending_epoch: tuple[int, str] | None = None
        self._carried_records: list[dict[str, Any]] = []  # of the audit, in the loaded state
        self._inventory = ""
        self._opening = opening
        self._follows = self._spec["snapshot"]  # what refresh asks for
        self._forget()
        self._opened: dict[str, Any] = self._open(opening)
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

    def _forget(self) -> None:
        """Starts without connections, as a copy in another process does."""
        super()._forget()
        self._steps: dict[tuple[int, int], int] = {}
        self._batches_of: Callable[[], BatchIterator | None] = lambda: None  # of the place, while it is used
        self._schema: Schema | None = None
        self._layouts: dict[tuple[bool, bool], tuple[Layout, NullWatch]] = {}
        self._engine_pid = 0  # of the last iteration
        self._after: dict[str, Any] | None = None  # the state after the last iteration, however that ends
        self._said_padding = self._said_order = False
        self._starts = 0  # of epochs with a snapshot of their own

    # Properties

    @property
    def schema(self) -> Schema:
        """The columns of the batches, with their dtypes."""
        if self._schema is None:
            self._schema = Schema.from_json(self._opened["schema"])
        return self._schema

    @property
    def size(self) -> int:
        """Rows of an epoch, over all ranks: the ones that ``filters`` and the like choose, in the
        batches that ``skip`` and ``take`` leave.
        """
        if self._spec["batching"] == "per_source":  # an epoch has whole steps
            return self._epoch_steps() * self._spec["batch_size"] * self.world_size
        first, end = self._row_range()
        return end - first

    def _row_range(self) -> tuple[int, int]:
        """Returns an epoch's first row in the order, and the one after its last, over all ranks."""
        return self._window.rows(int(self._opened["rows"]), self._spec["batch_size"] * self.world_size)

    @property
    def rank(self) -> int:
        return self._ranks()[0]

    @property
    def world_size(self) -> int:
        return self._ranks()[1]

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank, or rows with ``batch_size=None``; the same on
        every rank. Where ``tail="carry"`` makes epochs differ it raises a TypeError.
        """
        ranks = self._ranks()
        if self._tail(ranks[1]) == "carry" and self.size % (self._spec["batch_size"] * ranks[1]):
            raise TypeError('a data set with tail="carry" has no len(): an epoch has a step more than another where rows were carried over')
        return self._epoch_steps()

    def _epoch_steps(self) -> int:
        """Steps of a whole epoch on this rank."""
        ranks = self._ranks()
        if ranks not in self._steps:
            self._steps[ranks] = int(self._session(plan=True)["steps"])
        return self._steps[ranks]

    def locate(self, row: int) -> RowPlace:
        """The place of a row: the path of its shard, its row group there, and its row in that.

        row is the number of the row in the list of shards, as the column ``"_row"`` of
        ``row_ids=True`` has it. No shard is read.
        """
        [place] = self._session(locate=[_locate.number(row)])["places"]
        return RowPlace(str(place["path"]), int(place["row_group"]), int(place["row"]))

    def _repr_html_(self) -> str:
        return _html.facts(type(self).__name__, self._facts()) + self.schema._repr_html_()

    def _facts(self) -> list[tuple[str, object]]:
        """What a notebook shows of the data set."""
        rank, world_size = self._ranks()
        addresses = [_redact.address(a) for a in self._addresses()]
        return [
            ("addresses", ", ".join(addresses[:3]) + (f" and {len(addresses) - 3} more" if len(addresses) > 3 else "")),
            ("shards", self._opened["shards"]),
            ("rows", self.size if self.size == self._opened["all_rows"] else f"{self.size} of {self._opened['all_rows']}"),
            ("batch size", "single rows" if self._rows_wanted else self._spec["batch_size"]),
            ("order", f"shuffled, seed {self._spec['seed']}" if self._spec["shuffle"] else "file order"),
            ("rank", f"{rank} of {world_size}"),
            *_html.images(self._spec["images"]),
        ]

    def _addresses(self) -> list[str]:
        return [*self._spec["addresses"], *(a for source in self._spec["sources"] for a in source["addresses"])]

    def __repr__(self) -> str:
        addresses = self._addresses()
        first = _redact.address(addresses[0])
        what = first if len(addresses) == 1 else f"{first} and {len(addresses) - 1} more"
        size, shards = None if self._rows_wanted else self._spec["batch_size"], self._opened["shards"]
        return f"{type(self).__name__}({what!r}, batch_size={size}: {self.size} rows in {shards} shard{'' if shards == 1 else 's'})"

    # Epochs and state

    def __iter__(self) -> Iterator[T]:
        return self._iterate()

    def _iterate(self, *more: Function) -> Iterator[Any]:
        """Starts an iteration, with more functions after map and filter.

        A batch for which one of them fails does not count.
        """
        if self._nothing_left():
            return iter(())
        source: Any = self._rows() if self._rows_wanted else self._batches()
        functions = (*self._transforms, *more)
        return MappedIterator(source, Functions(functions, self.rank)) if functions else source

    def _rows(self) -> _rows.RowIterator:
        batches = self._batches(bundle=_rows.BUNDLE)
        world_size = self._ranks()[1]
        tail = self._tail(world_size)
        make = marked_rows if self._with_row_valid else Batch.to_rows
        return _rows.RowIterator(batches, make, world_size=world_size, end=self._row_range()[1], tail=tail)

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

    def skip(self, count: int) -> Self:
        """The same data without the first batches of each epoch on every rank, or the first rows
        with ``batch_size=None``.

        The order stays, and the skipped rows are not read. States fit with and without it. Where
        the data is shuffled, each epoch skips other rows: to divide it into a training and a
        validation set give ``parts``. The result counts its own epochs.
        """
        if self._spec["shuffle"] and not self._spec["parts"]:
            text = f"shardfeed: skip({count}) of shuffled data skips other rows in each epoch; parts= divides data for good"
            warn(text, ShardfeedWarning)
        return self._windowed(self._window.skip(count))

    def take(self, count: int) -> Self:
        """The same data with only the first batches of each epoch on every rank, or the first
        rows with ``batch_size=None``.

        All that hold for an epoch hold for what is taken: ``len()``, states, and the next ``iter()``
        is the next epoch, of other rows where the data is shuffled. A resume with another number
        of ranks or batch size ends with the step in which that many batches end there. The result
        counts its own epochs.
        """
        return self._windowed(self._window.take(count))

    def _windowed(self, window: Window) -> Any:
        if self._spec["tail"] == "carry":
            raise OptionError('tail="carry" moves rows into the next epoch, and skip and take choose batches of each: give another tail')
        other = self._copy()
        other._window = window
        len(other)  # reports a window without batches
        return other

    def _check_masks(self) -> None:
        """Refuses masks of packed batches, where a row is several documents, and of buckets."""
        if self._spec["bucket"] is not None:
            raise OptionError("filter does not go with bucket, which makes batches of the rows that come: leave rows out with filters")
        if self._spec["pack"] is not None:
            raise OptionError("filter masks rows, and a row of a packed batch is several documents: leave some out with filters")

    def _masked(self, mask: Any) -> Any:
        masked = self._mapped(mask)
        masked._with_row_valid = True
        masked._check_added()
        return masked

    def _added(self) -> Iterator[tuple[str, str]]:
        """The names of columns that are added in this process, each with what adds it."""
        if self._with_row_valid:
            masked = 'on_error="mask"' if self._spec["on_error"] == "mask" else "with_row_valid"
            yield ROW_VALID, "filter" if self._transforms else masked

    def _check_added(self) -> None:
        """Refuses columns to add that have the name of another column."""
        _names.check_added(self.schema, self._added())

    def _mapped(self, transform: Any) -> Any:
        mapped = self._copy()
        mapped._transforms = (*self._transforms, transform)
        return mapped

    def _copy(self) -> Any:
        """Another data set of the same data."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        other._id = uuid.uuid4().hex
        _copied[self._agree] += 1
        other._number = _copied[self._agree]
        other._forget()
        other._keep_open()
        return other

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "a data set has no rows by number: iterate over it. To torch's DataLoader give a shardfeed.torch.StreamingDataset, "
            "and batch_size=None"
        )

    def set_epoch(self, epoch: int) -> None:
        """Selects the epoch of the next iteration, as DistributedSampler.set_epoch does.

        A position that was just loaded has precedence, unless it is in an earlier epoch: then the
        next iteration is the whole epoch, in the order of the loaded state.

        When the loaded state was taken after the last batch of this epoch, the next iteration is
        empty, and the one after it is the next epoch.
        """
        epoch = _checks.epoch(epoch)
        serial = uuid.uuid4().hex
        self._pending_epoch = epoch, serial
        if self._pending_state is not None and epoch > self._next_of(self._pending_state[0])[0]:
            self._pending_state = {**self._pending_state[0], "epoch": epoch, "position": 0}, serial
        rank, _ = self._ranks()
        self._after_fork()
        with self._lock:
            self._control().set_epoch(rank=rank, epoch=epoch, serial=serial)

    def _nothing_left(self) -> bool:
        """Whether the next iteration is empty. If so, it counts as done."""
        if self._pending_state is None or self._pending_epoch is None:
            return False
        if not self._ends(self._pending_state[0], self._pending_epoch[0]):
            return False
        self._pending_epoch = None
        return True

    def _ends(self, state: Mapping[str, Any], epoch: int) -> bool:
        """Whether a state was taken after the last batch of an epoch."""
        following, begins = self._next_of(state)
        return begins and following == epoch + 1

    def _next_of(self, state: Mapping[str, Any]) -> tuple[int, bool]:
        """The epoch of the next batch after a state, and whether it is the first of the epoch."""
        epoch, position = int(state["epoch"]), int(state["position"])
        world_size = self.world_size
        if self._tail(world_size) == "carry" and int(state["rows"]) - position < self._spec["batch_size"] * world_size:
            return epoch + 1, True
        return epoch, position == 0

    def state_dict(self) -> dict[str, Any]:
        """The position of the training: after the last batch that was handed out.

        Plain JSON types, the same on every rank except ``audit``, what this rank got of the epoch.
        """
        _state.check(diagnosed=self._diagnosed)
        if self._pending_state is not None:
            return _state.pack(self._pending_state[0], self._carried_records)
        place = self._place if self._pending_epoch is None else None
        if place is not None and self._batches_of() is not None:
            return place.state()
        session = self._session(plan=place is None)
        if session.get("workers"):
            raise StateError(
                "the batches of this data set were handed out in torch workers, which this process cannot see: use "
                "shardfeed.torch.DataLoader, or torchdata's StatefulDataLoader, and take the state_dict of the loader"
            )
        return _state.pack(session["state"]) if place is None else place.state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue after the batch where the state was taken, on any
        number of ranks.
        """
        state = _state.unpack(state_dict)
        if _now.differs(self._spec, self._opened, state):
            self._reopen(now=state["now"])
        if self._spec["refresh"] and state.get("snapshot", "") not in ("", self._spec["snapshot"]):
            self._reopen(snapshot=state["snapshot"])
        for text in _overridden.messages(state, self._spec, self._opened):
            warn(f"shardfeed: {text}", ShardfeedWarning)
        self._carried_records = _state.records(state_dict)
        self._pending_state = state, uuid.uuid4().hex
        if self._pending_epoch is not None and not self._ends(state, self._pending_epoch[0]):
            self._pending_epoch = None

    def _reopen(self, opening: str | None = EACH, **changes: str) -> None:
        """Opens the data again, with filters at another instant or at another snapshot of a table."""
        self._after_fork()
        self._let_go(everything=True)
        before, spec = self._opened, self._spec
        self._opened, self._spec, self._inventory = {}, {**spec, **changes}, ""
        try:
            self._opened = self._open_by(opening)
        except BaseException:
            self._opened, self._spec = before, spec
            raise
        self._steps.clear()
        if self._opened["schema"] != before["schema"]:
            self._schema = None
            self._layouts = {}
            self._check_added()

    # Snapshots of a table

    def _refresh(self) -> None:
        """Opens the latest snapshot if the next iteration starts an epoch."""
        if not self._spec["refresh"]:
            return
        pending, serial = self._pending_state or (None, "")
        start = self._session(**({} if pending is None else {"state": pending, "state_serial": serial}))["state"]
        if start["position"] > self._row_range()[0]:
            return
        share, epoch = self._share(), int(start["epoch"])
        self._starts += 1
        name = f"{opening(self._agree)} {self._number}"
        latest = _refresh.agreed(name, epoch, self._starts, share.job_rank, share.job_world_size, self._latest)
        if latest == self._spec["snapshot"]:
            return
        self._verdict = cast("dict[str, Any] | None", self._latest_audit(self._session(stats=True, audit_of=self._number).get("audit")))
        self._reopen(self._opening, snapshot=latest)
        fresh = self._session(state=None, state_serial="")["state"]
        state = {**fresh, "seed": start["seed"], "epoch": epoch, "position": 0}
        self._pending_state, self._pending_epoch, self._after = (state, uuid.uuid4().hex), None, None
        self._carried_records = []

    def _latest(self, start: str) -> str:
        """The snapshot that all ranks of this machine get for the start of an epoch."""
        return str(self._session(latest={"name": start, "snapshot": self._follows})["latest"])

    def _agreement(self) -> str:
        """Names the comparison of ranks: each snapshot has its own."""
        name = opening(self._agree)
        return f"{name} at {self._spec['snapshot']}" if self._spec["refresh"] else name

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Gives sources other weights, from the next ``iter()`` on.

        Sources that weights does not name keep theirs; 0 leaves one out. The next iteration
        continues after the last batch that was handed out: with the next epoch after
        a whole one. States hold the weights, so a resumed run has them. Call it on all ranks.
        """
        self.load_state_dict(self._reweighted(self.state_dict(), weights))

    def _reweighted(self, state_dict: Mapping[str, Any], weights: Any) -> dict[str, Any]:
        """Returns the state with other weights from its position on."""
        names = [source["name"] for source in self._spec["sources"]]
        if not names:
            raise OptionError("set_weights changes the weights of sources, and this data set has none: see sources")
        return _state.pack(_sources.changed(_state.unpack(state_dict), _sources.weights(weights, names, "set_weights")))

    # Iterations

    def _batches(self, *, plain: bool = False, **join: Any) -> BatchIterator:
        """Starts an iteration.

        Plain columns have only dtypes of every tensor library; join adds members to Join.
        """
        self._check_ranks()
        self._refresh()
        share = self._share()
        rank, world_size = share.rank, share.world_size
        connection = self._take()
        start = self._start(connection)
        request = {
            "iteration": uuid.uuid4().hex,
            "worker": 0,
            "workers": 0,
            "rank": rank,
            "world_size": world_size,
            **share.of_join(),
            **self._window.of_join(),
            **start,
            "next": None,
            "bundle": 0,
            "agree": share.agreement(self._agreement()),
            **join,
        }
        connection.opening = self._waited.opening
        self._waited.iterates(rank, world_size, connection.path, self._id)
        try:
            joined = connection.join(seats=self._seats_of(connection, share, start["state"], start["state_serial"]), **request)
            self._waited.spent(OPEN)
            self._joined(joined, rank, world_size)
        except BaseException as e:
            connection.close()
            if isinstance(e, ShardfeedError):
                raise nearer(e)  # noqa: B904 - the same error
            raise
        connection.read_only = share.replicas > 1 and not plain  # torch knows no tensors that cannot be written to
        delivery = None if request["workers"] else Delivery(joined, rank, world_size, self._carried_audit())
        place, after = Place(joined["state"], delivery), {**joined["state"], **joined["next"]}
        layout, nulls = self._laid_out(joined["schema"], plain=plain, files=request.get("image_cpu_share") is not None)
        batches = BatchIterator(
            connection,
            place,
            layout,
            nulls,
            self._give_back,
            self._waited,
            explain=self._explain,
            told=self._waits_told,
            rank=rank,
            bundle=int(joined.get("bundle") or 1),
        )
        batches.ended = self._audited
        batches.output_bytes = int(joined.get("output_bytes") or 0)
        engine, batches_of = int(connection.welcome["pid"]), weakref.ref(batches)
        # No calls from here on: an interrupt strikes before the iteration counts, or after.
        self._pending_state = self._pending_epoch = None
        self._place, self._engine_pid, self._after, self._batches_of = place, engine, after, batches_of
        return batches

    def _carried_audit(self) -> list[dict[str, Any]]:
        """The audit's records that the next iteration continues: of the loaded state, else of the last
        iteration.
        """
        if self._pending_state is not None:
            return self._carried_records
        place = self._place
        if place is None or place.delivery is None or not place.delivery.is_over(place.after):  # an epoch that was left early
            return []
        return place.records(place.after, place.total)

    def _seats_of(self, connection: Connection, share: _replicas.Share, state: Mapping[str, Any] | None, serial: str) -> list[int] | None:
        """The seats of an iteration that starts with a state; None for ranks that do not meet."""
        return None

    def _start(self, connection: Connection) -> dict[str, Any]:
        """The members of Join for the start of the iteration."""
        state, state_serial = self._pending_state or self._carried(connection) or (None, "")
        epoch, epoch_serial = self._pending_epoch or (None, "")
        return {"state": state, "state_serial": state_serial, "epoch": epoch, "epoch_serial": epoch_serial}

    def _carried(self, connection: Connection) -> tuple[dict[str, Any], str] | None:
        """The state with which a new engine continues, and its serial.

        It does not know the epochs before, nor the order of a loaded state. None means that the
        engine knows.
        """
        if self._after is None or self._engine_pid == int(connection.welcome["pid"]):
            return None
        epoch = {} if self._pending_epoch is None else {"epoch": self._pending_epoch[0], "position": 0}
        return {**self._after, **epoch}, uuid.uuid4().hex

    def _asked(self, connection: Connection) -> dict[str, Any]:
        state, serial = self._carried(connection) or (None, "")
        return {**self._window.of_join(), "state": state, "state_serial": serial}

    def _joined(self, joined: Mapping[str, Any], rank: int, world_size: int) -> None:
        """Notes what the engine says about an iteration before its first batch."""
        steps = int(joined["steps"])
        self._steps[rank, world_size] = steps
        self._warn_of_order(joined)
        padding = steps * self._spec["batch_size"] * world_size - self.size
        if self._tail(world_size) != "pad" or padding <= 0 or self._share().job_rank != 0 or self._with_row_valid or self._said_padding:
            return
        self._said_padding = True
        where = f" over all {world_size} ranks" if world_size > 1 else ""
        what = "rows" if self._spec["bucket"] is None else "batches"
        warn(
            f"shardfeed: the last of {steps} steps has {padding} {what} of padding{where}, which repeat other rows: "
            f"{self._padding_mask()}; drop_last=True leaves the step out",
            PaddingWarning,
        )

    def _warn_of_order(self, joined: Mapping[str, Any]) -> None:
        """Passes on the engine's warnings about the order, once for all ranks."""
        if self._share().job_rank != 0 or self._said_order:
            return
        for text in joined.get("warnings") or ():
            self._said_order = True
            warn(f"shardfeed: {text}", MixingWarning)

    def _padding_mask(self) -> str:
        """Names the mask of padding, for errors."""
        if self._rows_wanted:
            return 'with_row_valid=True adds row["_row_valid"], which is False for them'
        return "batch.row_valid is False for them"

    def _tail(self, world_size: int) -> str:
        """What happens to the rows that do not fill a batch on every rank."""
        return str(self._spec["tail"] or ("pad" if world_size > 1 else "short"))

    def _laid_out(self, schema: Sequence[Mapping[str, Any]], *, plain: bool, files: bool) -> tuple[Layout, NullWatch]:
        """The layout of batches, with files for a device or without. All iterations share it, so that
        each warning comes once.
        """
        if (plain, files) not in self._layouts:
            layout = Layout(Schema.from_json(schema), plain=plain)
            padded = {p["column"] for p in self._spec["pad"]}
            nulls = NullWatch(layout.schema, {*self._spec["null"], *self._masks}, padded, tensors=plain)
            layout.watch = None if plain else nulls
            layout.row_valid = self._with_row_valid
            self._layouts[plain, files] = layout, nulls
        return self._layouts[plain, files]

    def __getstate__(self) -> dict[str, Any]:
        names = ["_spec", "_rows_wanted", "_with_row_valid", "_rank_given", "_timeout", "_id", "_job", "_agree", "_opened"]
        names += ["_replication", "_mesh", "_number", "_inventory", "_opening", "_follows"]
        names += ["_pending_state", "_pending_epoch", "_carried_records", "_transforms", "_window"]
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()
