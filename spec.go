package shardfeed

import (
	"encoding/json"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/iterable"
)

// An OptionError names the field of a Spec that cannot be used, and the reason.
type OptionError = iterable.OptionError

// A Spec describes what to read, in which order, and what to keep of it on this machine. Only
// Addresses, or Sources, have to be set.
type Spec struct {
	// Addresses are files, directories, globs and list files (@list.txt), on this machine or on
	// servers.
	Addresses []string `json:"addresses"`

	// Snapshot chooses the snapshot of a table, "delta+s3://bucket/table" or "iceberg+...": its
	// version or ID, a tag or branch, or a time in RFC 3339. "" is the latest.
	Snapshot string `json:"snapshot"`

	// Sources are several data sets that are read together by weight, in shuffled order alone, in
	// place of Addresses. Of Mixing, EpochSize also goes with Addresses, whose rows are read pass
	// after pass then.
	Sources []Source `json:"sources"`
	Mixing

	// Columns are names, dotted paths or patterns of them ("num_*", "meta.f_*"); nil reads all. The
	// schema's order is kept.
	Columns []string `json:"columns"`

	// RowIDs adds the columns "_row", the row's number in the list of shards, before rules, and
	// "source", the number of the address that found its shard. Seeds adds "_seed", an int64 for
	// each row by Seed, the epoch and the row: for random numbers that are the same on any number
	// of ranks.
	RowIDs bool `json:"row_ids"`
	Seeds  bool `json:"seeds"`

	// Strict refuses directories that hold other files beside the parquet files.
	Strict bool `json:"strict"`

	// Missing selects how to treat columns that some shards lack: "error" (the default) or "null".
	Missing string `json:"missing"`

	// PartitionTypes are the types of partition columns by name, as in {"month": "int32"}: bool,
	// int8 to int64, uint8 to uint64, float32, float64, date or string. Without one, a partition
	// has the first of int64, float64, bool, date and string that all its values show.
	PartitionTypes map[string]string `json:"partition_types,omitempty"`

	// InvalidUTF8 selects how to treat strings that are not UTF-8: "refuse" (the default) or
	// "replace" by U+FFFD.
	InvalidUTF8 string `json:"invalid_utf8"`

	Losses

	// Refresh "epoch" takes the snapshot that Snapshot names, "" the latest, at the start of each
	// epoch: see [Dataset.Refresh]. "" stays on the first one.
	Refresh string `json:"refresh,omitempty"`

	// Manifest is a file with the list of shards of an earlier run, the JSON of
	// [Dataset.SavedManifest]; shards that came since are left out. ManifestText is the content of
	// such a file, or zlib's compression of it.
	Manifest     string `json:"manifest"`
	ManifestText []byte `json:"manifest_text,omitempty"`

	// Plan is a file that pins the list of shards and the order, as `shardfeed plan --save` writes
	// it: a path, or any address that shards can have. SavedPlan is its content, for callers that
	// have read it.
	Plan      string              `json:"plan"`
	SavedPlan *iterable.SavedPlan `json:"-"`

	// Inventory passes what another node found when it opened the same data.
	Inventory *iterable.Inventory `json:"-"`

	// CountShare divides the counting of samples with the other nodes of a job; see Events.Found.
	CountShare iterable.CountShare `json:"-"`

	// The rule: which rows are read, and how often. The files of values that filters name with @,
	// and of Tokenize, are relative to Directory; "" is the working directory of the process.
	Choice
	Directory string `json:"directory"`

	// Now is the instant that all filters use for today() and now(), as in "2024-01-31T16:30:00Z".
	// "" selects the Plan's, else the time when the data set is opened. A run that continues passes
	// the Now of its state.
	Now string `json:"now,omitempty"`

	// Weight is a column with the number of times that each row comes: 2.5 is twice or three times,
	// drawn by the row.
	Weight string `json:"weight"`

	// Pack makes samples of several rows: blocks of tokens. nil reads rows.
	Pack *Pack `json:"pack"`

	// Bucket makes samples that are batches of rows of about the same length. BatchSize is 1 then.
	Bucket *Bucket `json:"bucket"`

	// Tail of the order is "pad" by default, or "short" at world size 1. ShuffleBuffer is the size
	// of the shuffle buffer, over all ranks together: rows, as in "100000", or bytes, as in
	// "512MiB"; "" is a hundredth of the data within 256 MiB and 2 GiB, and less of data under 2
	// GiB: see [shuffle.DefaultBuffer]. "1GiB/rank" and "8GiB/node" are for each rank or node of
	// the world at the start.
	Order
	ShuffleBuffer string `json:"shuffle_buffer"`

	// Memory limits a rank, as in "8GiB"; "" is its share of the machine, where LocalWorldSize
	// ranks share it; 0 ranks are as many as the environment says. A ShuffleBuffer for each node
	// needs to know them.
	Memory         string `json:"memory"`
	LocalWorldSize int    `json:"-"`

	// LookMemory makes Memory a hard limit for decoded data, for verbs that do not train, and is
	// its default in bytes. With 0 a stream's memory is an estimate.
	LookMemory int64 `json:"-"`

	Caching

	// Storage are options of the stores, by the names of the command's flags ("endpoint-url",
	// "region", "hdfs-conf"), of s3fs or of Hadoop. Env are the variables that stores and cache
	// read; empty takes the process's.
	Storage map[string]string `json:"storage"`
	Env     map[string]string `json:"env"`

	Words

	// Tokenize makes columns of tokens, by name, of columns of texts: lists of int32, before rows
	// become samples. Only rows that the rule keeps have tokens.
	Tokenize map[string]Tokenizer `json:"tokenize,omitempty"`

	Features

	// Images makes tensors of columns that hold the bytes of images, by name, and Boxes moves
	// columns of boxes and points with them. ImageDecoder selects how to decode their JPEGs: "auto"
	// (the default) is libjpeg-turbo 3 if it is found and else the decoder in Go; "turbo" and "go"
	// select one of them. The command and the engine load libjpeg-turbo; a Go program gives it to
	// the loader itself, see [Spec.LoaderOptions].
	Images       map[string]images.Options `json:"images"`
	Boxes        map[string]boxes.Options  `json:"boxes"`
	ImageDecoder string                    `json:"image_decoder"`

	// LoaderOptions makes batches by these. BatchSize is rows per rank; 0 is 1. Null is the value
	// in place of nulls, by column. Workers collate; 0 is one for each processor of the rank. Slots
	// is the number of slots in the ring that an engine shares with a trainer; 0 leaves it to the
	// engine.
	BatchSize int                        `json:"batch_size"`
	Null      map[string]json.RawMessage `json:"null"`
	Pad       []Pad                      `json:"pad"`
	Workers   int                        `json:"workers"`
	Slots     int                        `json:"slots"`
}

// Types that a Spec and [iterable.Options] share.
type (
	Order        = iterable.Order
	Mixing       = iterable.Mixing
	WeightChange = iterable.WeightChange
	Words        = iterable.Words
	Losses       = iterable.Losses
)

// A Choice chooses rows of a data set or of a source. A row must pass everything that is given
// here.
type Choice struct {
	// Filters is a text in the language of package rule, as in "price >= 10 and lang in ('en',
	// 'de')".
	Filters string `json:"filters,omitempty"`

	// Parts divides all rows by weight, and Part is the one that is read. The rows of a part are
	// drawn by PartSeed; with PartKey, the name of a column, all rows of one value are in one part.
	// Subsample keeps a share of the part's rows.
	Parts     map[string]float64 `json:"parts,omitempty"`
	Part      string             `json:"part,omitempty"`
	PartKey   string             `json:"part_key,omitempty"`
	PartSeed  uint64             `json:"part_seed,omitempty"`
	Subsample float64            `json:"subsample,omitempty"`

	// Rows is a file of rows to keep, as `shardfeed select` writes it. RowsNew chooses how to treat
	// the rows of shards that it does not know: "error" (the default), "keep" or "drop".
	Rows    string `json:"rows,omitempty"`
	RowsNew string `json:"rows_new,omitempty"`
}

// Features choose how batches have the values of columns, by name or pattern ("num_*"). See
// [loader.Features].
type Features struct {
	Cast  map[string]string    `json:"cast"`  // the new type, as in "int32" and "bfloat16"
	Hash  map[string]int64     `json:"hash"`  // the number of buckets
	Scale map[string][]float64 `json:"scale"` // the mean and the deviation

	// Stack makes matrices of columns, by the name of the matrix; Columns need not name these
	// columns.
	Stack map[string]Stack `json:"stack"`
}

// Caching chooses what is kept on the local disk, and where.
type Caching struct {
	// CacheDir is a directory on a local disk; "" is SHARDFEED_CACHE_DIR, else a directory beside
	// the user's other caches. CacheLimit is the most to keep, as in "200GiB" or "50%" of the free
	// space. CachePolicy is "keep" (the default; for 24 h after the last use, or "keep=7d"), or
	// "lru". RequireCache makes it an error that there can be no cache. IndexDir is where footers
	// are kept; "" is beside the cache.
	CacheDir     string `json:"cache_dir"`
	CacheLimit   string `json:"cache_limit"`
	CachePolicy  string `json:"cache_policy"`
	NoCache      bool   `json:"no_cache"`
	RequireCache bool   `json:"-"`
	IndexDir     string `json:"index_dir"`

	// DecodedLimit is the most to keep decoded on the local disk, so that later epochs need not
	// decode again: as CacheLimit, or "0" for nothing. "" takes what CacheLimit leaves for shards
	// on servers, whose bytes come first, and nothing for files of this machine.
	DecodedLimit string `json:"decoded_limit"`

	// NoteLanes notes beside the cache which lanes of the order this machine reads, for
	// iterable.Dataset.HeldLanes after a restart.
	NoteLanes bool `json:"-"`
}

// Pad makes a column of ragged lists dense. Value is JSON, or bytes as {"base64": "..."}; nil is
// zero.
type Pad struct {
	Column    string          `json:"column"`
	Value     json.RawMessage `json:"value"`
	MaxLength int             `json:"max_length"` // 0: the longest of the batch
	ToMax     bool            `json:"to_max"`     // every batch has MaxLength
	Multiple  int             `json:"multiple"`
	Within    []PadWithin     `json:"within,omitempty"` // of lists of lists, level by level; nil: the same for all
	Left      bool            `json:"left"`             // fill up on the left
	CutLeft   bool            `json:"cut_left"`         // cut on the left
}

// PadWithin is the MaxLength and the Multiple of a level of lists within lists.
type PadWithin struct {
	MaxLength int `json:"max_length"`
	Multiple  int `json:"multiple"`
}
