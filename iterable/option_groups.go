package iterable

import (
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Reading chooses columns, and how to read them.
type Reading struct {
	Columns       []string                              // dotted paths, or patterns of them as in "num_*"; nil means all. The schema's order is kept
	MissingIsNull bool                                  // a column that some shards lack is null there; else it is an error
	Needed        func(path string) rowgroup.NeededType // types of columns without a type; see [rowgroup.NeededType]
	ReplaceUTF8   bool                                  // U+FFFD for each byte of a string that is not UTF-8; else it is an error

	// Declared reads petastorm's schema beside the shards: how binary columns are encoded, for
	// loaders that decode them.
	Declared bool

	// PartitionTypes are the types of partition columns by name: int64, float64, bool, date, string
	// and narrower numbers. Without one, a partition has the first of the five that all its values
	// show. A value that is not of its type is an error.
	PartitionTypes map[string]string

	// RowIDs adds two columns with the origin of each row: "_row", int64, is its number in
	// the manifest, before rules, and "source", int32, the number of the address that found its
	// shard. See [Dataset.Locate]. RowKeys adds the same two without a name, of which package
	// loader makes seeds; RowIDs wins.
	RowIDs, RowKeys bool

	// Strict refuses a directory that holds descriptions and checksums (*.md, *.json, *.txt, *.crc)
	// beside its parquet files. They are left out otherwise; see shard.Discover.
	Strict bool
}

// An Order has the parameters of the order in which rows are read. Zero values leave Lanes,
// UnitRows and the fields after them to the rule of package shuffle.
type Order struct {
	Shuffle bool   `json:"shuffle"` // training order; else file order
	Seed    uint64 `json:"seed"`    // chooses the order

	// Tail chooses how to treat rows that fill no batch on every rank. "" is Drop in package
	// iterable; a spec has another default.
	Tail shuffle.Tail `json:"tail"`

	Lanes        int            `json:"lanes"`
	UnitRows     int64          `json:"unit_rows"`
	Start        shuffle.Start  `json:"start"`
	MaxWorldSize int            `json:"max_world_size"` // the largest world size that is to own whole lanes
	Spread       int            `json:"-"`
	Assign       shuffle.Assign `json:"-"`
}

// Resources bound and share what streams use of the machine. None changes the order of rows.
type Resources struct {
	// Memory is the limit in bytes of one rank's stream. 0 takes DefaultMemory, and where that is 0
	// too mem.DefaultLimit; only a limit that is given here bounds the default shuffle buffer, so
	// that the machine never changes the order.
	Memory        int64
	DefaultMemory int64

	// DecodeLimit bounds the bytes of shards in memory, encoded and decoded. Rows that need more
	// are an error that names them. 0 leaves it to the accounts of streams, which are estimates.
	DecodeLimit int64

	Budget *Budget // shared with other data sets; nil is one of the data set's own over the machine's memory

	Parallel int // footers in flight; 0 is the default of package rowgroup
	Fetchers int // loads of a stream that are fetched at a time; 0 takes the number that the shards' store prefers, at most 64, else 4

	// StoreMemory is the part of Memory that the stores below hold: bytes on their way to a cache,
	// and Hot. A stream is admitted with it. The default shuffle buffer follows from Memory as it
	// was given.
	StoreMemory int64
	Hot         *rowgroup.Hot // what is kept in memory for all data sets that share it; nil keeps nothing

	// Tier keeps decoded columns of shards, for later epochs; nil keeps nothing. Streams read from
	// it and write to it beside their work, in what their memory leaves; TierLimit is about how
	// many bytes it takes, by which columns are chosen, 0 being no limit. It changes no value.
	Tier      rowgroup.Tier
	TierLimit int64
}

// Words map text columns to numbers.
type Words = transform.Words

// A Tokenizer makes tokens of the texts of a column.
type Tokenizer = transform.Tokenizer

// CountShare divides counting over the nodes of a job.
type CountShare = samples.Share

// What a plan, and a start that counts tokens, report of texts.
type (
	TextPlan     = samples.TextPlan
	TextEstimate = samples.TextEstimate
	Texts        = samples.Texts
)

// Mixing has the parameters of a mixture of several sources.
type Mixing struct {
	// Stop ends an epoch: StopFirst, the default, when the first source has given all its samples,
	// or StopAll when all have. EpochSize is its length in samples instead.
	Stop      shuffle.Stop `json:"stop"`
	EpochSize int64        `json:"epoch_size"`

	// Curriculum has weights that come later, in ascending order; it needs EpochSize.
	Curriculum []WeightChange `json:"curriculum"`

	// Batching chooses the sources of a step: Stratified, the default, takes samples of all,
	// PerSource of one, and an epoch has whole steps.
	Batching shuffle.Batching `json:"batching"`

	// WeightsIn is the unit of weights: "samples", the default, or "tokens", the items of the list
	// column Tokens; "" is the column of Pack or Bucket, or the one list column there is.
	WeightsIn string `json:"weights_in"`
	Tokens    string `json:"tokens"`
}

// A WeightChange gives sources other weights from a sample on, which is counted over all epochs.
// Other sources keep theirs.
type WeightChange struct {
	From    int64              `json:"from"`
	Weights map[string]float64 `json:"weights"`
}

// A Choice chooses rows of a data set or of a source. A row must pass everything that is given
// here.
type Choice = samples.Choice

// A Pack makes samples of several rows: blocks of one size of the lists of a unit. The schema has
// lists of that size then, lists of one value a document of all other columns, and behind them
// rowgroup.LengthsColumn, the tokens of each document in the block.
type Pack = samples.Pack

// IgnoredLabel is the label that losses of torch leave out.
const IgnoredLabel = transform.IgnoredLabel

// LabelsColumn is the list that has IgnoredLabel in places without a document.
const LabelsColumn = transform.LabelsColumn

// ErrNoRow is the cause of the [OptionError] of a rule that keeps no row.
var ErrNoRow = samples.ErrNoRow
