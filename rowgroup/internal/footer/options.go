package footer

// Options are options of reading footers.
type Options struct {
	IndexDir  string // where footers are kept for the next start; "" disables the index
	KeepKnown bool   // keeps known footers there too
	Parallel  int    // footers in flight
	Hot       *Hot   // nil keeps nothing in memory
	Deletes   bool   // takes files that list deleted rows of a table; IndexDir and Hot are not used
	Events    Events
}

// Events are called while Open runs, if set, one at a time.
type Events struct {
	IndexUnusable func(dir string, err error) // the index cannot be kept; said once
	FootersRead   func(n, of int)             // called as footers are loaded: n of all shards are known
	FootersKnown  func()                      // all are known, and nothing else of the shards is read yet
}
