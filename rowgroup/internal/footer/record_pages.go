package footer

import (
	"fmt"
	"sort"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Readable returns an error if the values of a chunk cannot be read. No open specification defines
// how parquet frames LZO.
func (r *Record) Readable(chunk int) error {
	switch c := r.Codec(chunk); {
	case c == parquet.EncryptedCodec:
		return parquet.ErrEncrypted
	case (c == format.LZO || c > format.Lz4Raw) && r.Values.At(chunk) > 0:
		return fmt.Errorf("it is compressed with %v (codec %d), which cannot be read", c, int(c))
	}
	return nil
}

// Entries bounds the entries of a dictionary of Fixed values by its bytes: all entries differ, and
// the codecs spend at least these bytes on the differences, which real dictionaries come close to.
func (r *Record) Entries(k int, width int64) int64 {
	least := int64(1)
	switch r.Codec(k) {
	case format.Uncompressed:
		least = width
	case format.Snappy, format.Lz4, format.Lz4Raw:
		least = min(width, 3)
	}
	return min(r.Dict.At(k)/least, r.Uncompressed.At(k)/width)
}

// Coded reports whether every data page of a chunk is dictionary-encoded, as far as the footer
// shows.
func (r *Record) Coded(chunk int) bool {
	set := r.EncodingSet.At(chunk)
	const levels = 1<<format.RLE | 1<<format.BitPacked
	return set&(1<<parquet.AllCoded) != 0 || set&^levels == 1<<parquet.PlainDictionary
}

// PrefixGrowth is how much longer than their pages values in DELTA_BYTE_ARRAY are taken to be where
// the file does not say.
const PrefixGrowth = 4

// BinaryBytes bounds the bytes of a chunk's variable-length values. Only where prefixes are shared
// can they be more than the pages'.
func (r *Record) BinaryBytes(chunk int) int64 {
	size := r.Uncompressed.At(chunk)
	switch {
	case !r.Uses(chunk, format.DeltaByteArray):
		return size
	case r.Binary.At(chunk) > 0:
		return max(size, r.Binary.At(chunk))
	}
	return mem.MulDiv(size, PrefixGrowth, 1)
}

// SlicedChunk is SlicedBytes of one chunk. An offset index has compressed sizes, so pages are taken
// to compress alike.
func (r *Record) SlicedChunk(chunk int, edges []int64) int64 {
	size := r.Uncompressed.At(chunk)
	lo, hi := r.Pages(chunk)
	if lo == hi {
		return mem.MulDiv(size, int64(len(edges))+1, 1)
	}
	dict := r.PageOff.At(lo)
	once := dict
	for i := lo; i < hi; i++ {
		once += r.PageSize.At(i)
	}
	again, page, coded := int64(0), lo, r.CodedPages(chunk)
	for _, e := range edges {
		for page < hi && r.PageRow.At(page) < e {
			page++
		}
		first := page // of the slice
		if page > lo && (page == hi || r.PageRow.At(page) != e) {
			first-- // the edge is within it
			again += r.PageSize.At(first)
		}
		if first < coded {
			again += dict
		}
	}
	return mem.MulDiv(size, once+again, once)
}

// PageShare is the part of a chunk's bytes that rows have, by its pages.
func (r *Record) PageShare(chunk int, lo, hi, rows int64) float64 {
	first, end := r.Pages(chunk)
	if first == end {
		return float64(hi-lo) / float64(rows)
	}
	pages := end - first
	from := max(0, sort.Search(pages, func(i int) bool { return r.PageRow.At(first+i) > lo })-1)
	part := 0.0
	for i := from; i < pages; i++ {
		begin, next := r.PageRow.At(first+i), rows
		if i+1 < pages {
			next = r.PageRow.At(first + i + 1)
		}
		if begin >= hi {
			break
		}
		if next > begin {
			part += float64(r.PageSize.At(first+i)) * float64(min(hi, next)-max(lo, begin)) / float64(next-begin)
		}
	}
	return part / float64(max(1, r.Compressed.At(chunk)-r.PageOff.At(first))) // without the dictionary
}

// CodedPages returns the page before which all of a chunk's pages that need its dictionary are
// assumed to be: writers start with such pages, and never return to them after switching encodings.
// It is the end of the chunk's pages if the file does not record it.
func (r *Record) CodedPages(chunk int) int {
	lo, hi := r.Pages(chunk)
	if n := r.codes.At(chunk); n > 0 && n-1 < int64(hi-lo) {
		return lo + int(n-1)
	}
	return hi
}
