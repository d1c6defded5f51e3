package shuffle

// Sizes of the default shuffle buffer.
const (
	bufferShare = 100       // it is 1/bufferShare of the data,
	mostBuffer  = 2 << 30   // at most mostBuffer, and at least what smallBuffer returns
	smallShare  = 8         // of small data it is 1/smallShare
	smallUnits  = 4         // or as many of the largest unit, where that is more,
	smallLeast  = 64 << 20  // within smallLeast
	smallMost   = 256 << 20 // and smallMost
)

// BufferSize is the size of the shuffle buffer over all ranks, as the user gives it.
type BufferSize struct {
	Rows      int64 // wins over Bytes
	Bytes     int64 // uncompressed, all columns
	Memory    int64 // the limit in bytes of each rank, only when the user gave it: it caps the default, nothing else
	WorldSize int   // ranks at the start; 0 is 1
}

// Resolve returns the buffer in rows, R, at least 1, for data of the given rows and uncompressed
// bytes of all columns; largest is the rows of its largest unit. Memory caps the default of
// [DefaultBuffer] at a quarter of the Memory of all ranks.
func (b BufferSize) Resolve(rows, bytes, largest int64) int64 {
	if b.Rows > 0 {
		return b.Rows
	}
	size := b.Bytes
	if size <= 0 {
		size = DefaultBuffer(bytes, mulDiv(bytes, largest, max(1, rows))+1) // rounded up, to hold whole units
		if b.Memory > 0 {
			size = min(size, mulDiv(b.Memory, int64(max(1, b.WorldSize)), 4))
		}
	}
	if bytes <= 0 {
		return max(1, rows)
	}
	return max(1, mulDiv(size, rows, bytes))
}

// DefaultBuffer returns the size in bytes of the default shuffle buffer, from the size of the data
// and of its largest unit. A larger buffer draws batches from more units, which mixes better but
// costs memory and speed: each column of a batch is read in as many places. The default for small
// data mixes an eighth of it or four units, whichever is larger.
func DefaultBuffer(bytes, unit int64) int64 {
	small := min(max(bytes/smallShare, smallUnits*min(unit, smallMost), smallLeast), smallMost)
	return min(max(bytes/bufferShare, small), mostBuffer)
}
