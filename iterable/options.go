package iterable

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
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
	Reading
	Order
	ShuffleBuffer Size // rows held for mixing
	Resources
	Words
	Losses

	// Tokenize makes columns of tokens, by name, of columns of texts: lists of int32, before rows
	// become samples. The columns that are made are delivered whether or not Columns has them; the
	// texts are if Columns names them.
	Tokenize map[string]Tokenizer

	IndexDir string // where footers, and what rules keep of each unit, are kept for the next start; "" keeps nothing

	// Plan pins the shards and the parameters of the order, as an earlier run or the other ranks
	// have them; nil leaves them to the rule.
	Plan *SavedPlan

	// Inventory passes what another node found when it opened the same data; nil lists the shards
	// and reads their footers here.
	Inventory *Inventory

	// CountShare divides the counting of samples with other nodes; see Events.Found.
	CountShare CountShare

	// Manifest is the saved list of an earlier run, to finish an epoch on it: shards that came
	// since are left out, and each shard of the list must be what it was. nil takes what the
	// addresses name now.
	Manifest *SavedManifest
	listed   *shuffle.Manifest // of a source: its shards by Manifest or Plan
	// ManifestDir is where manifests of earlier runs are kept by hash; see SaveManifest. It is read
	// only to describe how the data differs when a state does not fit.
	ManifestDir string

	// LaneDir is where streams note which lanes they read, for [Dataset.HeldLanes] after a restart;
	// "" notes nothing.
	LaneDir string

	// The rule: which rows the streams read, and how often. The zero values keep all rows.
	Choice
	filter *rule.Expr // of Filters, by parse

	// ReadFile reads the files of values that filters name with @; nil reads local files.
	ReadFile func(name string) ([]byte, error)

	// Now is the instant that filters take today() and now() from. The zero value is the one of
	// Plan, else the time of Open. A run that continues gives its state's.
	Now time.Time

	// Weight is a column with the number of times that each row comes: floor(w + u), where u in [0,
	// 1) is drawn by the row. See rule.Repeats.
	Weight string

	// Snapshot chooses the snapshot of the table that the addresses name, "" the latest. Tables has
	// the formats; nil knows none.
	Snapshot string
	Tables   table.Formats
	table    *table.Snapshot // that is open

	// Sources are several data sets that streams read together, by weight; the addresses of Open
	// must be none then.
	Sources []Source
	Mixing

	// Pack makes samples of several rows; nil is samples of one.
	Pack *Pack

	// Bucket makes samples that are batches: rows of about the same length. Schema has lists of one
	// value a row then, and BatchSchema the rows. nil leaves batches to the layer above.
	Bucket *rule.Bucket

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

	// Found is called before samples are counted, if CountShare divides that, with a function that
	// returns the inventory so far, as Dataset.Inventory does.
	Found func(inventory func(most int64) ([]byte, error))

	// Counted is called while Open counts the rows that the rule keeps: done of all row groups
	// are counted.
	Counted func(done, of int64)

	// Tokenizing predicts what counting tokens takes, when the first texts were counted. Of little
	// text it is not called.
	Tokenizing func(TextEstimate)

	// Noted reports what a user may want to know about the addresses: files that were left out of
	// directories, or named twice. Each once.
	Noted func(text string)

	// Truncated reports the documents of a unit that are longer than a block, and
	// how many tokens they lost. It is called for each such unit.
	Truncated func(documents, tokens int64)

	// PoorMixing reports that batches of sorted data would be lopsided: once, when a loader on rank
	// 0 starts without a state.
	PoorMixing func(*PoorMixing)

	// OverEstimate reports that blocks took over a tenth more memory than the files' metadata
	// predicted, once per stream.
	OverEstimate func(measured, estimated int64)

	// Lost reports data that cannot be read: a stream continues without it, or the rule keeps no
	// row of it. Said once per place.
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
		o.Now = o.Plan.Instant()
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
	_, err := o.parse()
	return err
}

// parse returns the options with their filters, or all problems.
func (o Options) parse() (Options, error) {
	p := option.List{New: option.NewError}
	o.validateColumns(&p)
	o.filter = o.rule().Parse(&p)
	o.Sources = slices.Clone(o.Sources)
	o.parseSources(&p)
	o.Losses.validate(&p)
	o.ShuffleBuffer.validate(&p)
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
	p.Within("Fetchers", int64(o.Fetchers), ahead.MostFetchers)
	if o.Manifest != nil {
		o.validateManifest(&p)
	}
	if o.Plan != nil {
		o.validatePlan(&p)
	}
	if o.Inventory != nil {
		o.validateInventory(&p)
	}
	return o, p.Err()
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
	p.Join(o.changes().Validate())
}

// planOptions returns the options of the plan that the user gave, without the buffer's size.
func (o Options) planOptions(worldSize int) shuffle.Options {
	return shuffle.Options{
		WorldSize: worldSize, MaxWorldSize: o.MaxWorldSize, Lanes: o.Lanes, Start: o.Start, Spread: o.Spread, Assign: o.Assign,
		Tail: o.Tail, UnitRows: o.UnitRows,
	}
}

func (o Options) rowgroupOptions(pool *mem.Pool, mapped *rowgroup.MappedImages) rowgroup.Options {
	return rowgroup.Options{
		Columns: o.changes().Reads(), RuleColumns: o.rule().Columns().List, MissingIsNull: o.MissingIsNull, PartitionTypes: o.PartitionTypes, Declared: o.Declared, RowIDs: o.RowIDs, RowKeys: o.RowKeys, IndexDir: o.IndexDir, KeepKnown: o.Inventory != nil, Parallel: o.Parallel, ReplaceUTF8: o.ReplaceUTF8, Needed: o.Needed, Hot: o.Hot, Tier: o.Tier, Mapped: mapped, Pool: (*rowgroup.Pool)(pool),
		Events: rowgroup.Events{IndexUnusable: o.Events.IndexUnusable, FootersRead: o.Events.FootersRead, FootersKnown: o.Events.FootersKnown},
	}
}

// changes returns the options that change columns.
func (o Options) changes() transform.Options {
	return transform.Options{Words: o.Words, Tokenize: o.Tokenize, Columns: o.Columns, Repair: o.ReplaceUTF8}
}

// rule returns the options that make up the rule.
func (o Options) rule() samples.Options {
	return samples.Options{Choice: o.Choice, Filter: o.filter, Weight: o.Weight, Pack: o.Pack, Bucket: o.Bucket, Texts: o.changes().Texts, Now: o.Now, ReadFile: o.ReadFile, Table: o.table}
}
