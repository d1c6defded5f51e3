// Package verify reads and decodes row groups step by step, within a bound of memory, and keeps
// nothing of them. It starts no goroutine.
package verify

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Step is the number of rows of a group that are decoded at once. Estimates count pages whole, so
// that a step grows by the bytes that were decoded.
type Step struct {
	Rows int64
	Room int64 // bytes that the memory of a step may take
}

// scratchShare is the part of the room that blocks may take for the step to grow: it doubles, and
// decoding takes memory beside them.
const scratchShare = 8

// decoded grows the step if the blocks of the rows took little of the room.
func (s *Step) decoded(bytes int64) {
	if scratchShare*bytes <= s.Room && s.Rows < 1<<62 {
		s.Rows *= 2
	}
}

// tooLarge sets the step to half of these rows, for good.
func (s *Step) tooLarge(rows int64) { s.Rows, s.Room = (rows+1)/2, -1 }

// A BadRow is a row with a value that cannot be used.
type BadRow struct {
	Row    int64 // of the row group; a Check counts from the first of its blocks
	Column string
	Err    error
}

// A Check looks for bad rows in decoded blocks.
type Check = func(ctx context.Context, blocks []*rowgroup.Block) ([]BadRow, error)

// Group decodes a row group, and returns the encoded bytes that it read and what the check found.
func Group(ctx context.Context, m *rowgroup.Reader, d *rowgroup.Decoder, rows rowgroup.Rows, step Step, check Check) (read int64, bad []BadRow, err error) {
	raw, err := m.Fetch(ctx, rows)
	if err != nil {
		return 0, nil, err
	}
	defer raw.Release()
	for lo := int64(0); ; {
		hi := lo + min(rows.Hi-lo, step.Rows)
		raw.Narrow(lo, hi)
		var found []BadRow
		var bytes int64
		err := raw.Refetching(ctx, func() (err error) {
			bytes, found, err = decode(ctx, d, raw, check)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return raw.Bytes(), nil, ctx.Err()
		case errors.Is(err, rowgroup.ErrTooLarge) && hi-lo > 1: // these rows are longer than most
			step.tooLarge(hi - lo)
			continue
		case err != nil:
			return raw.Bytes(), nil, err
		}
		for _, x := range found {
			x.Row += lo
			bad = append(bad, x)
		}
		if hi == rows.Hi {
			return raw.Bytes(), bad, nil
		}
		lo = hi
		step.decoded(bytes)
	}
}

// decode decodes the rows of raw, checks them, and drops them.
func decode(ctx context.Context, d *rowgroup.Decoder, raw *rowgroup.Raw, check Check) (bytes int64, bad []BadRow, err error) {
	blocks, err := d.Decode(raw, rowgroup.Layout{})
	for _, b := range blocks {
		bytes += b.Bytes()
		defer b.Release()
	}
	if err == nil && check != nil {
		bad, err = check(ctx, blocks)
	}
	return bytes, bad, err
}
