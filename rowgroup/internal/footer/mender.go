package footer

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// ErrFooterMended means that a footer was damaged when it was read first, and is right now.
var ErrFooterMended = errors.New("its footer was damaged on its way when it was read, and was read again; start again")

// Records returns the records of shards as they were read last. The parts of a data set share one.
// The zero value works.
type Records struct {
	last lastRecord

	mu     sync.Mutex
	mended map[int][]byte // by number of the shard
}

// Of returns the record of a shard: the mended one, or else kept, from the first reading.
func (x *Records) Of(number int, kept []byte) (Record, error) {
	x.mu.Lock()
	if mended := x.mended[number]; mended != nil {
		kept = mended
	}
	x.mu.Unlock()
	return x.last.parse(kept)
}

// A Mender reads footers again whose row groups cannot be decoded: a footer that was damaged on its
// way may parse, and then stays in the index.
type Mender struct {
	store    shard.Store
	hot      *Hot
	indexDir string
	records  *Records

	mu   sync.Mutex
	done map[int]bool // by number of the shards that were read again: whether the record differs
}

// NewMender returns a mender that puts footers into records.
func NewMender(store shard.Store, o Options, into *Records) *Mender {
	return &Mender{store: store, hot: o.Hot, indexDir: o.IndexDir, records: into, done: map[int]bool{}}
}

// Mend reads the footer of a shard again, once, and reports whether its record differs from the
// kept one. Then records and index get the new one. Streams are planned by the columns and rows of
// a footer: if these differ the error is ErrFooterMended. o is the shard, open.
func (x *Mender) Mend(ctx context.Context, number int, s shard.Shard, o shard.Object, kept []byte, id schema.ID) (mended bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if mended, done := x.done[number]; done {
		return mended, nil
	}
	r, err := ParseRecord(kept)
	if err != nil {
		return false, err
	}
	l := footerLoader{store: x.store, deletes: true, schemas: map[schema.ID]*schema.File{}}
	e, err := l.readAgain(ctx, o, s, r.FooterBytes)
	if err != nil {
		return false, err
	}
	x.done[number] = false
	if bytes.Equal(e.record, kept) && e.schema.ID == id {
		return false, nil
	}
	x.hot.forgetFooter(e.key)
	if x.indexDir != "" && s.VersionHere() != "" {
		_ = replaceInIndex(x.indexDir, e) // else the next start mends it again
	}
	if e.schema.ID != id || !sameRows(e.record, kept) {
		return false, ErrFooterMended
	}
	x.records.replace(number, e.record)
	x.done[number] = true
	return true, nil
}

func (x *Records) replace(number int, by []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mended == nil {
		x.mended = map[int][]byte{}
	}
	x.mended[number] = by
}

// sameRows reports whether two footers have the same columns and row groups of as many rows.
func sameRows(a, b []byte) bool {
	x, err := ParseRecord(a)
	y, otherErr := ParseRecord(b)
	if err != nil || otherErr != nil || x.Groups != y.Groups || x.Leaves != y.Leaves {
		return false
	}
	for g := range x.Groups {
		if x.Rows.At(g) != y.Rows.At(g) {
			return false
		}
	}
	return true
}
