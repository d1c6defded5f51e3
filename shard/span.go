package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A Span is bytes of a shard.
type Span struct{ Off, N int64 }

// End is the byte after the last.
func (s Span) End() int64 { return s.Off + s.N }

// Within refuses a span that is not within a shard of size bytes.
func (s Span) Within(size int64) error {
	switch {
	case s.Off < 0 || s.N < 0:
		return fmt.Errorf("no such range: %d bytes from byte %d on", s.N, s.Off)
	case s.Off > size || s.N > size-s.Off:
		return fmt.Errorf("%d bytes from byte %d on end past the last of %d bytes: %w", s.N, s.Off, size, io.ErrUnexpectedEOF)
	}
	return nil
}

// A Range is bytes of a shard, from byte Off on, and the memory that they fill.
type Range struct {
	Off int64
	P   []byte
}

// Span returns the position of the range.
func (r Range) Span() Span { return Span{r.Off, int64(len(r.P))} }

// CheckRanges refuses ranges that are not within a shard of size bytes, descend or overlap: a
// driver that cuts and joins them would leave bytes out.
func CheckRanges(ranges []Range, size int64) error {
	end := int64(0)
	for _, r := range ranges {
		if err := r.Span().Within(size); err != nil {
			return err
		}
		if r.Off < end {
			return fmt.Errorf("the range from byte %d overlaps another, which ends at byte %d", r.Off, end)
		}
		end = r.Span().End()
	}
	return nil
}

// A RangeReader is an Object that reads many ranges faster together than one by one: it knows the
// cost of a request, so it reads over small holes, cuts long runs and keeps several requests in
// flight.
type RangeReader interface {
	// ReadRanges fills all ranges or returns an error. They ascend and do not overlap; the caller
	// passes only ranges that may share a request, so bytes between two of them may be read too. An
	// object that wraps another and finds no advantage returns errors.ErrUnsupported before it
	// reads anything.
	ReadRanges(ctx context.Context, ranges []Range) error
}

// ReadRanges fills all ranges, which ascend and do not overlap: at once where o knows how, else one
// after the other.
func ReadRanges(ctx context.Context, o Object, ranges []Range) error {
	if r, ok := o.(RangeReader); ok {
		if err := r.ReadRanges(ctx, ranges); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for _, r := range ranges {
		if err := o.ReadAt(ctx, r.P, r.Off); err != nil {
			return err
		}
	}
	return nil
}
