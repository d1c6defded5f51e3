package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/shardfeed/shardfeed/shard"
)

// maxRead is how many bytes are read between two looks at the context.
const maxRead = 8 << 20

// An object is an open file. It holds no mapping: each view owns its own, so views outlive Close.
type object struct {
	file  *os.File
	shard shard.Shard
}

var (
	_ shard.Object    = (*object)(nil)
	_ shard.Viewer    = (*object)(nil)
	_ shard.Forgetter = (*object)(nil)
	_ shard.Checker   = (*object)(nil)
)

// ReadAt reads with pread. The version is compared after the bytes were copied, so bytes of another version are never passed off.
func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := o.readAt(ctx, p, off); err != nil {
		return o.wrap("read", err)
	}
	return nil
}

func (o *object) readAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.inside(off, int64(len(p))); err != nil {
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

// inside refuses ranges that are not within the shard.
func (o *object) inside(off, n int64) error {
	if off < 0 || n < 0 {
		return fmt.Errorf("no such range: %d bytes from byte %d on", n, off)
	}
	if off > o.shard.Size || n > o.shard.Size-off {
		return fmt.Errorf("%d bytes from byte %d on end past the last of %d bytes: %w", n, off, o.shard.Size, io.ErrUnexpectedEOF)
	}
	return nil
}

// View maps n bytes from off on and brings their pages in, so that touching them costs no fault each.
func (o *object) View(off, n int64) ([]byte, func(), error) {
	b, release, err := o.view(off, n)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, nil, o.wrap("read", err)
	}
	return b, release, err
}

func (o *object) view(off, n int64) ([]byte, func(), error) {
	if err := o.inside(off, n); err != nil {
		return nil, nil, err
	}
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return []byte{}, func() {}, nil
	}
	return o.mapRange(off, n)
}

// Check compares the open file with the version that was opened. A file that was replaced by another of the same name goes on being
// read at its old version, as long as it is open.
func (o *object) Check() error {
	if err := o.check(); err != nil {
		return o.wrap("read", err)
	}
	return nil
}

func (o *object) check() error {
	info, err := o.file.Stat()
	if err != nil {
		return classify(err)
	}
	return changed(o.shard, info)
}

func (o *object) wrap(op string, err error) error {
	return &shard.Error{Op: op, URI: o.shard.URI, Err: err}
}

// Close closes the file. Reads fail with fs.ErrClosed from then on; views stay.
func (o *object) Close() error {
	if err := o.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return o.wrap("close", err)
	}
	return nil
}
