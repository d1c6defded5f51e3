package footer

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Known footer is one that was read before, as [Manifest.Known] writes it: a shard that it is
// given for is not read at Open. It does not change. The zero value is not known.
type Known struct {
	record []byte
	schema *schema.Bytes
}

// knownBytes is how many bytes of footers make a block.
const knownBytes = 1 << 20

// FormatKnown yields the footers of n shards as blocks of bytes, each with the number of its
// shards, which are consecutive. A block is a segment of the index, see segment, whose identities
// are the numbers of the shards in the block, big-endian, and whose versions are zero.
func FormatKnown(n int, at func(i int) (record []byte, of schema.Bytes)) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for first := 0; first < n; {
			var entries []indexEntry
			for size := 0; first < n && size < knownBytes; first++ {
				r, of := at(first)
				entries = append(entries, indexEntry{key: numberKey(len(entries)), record: r, schema: of})
				size += len(r)
			}
			if !yield(len(entries), formatSegment(entries)) {
				return
			}
		}
	}
}

func numberKey(n int) (k Key) {
	binary.BigEndian.PutUint64(k.identity[8:], uint64(n))
	return k
}

// ParseKnown reads a block of the footers of shards shards, which alias the block.
func ParseKnown(block []byte, shards int) ([]Known, error) {
	s, err := parseSegment(block)
	if err != nil {
		return nil, err
	}
	if s.len() != shards {
		return nil, errSegment
	}
	all, schemas := make([]Known, shards), map[schema.ID]*schema.Bytes{}
	for i := range all {
		e, ok := s.entry(i)
		if !ok || e.key != numberKey(i) {
			return nil, errSegment
		}
		if schemas[e.schema.ID] == nil {
			schema := e.schema
			schemas[schema.ID] = &schema
		}
		all[i] = Known{record: e.record, schema: schemas[e.schema.ID]}
	}
	return all, nil
}

// loadKnown takes all footers from known; ok is false when one of them is missing there.
func (l *footerLoader) loadKnown(ctx context.Context, shards []shard.Shard, known []Known) (all []Loaded, ok bool, err error) {
	if len(known) == 0 || len(known) != len(shards) {
		return nil, false, nil
	}
	all = make([]Loaded, len(shards))
	for i, k := range known {
		if k.schema == nil || shards[i].VersionHere() == "" { // a change would go unseen
			return nil, false, nil
		}
		if all[i], err = l.knownOne(shards[i], k); err != nil {
			return nil, true, ShardError(shards[i], err)
		}
	}
	l.done = len(shards) - 1
	l.report(len(shards))
	return all, true, ctx.Err()
}

var errKnown = errors.New("the footer that is kept of it cannot be its own")

func (l *footerLoader) knownOne(s shard.Shard, k Known) (one Loaded, err error) {
	one.Record = k.record
	if one.Schema, err = l.schema(*k.schema); err != nil {
		return one, err
	}
	r, err := ParseRecord(k.record)
	if err == nil && (r.Leaves != one.Schema.Leaves || r.FooterBytes > s.Size) {
		err = errKnown
	}
	return one, err
}
