package rowgroup

import (
	"cmp"
	"context"
	"encoding/hex"
	"sync"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/shard"
)

// A Tier opens what is kept decoded of a shard: a sparse file of size bytes, one for each form,
// which is a short name of the columns and of how they are read. nil is a shard of which nothing is
// kept.
type Tier func(s shard.Shard, form string, size int64) TierFile

// A TierFile keeps images of row groups at places that follow from the shard's footer. It may lose
// bytes at any time, and need not take any. It is safe for concurrent use.
type TierFile interface {
	// Held is how many bytes are held from off on without a hole, up to most. off is a multiple of
	// 64 KiB.
	Held(off, most int64) int64
	// Lend lends n bytes if all of them are held, as [shard.Lender].
	Lend(off, n int64) (shard.Lease, error)
	// Written returns a number that changes when the file is written to, by whatever program.
	Written() int64
	// Again is another use of a lease of Lend; it fails where Lend would now.
	Again(l shard.Lease) error
	// MayStay says whether a lease may be held for as long as a block lives.
	MayStay() bool
	// ReadAhead waits until the spans are in memory; they are not mapped then.
	ReadAhead(ctx context.Context, spans []shard.Span)
	// MayKeep says whether there may be room for n bytes.
	MayKeep(n int64) bool
	// Keep stores b, where nothing is held yet. b is the caller's again when Keep returns, which
	// may be before it is on disk.
	Keep(ctx context.Context, off int64, b []byte) error
	// Discard drops bytes that are damaged.
	Discard(off, n int64)
}

const (
	tierBlock = 64 << 10 // images begin at multiples of this
	tierOpen  = 8 << 10  // row groups whose images a manifest knows at a time, about
)

// tierShards are the shards whose images a manifest has looked at last.
type tierShards struct {
	open     Tier
	mapped   *MappedImages
	noVerify bool // for tests that show that they would notice a wrong byte

	mu     sync.Mutex
	shards map[int]*tierShard
	groups int
}

// A tierShard is where the images of a shard's row groups lie, and what is known of them.
type tierShard struct {
	file   TierFile
	of     *tierShards
	number int     // of the shard
	trust  bool    // images are not verified
	places []int64 // of the groups, and the end of the last

	mu     sync.Mutex
	images map[int]*image // by row group; all are whole
}

func newTierShards(o Options) *tierShards {
	if o.Tier == nil {
		return nil
	}
	return &tierShards{open: o.Tier, mapped: cmp.Or(o.Mapped, &MappedImages{})}
}

// tierOf is where the images of shard s lie; nil when nothing of it is kept.
func (m *Manifest) tierOf(s int) *tierShard {
	t := m.tier
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if of, ok := t.shards[s]; ok {
		return of
	}
	of := m.openTier(s)
	if t.shards == nil || t.groups > tierOpen {
		t.shards, t.groups = map[int]*tierShard{}, 0
	}
	t.shards[s] = of
	if of != nil {
		t.groups += len(of.places)
	}
	return of
}

func (m *Manifest) openTier(s int) *tierShard {
	r, err := parseRecord(m.files[s].record)
	if err != nil || m.shards[s].Version == "" {
		return nil
	}
	places := m.tierPlaces(s, &r)
	form := imageForm(m.columnsOf(s), m.rulesOf(s), m.replace)
	file := m.tier.open(m.shards[s], hex.EncodeToString(form[:]), places[len(places)-1])
	if file == nil {
		return nil
	}
	return &tierShard{file: file, of: m.tier, number: s, trust: m.tier.noVerify, places: places, images: map[int]*image{}}
}

// tierPlaces are where the images of a shard's row groups begin. A chunk has room for two words and
// two times the bytes of each value, which nearly all decoded columns need less than; what nothing
// is written to takes no disk.
func (m *Manifest) tierPlaces(s int, r *record) []int64 {
	leaves := m.bound[m.files[s].schema].leaves
	places := make([]int64, r.groups+1)
	for g := range r.groups {
		room := int64(2*tierBlock + nodeBytes*maxNodes)
		for _, n := range leaves {
			k := r.chunk(n.leaf.index, g)
			room = addCapped(room, 16*max(0, r.values.at(k))+2*max(0, r.uncompressed.at(k))+tierBlock)
		}
		places[g+1] = addCapped(places[g], (room+tierBlock-1)/tierBlock*tierBlock)
	}
	return places
}

// find returns the image of a row group if it is held whole. It is verified again when the file was
// written to since.
func (t *tierShard) find(group int, rows int64) *image {
	t.mu.Lock()
	defer t.mu.Unlock()
	written := t.file.Written()
	if i := t.images[group]; i != nil && i.written == written {
		return i
	}
	delete(t.images, group)
	i := t.load(group, rows)
	if i == nil {
		t.of.mapped.forget(t.key(group))
		return nil
	}
	i.written = written
	t.images[group] = i
	return i
}

// load reads the header of an image and verifies the whole.
func (t *tierShard) load(group int, rows int64) *image {
	i := t.look(group, rows)
	if i != nil && !t.trust && !t.verify(group, i) {
		t.file.Discard(t.places[group], i.head()+i.bytes)
		return nil
	}
	return i
}

// look reads the header of an image that is held whole.
func (t *tierShard) look(group int, rows int64) *image {
	place, end := t.places[group], t.places[group+1]
	n := t.file.Held(place, imageHeader+nodeBytes*maxNodes)
	if n < imageHeader {
		return nil
	}
	lease, err := t.file.Lend(place, n)
	if err != nil {
		return nil
	}
	defer lease.Release()
	var i image
	err = shard.Guard(func() error { return i.parse(lease.Bytes(), end-place) })
	if err != nil || i.rows != rows {
		t.file.Discard(place, n)
		return nil
	}
	i.place = place + i.head()
	if t.file.Held(i.place, i.bytes) < i.bytes {
		return nil
	}
	return &i
}

// forget drops an image whose bytes turned out to be gone or damaged.
func (t *tierShard) forget(group int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.images, group)
	t.of.mapped.forget(t.key(group))
}

func (t *tierShard) key(group int) imageKey { return imageKey{t.of, t.number, group} }

func (t *tierShard) lend(group int, i *image) (*imageLease, error) {
	return t.of.mapped.lend(t.key(group), t.file, i)
}

// verify compares the sum of an image with that of its header, in pieces whose pages are given back
// where they cannot stay.
func (t *tierShard) verify(group int, i *image) bool {
	if i.bytes == 0 {
		return false
	}
	lease, err := t.lend(group, i)
	if err != nil {
		return false
	}
	defer lease.Release()
	stays := lease.stay()
	err = shard.Guard(func() error {
		b, sum := lease.Bytes(), uint32(0)
		for at := int64(0); at < i.bytes; at += forgetBytes {
			n := min(forgetBytes, i.bytes-at)
			sum = crc.Append(sum, b[at:at+n])
			if !stays {
				lease.Forget(shard.Span{Off: i.place + at, N: n})
			}
		}
		if sum != i.sum {
			return errImage
		}
		return nil
	})
	if err != nil {
		t.of.mapped.forget(t.key(group))
	}
	return err == nil
}
