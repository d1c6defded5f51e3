package rowgroup

import (
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// Rows is a run of rows of one row group: the unit that is fetched and decoded together.
type Rows struct {
	Shard    int   // position in the manifest
	RowGroup int   // position in the shard
	Lo, Hi   int64 // rows of the row group, Hi exclusive
}

// recheckBytes is the number of bytes used before they are verified: small enough that they are
// still in the processor's caches, and large enough that the blocks at both ends, which a store
// verifies whole, hardly count.
const recheckBytes = 256 << 10

// forgetBytes is how much is used and verified before its pages are given back: what a unit has
// mapped is never whole in memory, and the calls are few beside the bytes that bring it in.
const forgetBytes = 1 << 20

// Raw is the encoded bytes of one unit, as fetched. It is decoded once and then released.
type Raw struct {
	Rows    Rows
	fetched Rows   // see Narrow
	uri     string // for messages
	first   int64  // number of the row group's first row in the manifest
	before  int64  // rows of the shard before the row group
	columns []*schema.Node
	chunks  []rawChunk // one per projected leaf, in the order of a pre-order walk over columns; then one per leaf that only rules read

	rules     []boundRule
	ruleAlone bool // there are only the chunks of rules

	reader  *Reader // nil in tests that make the bytes themselves
	object  shard.Object
	release func()   // gives the shard back; nil before it is open
	buffers [][]byte // of the manifest's pool
	read    int64    // bytes of the shard
	held    int64    // memory
	mapped  bool     // some bytes are a mapping of a file: touch them only inside use
	copied  bool     // some bytes were read
	copyAll bool     // no bytes are lent

	leases   []shard.Lease // which verify their bytes when they have been used
	lent     []shard.Span  // of the shard, one for each lease
	used     shard.Span    // used last and not verified
	verified []shard.Span  // after their use
	stale    int64         // byte of the shard up to which pages were given back

	tier *tierUnit // nil when all columns are decoded
}

// Narrow sets which fetched rows the next Decode or DecodeRule decodes.
// Rows that are decoded in ascending order read the pages of a flat column once.
func (r *Raw) Narrow(lo, hi int64) { r.Rows.Lo, r.Rows.Hi = lo, hi }

// use runs f, which touches the bytes. A mapped file that was changed or cut meanwhile is an error,
// not a crash.
func (r *Raw) use(f func() error) error {
	if !r.mapped {
		return f()
	}
	return shard.Use(r.leases[0], f) // all are of one object
}

// doneWith takes bytes that are not touched again. They are verified while they are in the
// processor's caches, in pieces of a worthwhile size.
func (r *Raw) doneWith(s shard.Span) error {
	if s.Off <= r.used.End() && r.used.Off <= s.End() { // it goes on, or says more of the same
		s = shard.Span{Off: r.used.Off, N: max(s.End(), r.used.End()) - r.used.Off}
	}
	r.used = s
	if s.N < recheckBytes {
		return nil
	}
	r.used = shard.Span{Off: s.End()}
	for i, lent := range r.lent {
		if lent.Off <= s.Off && s.End() <= lent.End() {
			r.verified = append(r.verified, s)
			err := r.leases[i].Verify(s)
			r.forget(s.End())
			return err
		}
	}
	return nil
}

// forget lets the leases drop the pages of used bytes, all that is lent up to a byte of the shard,
// in pieces of a worthwhile size. Columns usually follow each other in the order in which they are
// decoded; if they do not, some pages stay until Release.
func (r *Raw) forget(end int64) {
	if end-r.stale < forgetBytes {
		return
	}
	for i, lent := range r.lent {
		if from, to := max(r.stale, lent.Off), min(end, lent.End()); from < to {
			r.leases[i].Forget(shard.Span{Off: from, N: to - from})
		}
	}
	r.stale = end
}

// recheck verifies, after their use, the lent bytes that were not verified on the way.
func (r *Raw) recheck() error {
	verified := footer.MergeSpans(r.verified)
	for i, lent := range r.lent {
		if err := r.recheckSpan(i, lent, verified); err != nil {
			return err
		}
	}
	return nil
}

// recheckSpan verifies what of a span of a lease is not among the verified.
func (r *Raw) recheckSpan(lease int, rest shard.Span, verified []shard.Span) error {
	for _, v := range verified {
		if v.Off < rest.Off || v.End() > rest.End() {
			continue
		}
		if err := r.verify(lease, shard.Span{Off: rest.Off, N: v.Off - rest.Off}); err != nil {
			return err
		}
		rest = shard.Span{Off: v.End(), N: rest.End() - v.End()}
	}
	return r.verify(lease, rest)
}

// verify verifies the used part of a lease, if there is one.
func (r *Raw) verify(lease int, used shard.Span) error {
	if used.N == 0 {
		return nil
	}
	return r.leases[lease].Verify(used)
}

// Bytes is how many bytes of the shard were read or lent.
func (r *Raw) Bytes() int64 { return r.read }

// Held is the memory, mapped bytes included, that is held until Release.
func (r *Raw) Held() int64 { return r.held }

// Lent reports whether the shard lent all bytes: a mapping of a local file, or of a cache file.
func (r *Raw) Lent() bool { return !r.copied && (r.mapped || r.tier != nil) }

// pieces are the bytes of the shard that the chunks need.
func (r *Raw) pieces() []footer.Piece {
	all := make([]footer.Piece, 0, 2*len(r.chunks))
	for i := range r.chunks {
		c := &r.chunks[i]
		if c.dictLen != 0 && !c.noDict {
			all = append(all, c.dictPiece())
		}
		if c.pagesLen != 0 {
			all = append(all, footer.Piece{Span: shard.Span{Off: c.pagesOff, N: c.pagesLen}, To: &c.pages})
		}
	}
	return all
}

// missing are the dictionaries that were left out although a page needs them: the footer's word on
// pages may be wrong.
func (r *Raw) missing() (all []footer.Piece, err error) {
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

// Release returns the bytes and the shard. The Raw must not be used afterwards.
func (r *Raw) Release() {
	r.dropBytes()
	if r.release != nil {
		r.release()
	}
	r.release, r.chunks = nil, nil
}

// dropBytes returns the bytes and keeps the shard open.
func (r *Raw) dropBytes() {
	for _, l := range r.leases {
		l.Release()
	}
	if r.tier != nil && r.tier.lease != nil {
		r.tier.lease.Release()
	}
	for _, b := range r.buffers {
		r.reader.pool.Put(b)
	}
	for i := range r.chunks {
		r.chunks[i].dict, r.chunks[i].pages, r.chunks[i].passed = nil, nil, nil
	}
	r.leases, r.lent, r.tier, r.buffers = nil, nil, nil, nil
	r.mapped, r.copied, r.read, r.held = false, false, 0, 0
	r.used, r.verified, r.stale = shard.Span{}, nil, 0
}

// A rawChunk is the pages of one leaf that a unit needs.
type rawChunk struct {
	leaf  *schema.Leaf
	codec format.CompressionCodec

	// dict is the dictionary page before the first data page, with its header, when it was fetched
	// apart from the data pages. When it is empty, a dictionary page may come first in pages.
	dict    []byte
	dictOff int64 // byte of the shard where dict starts
	dictLen int64
	noDict  bool // no page is taken to need it, so that it is not fetched

	pages    []byte // whole pages, header and body, one after another
	pagesOff int64  // byte of the shard where pages starts
	pagesLen int64

	// firstRow is the row of the row group at which the first data page in pages starts. lastRow is
	// the row after the last page.
	firstRow, lastRow int64

	// What the footer says of the whole chunk; a page that asks for more is corrupt.
	numValues         int64
	uncompressedBytes int64

	passed *passedPages // or nil
}

func (c *rawChunk) dictPiece() footer.Piece {
	return footer.Piece{Span: shard.Span{Off: c.dictOff, N: c.dictLen}, To: &c.dict, Dict: true}
}

// reachesOut reports whether pages of the unit hold rows of other units, or may.
func (r *Raw) reachesOut() bool {
	for i := range r.chunks {
		if c := &r.chunks[i]; c.firstRow != r.Rows.Lo || c.lastRow != r.Rows.Hi {
			return true
		}
	}
	return false
}

// hasCodes looks for a page that needs a dictionary, up to one that is corrupt, which is the
// decoder's to say.
func (c *rawChunk) hasCodes() bool {
	var h parquet.PageHeader
	for b := c.pages; len(b) > 0; b = b[h.Bytes+h.Stored:] {
		if err := parquet.ParsePageHeader(b, &h); err != nil || h.Stored > len(b)-h.Bytes {
			return false
		}
		if h.IsDictionary() {
			return true
		}
	}
	return false
}
