package table

// A Deletion is a way in which tables list deleted rows.
type Deletion int

// The ways. A row that is deleted in two of them counts as the first.
const (
	ByVector   Deletion = iota // a bitmap of the rows of one file
	ByPosition                 // a file of addresses and row numbers
	ByEquality                 // a file of keys
	Deletions  = iota
)

func (d Deletion) String() string {
	return [Deletions]string{"deletion vectors", "position deletes", "equality deletes"}[d]
}

// Delete adds the rows from lo to hi - 1 to the deleted ones.
func (f *File) Delete(by Deletion, lo, hi int64) { f.DeletedBy[by] += f.Deleted.Add(lo, hi) }
