package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A BatchMemoryError reports a batch that does not fit its stream's memory, and names the largest
// consumer.
type BatchMemoryError struct {
	Rows   int
	Bytes  int64  // of the rows' values
	Column string // whose values take the most
	Part   int64  // of these values
	Padded bool   // the column's lists are padded to the length of the largest

	URI      string // where the largest value of the column is
	RowGroup int
	Largest  int64

	Memory int64 // limit of the stream; 0 means no limit of its own
	Others int64 // bytes that the stream has reserved for other purposes
	Held   int64 // bytes of other batches
	Room   int64 // bytes that are left
	Err    error
}

func (e *BatchMemoryError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *BatchMemoryError) Spelled(name func(field string) string) string {
	limit := "the memory of the machine's streams"
	if e.Memory > 0 {
		limit = fmt.Sprintf("{Memory} of %s", mem.Bytes(e.Memory))
	}
	of := "values"
	if e.Padded {
		of = "lists, padded to the longest,"
	}
	text := fmt.Sprintf("memory: a batch of %d rows needs %s, and %s has %s left beside %s for other batches and %s for all else; "+
		"the %s of column %q take %s, the largest %s, in row group %d of %s; set a smaller {BatchSize}, raise {Memory}, or leave the column out of {Columns}",
		e.Rows, mem.Bytes(e.Bytes), limit, mem.Bytes(e.Room), mem.Bytes(e.Held), mem.Bytes(e.Others),
		of, e.Column, mem.Bytes(e.Part), mem.Bytes(e.Largest), e.RowGroup, e.URI)
	return option.Spell(text, name)
}

func (e *BatchMemoryError) Unwrap() error { return e.Err }

// explain names what makes a batch too large for the memory, if that is the error.
func (c *collator) explain(ctx context.Context, err error, d *iterable.Draw) error {
	var full *mem.FullError
	if !errors.As(err, &full) {
		return err
	}
	return rowgroup.Guard(ctx, d.Blocks, func() error { return c.tooLarge(full, d) })
}

func (c *collator) tooLarge(full *mem.FullError, d *iterable.Draw) *BatchMemoryError {
	e := &BatchMemoryError{Rows: len(d.Picks), Memory: full.Limit, Held: full.Held, Room: full.Room, Err: full}
	for p, n := range full.Reserved {
		if mem.Purpose(p) != mem.Batch {
			e.Others += n
		}
	}
	for i, f := range c.schema.Fields {
		of := c.shape.columns[i]
		if of.matrix != nil || len(of.images) > 0 && !of.images[0].device {
			continue
		}
		w := rowgroup.Weigh(of.source, d.Blocks, d.Picks)
		part := w.Bytes
		if c.padded[i] {
			part = int64(len(d.Picks)) * w.Largest
		}
		if e.Bytes += part; part > e.Part {
			e.Column, e.Part, e.Largest, e.Padded = f.Name, part, w.Largest, c.padded[i]
			e.URI, e.RowGroup = d.Blocks[w.Pick.Block()].Place()
		}
	}
	return e
}
