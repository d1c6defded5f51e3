package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
)

// A RowPlace locates a row.
type RowPlace struct {
	URI      string // of the shard, without credentials
	RowGroup int    // in the shard, from 0
	Row      int64  // in the row group, from 0
}

// Locate finds a row by its number in the manifest, as the column "_row" of [Options.RowIDs] has
// it. It reads nothing.
func (d *Dataset) Locate(row int64) (RowPlace, error) {
	if row < 0 || row >= d.NumRows() {
		return RowPlace{}, &OptionError{Field: "Row", Text: fmt.Sprintf("must be 0 to %d, got %d", d.NumRows()-1, row)}
	}
	at, end := d.sources[0].manifest, int64(0)
	for _, s := range d.sources {
		if at = s.manifest; row < end+at.NumRows() {
			break
		}
		end += at.NumRows()
	}
	g, within, err := at.Locate(row)
	if err != nil {
		return RowPlace{}, &OptionError{Field: "Row", Text: err.Error()}
	}
	group := at.Groups()[g]
	return RowPlace{URI: shard.Redact(at.Shards()[group.Shard].URI), RowGroup: int(group.RowGroup), Row: within}, nil
}
