package ahead

import "cmp"

const (
	localFetchers = 4   // loads that are fetched at a time from a store without an opinion: a disk
	netFetchers   = 64  // at most from one that has one, unless the options say more
	MostFetchers  = 512 // that the options may ask for

	// fetchBytes is the memory of a fetcher for bytes on their way, beyond the loads that are
	// decoded: about the size of a request. Loads that are larger need fewer fetchers, since a
	// store cuts them into several requests.
	fetchBytes = 8 << 20
)

// Fetchers returns how many loads of a stream are fetched at a time. The account bounds them
// too: a load takes its memory, in the order of the schedule, before it is fetched, so more
// fetchers than loads that fit only wait.
func Fetchers(asked, liked int) int {
	return cmp.Or(asked, min(liked, netFetchers), localFetchers)
}

// FetchesAhead returns how many loads of a number of encoded bytes a stream needs on their way so
// that its fetchers are busy. A disk, which lends bytes, needs no more than its decoders.
func FetchesAhead(fetchers int, copied bool, load int64) int {
	if !copied && fetchers <= localFetchers {
		return 0
	}
	wanted := int64(fetchers) * fetchBytes
	return int(min(int64(fetchers), (wanted+load)/max(1, load)))
}
