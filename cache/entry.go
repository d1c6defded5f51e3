package cache

// blockSize is what one entry of the table describes, in bytes.
const blockSize = 64 << 10

// maxSize is the largest shard that is cached: its table has 512 MiB.
const maxSize = 1 << 42

// An entry says which run of bytes of a block is held: one run [lo, hi) and its CRC-32. The zero
// entry holds nothing.
type entry uint64

// newEntry returns the entry of a run. It is zero, so the run is not held, for the one run that has
// no other entry: a first byte alone whose sum is zero.
func newEntry(sum uint32, lo, hi int) entry {
	return entry(sum) | entry(lo)<<32 | entry(hi-1)<<48
}

func (e entry) sum() uint32 { return uint32(e) }

// run is what the entry holds of a block of n bytes, as places in the block. What no writer wrote
// holds nothing: it comes back as 0, 0.
func (e entry) run(n int) (lo, hi int) {
	if e == 0 {
		return 0, 0
	}
	lo, hi = int(e>>32&0xffff), int(e>>48)+1
	if lo >= hi || hi > n {
		return 0, 0
	}
	return lo, hi
}

// startsBlock says that the run, if there is one, begins with its block.
func (e entry) startsBlock() bool { return e>>32&0xffff == 0 }

func blocksOf(size int64) int64 { return (size + blockSize - 1) / blockSize }

func blockLen(size, b int64) int { return int(min(blockSize, size-b*blockSize)) }

// pageBytes is what a run takes on the disk, in whole pages of unit bytes. A block starts a page.
func pageBytes(lo, hi, unit int) int64 {
	if lo >= hi {
		return 0
	}
	return int64((hi+unit-1)/unit-lo/unit) * int64(unit)
}
