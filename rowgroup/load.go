package rowgroup

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// A loaded shard is what its footer says.
type loaded struct {
	record []byte // see record
	schema *fileSchema
}

// A footerLoader gets the footers of many shards.
type footerLoader struct {
	store    shard.Store
	parallel int
	events   Events

	mu      sync.Mutex
	schemas map[schemaID]*fileSchema
	done    int
}

// load gets all footers, so many at once. The error is that of the first shard, in their order, that has one.
func (l *footerLoader) load(ctx context.Context, shards []shard.Shard) ([]loaded, error) {
	all := make([]loaded, len(shards))
	var (
		next, failed atomic.Int64
		workers      sync.WaitGroup
		mu           sync.Mutex
		first        error
	)
	failed.Store(math.MaxInt64)
	for range min(l.parallel, len(shards)) {
		workers.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(shards)) || i > failed.Load() {
					return
				}
				one, err := l.loadOne(ctx, shards[i])
				if err == nil {
					all[i] = one
					l.report(len(shards))
					continue
				}
				mu.Lock()
				if i < failed.Load() {
					failed.Store(i)
					first = err
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return all, first
}

func (l *footerLoader) report(of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	if l.events.FootersRead != nil {
		l.events.FootersRead(l.done, of)
	}
}

func (l *footerLoader) loadOne(ctx context.Context, s shard.Shard) (loaded, error) {
	f, err := openFooter(ctx, l.store, s)
	if err != nil {
		return loaded{}, err
	}
	schema, err := l.schema(f.schema, arrowListSizes(f.arrow))
	if err != nil {
		return loaded{}, &Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
	}
	return loaded{record: formatRecord(f, schema.leaves), schema: schema}, nil
}

// openFooter opens a shard for its footer alone.
func openFooter(ctx context.Context, store shard.Store, s shard.Shard) (*footer, error) {
	o, err := store.Open(ctx, s)
	if err != nil {
		return nil, &Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
	}
	f, err := readFooter(ctx, o, s)
	if cerr := o.Close(); err == nil && cerr != nil {
		return nil, &Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: cerr}
	}
	return f, err
}

// schema returns the one fileSchema for these bytes.
func (l *footerLoader) schema(raw, sizes []byte) (*fileSchema, error) {
	id := newSchemaID(raw, sizes)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.schemas[id]; s != nil {
		return s, nil
	}
	s, err := newFileSchema(append([]byte(nil), raw...), sizes)
	if err != nil {
		return nil, err
	}
	l.schemas[id] = s
	return s, nil
}
