package shardfeed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/tokenize"
)

// Events are called when something happens that a user may want to read, if set. Several goroutines
// may call them at once.
type Events struct {
	Note    func(text string) // something is not as it was meant, and reading goes on
	Waiting func(text string) // requests wait for a server that does not answer; nil leaves it to Note
	Files   func(text string) // the addresses name files that are left out, or one twice
	Listed  func(n int)       // shards of the list under way
	Footers func(n, of int)   // footers that are known

	// Found is called before samples are counted, if the spec's CountShare divides that, with a
	// function that returns the data set's inventory so far.
	Found func(inventory func(most int64) ([]byte, error))

	Counted func(n, of int64) // row groups whose rows that are read are known, where a rule chooses them

	// Tokenizing predicts what counting the tokens of texts takes, once the first of them were
	// counted.
	Tokenizing func(iterable.TextEstimate)

	// PoorMixing warns, when the first loader starts, that batches of sorted data would be
	// lopsided. nil leaves it to Note.
	PoorMixing func(*iterable.PoorMixing)
}

func (e Events) note(format string, args ...any) {
	if e.Note != nil {
		e.Note(fmt.Sprintf(format, args...))
	}
}

// A Dataset is an open data set, and everything below it that Open opened.
type Dataset struct {
	*iterable.Dataset
	spec       Spec
	rows       *rule.RowList // of the rows file, or nil
	tokenizers map[string]iterable.Tokenizer
	sources    []iterable.Source // whose tokenizers replace these
	source     *source
	host       *Host
	own        bool   // the host is the data set's own
	follows    string // the Snapshot that Refresh asks for
}

// Open opens the data set of a spec: it finds the shards and reads their footers. The caller closes
// it.
func Open(ctx context.Context, s Spec, e Events) (*Dataset, error) {
	h := NewHost(nil)
	d, err := h.Open(ctx, s, e)
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	d.own = true
	return d, nil
}

// Open opens a data set that shares memory and caches with the host's others. The caller closes it
// before the host.
func (h *Host) Open(ctx context.Context, s Spec, e Events) (*Dataset, error) {
	o, err := s.parse()
	if err != nil {
		return nil, err
	}
	s = s.asSources()
	if err := s.readFiles(ctx, &o); err != nil {
		return nil, err
	}
	places := s.Places()
	o.IndexDir, o.ManifestDir = places.Index, places.Manifests
	o.Budget, o.DefaultMemory, o.Events = h.budget, s.RankMemory(), e.ofDataset()
	o.DecodeLimit = s.decodeLimit()
	from, err := h.connect(s, e)
	if err != nil {
		return nil, err
	}
	o.Hot, o.StoreMemory, o.Tier, o.TierLimit = from.hot, from.memory, from.tier(), from.keeps()
	if s.NoteLanes && from.cache != nil && AnyRemote(s.AllAddresses()) {
		o.LaneDir = places.Lanes
	}
	o.Events.FootersKnown = sync.OnceFunc(func() { from.throughCache((*cache.Cache).Wrap) })
	if err := h.readTokenizers(ctx, from.drivers, s, &o); err != nil {
		return nil, errors.Join(err, from.drivers.Close())
	}
	ds, err := iterable.Open(ctx, from.Stores, s.Addresses, o)
	if err != nil {
		return nil, errors.Join(s.blame(err), from.drivers.Close())
	}
	return &Dataset{Dataset: ds, spec: s, rows: o.Rows, tokenizers: o.Tokenize, sources: o.Sources, source: from, host: h, follows: s.Snapshot}, nil
}

// readFiles reads the files of a plan, of a list of shards and of rows.
func (s Spec) readFiles(ctx context.Context, o *iterable.Options) (err error) {
	o.Inventory, o.CountShare = s.Inventory, s.CountShare
	if err := s.readRows(&o.Choice); err != nil {
		return err
	}
	if err := s.readSourceRows(o); err != nil {
		return err
	}
	if o.Manifest, err = s.readManifest(); err != nil {
		return err
	}
	if o.Plan = s.SavedPlan; o.Plan == nil && s.Plan != "" {
		if o.Plan, err = s.ReadPlan(ctx); err != nil {
			return err
		}
	}
	if o.Manifest == nil && o.Plan == nil {
		return nil
	}
	if err = o.Validate(); err != nil && o.Plan != nil {
		return fmt.Errorf("plan %s: %w", shard.Redact(s.Plan), err)
	}
	return err
}

// readManifest reads the list of shards of an earlier run, or returns nil.
func (s Spec) readManifest() (*iterable.SavedManifest, error) {
	switch {
	case len(s.ManifestText) > 0:
		m, err := iterable.ParseManifest(s.ManifestText)
		if err != nil {
			return nil, &OptionError{Field: "Manifest", Text: "cannot be used: " + option.Literal(err.Error()), Err: err}
		}
		return m, nil
	case s.Manifest != "":
		return iterable.ReadManifest(s.Manifest)
	}
	return nil, nil
}

// smallExcess is how many bytes over the estimate are not worth a note.
const smallExcess = 16 << 20

// ofDataset are the events of package iterable.
func (e Events) ofDataset() iterable.Events {
	return iterable.Events{
		IndexUnusable: func(dir string, err error) { e.note("footers are not kept in %s: %v", dir, err) },
		FootersRead:   e.Footers,
		Found:         e.Found,
		Counted:       e.Counted,
		Tokenizing:    e.Tokenizing,
		Noted:         e.Files,
		Lost:          (&lossNotes{note: e.note}).add,
		Truncated:     e.truncated(),
		PoorMixing:    e.poorMixing,
		OverEstimate: func(measured, estimated int64) {
			if measured-estimated > smallExcess {
				e.note("blocks took %v of memory, the files' metadata promised %v", mem.Bytes(measured), mem.Bytes(estimated))
			}
		},
	}
}

func (e Events) poorMixing(m *iterable.PoorMixing) {
	if e.PoorMixing != nil {
		e.PoorMixing(m)
		return
	}
	e.note("%v", m)
}

// truncated notes the first documents that are longer than a block.
func (e Events) truncated() func(documents, tokens int64) {
	var once sync.Once
	return func(documents, tokens int64) {
		once.Do(func() {
			e.note("documents are longer than a block and lose what is beyond it: %d of them lose %d tokens in the first row group with any; "+
				"strategy bfd_split keeps all tokens, and stats count the documents as truncated", documents, tokens)
		})
	}
}

// Drivers are the stores without the cache.
func (d *Dataset) Drivers() shard.Stores { return d.source.drivers }

// Cache is the cache on disk, or nil, and its directory.
func (d *Dataset) Cache() (c *cache.Cache, dir string) { return d.source.cache, d.source.dir }

// EpochTook reports the duration of an epoch, so that the cache keeps its shards until the next one
// has used it.
func (d *Dataset) EpochTook(took time.Duration) { d.host.keep(d.source.cache, took) }

// KeepManifest keeps the list of shards, so that a resume can name the changes, or finish the
// old list.
func (d *Dataset) KeepManifest() error {
	dir := d.spec.Places().Manifests
	if dir == "" {
		return nil
	}
	_, err := d.SaveManifest(dir)
	return err
}

// Close closes the data set and everything that was opened for it, after all streams. It waits for
// the fills of its own cache, at most 10 s and half a second when ctx has ended.
func (d *Dataset) Close(ctx context.Context) error {
	if err := d.Dataset.Close(); err != nil {
		return err
	}
	var err error
	if d.own {
		err = d.host.Close(ctx)
	}
	return errors.Join(err, d.source.drivers.Close())
}

// Budget returns the budget that the data set's streams share with all of its host.
func (d *Dataset) Budget() *iterable.Budget { return d.host.budget }

// A Host opens data sets that share one budget of memory, one cache for each directory, and the
// footers and dictionaries that are kept in memory. It is safe for concurrent use.
type Host struct {
	budget *iterable.Budget

	mu         sync.Mutex
	caches     map[string]*cache.Cache                                // by directory
	tokenizers map[[sha256.Size]byte]weak.Pointer[tokenize.Tokenizer] // by their files
	hot        *rowgroup.Hot
	longest    time.Duration // of the epochs so far
}

// NewHost returns a host whose streams share a budget; nil is one over the machine's memory.
func NewHost(budget *iterable.Budget) *Host {
	if budget == nil {
		budget = iterable.NewBudget(mem.ThisMachine().SharedLimit())
	}
	return &Host{budget: budget, caches: map[string]*cache.Cache{}, tokenizers: map[[sha256.Size]byte]weak.Pointer[tokenize.Tokenizer]{}}
}

// Budget returns the budget that the host's streams share.
func (h *Host) Budget() *iterable.Budget { return h.budget }

// Caches returns the open caches by their directories.
func (h *Host) Caches() map[string]*cache.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.caches)
}

// cacheIn is the one cache of a directory, which open opens the first time; it may be nil.
func (h *Host) cacheIn(dir string, open func() (*cache.Cache, error)) (*cache.Cache, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.caches[dir]; c != nil {
		return c, nil
	}
	c, err := open()
	if c != nil {
		h.caches[dir] = c
	}
	return c, err
}

// hotOf is the one memory of footers and dictionaries; the first to ask says its bytes.
func (h *Host) hotOf(bytes int64) *rowgroup.Hot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hot == nil {
		h.hot = rowgroup.NewHot(bytes)
	}
	return h.hot
}

// keep lets a cache keep what it holds until the next epoch has used it.
func (h *Host) keep(c *cache.Cache, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.longest = max(h.longest, took); c != nil {
		c.KeepForEpochs(h.longest)
	}
}

// Close waits for the fills of the caches, at most 10 s and half a second when ctx has ended. The
// data sets are closed before.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	bounded, cancel := fillTime(ctx)
	defer cancel()
	var errs []error
	for dir, c := range h.caches {
		if err := c.Close(bounded); err != nil {
			errs = append(errs, fmt.Errorf("cache %s: %w", dir, err))
		}
	}
	clear(h.caches)
	h.hot.Close()
	h.hot = nil
	return errors.Join(errs...)
}

// ReadPlan reads the file that Plan names: a path, or an address, which it asks the stores for as
// it would for shards.
func (s Spec) ReadPlan(ctx context.Context) (p *iterable.SavedPlan, err error) {
	if scheme, _ := shard.SplitScheme(s.Plan); scheme == "" {
		return iterable.ReadPlan(s.Plan)
	}
	stores, err := s.Stores(Events{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	return iterable.FetchPlan(ctx, stores, s.Plan)
}

// Verify reads and decodes the spec's columns of every shard, from the store and not from a cache,
// and lists the losses. verified, if not nil, is called after each row group with the rows so far
// and all rows, one call at a time. check, if not nil, makes a check of the decoded rows: a
// loader.ImageCheck, for example.
func Verify(ctx context.Context, s Spec, e Events, verified func(rows, of int64), check func(ctx context.Context, m *rowgroup.Reader) (iterable.Check, error)) (v *iterable.Verification, err error) {
	o, err := s.parse()
	if err != nil {
		return nil, err
	}
	o.IndexDir, o.DefaultMemory, o.Events = s.Places().Index, s.RankMemory(), e.ofDataset()
	o.DecodeLimit = s.decodeLimit()
	if err := s.readFiles(ctx, &o); err != nil {
		return nil, err
	}
	stores, err := s.Stores(e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	return iterable.Verify(ctx, stores, s.Addresses, o, verified, check)
}

// lossNotes notes the first loss of a data set, and the number of later ones: a table of images may
// have thousands.
type lossNotes struct {
	note func(format string, args ...any)
	n    atomic.Int64
}

func (l *lossNotes) add(x iterable.Loss) {
	switch n := l.n.Add(1); {
	case n == 1:
		l.note("%v; further lost rows are counted, and listed by stats", x)
	case isPowerOfTen(n):
		l.note("%d places have lost rows so far; the last: %v", n, x)
	}
}

func isPowerOfTen(n int64) bool {
	for n%10 == 0 {
		n /= 10
	}
	return n == 1
}
