package parquet

import (
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// dictHeaderBytes is the most that old versions of parquet-mr leave out of a chunk's length: the
// header of its dictionary page (PARQUET-816).
const dictHeaderBytes = 100

// correct repairs what writers are known to state wrongly; end is the end of the file's data.
func (f *Footer) correct(end int64) {
	if leavesOutHeaders(f.CreatedBy) {
		for i := range f.Chunks {
			c := &f.Chunks[i]
			c.Compressed += max(0, min(dictHeaderBytes, end-c.Start-c.Compressed))
		}
	}
	if f.statesCompressed() {
		for i := range f.Chunks {
			g := &f.Groups[i*len(f.Groups)/len(f.Chunks)]
			if c := &f.Chunks[i]; c.Codec != uint8(format.Uncompressed) && c.Codec != EncryptedCodec {
				g.Bytes = max(0, g.Bytes-c.Uncompressed)
				c.Uncompressed = 0
			}
		}
	}
}

// leavesOutHeaders reports whether a writer is parquet-mr before 1.2.9.
func leavesOutHeaders(createdBy string) bool {
	name, rest, _ := strings.Cut(createdBy, " ")
	if name != "parquet-mr" {
		return false
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(rest, "version "), " ")
	parts := strings.Split(version, ".")
	for i, fixed := range []int{1, 2, 9} {
		if i == len(parts) {
			return true
		}
		digits := strings.TrimRightFunc(parts[i], func(r rune) bool { return r < '0' || r > '9' })
		if n, err := strconv.Atoi(digits); err != nil || n != fixed {
			return err != nil || n < fixed
		}
	}
	return false
}

// statesCompressed reports whether all compressed chunks give their compressed bytes as the
// uncompressed ones, like files of parquetjs, @dsnp/parquetjs and hyparquet-writer. A single such
// chunk may be data that no codec makes smaller.
func (f *Footer) statesCompressed() bool {
	some := false
	for i := range f.Chunks {
		c := &f.Chunks[i]
		if c.Codec == uint8(format.Uncompressed) || c.Codec == EncryptedCodec || c.Compressed == 0 {
			continue
		}
		if c.Uncompressed != c.Compressed || c.Binary > 0 {
			return false
		}
		some = true
	}
	return some
}
