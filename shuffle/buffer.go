package shuffle

// Sizes of the default shuffle buffer.
const (
	leastBuffer = 256 << 20
	mostBuffer  = 2 << 30
)

// BufferSize is what a user says of the shuffle buffer's size, over all ranks together.
type BufferSize struct {
	Rows      int64 // wins over Bytes
	Bytes     int64 // uncompressed, all columns
	Memory    int64 // the limit in bytes of each rank, only when the user gave it: it caps the default, nothing else
	WorldSize int   // ranks at the start; 0 is 1
}

// Resolve is R, the buffer in rows, at least 1, for data of so many rows and uncompressed bytes of
// all columns. The default is a hundredth of the bytes kept within 256 MiB and 2 GiB, and not over
// a quarter of all ranks' Memory.
func (b BufferSize) Resolve(rows, bytes int64) int64 {
	if b.Rows > 0 {
		return b.Rows
	}
	size := b.Bytes
	if size <= 0 {
		size = min(max(bytes/100, leastBuffer), mostBuffer)
		if b.Memory > 0 {
			size = min(size, mulDiv(b.Memory, int64(max(1, b.WorldSize)), 4))
		}
	}
	if bytes <= 0 {
		return max(1, rows)
	}
	return max(1, mulDiv(size, rows, bytes))
}
