package samples

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"sort"
)

// A count segment is one file of kept counts: how many samples units of shards have under rules,
// the texts whose tokens were counted, and deleted rows of tables. It is written once, under
// another name, and never changed; all integers are little-endian.
//
//	header, 32 bytes
//	 0   8  "sfcount1"
//	 8   8  length of the file
//	16   4  entries N
//	20   4  crc32c of all behind the header
//	24   4  crc32c of bytes 0-23
//	28   4  zero
//
//	entry, 64 bytes, sorted by the first 44
//	 0  16  SHA-256 of the shard's identity, cut to 16 bytes
//	16   8  SHA-256 of its size in decimal, a zero byte and its version, cut to 8 bytes
//	24  16  what is counted, the rule and the units, see counter.keyOf
//	40   4  number of the first unit within the shard
//	44   4  counts
//	48   8  offset of their counts
//	56   4  bytes of their counts
//	60   4  zero
//
//	counts: a uvarint for each unit, or four of its texts: documents, bytes, tokens, and documents
//	with special tokens; or the rows of a file: how many stay, how many are deleted, and so on
const (
	countMagic      = "sfcount1"
	countHeader     = 32
	countEntryBytes = 64
	mostCount       = 1 << 48 // bytes of text; versions before texts were kept ignore entries with more than 1<<31
)

var (
	countTable      = crc32.MakeTable(crc32.Castagnoli)
	errCountSegment = errors.New("corrupt segment of counts")
)

// A countKey names the units of a shard under a rule.
type countKey struct {
	shard   [16]byte
	version [8]byte
	rule    [16]byte
}

// A countEntry has the samples of consecutive units of a shard.
type countEntry struct {
	countKey
	first  int // number of the first unit within the shard
	counts []int64
}

func (e *countEntry) compare(f *countEntry) int {
	return cmp.Or(e.countKey.compare(&f.countKey), cmp.Compare(e.first, f.first))
}

func (k *countKey) compare(l *countKey) int {
	return cmp.Or(bytes.Compare(k.shard[:], l.shard[:]), bytes.Compare(k.version[:], l.version[:]), bytes.Compare(k.rule[:], l.rule[:]))
}

// formatCounts lays out a segment.
func formatCounts(entries []countEntry) []byte {
	slices.SortFunc(entries, func(a, b countEntry) int { return a.compare(&b) })
	b := make([]byte, countHeader, countHeader+len(entries)*(countEntryBytes+8))
	at := uint64(countHeader + len(entries)*countEntryBytes)
	var counts []byte
	for _, e := range entries {
		before := len(counts)
		for _, n := range e.counts {
			counts = binary.AppendUvarint(counts, uint64(n))
		}
		b = append(append(append(b, e.shard[:]...), e.version[:]...), e.rule[:]...)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.first))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.counts)))
		b = binary.LittleEndian.AppendUint64(b, at+uint64(before))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(counts)-before))
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	b = append(b, counts...)
	copy(b, countMagic)
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)))
	binary.LittleEndian.PutUint32(b[16:], uint32(len(entries)))
	binary.LittleEndian.PutUint32(b[20:], crc32.Checksum(b[countHeader:], countTable))
	binary.LittleEndian.PutUint32(b[24:], crc32.Checksum(b[:24], countTable))
	return b
}

// A countSegment is the bytes of a segment whose checksums are right.
type countSegment struct {
	b       []byte
	entries []byte
}

// parseCounts checks a segment as a whole; entries are checked when they are read.
func parseCounts(b []byte) (*countSegment, error) {
	if len(b) < countHeader || string(b[:8]) != countMagic || binary.LittleEndian.Uint32(b[24:]) != crc32.Checksum(b[:24], countTable) {
		return nil, errCountSegment
	}
	n := uint64(binary.LittleEndian.Uint32(b[16:]))
	if binary.LittleEndian.Uint64(b[8:]) != uint64(len(b)) || n > uint64(len(b)-countHeader)/countEntryBytes {
		return nil, errCountSegment
	}
	if binary.LittleEndian.Uint32(b[20:]) != crc32.Checksum(b[countHeader:], countTable) {
		return nil, errCountSegment
	}
	return &countSegment{b: b, entries: b[countHeader : countHeader+n*countEntryBytes]}, nil
}

func (s *countSegment) len() int { return len(s.entries) / countEntryBytes }

func (s *countSegment) key(i int) (k countKey) {
	t := s.entries[i*countEntryBytes:]
	copy(k.shard[:], t)
	copy(k.version[:], t[16:])
	copy(k.rule[:], t[24:])
	return k
}

// entry reads entry i; ok is false when its bytes do not hold together.
func (s *countSegment) entry(i int) (e countEntry, ok bool) {
	t := s.entries[i*countEntryBytes : (i+1)*countEntryBytes]
	e.countKey = s.key(i)
	first, units := binary.LittleEndian.Uint32(t[40:]), binary.LittleEndian.Uint32(t[44:])
	off, n := binary.LittleEndian.Uint64(t[48:]), uint64(binary.LittleEndian.Uint32(t[56:]))
	if off > uint64(len(s.b)) || n > uint64(len(s.b))-off || uint64(units) > n || first > math.MaxInt32 {
		return e, false
	}
	e.first, e.counts, ok = int(first), make([]int64, units), true
	rest := s.b[off : off+n]
	for j := range e.counts {
		v, used := binary.Uvarint(rest)
		if used <= 0 || v > mostCount {
			return e, false
		}
		e.counts[j], rest = int64(v), rest[used:]
	}
	return e, len(rest) == 0
}

// find calls yield with the entries of a key.
func (s *countSegment) find(k countKey, yield func(countEntry)) {
	compare := func(i int) int {
		key := s.key(i)
		return key.compare(&k)
	}
	for i := sort.Search(s.len(), func(i int) bool { return compare(i) >= 0 }); i < s.len() && compare(i) == 0; i++ {
		if e, ok := s.entry(i); ok {
			yield(e)
		}
	}
}
