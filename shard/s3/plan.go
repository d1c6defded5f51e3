package s3

import "github.com/shardfeed/shardfeed/shard"

// maxHole is the longest hole between two ranges that is read over: reading it takes as long as the first byte of another request
// (20 ms at 60 MB/s are some 1.2 MB).
const maxHole = 1 << 20 // bytes

// A part is what one request reads: bytes from off up to end, and the ranges within them that want some. The first and the last byte are
// wanted; what lies between the ranges is not.
type part struct {
	off, end int64
	ranges   []shard.Range // ascending, not empty; pieces of the caller's
}

// plan cuts ranges, which ascend and do not overlap, into parts: ranges with holes of at most hole bytes between them share a run, and a
// run of more than size bytes is cut into parts of nearly equal length, none longer than size.
func plan(ranges []shard.Range, hole, size int64) []part {
	var parts []part
	for i := 0; i < len(ranges); {
		if len(ranges[i].P) == 0 {
			i++
			continue
		}
		run := part{off: ranges[i].Off, end: ranges[i].Span().End()}
		for ; i < len(ranges) && (len(ranges[i].P) == 0 || ranges[i].Off-run.end <= hole); i++ {
			if len(ranges[i].P) > 0 {
				run.ranges = append(run.ranges, ranges[i])
				run.end = ranges[i].Span().End()
			}
		}
		parts = run.cut(parts, size)
	}
	return parts
}

// cut appends the parts of a run. A cut that falls into a hole ends the part before it and starts the next behind it.
func (r part) cut(parts []part, size int64) []part {
	n := (r.end - r.off + size - 1) / size
	if n <= 1 {
		return append(parts, r)
	}
	rest := r.ranges
	for i := int64(1); i <= n; i++ {
		upTo := r.off + share(r.end-r.off, i, n)
		var p part
		for len(rest) > 0 && rest[0].Off < upTo {
			head := rest[0]
			if keep := upTo - head.Off; keep < int64(len(head.P)) {
				rest[0] = shard.Range{Off: upTo, P: head.P[keep:]} // rest is the run's own
				head.P = head.P[:keep:keep]
			} else {
				rest = rest[1:]
			}
			p.ranges = append(p.ranges, head)
		}
		if len(p.ranges) > 0 {
			p.off, p.end = p.ranges[0].Off, p.ranges[len(p.ranges)-1].Span().End()
			parts = append(parts, p)
		}
	}
	return parts
}

// share is total*i/n without overflow.
func share(total, i, n int64) int64 { return total/n*i + total%n*i/n }
