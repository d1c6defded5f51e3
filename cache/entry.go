package cache

// blockSize is the number of bytes that one entry of the table describes.
const blockSize = 64 << 10

// maxSize is the largest shard that is cached: its table has 512 MiB.
const maxSize = 1 << 42

// An entry describes the held bytes of a block: one run [lo, hi) and its CRC-32. The zero entry
// holds nothing.
type entry uint64

// newEntry returns the entry of a run. A run of only the first byte with the sum 0 has the zero
// entry, so it is not held.
func newEntry(sum uint32, lo, hi int) entry {
	return entry(sum) | entry(lo)<<32 | entry(hi-1)<<48
}

func (e entry) sum() uint32 { return uint32(e) }

// run returns the bytes of a block of n bytes that the entry holds. It returns 0, 0 for the zero
// entry and for one that no writer wrote.
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

// startsBlock reports whether the run, if any, starts at its block's first byte.
func (e entry) startsBlock() bool { return e>>32&0xffff == 0 }

func blocksOf(size int64) int64 { return (size + blockSize - 1) / blockSize }

func blockLen(size, b int64) int { return int(min(blockSize, size-b*blockSize)) }

// pageBytes returns the disk space of a run, in whole pages of unit bytes. Blocks are aligned to
// pages.
func pageBytes(lo, hi, unit int) int64 {
	if lo >= hi {
		return 0
	}
	return int64((hi+unit-1)/unit-lo/unit) * int64(unit)
}
