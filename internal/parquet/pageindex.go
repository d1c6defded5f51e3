package parquet

import "context"

// maxIndexBytes bounds the page index of a file. A larger one is not read.
const maxIndexBytes = 32 << 20

// A PageMeta is one data page of a chunk by its offset index.
type PageMeta struct {
	Off   int64 // bytes from the chunk's start
	Size  int64 // bytes, header included
	First int64 // row of the row group
}

// ReadPageIndex reads the offset indexes of all chunks, from tail if it holds them: the end of the
// file from byte tailOff on. A chunk whose index is inconsistent gets no index.
func (f *Footer) ReadPageIndex(ctx context.Context, from ReaderAt, tail []byte, tailOff int64) error {
	lo, hi := f.IndexSpan()
	if lo >= hi || hi-lo > maxIndexBytes {
		return nil
	}
	if lo < tailOff {
		tail, tailOff = make([]byte, hi-lo), lo
		if err := from.ReadAt(ctx, tail, lo); err != nil {
			return err
		}
	}
	leaves := len(f.Chunks) / len(f.Groups)
	for i := range f.Chunks {
		c := &f.Chunks[i]
		if c.indexBytes == 0 {
			continue
		}
		at := c.index - tailOff
		pages, ok := parseOffsetIndex(tail[at : at+c.indexBytes])
		if ok && c.fits(pages, f.Groups[i/leaves].Rows) {
			c.Pages = pages
		}
	}
	return nil
}

// IndexSpan is the bytes from the first offset index to the last.
func (f *Footer) IndexSpan() (lo, hi int64) {
	for i := range f.Chunks {
		c := &f.Chunks[i]
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
func parseOffsetIndex(b []byte) (pages []PageMeta, ok bool) {
	r := &thriftReader{b: b}
	r.fields(func(id int16, typ byte) {
		if id != 1 || typ != thriftList {
			return
		}
		typ, n := r.list()
		pages = make([]PageMeta, 0, min(n, len(b)/4))
		for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
			pages = append(pages, readPageLocation(r))
		}
	})
	return pages, r.err == nil
}

func readPageLocation(r *thriftReader) PageMeta {
	var p PageMeta
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftI64:
			p.Off = r.int()
		case id == 2 && typ == thriftI32:
			p.Size = r.int()
		case id == 3 && typ == thriftI64:
			p.First = r.int()
		}
	})
	return p
}

// fits makes page offsets relative to the chunk and reports whether the pages are consecutive
// within it, from its first row on.
func (c *ChunkMeta) fits(pages []PageMeta, rows int64) bool {
	off, row := c.Start, int64(-1)
	end := c.Start + c.Compressed
	for i := range pages {
		p := &pages[i]
		if p.Off < off || p.Off > end || p.Size <= 0 || p.Size > end-p.Off || p.First <= row || p.First >= rows {
			return false
		}
		if i == 0 && p.First != 0 {
			return false
		}
		off, row = p.Off+p.Size, p.First
		p.Off -= c.Start
	}
	return len(pages) > 0
}
