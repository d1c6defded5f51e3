package rowgroup

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

var errChunk = errors.New("corrupt column chunk")

// A page is one page of a chunk in a Raw.
type page struct {
	parquet.PageHeader
	body []byte // as stored; what follows it in the Raw may be read
	off  int64  // byte of the shard where the page's header starts

	window window // of its values
}

func (p *page) span() shard.Span { return shard.Span{Off: p.off, N: int64(p.Bytes + p.Stored)} }

// A pageScan sums up the page headers of a chunk before any page is decompressed: which pages are
// needed, and how much they hold. It does not keep the headers, since a page can be a few bytes;
// the decoder parses them again.
type pageScan struct {
	dict        page       // kind is DictionaryPage when there is one
	begin       pageCursor // at the first page that is needed
	pages       int        // how many are needed
	head        page       // the first of them
	first       int64      // row of the row group at which the first starts
	known       bool       // the rows of each page are known from its header
	values      int        // entries of pages
	size        int64      // bytes of their decompressed bodies
	coded       int        // pages whose values are positions in the dictionary
	codedValues int        // of them
	largest     int        // the largest decompressed body
}

// passedPages is where an earlier scan of a chunk found its last page, so that the scan of later
// rows starts there.
type passedPages struct {
	last pageCursor
	row  int64 // at which the page starts
	dict page
}

// A pageCursor goes over the pages of a chunk and holds them against the footer.
type pageCursor struct {
	chunk  *rawChunk
	rest   []byte
	values int64 // left of the footer's allowance
	bytes  int64
	at     int64 // byte of the shard where rest starts
}

// scan reads the headers of a chunk. It skips pages before or behind the rows, and the other values
// of large pages, if headers determine their rows. After an error, at is the byte of the shard of
// the page that has it.
func (s *pageScan) scan(c *rawChunk, rows Rows, windowFrom int) (at int64, err error) {
	*s = pageScan{first: c.firstRow, known: true}
	w := pageCursor{chunk: c, values: c.numValues, bytes: c.uncompressedBytes, at: c.dictOff, rest: c.dict}
	if len(c.dict) > 0 {
		if err := w.next(&s.dict); err != nil {
			return w.at, err
		}
		if s.dict.Kind != format.DictionaryPage {
			return w.at, fmt.Errorf("%w: no dictionary page where the footer has one", errChunk)
		}
	}
	w.at, w.rest = c.pagesOff, c.pages
	row := c.firstRow
	if p := c.passed; p != nil && p.row <= rows.Lo {
		w, row, s.dict, s.first = p.last, p.row, p.dict, p.row
	}
	last, lastRow := w, row
	for len(w.rest) > 0 && w.values > 0 {
		var p page
		before := w
		if err := w.next(&p); err != nil {
			return before.at, err
		}
		switch p.Kind {
		case format.IndexPage:
			continue
		case format.DictionaryPage:
			if s.hasDict() || s.pages > 0 {
				return before.at, fmt.Errorf("%w: a dictionary page behind others", errChunk)
			}
			s.dict = p
			continue
		}
		held := s.rows(c.leaf, &p)
		switch {
		case s.known && row >= rows.Hi:
			s.pass(c, rows, last, lastRow)
			return w.at, nil
		case s.known && row+held <= rows.Lo && s.pages == 0:
			s.first = row + held
		default:
			p.window = windowOf(c.leaf, &p, row, rows, windowFrom)
			if s.pages == 0 {
				s.begin, s.first = before, s.first+int64(p.window.skip)
			}
			s.add(p, listPart(c.leaf, &p, row, held, rows, windowFrom))
			last, lastRow = before, row
		}
		row += held
	}
	s.pass(c, rows, last, lastRow)
	return w.at, nil
}

// pass notes the last page that is needed, which may hold the first rows after these too.
func (s *pageScan) pass(c *rawChunk, rows Rows, last pageCursor, row int64) {
	if !s.known || s.pages == 0 || row == c.firstRow || rows.Hi >= c.lastRow {
		return
	}
	c.passed = &passedPages{last: last, row: row, dict: s.dict}
}

// rows is the number of rows in the page; known becomes false where its header does not say.
func (s *pageScan) rows(l *schema.Leaf, p *page) int64 {
	switch {
	case l.MaxRep == 0:
		return int64(p.Values)
	case p.Kind == format.DataPageV2:
		return int64(p.PageHeader.Rows)
	}
	s.known = false
	return 0
}

// listPart estimates the share of a page of lists that is decoded: 1 if its header does not give
// its rows.
func listPart(l *schema.Leaf, p *page, row, held int64, rows Rows, from int) float64 {
	if l.MaxRep == 0 || held == 0 || p.Values < from || !p.divisible(l) {
		return 1
	}
	return max(0, float64(min(rows.Hi, row+held)-max(rows.Lo, row))/float64(held))
}

// add counts a page of which a part is decoded.
func (s *pageScan) add(p page, part float64) {
	if s.pages == 0 {
		s.head = p
	}
	n, size := p.window.of(&p)
	if part < 1 {
		n, size = int(float64(n)*part), int64(float64(size)*part)
	}
	s.pages++
	s.values += n
	s.size += size
	s.largest = max(s.largest, int(size))
	if p.IsDictionary() {
		s.coded++
		s.codedValues += n
	}
}

func (s *pageScan) hasDict() bool { return s.dict.Kind == format.DictionaryPage }

// nextData reads the next data page.
func (w *pageCursor) nextData(p *page) error {
	for {
		if err := w.next(p); err != nil || p.Kind != format.IndexPage {
			return err
		}
	}
}

// next reads the next page.
func (w *pageCursor) next(p *page) error {
	if err := parquet.ParsePageHeader(w.rest, &p.PageHeader); err != nil {
		return err
	}
	p.off = w.at
	rest := w.rest[p.Bytes:]
	if p.Stored > len(rest) {
		return fmt.Errorf("%w: a page of %d bytes where %d are left", errChunk, p.Stored, len(rest))
	}
	p.body = rest[:p.Stored]
	if w.bytes -= int64(p.Size); w.bytes < 0 {
		return fmt.Errorf("%w: its pages hold more than the %d bytes of the footer", errChunk, w.chunk.uncompressedBytes)
	}
	if p.Kind == format.DataPage || p.Kind == format.DataPageV2 {
		if w.values -= int64(p.Values); w.values < 0 {
			return fmt.Errorf("%w: its pages hold more than the %d values of the footer", errChunk, w.chunk.numValues)
		}
	} else if int64(p.Values) > w.chunk.numValues && p.Kind == format.DictionaryPage && p.Values > p.Size {
		return fmt.Errorf("%w: a dictionary of %d values in %d bytes", errChunk, p.Values, p.Size)
	}
	w.at, w.rest = w.at+int64(p.Bytes+p.Stored), rest[p.Stored:]
	return nil
}
