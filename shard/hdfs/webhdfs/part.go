package webhdfs

import "github.com/shardfeed/shardfeed/shard"

// maxHole is how many bytes between two ranges are read and thrown away instead of making a request for each range: about what a connection
// brings while a namenode and a datanode answer.
const maxHole = 256 << 10

// A part is what one request reads: ranges that ascend, with small holes between them.
type part struct {
	ranges []shard.Range
}

func (p part) off() int64 { return p.ranges[0].Off }

func (p part) end() int64 { return p.ranges[len(p.ranges)-1].Span().End() }

// cut makes parts of ranges that ascend and do not overlap. A part is no longer than most bytes.
func cut(ranges []shard.Range, most int64) []part {
	var parts []part
	for _, r := range ranges {
		for len(r.P) > 0 {
			last := len(parts) - 1
			room := most
			joined := false
			if last >= 0 && r.Off-parts[last].end() <= maxHole && r.Off-parts[last].off() < most {
				joined = true
				room = most - (r.Off - parts[last].off())
			}
			n := min(int64(len(r.P)), room)
			piece := shard.Range{Off: r.Off, P: r.P[:n:n]}
			if joined {
				parts[last].ranges = append(parts[last].ranges, piece)
			} else {
				parts = append(parts, part{ranges: []shard.Range{piece}})
			}
			r = shard.Range{Off: r.Off + n, P: r.P[n:]}
		}
	}
	return parts
}

// A filler fills a part's ranges from its bytes, which come in order. Holes go to waste.
type filler struct {
	left  []shard.Range
	off   int64 // of the next byte
	waste []byte
}

func newFiller(p part) *filler {
	return &filler{left: p.ranges, off: p.off()}
}

// next is where the next bytes go; nil when all came.
func (f *filler) next() []byte {
	for len(f.left) > 0 && f.off == f.left[0].Span().End() {
		f.left = f.left[1:]
	}
	if len(f.left) == 0 {
		return nil
	}
	r := f.left[0]
	if f.off >= r.Off {
		return r.P[f.off-r.Off:]
	}
	if f.waste == nil {
		f.waste = make([]byte, 16<<10)
	}
	return f.waste[:min(int64(len(f.waste)), r.Off-f.off)]
}

// took says that n bytes of next were filled.
func (f *filler) took(n int) { f.off += int64(n) }
