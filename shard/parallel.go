package shard

// A Parallel is a Store that likes many objects to be read at once, because each read waits for a network.
type Parallel interface {
	// Parallel is how many reads of what this address names to keep under way; 0 is no opinion.
	Parallel(uri string) int
}

// Reads is how many reads of what an address names store likes to have under way, or 0 when it has no opinion: a local disk.
func Reads(store Store, uri string) int {
	if p, ok := store.(Parallel); ok {
		return p.Parallel(uri)
	}
	return 0
}
