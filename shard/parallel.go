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

// ReadsOf is the most that the stores of some shards like: Reads of one shard of each scheme.
func ReadsOf(store Store, shards []Shard) int {
	most, asked := 0, map[string]bool{}
	for i := range shards {
		scheme := Scheme(shards[i].URI)
		if !asked[scheme] {
			asked[scheme] = true
			most = max(most, Reads(store, shards[i].URI))
		}
	}
	return most
}
