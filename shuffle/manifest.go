package shuffle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
)

// Shard describes a file to the plan.
type Shard struct {
	Path    string // relative to Manifest.Base
	Size    int64  // bytes
	Version string // the store's etag, modification time or the like; not part of the content hash
}

// Group is a row group.
type Group struct {
	Shard int32 // index into Manifest.Shards
	Index int32 // among the shard's row groups
	Rows  int64
}

// Manifest is the data of an epoch: shards in ascending order of their paths (byte by byte) and
// their row groups in file order. A Group's position in Groups is its number everywhere in this
// package. A manifest is not changed once a plan was made of it.
type Manifest struct {
	Base   string // what the paths are relative to; no part of any hash, so data may move
	Shards []Shard
	Groups []Group

	// Rule identifies the rule that makes samples of rows: the first 16 hex digits of the SHA-256
	// of its canonical text, or "" if each row is a sample. It belongs to the run, not to the
	// files: states have it, hashes and saved manifests do not.
	Rule string

	// EachRow reports that each row is a sample: the rule only changes the values of rows. It
	// belongs to the run.
	EachRow bool

	// Numbered reports whether the rule chooses rows by their numbers among all rows of the
	// manifest.
	Numbered bool

	// Snapshot is the name of the snapshot of a table that the shards are, or "". Like Rule, which
	// depends on it, it belongs to the run.
	Snapshot string

	// Now is the instant of today() and now() in the rule's filters, as RFC 3339 in UTC, or "" if
	// they use neither. Like Rule it belongs to the run.
	Now string
}

// Validate checks that paths are ascending and distinct, groups are in order of shard and index
// without gaps, and the rule is hex digits.
func (m *Manifest) Validate() error {
	if m.Rule != "" && !isHex(m.Rule, 16) {
		return refuse("rule", "must be 16 hex digits, got %q", m.Rule)
	}
	if !isInstant(m.Now) {
		return refuse("now", "must be an instant in UTC, got %q", m.Now)
	}
	if len(m.Groups) > math.MaxInt32 {
		return refuse("manifest", "%d row groups are more than %d", len(m.Groups), math.MaxInt32)
	}
	for i := range m.Shards {
		if i > 0 && m.Shards[i-1].Path >= m.Shards[i].Path {
			return refuse("manifest", "shard %q does not sort after %q", m.Shards[i].Path, m.Shards[i-1].Path)
		}
		if m.Shards[i].Size < 0 {
			return refuse("manifest", "shard %q has %d bytes", m.Shards[i].Path, m.Shards[i].Size)
		}
	}
	shard, next, rows := int32(-1), int32(0), int64(0)
	for i, g := range m.Groups {
		if g.Shard != shard {
			if g.Shard < shard || int(g.Shard) >= len(m.Shards) {
				return refuse("manifest", "group %d is of shard %d after shard %d of %d", i, g.Shard, shard, len(m.Shards))
			}
			shard, next = g.Shard, 0
		}
		if g.Index != next {
			return refuse("manifest", "group %d of shard %q has index %d where %d comes", i, m.Shards[shard].Path, g.Index, next)
		}
		next++
		if g.Rows < 0 || g.Rows > math.MaxInt64-rows {
			return refuse("manifest", "group %d of shard %q has %d rows", g.Index, m.Shards[shard].Path, g.Rows)
		}
		rows += g.Rows
	}
	return nil
}

// Rows of all groups.
func (m *Manifest) Rows() int64 {
	var n int64
	for _, g := range m.Groups {
		n += g.Rows
	}
	return n
}

// Content returns the hash that decides whether a state fits the data: 64 hex digits over relative
// paths, sizes and rows per group.
func (m *Manifest) Content() string {
	h := newHasher("shardfeed/manifest/content/1")
	h.number(int64(len(m.Shards)))
	g := 0
	for i := range m.Shards {
		h.text(m.Shards[i].Path)
		h.number(m.Shards[i].Size)
		first := g
		for g < len(m.Groups) && int(m.Groups[g].Shard) == i {
			g++
		}
		h.number(int64(g - first))
		for ; first < g; first++ {
			h.number(m.Groups[first].Rows)
		}
	}
	return h.sum()
}

// Versions returns the hash that detects changed shards: 64 hex digits over relative paths, sizes
// and versions.
func (m *Manifest) Versions() string {
	h := newHasher("shardfeed/manifest/versions/1")
	h.number(int64(len(m.Shards)))
	for i := range m.Shards {
		h.text(m.Shards[i].Path)
		h.number(m.Shards[i].Size)
		h.text(m.Shards[i].Version)
	}
	return h.sum()
}

// hasher writes integers as 8 bytes little-endian and texts as their length and bytes, so no two
// inputs write the same.
type hasher struct {
	h   hash.Hash
	buf []byte // that h has not seen
}

const hasherBytes = 4096

func newHasher(name string) *hasher {
	s := &hasher{h: sha256.New(), buf: make([]byte, 0, hasherBytes)}
	s.text(name)
	return s
}

func (s *hasher) number(n int64) {
	if len(s.buf)+8 > hasherBytes {
		s.flush()
	}
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(n))
}

func (s *hasher) text(t string) {
	s.number(int64(len(t)))
	for len(t) > 0 {
		if len(s.buf) == hasherBytes {
			s.flush()
		}
		n := min(len(t), hasherBytes-len(s.buf))
		s.buf, t = append(s.buf, t[:n]...), t[n:]
	}
}

func (s *hasher) flush() {
	s.h.Write(s.buf) // a hash never fails
	s.buf = s.buf[:0]
}

func (s *hasher) sum() string {
	s.flush()
	return hex.EncodeToString(s.h.Sum(nil))
}
