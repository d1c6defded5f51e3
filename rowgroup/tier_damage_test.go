package rowgroup

import (
	"context"
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
)

// oneTierFile is the only file of a tier.
func (t *memTier) oneTierFile() *memTierFile {
	for _, f := range t.files {
		return f
	}
	return nil
}

// An image whose bytes changed is not used and dropped, wherever it changed; it can be kept again.
func TestTierFlips(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 150)})
	tier := &memTier{}
	m, _ := openDecoder(t, file, Options{Tier: tier.open})
	keepAll(t, m)
	f := tier.oneTierFile()
	for place, block := range f.blocks {
		for _, at := range []int{0, 9, 33, len(block) / 2, len(block) - 1} {
			m, d := openDecoder(t, file, Options{Tier: tier.open}) // a manifest verifies an image once
			was := block[at]
			block[at] ^= 16
			raw := fetch(t, m, Rows{Hi: 150})
			if raw.tier != nil {
				t.Fatalf("block %d, byte %d: a wrong image is used", place, at)
			}
			b, err := d.whole(raw, Layout{InImage: true})
			if err != nil {
				t.Fatal(err)
			}
			checkBlock(t, b, randomRows(9, 150))
			b.Release()
			block[at] = was
			keepAll(t, m)
			if again := fetch(t, m, Rows{Hi: 150}); again.tier == nil {
				t.Fatalf("block %d, byte %d: it was not kept again", place, at)
			}
			block = f.blocks[place]
		}
	}
}

// The control of TestTierFlips: without verification flipped bytes are delivered, and seen.
func TestTierFlipsUnverified(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 150)})
	tier := &memTier{}
	m, d := openDecoder(t, file, Options{Tier: tier.open})
	keepAll(t, m)
	want, err := d.whole(fetch(t, openBytes(t, Options{}, map[string][]byte{"a.parquet": file}), Rows{Hi: 150}), Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	seen, first := 0, int64(1<<62) // the first block behind the header, which has a sum of its own
	for place := range tier.oneTierFile().blocks {
		if place > 0 {
			first = min(first, place)
		}
	}
	records := tier.oneTierFile().blocks[first]
	for at := 0; at < 4000; at += 199 { // of the records: values, no places
		m, d := openDecoder(t, file, Options{Tier: tier.open})
		if _, ok := m.Kept(0); !ok { // verified, and once
			t.Fatal("the image is not kept")
		}
		records[at] ^= 1
		b, err := d.whole(fetch(t, m, Rows{Hi: 150}), Layout{InImage: true})
		if err != nil {
			t.Fatal(err)
		}
		for c, v := range block.Columns(b) {
			for i := range 150 {
				if v.Field.Kind == column.Fixed && v.Slots != nil && v.Dict == nil && dump(v, i) != dump(block.Columns(want)[c], block.Columns(want)[c].Place(i)) {
					seen++
				}
			}
		}
		records[at] ^= 1
		b.Release()
	}
	if seen == 0 {
		t.Error("no flip was seen: the test of flips shows nothing")
	}
}

// Parts of two images that do not belong together are not taken for one.
func TestTierMixedImages(t *testing.T) {
	one, two := writeRows(t, [][]everyRow{randomRows(1, 150)}), writeRows(t, [][]everyRow{randomRows(2, 150)})
	tier, other := &memTier{}, &memTier{}
	m, _ := openDecoder(t, one, Options{Tier: tier.open})
	n, _ := openDecoder(t, two, Options{Tier: other.open})
	keepAll(t, m)
	keepAll(t, n)
	f := tier.oneTierFile()
	for at, b := range other.oneTierFile().blocks {
		if at > 0 { // all but the header
			f.blocks[at] = b
		}
	}
	m, _ = openDecoder(t, one, Options{Tier: tier.open})
	if raw := fetch(t, m, Rows{Hi: 150}); raw.tier != nil {
		t.Error("buffers of another image are used")
	}
}

// An image that a killed process left half written is not used, and made whole by the next.
func TestTierHalfWritten(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 2000)})
	tier := &memTier{}
	m, _ := openDecoder(t, file, Options{Tier: tier.open})
	keepAll(t, m)
	f := tier.oneTierFile()
	if len(f.blocks) < 4 {
		t.Fatalf("%d blocks are too few for this test", len(f.blocks))
	}
	for place, block := range f.blocks {
		delete(f.blocks, place)
		m, _ := openDecoder(t, file, Options{Tier: tier.open})
		if raw := fetch(t, m, Rows{Hi: 2000}); raw.tier != nil {
			t.Fatalf("an image without block %d is used", place)
		}
		keepAll(t, m)
		if len(f.blocks[place]) != len(block) {
			t.Fatalf("block %d has %d bytes, not %d", place, len(f.blocks[place]), len(block))
		}
	}
	if f.order[len(f.order)-1] != 0 {
		t.Errorf("the header is not written last: %v", f.order)
	}
}

// Other columns, and other ways to read them, have files of their own.
func TestTierForms(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 50)})
	tier := &memTier{}
	for n, o := range []Options{{}, {Columns: []string{"i64", "text"}}, {Columns: []string{"i64"}}, {Columns: []string{"text"}}, {Columns: []string{"text"}, ReplaceUTF8: true}} {
		o.Tier = tier.open
		m, _ := openDecoder(t, file, o)
		keepAll(t, m)
		again, _ := openDecoder(t, file, o)
		if _, ok := again.HasImage(0); !ok || len(tier.files) != n+1 {
			t.Fatalf("%d files after %d forms; it is there: %t", len(tier.files), n+1, ok)
		}
	}
}

// A tier without room keeps nothing, and a TierWriter reads nothing that this machine does not
// hold.
func TestTierKeepsNot(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 50)})
	m, _ := openDecoder(t, file, Options{Tier: (&memTier{full: true}).open})
	w := m.NewTierWriter()
	defer w.Close()
	if _, err := w.Keep(context.Background(), 0, m.Keepable(0)); !errors.Is(err, ErrNotKept) {
		t.Errorf("a full tier: %v", err)
	}
	if m.MayKeep(0, 1) {
		t.Error("a full tier may keep more")
	}
	plain, _ := openDecoder(t, file, Options{})
	none := plain.NewTierWriter()
	defer none.Close()
	if _, err := none.Keep(context.Background(), 0, plain.Keepable(0)); !errors.Is(err, ErrNotKept) {
		t.Errorf("no tier: %v", err)
	}
	store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
	far, err := Open(context.Background(), &rangesStore{Store: store}, shards, Options{Tier: (&memTier{}).open})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	v := far.NewTierWriter()
	defer v.Close()
	if _, err := v.Keep(context.Background(), 0, far.Keepable(0)); !errors.Is(err, ErrNotKept) {
		t.Errorf("a shard that is not lent: %v", err)
	}
}

// What a writer takes stays below what is foretold, and is given back.
func TestTierMemory(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 3000)})
	pool := &Pool{}
	m := openBytes(t, Options{Tier: (&memTier{}).open, Pool: pool}, map[string][]byte{"a.parquet": file})
	w := m.NewTierWriter()
	if _, err := w.Keep(context.Background(), 0, m.Keepable(0)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s := (*mem.Pool)(pool).Stats()
	if s.InUse != 0 {
		t.Errorf("%d bytes are not given back", s.InUse)
	}
	if most := m.TierMemory(0) + 4<<20; s.Peak > most {
		t.Errorf("%d bytes were taken, %d foretold", s.Peak, most)
	}
}

// A writer asks for memory beyond its allowance before it takes it. If that is refused, the row
// group is not kept.
func TestTierMemoryBeyondAllowance(t *testing.T) {
	file := writeRows(t, [][]everyRow{randomRows(9, 6000)})
	pool := &Pool{}
	m := openBytes(t, Options{Tier: (&memTier{}).open, Pool: pool}, map[string][]byte{"a.parquet": file})
	w := m.NewTierWriter()
	defer w.Close()
	no := errors.New("no room")
	w.Allow(image.WindowBytes, func(int64) error { return no })
	if _, err := w.Keep(t.Context(), 0, m.Keepable(0)); !errors.Is(err, ErrNotKept) || !errors.Is(err, ErrTooLarge) || !errors.Is(err, no) {
		t.Errorf("without memory: %v", err)
	}
	if held := (*mem.Pool)(pool).Stats().InUse; held > image.WindowBytes+keptScratch*int64(len(w.decoder.scratches())) {
		t.Errorf("%d bytes are held after the refusal", held)
	}
	asked := int64(image.WindowBytes)
	w.Allow(image.WindowBytes, func(n int64) error { asked += n; return nil })
	if _, err := w.Keep(t.Context(), 0, m.Keepable(0)); err != nil {
		t.Error(err)
	}
	if most := (*mem.Pool)(pool).Stats().Peak; most > asked+2*keptScratch {
		t.Errorf("%d bytes were taken, %d allowed", most, asked)
	}
}
