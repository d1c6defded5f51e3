package rowgroup

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/shard"
)

var errChunk = errors.New("corrupt column chunk")

// A page is one page of a chunk as it lies in a Raw.
type page struct {
	parquet.PageHeader
	body []byte // as stored; what follows it in the Raw may be read
	off  int64  // byte of the shard where the page's header begins
}

func (p *page) span() shard.Span { return shard.Span{Off: p.off, N: int64(p.Bytes + p.Stored)} }

// A pageScan is what the headers of a chunk say before any page is decompressed: which pages are
// needed, and how much they hold.
type pageScan struct {
	dict    page // kind is DictionaryPage when there is one
	pages   []page
	first   int64 // row of the row group at which pages[0] begins
	known   bool  // the rows of each page are known from its header
	values  int   // entries of pages
	size    int64 // bytes of their decompressed bodies
	coded   int   // pages whose values are positions in the dictionary
	largest int   // the largest decompressed body
}

// A pageWalk goes over the headers of a chunk and holds them against the footer.
type pageWalk struct {
	chunk  *rawChunk
	values int64 // left of the footer's allowance
	bytes  int64
	at     int64 // byte of the shard of the header that is read, for messages
}

// scan reads the headers of a chunk. Pages that lie before or behind the rows are left out where
// headers tell their rows.
func (s *pageScan) scan(c *rawChunk, rows Rows) (at int64, err error) {
	*s = pageScan{pages: s.pages[:0], first: c.firstRow, known: true}
	w := pageWalk{chunk: c, values: c.numValues, bytes: c.uncompressedBytes, at: c.pagesOff}
	if len(c.dict) > 0 {
		w.at = c.dictOff
		if _, err := w.next(c.dict, &s.dict); err != nil {
			return w.at, err
		}
		if s.dict.Kind != format.DictionaryPage {
			return w.at, fmt.Errorf("%w: no dictionary page where the footer has one", errChunk)
		}
	}
	row := c.firstRow
	for b, at := c.pages, c.pagesOff; len(b) > 0 && w.values > 0; {
		var p page
		w.at = at
		n, err := w.next(b, &p)
		if err != nil {
			return w.at, err
		}
		b, at = b[n:], at+int64(n)
		switch p.Kind {
		case format.IndexPage:
			continue
		case format.DictionaryPage:
			if s.hasDict() || len(s.pages) > 0 {
				return w.at, fmt.Errorf("%w: a dictionary page behind others", errChunk)
			}
			s.dict = p
			continue
		}
		held := s.rows(c.leaf, &p)
		switch {
		case s.known && row >= rows.Hi:
			return w.at, nil
		case s.known && row+held <= rows.Lo && len(s.pages) == 0:
			s.first = row + held
		default:
			s.add(p)
		}
		row += held
	}
	return w.at, nil
}

// rows is the number of rows in the page; known becomes false where its header does not say.
func (s *pageScan) rows(l *leaf, p *page) int64 {
	switch {
	case l.maxRep == 0:
		return int64(p.Values)
	case p.Kind == format.DataPageV2:
		return int64(p.PageHeader.Rows)
	}
	s.known = false
	return 0
}

func (s *pageScan) add(p page) {
	s.pages = append(s.pages, p)
	s.values += p.Values
	s.size += int64(p.Size)
	s.largest = max(s.largest, p.Size)
	if p.IsDictionary() {
		s.coded++
	}
}

func (s *pageScan) hasDict() bool { return s.dict.Kind == format.DictionaryPage }

// next reads the page at the beginning of b and returns its length with its header.
func (w *pageWalk) next(b []byte, p *page) (n int, err error) {
	if err := parquet.ParsePageHeader(b, &p.PageHeader); err != nil {
		return 0, err
	}
	p.off = w.at
	rest := b[p.Bytes:]
	if p.Stored > len(rest) {
		return 0, fmt.Errorf("%w: a page of %d bytes where %d are left", errChunk, p.Stored, len(rest))
	}
	p.body = rest[:p.Stored]
	if w.bytes -= int64(p.Size); w.bytes < 0 {
		return 0, fmt.Errorf("%w: its pages hold more than the %d bytes of the footer", errChunk, w.chunk.uncompressedBytes)
	}
	if p.Kind == format.DataPage || p.Kind == format.DataPageV2 {
		if w.values -= int64(p.Values); w.values < 0 {
			return 0, fmt.Errorf("%w: its pages hold more than the %d values of the footer", errChunk, w.chunk.numValues)
		}
	} else if int64(p.Values) > w.chunk.numValues && p.Kind == format.DictionaryPage && p.Values > p.Size {
		return 0, fmt.Errorf("%w: a dictionary of %d values in %d bytes", errChunk, p.Values, p.Size)
	}
	return p.Bytes + p.Stored, nil
}
