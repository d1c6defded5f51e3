package iterable

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Limits of options: more is a mistake.
const (
	maxLanes    = 1 << 16
	maxSpread   = 1 << 30
	maxParallel = 1 << 10
)

// Options of Open. The zero value reads all columns in file order and drops the rows that fill no
// global batch.
type Options struct {
	Columns       []string                              // dotted paths, or patterns of them as in "num_*"; nil means all. The schema's order is kept
	MissingIsNull bool                                  // a column that some shards lack is null there; else it is an error
	Needed        func(path string) rowgroup.NeededType // types of columns that have none; see [rowgroup.NeededType]
	ReplaceUTF8   bool                                  // U+FFFD for each byte of a string that is not UTF-8; else it is an error

	// Declared reads petastorm's schema beside the shards: how binary columns are encoded, for
	// loaders that decode them.
	Declared bool

	// PartitionTypes are the types of partition columns by name: int64, float64, bool, date, string
	// and narrower numbers. Without one, a partition has the first of the five that all its values
	// show. A value that is not of its type is an error.
	PartitionTypes map[string]string

	// RowIDs adds two columns that say where each row comes from: "_row", int64, is its number in
	// the manifest, before rules, and "source", int32, the number of the address that found its
	// shard. See [Dataset.Locate]. RowKeys adds the same two without a name, of which package
	// loader makes seeds; RowIDs wins.
	RowIDs, RowKeys bool

	// Strict refuses a directory that holds descriptions and checksums (*.md, *.json, *.txt, *.crc)
	// beside its parquet files. They are left out otherwise; see shard.Discover.
	Strict bool

	Shuffle       bool
	ShuffleBuffer Size // rows held for mixing
	Seed          uint64
	Tail          shuffle.Tail // "" is Drop

	// Pins of the plan; zero leaves them to the rule of package shuffle.
	Lanes        int
	UnitRows     int64
	Start        shuffle.Start
	Spread       int
	Assign       shuffle.Assign
	MaxWorldSize int // the largest world size that is to own whole lanes

	// Memory is the limit in bytes of one rank's stream. 0 takes DefaultMemory, and where that is 0
	// too mem.DefaultLimit; only a limit that is given here bounds the default shuffle buffer, so
	// that the machine never changes the order.
	Memory        int64
	DefaultMemory int64

	// DecodeLimit bounds the bytes of shards in memory, encoded and decoded. Rows that need more
	// are an error that names them. 0 leaves it to the accounts of streams, which are estimates.
	DecodeLimit int64

	Budget *Budget // shared with other data sets; nil is one of the data set's own over the machine's memory

	IndexDir string // where footers, and what rules keep of each unit, are kept for the next start; "" keeps none
	Parallel int    // footers in flight; 0 is the default of package rowgroup
	Fetchers int    // loads of a stream that are fetched at a time; 0 is what the shards' store likes, 64 at most, else 4

	// StoreMemory is the part of Memory that the stores below hold: bytes on their way to a cache,
	// and Hot. A stream is admitted with it. It does not change the order: the default shuffle
	// buffer follows from Memory as it was given.
	StoreMemory int64
	Hot         *rowgroup.Hot // what is kept in memory for all data sets that share it; nil keeps nothing

	// Tier keeps decoded columns of shards, for epochs to come; nil keeps none. Streams read from
	// it and write to it beside their work, in what their memory leaves; TierLimit is about how
	// many bytes it takes, by which columns are chosen, 0 being no limit. It changes no order and
	// no value.
	Tier      rowgroup.Tier
	TierLimit int64

	// Vocabulary maps the values of a text column, by its name, to their places in the list: an
	// int64 column. A value that is not in the list is an error, or becomes the number that Unknown
	// has for the column: from LeastUnknown to the number of words, which is the place after the
	// last one. Nulls stay null.
	Vocabulary map[string][]string
	Unknown    map[string]int64

	// Plan pins the shards and the parameters of the order, as an earlier run or the other ranks
	// have them; nil leaves them to the rule.
	Plan *SavedPlan

	// Inventory is what another node found when it opened the same data; nil lists the shards and
	// reads their footers here.
	Inventory *Inventory

	// Manifest is the saved list of an earlier run, to finish an epoch on it: shards that came
	// since are left out, and each shard of the list must be what it was. nil takes what the
	// addresses name now.
	Manifest *SavedManifest
	listed   *shuffle.Manifest // of a source: its shards by Manifest or Plan
	// ManifestDir is where manifests of earlier runs are kept by hash; see SaveManifest. It is read
	// only to say how the data differs when a state does not fit. "" does not say.
	ManifestDir string

	// LaneDir is where streams note which lanes they read, for [Dataset.HeldLanes] after a restart;
	// "" notes none.
	LaneDir string

	// The rule: which rows the streams read, and how often. The zero values keep all rows. A row
	// must pass everything that is given here.

	// Filters keeps the rows for which it is true, in the language of package rule. ReadFile reads
	// the files of values that it names with @; nil reads local files.
	Filters  string
	ReadFile func(name string) ([]byte, error)

	// Now is the instant that filters take today() and now() from. The zero value is the one of
	// Plan, else the time of Open. A run that continues gives that of its state.
	Now time.Time

	Split rule.Split // a part of all rows, or a sample of them

	Rows    *rule.RowList // the rows that a rows file lists
	RowsNew rule.NewRows  // what becomes of the rows of shards that it does not know

	// Weight is a column that says how often each row comes: floor(w + u), where u in [0, 1) is
	// drawn by the row. See rule.Repeats.
	Weight string

	// Sources are several data sets that streams read together, by weight; the addresses of Open
	// must be none then. Stop says how long an epoch is: StopFirst, the default, or StopAll.
	// EpochSize says it in samples. Curriculum are weights that come later, in ascending order.
	// Batching says of which sources a step is: Stratified, the default, or PerSource. WeightsIn is
	// what weights are in: "samples", the default, or "tokens", which are the items of the list
	// column Tokens; "" is the column of Pack or Bucket, or the one list column there is.
	Sources    []Source
	Stop       shuffle.Stop
	EpochSize  int64
	Curriculum []WeightChange
	Batching   shuffle.Batching
	WeightsIn  string
	Tokens     string

	// Pack makes samples of several rows; nil is samples of one.
	Pack *Pack

	// Bucket makes samples that are batches: rows of about the same length. Schema has lists of one
	// value a row then, and BatchSchema the rows. nil leaves batches to the layer above.
	Bucket *rule.Bucket

	// OnError says what becomes of units whose data turns out lost while Open counts what the rule
	// keeps of them; "" is Raise. Under Mask and Skip they have no sample, and are not among the
	// counts that IndexDir keeps. It is that of the streams, which StreamOptions give.
	OnError OnError

	Events Events

	stepFrom  int64 // bytes of decoded rule columns from which they are decoded in steps; 0 means stepBytes, which tests lower
	pruneFrom int64 // bytes of rule columns from which statistics are read; 0 means prunedBytes, which tests lower
}

// Events are called when something happens that a user may want to read, if set. They may be called
// by several goroutines at once.
type Events struct {
	IndexUnusable func(dir string, err error) // footers or counts cannot be kept; said once
	FootersRead   func(n, of int)
	FootersKnown  func() // nothing else of the shards is read yet

	// Counted is called as Open finds out how many rows the rule keeps: done of so many row groups
	// are counted.
	Counted func(done, of int64)

	// Noted says what a user may want to know of the addresses: files that were left out of
	// directories, or named twice. Each once.
	Noted func(text string)

	// Truncated says that a unit was read with so many documents that are longer than a block, and
	// how many tokens they lost. It is called for each such unit.
	Truncated func(documents, tokens int64)

	// PoorMixing says that batches of sorted data would be lopsided. Said once, as a loader on rank
	// 0 begins without a state.
	PoorMixing func(*PoorMixing)

	// OverEstimate says that blocks took more than a tenth more memory than the files' metadata
	// foretold. Said once per stream.
	OverEstimate func(measured, estimated int64)

	// Lost tells of data that cannot be read: a stream goes on without it, or the rule keeps none
	// of it. Said once per place.
	Lost func(Loss)

	// BatchChanged reports a resume with another global batch: the rows stay the same, the batches
	// differ.
	BatchChanged func(from, to int64)
}

func (o Options) withDefaults() Options {
	if o.Tail == "" {
		o.Tail = shuffle.Drop
	}
	if say := o.Events.IndexUnusable; say != nil { // footers and counts have one directory
		var once sync.Once
		o.Events.IndexUnusable = func(dir string, err error) { once.Do(func() { say(dir, err) }) }
	}
	if say := o.Events.PoorMixing; say != nil {
		var once sync.Once
		o.Events.PoorMixing = func(m *PoorMixing) { once.Do(func() { say(m) }) }
	}
	if o.Now.IsZero() {
		o.Now = o.Plan.now()
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Budget == nil {
		o.Budget = NewBudget(mem.ThisMachine().SharedLimit())
	}
	return o
}

// Validate lists all problems, each an [OptionError].
func (o Options) Validate() error {
	p := option.List{New: newOptionError}
	o.validateColumns(&p)
	o.validateRules(&p)
	o.validateSources(&p)
	p.OneOf("OnError", string(o.OnError), string(Raise), string(Mask), string(Skip))
	p.Within("ShuffleBuffer.Rows", o.ShuffleBuffer.Rows, option.MaxRows)
	p.Within("ShuffleBuffer.Bytes", o.ShuffleBuffer.Bytes, option.MaxBytes)
	p.OneOf("ShuffleBuffer.Per", string(o.ShuffleBuffer.Per), string(PerRank), string(PerNode))
	if b := o.ShuffleBuffer; b.Per != "" && b.Rows == 0 && b.Bytes == 0 {
		p.Add("ShuffleBuffer.Per", "needs a number of rows or bytes, got %q alone", b.Per)
	}
	p.OneOf("Tail", string(o.Tail), string(shuffle.Drop), string(shuffle.Pad), string(shuffle.Short), string(shuffle.Carry))
	p.Within("Lanes", int64(o.Lanes), maxLanes)
	p.Within("UnitRows", o.UnitRows, option.MaxRows)
	p.OneOf("Start", string(o.Start), string(shuffle.Filled), string(shuffle.Direct))
	p.Within("Spread", int64(o.Spread), maxSpread)
	p.OneOf("Assign", string(o.Assign), string(shuffle.Sticky), string(shuffle.PerEpoch))
	p.Within("MaxWorldSize", int64(o.MaxWorldSize), option.MaxWorldSize)
	p.Within("Memory", o.Memory, option.MaxBytes)
	p.Within("DefaultMemory", o.DefaultMemory, option.MaxBytes)
	p.Within("DecodeLimit", o.DecodeLimit, option.MaxBytes)
	p.Within("StoreMemory", o.StoreMemory, option.MaxBytes)
	p.Within("TierLimit", o.TierLimit, option.MaxBytes)
	p.Within("Parallel", int64(o.Parallel), maxParallel)
	p.Within("Fetchers", int64(o.Fetchers), mostFetchers)
	if o.Manifest != nil {
		o.validateManifest(&p)
	}
	if o.Plan != nil {
		o.validatePlan(&p)
	}
	if o.Inventory != nil {
		o.validateInventory(&p)
	}
	return p.Err()
}

func (o Options) validateColumns(p *option.List) {
	for _, key := range slices.Sorted(maps.Keys(o.PartitionTypes)) {
		if err := rowgroup.CheckPartitionType(o.PartitionTypes[key]); err != nil {
			p.Add(fmt.Sprintf("PartitionTypes[%q]", key), "%v", err)
		}
	}
	if o.Columns != nil && len(o.Columns) == 0 {
		p.Add("Columns", "must name at least one column")
	}
	for i, c := range o.Columns {
		if c == "" {
			p.Add(fmt.Sprintf("Columns[%d]", i), "must not be empty")
		}
	}
	o.validateUnknown(p)
}

// validatePlan refuses a plan that is incomplete, and options that contradict it.
func (o Options) validatePlan(p *option.List) {
	switch {
	case o.Plan.Sources == nil && len(o.Sources) > 0:
		p.Add("Plan", "is of one data set, and {Sources} are several; save one of these sources")
		return
	case o.Plan.Sources != nil && len(o.Sources) == 0:
		p.Add("Plan", "is of the sources %q, and there are none; give them as {Sources}", o.Plan.sourceNames())
		return
	case o.Plan.Sources != nil:
		o.validateMixturePlan(p)
	case o.Plan.Manifest == nil:
		p.Add("Plan", "has no manifest; take one of ReadPlan")
		return
	default:
		if err := o.Plan.Manifest.Validate(); err != nil {
			p.Add("Plan", "is not valid: %v", err)
		}
	}
	if made, other := o.Plan.otherOrder(); other {
		p.Add("Plan", "was saved for the order %q by another version of shardfeed, and this one makes %q; save it anew with the version that all ranks run", o.Plan.Order, made)
	}
	if o.Plan.Params != nil {
		if err := o.Plan.Params.Validate(); err != nil {
			p.Add("Plan", "is not valid: %v", err)
		}
	}
	for _, pin := range []struct {
		field string
		given bool
	}{
		{"ShuffleBuffer", o.ShuffleBuffer != Size{}},
		{"Lanes", o.Lanes != 0},
		{"UnitRows", o.UnitRows != 0},
		{"Start", o.Start != ""},
		{"Spread", o.Spread != 0},
		{"Assign", o.Assign != ""},
		{"MaxWorldSize", o.MaxWorldSize != 0},
		{"Manifest", o.Manifest != nil},
	} {
		if pin.given {
			p.Add(pin.field, "is part of the {Plan}; leave one of the two out")
		}
	}
	if o.Shuffle != o.Plan.Shuffled() {
		p.Add("Shuffle", "is %t, but the {Plan} was saved with %t", o.Shuffle, o.Plan.Shuffled())
	}
}

// validateInventory refuses an inventory of other sources, and one beside a plan.
func (o Options) validateInventory(p *option.List) {
	names := []string{""}
	if len(o.Sources) > 0 {
		names = o.sourceNames()
	}
	switch {
	case o.Plan != nil:
		p.Add("Inventory", "is part of the {Plan}; leave one of the two out")
	case !slices.Equal(names, o.Inventory.names()):
		p.Add("Inventory", "is of the sources %q, and there are %q; give all ranks the same {Sources}", o.Inventory.names(), names)
	}
}

// planOptions are what the user gave of the plan, without the buffer's size.
func (o Options) planOptions(worldSize int) shuffle.Options {
	return shuffle.Options{
		WorldSize: worldSize, MaxWorldSize: o.MaxWorldSize, Lanes: o.Lanes, Start: o.Start, Spread: o.Spread, Assign: o.Assign,
		Tail: o.Tail, UnitRows: o.UnitRows,
	}
}

func (o Options) rowgroupOptions(pool *mem.Pool, mapped *rowgroup.MappedImages) rowgroup.Options {
	return rowgroup.Options{
		Columns: o.Columns, RuleColumns: o.ruleColumns().list, MissingIsNull: o.MissingIsNull, PartitionTypes: o.PartitionTypes, Declared: o.Declared, RowIDs: o.RowIDs, RowKeys: o.RowKeys, IndexDir: o.IndexDir, KeepKnown: o.Inventory != nil, Parallel: o.Parallel, ReplaceUTF8: o.ReplaceUTF8, Needed: o.Needed, Hot: o.Hot, Tier: o.Tier, Mapped: mapped, Pool: (*rowgroup.Pool)(pool),
		Events: rowgroup.Events{IndexUnusable: o.Events.IndexUnusable, FootersRead: o.Events.FootersRead, FootersKnown: o.Events.FootersKnown},
	}
}
