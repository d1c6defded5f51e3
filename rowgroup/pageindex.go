package rowgroup

import (
	"context"

	"github.com/shardfeed/shardfeed/shard"
)

// maxIndexBytes bounds the page index of a shard. A larger one is not read, and the shard's units
// are whole row groups.
const maxIndexBytes = 32 << 20

// A pageMeta is one data page of a chunk by its offset index.
type pageMeta struct {
	off   int64 // bytes from the chunk's start
	size  int64 // bytes, header included
	first int64 // row of the row group
}

// readPageIndex reads the offset indexes of all chunks, from the bytes at hand where they hold
// them: tail is the end of the shard from byte tailOff on. A chunk whose index does not hold
// together is one without.
func (f *footer) readPageIndex(ctx context.Context, o shard.Object, tail []byte, tailOff int64) error {
	lo, hi := f.indexSpan()
	if lo >= hi || hi-lo > maxIndexBytes {
		return nil
	}
	if lo < tailOff {
		tail, tailOff = make([]byte, hi-lo), lo
		if err := o.ReadAt(ctx, tail, lo); err != nil {
			return err
		}
	}
	leaves := len(f.chunks) / len(f.groups)
	for i := range f.chunks {
		c := &f.chunks[i]
		if c.indexBytes == 0 {
			continue
		}
		at := c.index - tailOff
		pages, ok := parseOffsetIndex(tail[at : at+c.indexBytes])
		if ok && c.fits(pages, f.groups[i/leaves].rows) {
			c.pages = pages
		}
	}
	return nil
}

// indexSpan is the bytes from the first offset index to the last.
func (f *footer) indexSpan() (lo, hi int64) {
	for i := range f.chunks {
		c := &f.chunks[i]
		if c.indexBytes == 0 {
			continue
		}
		if hi == 0 {
			lo = c.index
		}
		lo, hi = min(lo, c.index), max(hi, c.index+c.indexBytes)
	}
	return lo, hi
}

// parseOffsetIndex reads an OffsetIndex; page offsets are from the start of the file.
func parseOffsetIndex(b []byte) (pages []pageMeta, ok bool) {
	r := &thriftReader{b: b}
	readStruct(r, func(id int16, typ byte) {
		if id != 1 || typ != thriftList {
			r.skip(typ)
			return
		}
		typ, n := r.list()
		pages = make([]pageMeta, 0, min(n, len(b)/4))
		for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
			pages = append(pages, readPageLocation(r))
		}
	})
	return pages, r.err == nil
}

func readPageLocation(r *thriftReader) pageMeta {
	var p pageMeta
	readStruct(r, func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftI64:
			p.off = r.int()
		case id == 2 && typ == thriftI32:
			p.size = r.int()
		case id == 3 && typ == thriftI64:
			p.first = r.int()
		default:
			r.skip(typ)
		}
	})
	return p
}

// fits makes page offsets relative to the chunk and says whether the pages lie in it one after the
// other, from its first row on.
func (c *chunkMeta) fits(pages []pageMeta, rows int64) bool {
	off, row := c.start, int64(-1)
	end := c.start + c.compressed
	for i := range pages {
		p := &pages[i]
		if p.off < off || p.off > end || p.size <= 0 || p.size > end-p.off || p.first <= row || p.first >= rows {
			return false
		}
		if i == 0 && p.first != 0 {
			return false
		}
		off, row = p.off+p.size, p.first
		p.off -= c.start
	}
	return len(pages) > 0
}
