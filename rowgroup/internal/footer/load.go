package footer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Loaded is the loaded footer of a shard.
type Loaded struct {
	Record []byte // see record
	Schema *schema.File
}

// A footerLoader gets the footers of many shards.
type footerLoader struct {
	store    shard.Store
	deletes  bool // files that list deleted rows are taken
	parallel int
	events   Events
	hot      *Hot // or nil
	tails    tailGuess

	index *diskIndex // or nil

	mu      sync.Mutex
	schemas map[schema.ID]*schema.File
	fresh   []indexEntry // what the index lacks
	done    int
	arrow   []byte // the last ARROW:schema, which declares of
	of      []byte
}

// Load returns the footers of all shards: from known when it has all of them, else from the
// index. It reads the ones that the index lacks, and adds them to it.
func Load(ctx context.Context, store shard.Store, shards []shard.Shard, known []Known, o Options) ([]Loaded, error) {
	if o.Deletes {
		o.IndexDir, o.Hot = "", nil
	}
	l := footerLoader{store: store, deletes: o.Deletes, parallel: o.Parallel, events: o.Events, hot: o.Hot, schemas: map[schema.ID]*schema.File{}}
	if all, ok, err := l.loadKnown(ctx, shards, known); ok {
		if err == nil && o.KeepKnown && o.IndexDir != "" {
			l.keep(o.IndexDir, shards, known)
		}
		return all, err
	}
	if o.IndexDir != "" {
		var err error
		if l.index, err = openIndex(o.IndexDir); err != nil {
			l.unusable(o.IndexDir, err)
		} else {
			defer l.index.close()
		}
	}
	l.tails.dear = shard.ReadsOf(store, shards) > 0
	all, err := l.load(withSmall(ctx, shards), shards)
	// Also after an error: the next start has less to read then.
	if l.index != nil && (len(l.fresh) > 0 || len(l.index.segments) > maxSegments) {
		if err := addToIndex(o.IndexDir, l.fresh); err != nil {
			l.unusable(o.IndexDir, err)
		}
	}
	return all, err
}

// mostWhole is how many bytes of shards may be fetched before all footers are known.
const mostWhole = 256 << 20

// withSmall returns a context for the reads of footers. It lets a store whose requests are scarce
// fetch small shards whole, unless that would make opening the shards long.
func withSmall(ctx context.Context, shards []shard.Shard) context.Context {
	total := int64(0)
	for i := range shards {
		if total += shards[i].Size; total > mostWhole {
			return ctx
		}
	}
	return shard.WithMost(ctx)
}

// keep adds known footers to the index.
func (l *footerLoader) keep(dir string, shards []shard.Shard, known []Known) {
	for i, s := range shards {
		l.fresh = append(l.fresh, indexEntry{key: NewKey(l.store, s), record: known[i].record, schema: *known[i].schema})
	}
	if err := addToIndex(dir, l.fresh); err != nil {
		l.unusable(dir, err)
	}
}

func (l *footerLoader) unusable(dir string, err error) {
	if l.events.IndexUnusable != nil {
		l.events.IndexUnusable(dir, err)
	}
}

// load gets all footers, several at once. It returns the error of the first shard, in their order,
// that fails.
func (l *footerLoader) load(ctx context.Context, shards []shard.Shard) ([]Loaded, error) {
	all := make([]Loaded, len(shards))
	err := Each(ctx, len(shards), l.parallel, func(ctx context.Context, i int) (err error) {
		if all[i], err = l.loadOne(ctx, shards[i]); err == nil {
			l.report(len(shards))
		}
		return err
	})
	return all, err
}

func (l *footerLoader) report(of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	if l.events.FootersRead != nil {
		l.events.FootersRead(l.done, of)
	}
}

func (l *footerLoader) loadOne(ctx context.Context, s shard.Shard) (Loaded, error) {
	if err := ctx.Err(); err != nil {
		return Loaded{}, err
	}
	var e indexEntry
	var err error
	if s.VersionHere() == "" { // a change would go unseen
		e, err = l.read(ctx, s, Key{})
	} else {
		key := NewKey(l.store, s)
		if one, ok := l.lookup(key, s); ok {
			return one, nil
		}
		e, err = l.hot.footer(ctx, key, func() (indexEntry, error) { return l.read(ctx, s, key) })
		if err == nil && l.index != nil {
			l.mu.Lock()
			l.fresh = append(l.fresh, e)
			l.mu.Unlock()
		}
	}
	if err != nil {
		return Loaded{}, err
	}
	schema, err := l.schema(e.schema)
	return Loaded{Record: e.record, Schema: schema}, err
}

func (l *footerLoader) read(ctx context.Context, s shard.Shard, key Key) (indexEntry, error) {
	var of *schema.File
	f, err := readWith(ctx, l.store, s, &l.tails, func(f *parquet.Footer) (err error) {
		if f.Deletes && !l.deletes {
			return parquet.ErrDeletes
		}
		of, err = l.schema(schema.NewBytes(f.Schema, l.declared(f.Arrow)))
		return err
	})
	if err != nil {
		return indexEntry{}, err
	}
	return indexEntry{key: key, record: formatRecord(f, of.Leaves), schema: of.Bytes}, nil
}

// declared returns what an ARROW:schema declares. The files of a data set have the same.
func (l *footerLoader) declared(arrow []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrow == nil || !bytes.Equal(l.arrow, arrow) {
		l.arrow, l.of = bytes.Clone(arrow), schema.ArrowDeclared(arrow)
	}
	return l.of
}

// lookup finds a shard in the index. What does not hold together, although its checksum does, is as
// good as absent.
func (l *footerLoader) lookup(key Key, s shard.Shard) (one Loaded, ok bool) {
	if l.index == nil {
		return one, false
	}
	var err error
	found := l.index.find(key, func(e indexEntry) {
		one.Record = slices.Clone(e.record)
		one.Schema, err = l.schema(e.schema)
	})
	if !found || err != nil {
		return one, false
	}
	r, err := ParseRecord(one.Record)
	return one, err == nil && r.Leaves == one.Schema.Leaves && r.FooterBytes <= s.Size
}

// schema returns the one File of this ID, which it makes from a copy of the bytes.
func (l *footerLoader) schema(x schema.Bytes) (*schema.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.schemas[x.ID]; s != nil {
		return s, nil
	}
	s, err := schema.NewFile(x.Clone())
	if err == nil && s.Deletes && !l.deletes {
		err = parquet.ErrDeletes
	}
	if err != nil {
		return nil, err
	}
	l.schemas[s.ID] = s
	return s, nil
}

func ShardError(s shard.Shard, err error) error {
	if s.Immutable {
		err = shard.OfTable(err)
	}
	e := &block.Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
	if errors.Is(err, parquet.ErrDeletes) {
		e.Hint = "export the table to plain parquet, or name its data files alone"
	}
	return e
}

// readWith reads and checks a shard's footer: one read of its end, a second when the footer is
// larger than the guess, and one of the page index when neither has it. check may refuse a footer,
// which is read again then.
func readWith(
	ctx context.Context, store shard.Store, s shard.Shard, tails *tailGuess, check func(*parquet.Footer) error,
) (*parquet.Footer, error) {
	o, err := store.Open(ctx, s)
	if err != nil {
		return nil, ShardError(s, err)
	}
	var f *parquet.Footer
	err = shard.Rereading(ctx, o, func(o shard.Object) (err error) {
		if f, err = parseTail(ctx, o, s.Size, tails); err == nil {
			err = check(f)
		}
		return err
	})
	if err = cmp.Or(err, o.Close()); err != nil {
		return nil, ShardError(s, err)
	}
	return f, nil
}

// Read reads the footer of one shard.
func Read(ctx context.Context, store shard.Store, s shard.Shard) (*parquet.Footer, error) {
	return readWith(ctx, store, s, &tailGuess{}, func(f *parquet.Footer) error {
		if f.Deletes {
			return parquet.ErrDeletes
		}
		return nil
	})
}

func parseTail(ctx context.Context, o shard.Object, size int64, tails *tailGuess) (*parquet.Footer, error) {
	if err := parquet.CheckSize(size); err != nil {
		return nil, err
	}
	guess, end, err := tails.begin(ctx, size)
	if err != nil {
		return nil, err
	}
	defer end()
	buf := make([]byte, guess)
	if err := o.ReadAt(ctx, buf, size-int64(len(buf))); err != nil {
		return nil, err
	}
	n, err := parquet.FooterLength(buf[len(buf)-parquet.TailBytes:], size)
	if err != nil {
		return nil, err
	}
	if int64(len(buf)) < n+parquet.TailBytes {
		buf = make([]byte, n+parquet.TailBytes)
		if err := o.ReadAt(ctx, buf, size-int64(len(buf))); err != nil {
			return nil, err
		}
	}
	f, err := parquet.ParseFooter(buf[int64(len(buf))-n-parquet.TailBytes:len(buf)-parquet.TailBytes], size-n-parquet.TailBytes)
	if err != nil {
		return nil, err
	}
	if err := f.MeasureChunks(ctx, o, size-n-parquet.TailBytes); err != nil {
		return nil, err
	}
	index := int64(0)
	if lo, hi := f.IndexSpan(); lo < hi {
		index = size - lo
	}
	tails.learn(n, index)
	return f, f.ReadPageIndex(ctx, o, buf, size-int64(len(buf)))
}

// readAgain reads the footer of a shard from its source. o is the shard, open.
func (l *footerLoader) readAgain(ctx context.Context, o shard.Object, of shard.Shard, footerBytes int64) (indexEntry, error) {
	n := min(of.Size, max(largestTail, footerBytes+parquet.TailBytes))
	shard.Discard(o, []shard.Span{{Off: of.Size - n, N: n}})
	return l.read(ctx, of, NewKey(l.store, of))
}
