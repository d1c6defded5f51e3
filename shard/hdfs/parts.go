package hdfs

import "github.com/shardfeed/shardfeed/shard"

const (
	// maxHole is the widest gap between two ranges that is read through: a new stream costs two calls of a namenode, a connection, and the
	// datanode's seek, which is what the network carries in about that many bytes.
	maxHole = 1 << 20
	// minPart is the least that is worth a stream of its own.
	minPart = 4 << 20
)

// A part is what one stream reads: ranges that ascend, and what lies between them.
type part []shard.Range

func (p part) off() int64 { return p[0].Off }
func (p part) end() int64 { return p[len(p)-1].Span().End() }

// split cuts ranges into parts: where a hole is wide, and where a part grows longer than size. Blocks of the file are blockSize long, or 0
// when that is not known; a part that must be cut ends with a block where it can, since no stream goes on into the next one.
func splitParts(ranges []shard.Range, size, blockSize int64) (parts []part) {
	var now part
	for _, r := range ranges {
		for len(r.P) > 0 {
			if len(now) > 0 && r.Off-now.end() > maxHole {
				parts, now = append(parts, now), nil
			}
			off := r.Off
			if len(now) > 0 {
				off = now.off()
			}
			n := min(int64(len(r.P)), partEnd(off, size, blockSize)-r.Off)
			if n <= 0 { // the part is full before this range, or ends in the hole before it
				parts, now = append(parts, now), nil
				continue
			}
			now = append(now, shard.Range{Off: r.Off, P: r.P[:n:n]})
			r.Off, r.P = r.Off+n, r.P[n:]
		}
	}
	if len(now) > 0 {
		parts = append(parts, now)
	}
	return joinShort(parts)
}

// partEnd is where a part that begins at off ends at the latest.
func partEnd(off, size, blockSize int64) int64 {
	end := off + size
	if blockSize <= 0 {
		return end
	}
	if block := (off/blockSize + 1) * blockSize; block < end && block-off >= minPart {
		return block
	}
	if block := end / blockSize * blockSize; block-off >= minPart {
		return block
	}
	return end
}

// joinShort puts a short part behind the one that it follows without a wide hole.
func joinShort(parts []part) []part {
	joined := parts[:0]
	for _, p := range parts {
		if n := len(joined) - 1; n >= 0 && p.end()-p.off() < minPart && p.off()-joined[n].end() <= maxHole {
			joined[n] = append(joined[n], p...)
			continue
		}
		joined = append(joined, p)
	}
	return joined
}
