package iterable

import "github.com/shardfeed/shardfeed/shard"

// A RowPlace is where a row lies.
type RowPlace struct {
	URI      string // of the shard, without credentials
	RowGroup int    // in the shard, from 0
	Row      int64  // in the row group, from 0
}

// Locate finds a row by its number in the manifest, as the column "_row" of [Options.RowIDs] has
// it. It reads nothing.
func (d *Dataset) Locate(row int64) (RowPlace, error) {
	g, within, err := d.manifest.Locate(row)
	if err != nil {
		return RowPlace{}, &OptionError{Field: "Row", Text: err.Error()}
	}
	group := d.manifest.Groups()[g]
	return RowPlace{URI: shard.Redact(d.manifest.Shards()[group.Shard].URI), RowGroup: int(group.RowGroup), Row: within}, nil
}
