package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// maxHole is the longest hole between two ranges that is read over: about as many bytes come while
// a distant server answers another request.
const maxHole = 1 << 20

// An object reads one shard. It holds nothing but its address.
type object struct {
	server  *server
	address address
	shard   shard.Shard
	pinned  bool  // the address leads to one content for ever
	hole    int64 // the longest one between two ranges that is read over
	chunk   int64 // as of shard.Chunked
	closed  atomic.Bool
}

var _ shard.RangeReader = (*object)(nil)

// Chunk is how many bytes to ask for at once.
func (o *object) Chunk() int64 { return o.chunk }

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.ReadRanges(ctx, []shard.Range{{Off: off, P: p}})
}

// ReadRanges reads all ranges, in parts of which several are in flight.
func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	err := driver.Check(ctx, o.closed.Load(), ranges, o.shard.Size)
	if err == nil {
		options := o.server.store.options
		parts := driver.Plan(ranges, driver.Sizes{Hole: o.hole, Size: options.PartSize})
		err = driver.ReadParts(ctx, parts, options.MaxRequests, o.read)
	}
	if err != nil {
		return wrap("read", o.shard.URI, err)
	}
	return nil
}

// read fills one part. If a body ends too early or stalls, another request asks for the rest.
func (o *object) read(ctx context.Context, p driver.Part) error {
	f := driver.NewFill(p)
	defer f.Close()
	t := o.server.newTries()
	for {
		from := f.Off()
		err := o.readOnce(ctx, f)
		if f.Off() > from {
			t.Progress()
		}
		if err == nil {
			return nil
		}
		if err = t.again(ctx, err); err != nil {
			return err
		}
	}
}

// readOnce asks for what is missing and takes what comes.
func (o *object) readOnce(ctx context.Context, f *driver.Fill) (err error) {
	s := o.server
	if err := s.window.Acquire(ctx); err != nil {
		return err
	}
	defer s.window.Release()
	ctx, w := driver.NewWatch(ctx)
	defer w.End(nil)
	measured := s.meter.Start(ctx, driver.ReadRequest)
	defer func() { measured.End(err) }()
	w.Begin(s.store.options.ReadTimeout)
	u, err := o.address.locate(o.address.path)
	if err != nil {
		return err
	}
	span := shard.Span{Off: f.Off(), N: f.Left()}
	answer, err := s.send(ctx, u, s.ranged(span, o.version()))
	if errors.Is(err, shard.ErrChanged) {
		return fmt.Errorf("%w: %w", shard.ErrChanged, err)
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := o.check(answer, span); err != nil {
		return err
	}
	s.met.Store(true)
	measured.Answered()
	for p := f.Next(); p != nil; p = f.Next() {
		n, err := answer.Body.Read(p)
		if n > 0 {
			f.Took(n)
			measured.Took(n)
			w.Progress()
		}
		if err == nil || f.Next() == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return connect.Lost(ctx, answer.Request.URL.Host, err)
	}
	s.window.Done()
	return nil
}

// version returns the version for requests to demand: "" if the content cannot change.
func (o *object) version() string {
	if o.pinned {
		return ""
	}
	return o.shard.Version
}

// differs compares an answer with the shard.
func (o *object) differs(head http.Header, size int64) error {
	from := o.shard
	if from.Version = o.version(); o.pinned {
		return differs("", size, from)
	}
	now := o.server.store.options.Protocol.Version(head)
	if err := differs(now, size, from); err != nil {
		return err
	}
	return o.server.store.seen.Hold(from, now)
}

// check refuses an answer that does not have these bytes of the shard.
func (o *object) check(answer *http.Response, span shard.Span) error {
	if answer.StatusCode == http.StatusOK {
		if span != (shard.Span{N: o.shard.Size}) {
			return errNoRanges
		}
		return o.differs(answer.Header, answer.ContentLength)
	}
	off, end, total, err := parseContentRange(answer.Header.Get("Content-Range"))
	if err != nil {
		return err
	}
	if off != span.Off || end > span.End() {
		return fmt.Errorf("%w: bytes %d to %d came for %d to %d", errForeign, off, end, span.Off, span.End())
	}
	return o.differs(answer.Header, total)
}

// Close ends the object. It holds nothing; reads fail from then on.
func (o *object) Close() error {
	o.closed.Store(true)
	return nil
}
