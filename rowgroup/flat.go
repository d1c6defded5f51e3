package rowgroup

import (
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
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

func (d *Decoder) flat(n *schema.Node) (*block.Vector, error) {
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
		v.Skip = skip
	}
	return v, err
}
