package rowgroup

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

// flatShape is the levels of a top-level leaf that does not repeat: one slot a row.
type flatShape struct{}

func (flatShape) page(c *leafDecoder, _, def *parquet.LevelRun) (slots, present int, drop bool, err error) {
	c.rows += def.N
	present, err = c.slotBits(def)
	return def.N, present, false, err
}

func (flatShape) flushed(*leafDecoder) error { return nil }

// slotBits sets the validity of one slot a level, where the greatest definition level is at most 1.
func (c *leafDecoder) slotBits(def *parquet.LevelRun) (present int, err error) {
	all, err := def.AllMax()
	switch {
	case err != nil:
		return 0, err
	case all && c.valid == nil:
		return def.N, nil
	case all:
		c.valid.Set(c.slots, def.N)
		return def.N, nil
	}
	c.needValid()
	present, err = def.AppendBits(c.valid, c.slots)
	c.nulls += def.N - present
	return present, err
}

// flat decodes a top-level leaf.
func (d *Decoder) flat(n *node) (*vector, error) {
	c, err := d.newColumn(n, flatShape{})
	if err != nil {
		return nil, err
	}
	if err := c.pages(); err != nil {
		return nil, err
	}
	skip, total, err := c.window()
	if err != nil {
		return nil, err
	}
	v, err := c.vector(total)
	if err == nil {
		v.skip = skip
	}
	return v, err
}

// window returns how many decoded rows lie before the unit, and how many there are up to its end.
func (c *leafDecoder) window() (skip, total int, err error) {
	skip, total = int(c.d.rows.Lo-c.first), int(c.d.rows.Hi-c.first)
	if skip < 0 || total > c.rows {
		return 0, 0, fmt.Errorf("%w: its pages hold rows %d to %d, wanted are %d to %d", errChunk, c.first, c.first+int64(c.rows), c.d.rows.Lo, c.d.rows.Hi)
	}
	return skip, total, nil
}
