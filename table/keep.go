package table

import "github.com/shardfeed/shardfeed/shard"

// A Keeper keeps the rows that a format found deleted by reading data files, so that later openings
// need not read them.
type Keeper interface {
	// Kept returns the rows of a file that were kept under a name, or false.
	Kept(s shard.Shard, name [16]byte) (Rows, bool)
	// Keep keeps rows for later openings. What it cannot keep is found again.
	Keep(found []Found)
}

// Found is rows of a file that are kept under a name. The name covers all that the rows depend on
// besides the file.
type Found struct {
	Shard shard.Shard
	Name  [16]byte
	Rows  Rows
}
