package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// maxRead is how many bytes are read between two looks at the context.
const maxRead = 8 << 20

// An object is an open file. It holds no mapping: each lease owns its own, so leases outlive Close.
type object struct {
	file  *os.File
	shard shard.Shard
	meter *driver.Meter
	seen  *driver.Seen
}

var _ shard.Lender = (*object)(nil)

// ReadAt reads with pread. The version is compared after the bytes were copied, so bytes of another
// version are never passed off.
func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	read := o.meter.Start(ctx, driver.ReadRequest)
	err := o.readAt(ctx, p, off, &read)
	read.End(err)
	if err != nil {
		return o.wrap("read", err)
	}
	return nil
}

func (o *object) readAt(ctx context.Context, p []byte, off int64, read *driver.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := (shard.Span{Off: off, N: int64(len(p))}).Within(o.shard.Size); err != nil {
		return err
	}
	for len(p) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := o.file.ReadAt(p[:min(len(p), maxRead)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return classify(err)
		}
		if n == 0 { // shorter than it was
			break
		}
		read.Answered()
		read.Took(n)
		p = p[n:]
		off += int64(n)
	}
	if err := o.check(); err != nil {
		return err
	}
	if len(p) > 0 { // it shrank and grew again in between, with the old time
		return fmt.Errorf("%w: byte %d could not be read", shard.ErrChanged, off)
	}
	return nil
}

// Lend maps n bytes from off on and brings their pages in, so that touching them costs no fault
// each.
func (o *object) Lend(off, n int64) (shard.Lease, error) {
	read := o.meter.Start(context.Background(), driver.ReadRequest)
	l, err := o.lend(off, n)
	if err == nil {
		read.Answered()
		read.Took(int(n))
	}
	read.End(err)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, errors.ErrUnsupported):
		return nil, err
	}
	return nil, o.wrap("read", err)
}

func (o *object) lend(off, n int64) (*lease, error) {
	if err := (shard.Span{Off: off, N: n}).Within(o.shard.Size); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	l := &lease{object: o, off: off, bytes: []byte{}}
	if n == 0 {
		return l, nil
	}
	return l, l.mapRange(n)
}

// A lease is a mapping of some pages of the file.
type lease struct {
	object   *object
	off      int64  // offset of bytes in the shard
	bytes    []byte // that are lent
	mapped   []byte // the pages, or nil without a mapping
	released atomic.Bool
}

func (l *lease) Bytes() []byte { return l.bytes }

// Verify compares the open file with the version that was opened. A file that was replaced by
// another of the same name is still read at its old version, as long as it is open.
func (l *lease) Verify(shard.Span) error {
	if err := l.object.check(); err != nil {
		return l.object.wrap("read", err)
	}
	return nil
}

func (o *object) check() error {
	info, err := o.file.Stat()
	if err != nil {
		return classify(err)
	}
	if err := changed(o.shard, info); err != nil {
		return err
	}
	return o.seen.Hold(o.shard, version(info))
}

func (o *object) wrap(op string, err error) error {
	return &shard.Error{Op: op, URI: o.shard.URI, Err: err}
}

// Close closes the file. Reads fail with fs.ErrClosed from then on; leases stay.
func (o *object) Close() error {
	if err := o.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return o.wrap("close", err)
	}
	return nil
}
