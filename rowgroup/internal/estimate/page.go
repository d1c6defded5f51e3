package estimate

import (
	"bytes"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
)

// pageGuess is the bytes of the largest page of a chunk without a page index. Writers aim at 1 MiB.
const pageGuess = 8 << 20

// pageSize is how large a page is, decompressed.
type pageSize struct {
	bytes, values, rows int64
}

// largestPage bounds a chunk's pages: by the page index, else by what writers do.
func largestPage(r *footer.Record, k int, rows int64) pageSize {
	p := pageSize{bytes: r.Uncompressed.At(k), values: r.Values.At(k), rows: rows}
	if p.bytes <= 0 || rows <= 0 {
		return p
	}
	whole := p
	part := func(of, all int64) pageSize {
		of = min(of, all)
		return pageSize{bytes: mem.MulDiv(whole.bytes, of, all), values: mem.MulDiv(whole.values, of, all) + 1, rows: mem.MulDiv(rows, of, all) + 1}
	}
	lo, hi := r.Pages(k)
	if lo == hi {
		if whole.bytes > pageGuess && !bytes.HasPrefix(r.CreatedBy, []byte("fastparquet")) { // whose chunks are one page
			return part(pageGuess, whole.bytes)
		}
		return whole
	}
	stored, all, most := int64(0), int64(0), int64(0)
	for i := lo; i < hi; i++ {
		end := rows
		if i+1 < hi {
			end = r.PageRow.At(i + 1)
		}
		most = max(most, end-r.PageRow.At(i))
		stored, all = max(stored, r.PageSize.At(i)), all+r.PageSize.At(i)
	}
	p = part(most, rows)
	if q := part(stored, max(1, all)); q.bytes > p.bytes { // pages are taken to compress alike
		p.bytes, p.values = q.bytes, max(p.values, q.values)
	}
	return p
}
