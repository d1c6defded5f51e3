package rowgroup

import (
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/shard"
)

// Rows is a run of rows of one row group: the unit that is fetched and decoded together.
type Rows struct {
	Shard    int   // position in the manifest
	RowGroup int   // position in the shard
	Lo, Hi   int64 // rows of the row group, Hi exclusive
}

// Raw is the encoded bytes of one unit, as fetched. It is decoded once and then released.
type Raw struct {
	Rows    Rows
	uri     string // for messages
	columns []*node
	chunks  []rawChunk // one per projected leaf, in the order of a pre-order walk over columns
	release []func()   // views and buffers to give back
	read    int64      // bytes of the shard
	held    int64      // memory
	mapped  bool       // some bytes are a mapping of a file: touch them only inside use
	copied  bool       // some bytes were read
	object  shard.Object
	lent    []shard.Span // of the shard, for recheck
}

// use runs f, which touches the bytes. A mapped file that was changed or cut meanwhile is an error, not a crash.
func (r *Raw) use(f func() error) error {
	if !r.mapped {
		return f()
	}
	return shard.Use(r.object, f)
}

// recheck makes sure, after their use, that the bytes that were lent were right.
func (r *Raw) recheck() error {
	for _, s := range r.lent {
		if err := shard.Recheck(r.object, s.Off, s.N); err != nil {
			return err
		}
	}
	return nil
}

// Bytes is how many bytes of the shard were read or lent.
func (r *Raw) Bytes() int64 { return r.read }

// Held is the memory, mapped bytes included, that is held until Release.
func (r *Raw) Held() int64 { return r.held }

// Lent reports whether the shard lent all bytes: a mapping of a local file, or of what a cache holds.
func (r *Raw) Lent() bool { return r.mapped && !r.copied }

// Mapped reports whether the shard lent any of the bytes.
func (r *Raw) Mapped() bool { return r.mapped }

// pieces are the bytes of the shard that the chunks need.
func (r *Raw) pieces() []piece {
	all := make([]piece, 0, 2*len(r.chunks))
	for i := range r.chunks {
		c := &r.chunks[i]
		if c.dictLen != 0 && !c.noDict {
			all = append(all, c.dictPiece())
		}
		if c.pagesLen != 0 {
			all = append(all, piece{Span: shard.Span{Off: c.pagesOff, N: c.pagesLen}, to: &c.pages})
		}
	}
	return all
}

// missing are the dictionaries that were left out, and that a page needs all the same: what files say of their pages is no promise.
func (r *Raw) missing() (all []piece, err error) {
	for i := range r.chunks {
		c := &r.chunks[i]
		if c.dictLen == 0 || !c.noDict {
			continue
		}
		err := r.use(func() error {
			if c.hasCodes() {
				all = append(all, c.dictPiece())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Release gives the bytes back. The Raw must not be used afterwards.
func (r *Raw) Release() {
	for i := len(r.release) - 1; i >= 0; i-- { // the shard itself last
		r.release[i]()
	}
	r.release, r.chunks, r.held = nil, nil, 0
}

// A rawChunk is the pages of one leaf that a unit needs.
type rawChunk struct {
	leaf  *leaf
	codec format.CompressionCodec

	// dict is what lies before the first data page, a dictionary page with its header, when it was fetched apart from the data pages. When
	// it is empty, a dictionary page may come first in pages.
	dict    []byte
	dictOff int64 // byte of the shard where dict begins
	dictLen int64
	noDict  bool // no page is taken to need it, so that it is not fetched

	pages    []byte // whole pages, header and body, one after the other
	pagesOff int64  // byte of the shard where pages begins
	pagesLen int64

	// firstRow is the row of the row group at which the first data page in pages begins. lastRow is the row after the last page.
	firstRow, lastRow int64

	// What the footer says of the whole chunk; a page that asks for more is corrupt.
	numValues         int64
	uncompressedBytes int64
}

func (c *rawChunk) dictPiece() piece {
	return piece{Span: shard.Span{Off: c.dictOff, N: c.dictLen}, to: &c.dict, dict: true}
}

// hasCodes looks for a page that needs a dictionary, up to one that is corrupt, which is the decoder's to say.
func (c *rawChunk) hasCodes() bool {
	var h pageHeader
	for b := c.pages; len(b) > 0; b = b[h.bytes+h.stored:] {
		if err := parsePageHeader(b, &h); err != nil || h.stored > len(b)-h.bytes {
			return false
		}
		if h.isDictionary() {
			return true
		}
	}
	return false
}
