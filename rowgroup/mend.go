package rowgroup

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// ErrFooterMended means that a footer was damaged when it was read first, and is right now.
var ErrFooterMended = errors.New("its footer was damaged on its way when it was read, and was read again; start again")

// A footerCheck reads footers again whose row groups cannot be decoded. A footer that was damaged
// on its way may still parse, and then stays in the index. The manifests of all parts share it.
type footerCheck struct {
	indexDir string

	mu      sync.Mutex
	records map[int][]byte // of the shards that were read again, by their number; nil where nothing differs
}

// record returns the record of a shard: the one that was read again, else that of the manifest.
func (m *Manifest) record(s int) (record, error) {
	b := m.files[s].record
	if c := m.footers; c != nil {
		c.mu.Lock()
		if mended := c.records[m.firstShard+s]; mended != nil {
			b = mended
		}
		c.mu.Unlock()
	}
	return m.parsed.parse(b)
}

// mendFooter reads the footer of a shard again, once, and reports whether it differs from the one
// that is kept. Then the index gets the new one. Streams are planned by the columns and rows of a
// footer: where these differ the error is ErrFooterMended.
func (m *Manifest) mendFooter(ctx context.Context, s int) (mended bool, err error) {
	c, number := m.footers, m.firstShard+s
	if c == nil {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, done := c.records[number]; done {
		return now != nil, nil
	}
	e, err := m.rereadFooter(ctx, s)
	if err != nil {
		return false, err
	}
	c.records[number] = nil
	of := &m.bound[m.files[s].schema].raw
	if bytes.Equal(e.record, m.files[s].record) && e.schema.ID == of.ID {
		return false, nil
	}
	m.hot.forgetFooter(e.key)
	if c.indexDir != "" && m.shards[s].Version != "" {
		_ = replaceInIndex(c.indexDir, e) // else the next start mends it again
	}
	if e.schema.ID != of.ID || !sameRows(e.record, m.files[s].record) {
		return false, ErrFooterMended
	}
	c.records[number] = e.record
	return true, nil
}

// rereadFooter reads the footer of a shard from its source.
func (m *Manifest) rereadFooter(ctx context.Context, s int) (indexEntry, error) {
	r, err := parseRecord(m.files[s].record)
	if err != nil {
		return indexEntry{}, err
	}
	o, err := m.objects.acquire(ctx, m.firstShard+s)
	if err != nil {
		return indexEntry{}, err
	}
	defer m.objects.release(m.firstShard+s, o)
	l := footerLoader{store: m.objects.store, schemas: map[schema.ID]*schema.File{}}
	return l.readAgain(ctx, o.object, m.shards[s], r.footerBytes)
}

// readAgain reads the footer of a shard from its source. o is the shard, open.
func (l *footerLoader) readAgain(ctx context.Context, o shard.Object, of shard.Shard, footerBytes int64) (indexEntry, error) {
	n := min(of.Size, max(largestTail, footerBytes+parquet.TailBytes))
	shard.Discard(o, []shard.Span{{Off: of.Size - n, N: n}})
	return l.read(ctx, of, newShardKey(l.store, of))
}

// sameRows reports whether two footers have the same columns and row groups of as many rows.
func sameRows(a, b []byte) bool {
	x, err := parseRecord(a)
	y, otherErr := parseRecord(b)
	if err != nil || otherErr != nil || x.groups != y.groups || x.leaves != y.leaves {
		return false
	}
	for g := range x.groups {
		if x.rows.at(g) != y.rows.at(g) {
			return false
		}
	}
	return true
}

// mend repeats decode with a footer that was read again, if that differs; err is that of decode.
func (r *Raw) mend(ctx context.Context, err error, decode func() error) error {
	m := r.manifest
	mended, failed := m.mendFooter(ctx, r.Rows.Shard)
	switch {
	case errors.Is(failed, ErrFooterMended):
		return &Error{Op: "fetch", URI: r.uri, RowGroup: r.Rows.RowGroup, Page: -1, Err: failed}
	case failed != nil || !mended:
		return err
	}
	fresh, failed := m.plan(r.fetched, r.ruleAlone)
	if failed != nil {
		return failed
	}
	r.dropBytes()
	m.hot.forgetDicts(newShardKey(m.objects.store, m.shards[r.Rows.Shard]), slices.Concat(r.chunks, fresh.chunks))
	r.chunks, r.copyAll = fresh.chunks, true
	if failed := m.read(ctx, r, false); failed != nil {
		return r.fetchError(failed)
	}
	return decode()
}
