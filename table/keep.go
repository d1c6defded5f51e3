package table

import "github.com/shardfeed/shardfeed/shard"

// A Keeper keeps the rows that a format found deleted by reading delete files or data files, so that
// later openings need not read them.
type Keeper interface {
	// Kept returns the rows of a file that were kept under a name, or false.
	Kept(s shard.Shard, name [16]byte) (Rows, bool)
	// Keep keeps rows for later openings. What it cannot keep is found again. It does not hold on to
	// the rows.
	Keep(found []Found)
}

// Found is rows of a file that are kept under a name. The name covers all that the rows depend on
// besides the file.
type Found struct {
	Shard shard.Shard
	Name  [16]byte
	Rows  Rows
}

// DeleteKept deletes the rows of a file that were kept under a name, and reports whether there was
// such an entry. k may be nil.
func (f *File) DeleteKept(k Keeper, by Deletion, name [16]byte) bool {
	if k == nil {
		return false
	}
	rows, ok := k.Kept(f.Shard, name)
	if !ok || f.Rows >= 0 && rows.End() >= f.Rows+64 {
		return false // of another file
	}
	for lo, hi := range rows.Runs() {
		f.Delete(by, lo, hi)
	}
	return true
}
