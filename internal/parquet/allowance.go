package parquet

import (
	"fmt"
	"unsafe"
)

const (
	footerFactor = 4        // the parsed form of a footer may take this many times its bytes
	leastFooter  = 16 << 20 // or this if it is more

	// The parsed form of a column takes about 2 KiB, so a footer must have this many bytes per
	// column, or at most leastColumns columns.
	columnBytes  = 256
	leastColumns = 1 << 16

	elementCost = int64(unsafe.Sizeof(Element{}))
	chunkCost   = int64(unsafe.Sizeof(ChunkMeta{}))
	groupCost   = int64(unsafe.Sizeof(GroupMeta{}))

	// Details and a report of inspect take about this for a key-value entry.
	keyValueCost = 128
)

// An allowance limits the memory of a parsed footer by the footer's own size. A thrift struct can
// take a single byte, while structs of real writers take many times more.
type allowance struct {
	bytes int // of the footer
	left  int64
}

func newAllowance(footer int) allowance {
	return allowance{bytes: footer, left: max(leastFooter, footerFactor*int64(footer))}
}

// columns refuses more columns than the footer's bytes allow.
func (a *allowance) columns(n int) error {
	if most := max(leastColumns, a.bytes/columnBytes); n > most {
		return fmt.Errorf("%d columns in %d bytes, %d at most", n, a.bytes, most)
	}
	return nil
}

// take charges an element of a list that has n already.
func (a *allowance) take(cost int64, what string, n int) error {
	if a.left -= cost; a.left < 0 {
		return fmt.Errorf("over %d %s in %d bytes, more than a writer makes of them", n, what, a.bytes)
	}
	return nil
}

// atMost is how many of n elements of a list there is room for.
func (a *allowance) atMost(n int, cost int64) int {
	return int(max(0, min(int64(n), a.left/cost)))
}
