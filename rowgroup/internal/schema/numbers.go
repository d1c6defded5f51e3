package schema

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rule"
)

// Numbers are consecutive numbers of rows, as int64: those in the manifest, or the IDs that a table
// gives to the rows of each shard.
type Numbers struct {
	IDs   bool
	First int64   // ID of the shard's first row; -1 if rows have no ID
	first []int64 // First, by shard
}

// bindTo refuses a column whose type does not hold numbers.
func (n *Numbers) bindTo(to *column.Field) error {
	if to.Type != column.TypeInt64 {
		return fmt.Errorf("column %q: it has the IDs of rows, of type int64, and cannot be read as %s", to.Name, to)
	}
	return nil
}

// Stats returns statistics of the IDs of rows at to at + rows - 1 of the shard, from the statistics k
// of the stored IDs. If rows is 0, their number is unknown.
func (n *Numbers) Stats(k rule.ColumnStats, at, rows int64) rule.ColumnStats {
	if !n.IDs || n.First < 0 || k.NullsKnown && k.Nulls == 0 {
		return k
	}
	s := rule.ColumnStats{Rows: 1, NullsKnown: true}
	if rows == 0 || n.First > math.MaxInt64-at-rows {
		return s
	}
	lo, hi := n.First+at, n.First+at+rows-1
	if !k.NullsKnown || k.Nulls < k.Rows { // the file has some of the IDs
		if len(k.Min) != 8 || len(k.Max) != 8 {
			return s
		}
		lo, hi = min(lo, number(k.Min)), max(hi, number(k.Max))
	}
	s.Min, s.Max = binary.LittleEndian.AppendUint64(nil, uint64(lo)), binary.LittleEndian.AppendUint64(nil, uint64(hi))
	return s
}

func number(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
