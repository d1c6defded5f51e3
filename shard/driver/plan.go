package driver

import "github.com/shardfeed/shardfeed/shard"

// Sizes describes the requests that suit a server.
type Sizes struct {
	Hole  int64 // the longest hole between two ranges that is read over rather than asked around
	Size  int64 // of the longest part
	Block int64 // of the file's blocks, at which parts end if possible; 0 without blocks
	Least int64 // beside blocks: what is worth a request of its own
}

// A Part is the content of one request: ranges that ascend and are not empty, and the holes between
// them. Its first and its last byte belong to ranges.
type Part []shard.Range

// Off is the first byte.
func (p Part) Off() int64 { return p[0].Off }

// End is the byte after the last.
func (p Part) End() int64 { return p[len(p)-1].Span().End() }

// Plan cuts ranges, which ascend and do not overlap, into parts: ranges with short holes between
// them share a run, and a run that is longer than a part is cut evenly, or where the file's blocks
// end.
func Plan(ranges []shard.Range, s Sizes) []Part {
	var parts []Part
	for i := 0; i < len(ranges); {
		if len(ranges[i].P) == 0 {
			i++
			continue
		}
		run := Part{ranges[i]}
		for i++; i < len(ranges) && (len(ranges[i].P) == 0 || ranges[i].Off-run.End() <= s.Hole); i++ {
			if len(ranges[i].P) > 0 {
				run = append(run, ranges[i])
			}
		}
		parts = s.cut(parts, run)
	}
	return parts
}

// cut appends the parts of a run. A cut within a hole ends the part before the hole and starts the
// next after it.
func (s Sizes) cut(parts []Part, run Part) []Part {
	off, end, rest := run.Off(), run.End(), run
	for i := int64(1); len(rest) > 0; i++ {
		upTo := s.next(off, end, rest.Off(), i)
		var p Part
		for len(rest) > 0 && rest[0].Off < upTo {
			head := rest[0]
			if keep := upTo - head.Off; keep < int64(len(head.P)) {
				rest[0] = shard.Range{Off: upTo, P: head.P[keep:]} // rest is the run's own
				head.P = head.P[:keep:keep]
			} else {
				rest = rest[1:]
			}
			p = append(p, head)
		}
		if len(p) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// next is where the i-th part of a run ends, of which the bytes before at have their parts.
func (s Sizes) next(off, end, at, i int64) int64 {
	if s.Block <= 0 {
		n := max((end-off+s.Size-1)/s.Size, 1)
		return off + share(end-off, min(i, n), n)
	}
	upTo := at + s.Size
	if block := (at/s.Block + 1) * s.Block; block < upTo && block-at >= s.Least {
		upTo = block
	} else if block := upTo / s.Block * s.Block; block > at && block-at >= s.Least {
		upTo = block
	}
	if end-upTo < s.Least { // too little for a request of its own
		return end
	}
	return upTo
}

// share is total*i/n without overflow.
func share(total, i, n int64) int64 { return total/n*i + total%n*i/n }
