package footer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sort"

	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A segment is one file of the index: the records of many shards and their schemas. It is written
// once, under another name, and never changed; all integers are little-endian.
//
//	header, 64 bytes
//	 0   8  "sfindex4"
//	 8   8  length of the file
//	16   4  entries N
//	20   4  schemas S
//	24   8  where the tables start; they end the file: N entries, then S schemas
//	32   4  crc32c of the tables
//	36   4  crc32c of bytes 0-35
//	40  24  zero
//
//	entry, 48 bytes, sorted by the first field, which is in no two of them
//	 0  16  SHA-256 of the shard's identity, cut to 16 bytes
//	16   8  SHA-256 of its size in decimal, a zero byte and its version, cut to 8 bytes
//	24   8  where its record starts
//	32   4  length of the record
//	36   4  crc32c of the record
//	40   4  number of its schema
//	44   4  zero
//
//	schema, 32 bytes
//	 0  16  ID: SHA-256 of the first part's length in decimal, a line feed and both parts, cut
//	16   8  where its parts start: the footer's list of SchemaElement, declarations
//	24   4  length of the first part
//	28   4  length of the second
//
// For a record's bytes see record, for declarations formatDeclared.
type segment struct {
	name    string
	b       []byte // maybe mapped: touched only inside shard.Guard
	unmap   func()
	entries []byte
	schemas []byte
}

const (
	segmentMagic  = "sfindex4"
	segmentHeader = 64
	entryBytes    = 48
	schemaBytes   = 32
)

var (
	crcTable   = crc32.MakeTable(crc32.Castagnoli)
	errSegment = errors.New("corrupt index segment")
)

// A Key finds a shard in the index: the entry of its identity must be of its version.
type Key struct {
	identity [16]byte
	version  [8]byte
}

func NewKey(store shard.Store, s shard.Shard) Key {
	id := sha256.Sum256([]byte(shard.Identity(store, s.URI)))
	version := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", s.Size, s.VersionHere()))
	return Key{identity: [16]byte(id[:16]), version: [8]byte(version[:8])}
}

// An indexEntry is a shard as it goes into a segment.
type indexEntry struct {
	key    Key
	record []byte
	schema schema.Bytes
}

// formatSegment lays out a segment. The entries are of different shards.
func formatSegment(entries []indexEntry) []byte {
	slices.SortFunc(entries, func(a, b indexEntry) int { return bytes.Compare(a.key.identity[:], b.key.identity[:]) })
	b := make([]byte, segmentHeader)
	var table, schemas []byte
	number := map[schema.ID]uint32{}
	for _, e := range entries {
		n, ok := number[e.schema.ID]
		if !ok {
			n = uint32(len(number))
			number[e.schema.ID] = n
			b, schemas = appendSchema(b, schemas, e.schema)
		}
		table = append(table, e.key.identity[:]...)
		table = append(table, e.key.version[:]...)
		table = binary.LittleEndian.AppendUint64(table, uint64(len(b)))
		table = binary.LittleEndian.AppendUint32(table, uint32(len(e.record)))
		table = binary.LittleEndian.AppendUint32(table, crc32.Checksum(e.record, crcTable))
		table = binary.LittleEndian.AppendUint32(table, n)
		table = binary.LittleEndian.AppendUint32(table, 0)
		b = append(b, e.record...)
	}
	tables := len(b)
	b = append(append(b, table...), schemas...)
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)))
	binary.LittleEndian.PutUint32(b[16:], uint32(len(entries)))
	binary.LittleEndian.PutUint32(b[20:], uint32(len(number)))
	binary.LittleEndian.PutUint64(b[24:], uint64(tables))
	binary.LittleEndian.PutUint32(b[32:], crc32.Checksum(b[tables:], crcTable))
	binary.LittleEndian.PutUint32(b[36:], crc32.Checksum(b[:36], crcTable))
	return b
}

func appendSchema(b, table []byte, s schema.Bytes) ([]byte, []byte) {
	start := len(b)
	b = append(append(b, s.Elements...), s.Declared...)
	table = append(table, s.ID[:]...)
	table = binary.LittleEndian.AppendUint64(table, uint64(start))
	table = binary.LittleEndian.AppendUint32(table, uint32(len(s.Elements)))
	return b, binary.LittleEndian.AppendUint32(table, uint32(len(s.Declared)))
}

// parseSegment checks the header, the tables and the schemas; records are checked when they are
// looked up.
func parseSegment(b []byte) (*segment, error) {
	if len(b) < segmentHeader || string(b[:8]) != segmentMagic || binary.LittleEndian.Uint32(b[36:]) != crc32.Checksum(b[:36], crcTable) {
		return nil, errSegment
	}
	size, tables := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[24:])
	n, s := uint64(binary.LittleEndian.Uint32(b[16:])), uint64(binary.LittleEndian.Uint32(b[20:]))
	if size != uint64(len(b)) || tables < segmentHeader || tables > size || size-tables != n*entryBytes+s*schemaBytes {
		return nil, errSegment
	}
	if crc32.Checksum(b[tables:], crcTable) != binary.LittleEndian.Uint32(b[32:]) {
		return nil, errSegment
	}
	cut := tables + n*entryBytes
	x := &segment{b: b, entries: b[tables:cut], schemas: b[cut:]}
	for i := range uint32(s) {
		if found, ok := x.schema(i); !ok || schema.NewBytes(found.Elements, found.Declared).ID != found.ID {
			return nil, errSegment
		}
	}
	return x, nil
}

func (s *segment) len() int { return len(s.entries) / entryBytes }

// find looks a shard up. The record and the schema alias the segment.
func (s *segment) find(key Key) (e indexEntry, ok bool) {
	i := sort.Search(s.len(), func(i int) bool {
		return bytes.Compare(s.entries[i*entryBytes:i*entryBytes+16], key.identity[:]) >= 0
	})
	if i == s.len() {
		return indexEntry{}, false
	}
	e, ok = s.entry(i)
	return e, ok && e.key == key
}

// entry reads entry i; ok is false when its bytes are damaged.
func (s *segment) entry(i int) (e indexEntry, ok bool) {
	t := s.entries[i*entryBytes : (i+1)*entryBytes]
	copy(e.key.identity[:], t)
	copy(e.key.version[:], t[16:])
	e.record, ok = s.slice(binary.LittleEndian.Uint64(t[24:]), uint64(binary.LittleEndian.Uint32(t[32:])))
	if !ok || crc32.Checksum(e.record, crcTable) != binary.LittleEndian.Uint32(t[36:]) {
		return e, false
	}
	e.schema, ok = s.schema(binary.LittleEndian.Uint32(t[40:]))
	return e, ok
}

func (s *segment) schema(n uint32) (x schema.Bytes, ok bool) {
	if uint64(n) >= uint64(len(s.schemas)/schemaBytes) {
		return x, false
	}
	t := s.schemas[int(n)*schemaBytes:][:schemaBytes]
	copy(x.ID[:], t)
	raw, sizes := uint64(binary.LittleEndian.Uint32(t[24:])), uint64(binary.LittleEndian.Uint32(t[28:]))
	both, ok := s.slice(binary.LittleEndian.Uint64(t[16:]), raw+sizes)
	if !ok {
		return x, false
	}
	x.Elements, x.Declared = both[:raw], both[raw:]
	return x, true
}

func (s *segment) slice(off, n uint64) ([]byte, bool) {
	if off > uint64(len(s.b)) || n > uint64(len(s.b))-off {
		return nil, false
	}
	return s.b[off : off+n : off+n], true
}
