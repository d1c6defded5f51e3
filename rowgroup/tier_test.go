package rowgroup

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/shard"
)

// memTier keeps images in memory. Bytes that were lent are overwritten when the lease ends, so that
// a block that points into them shows.
type memTier struct {
	mu    sync.Mutex
	files map[string]*memTierFile
	lent  int // leases that are not released
	full  bool
	busy  bool // leases must be short
	reads int  // leases of buffers
}

type memTierFile struct {
	tier   *memTier
	size   int64
	blocks map[int64][]byte
	order  []int64
}

func (t *memTier) open(s shard.Shard, form string, size int64) image.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		t.files = map[string]*memTierFile{}
	}
	f := t.files[s.URI+s.Version+form]
	if f == nil {
		f = &memTierFile{tier: t, size: size, blocks: map[int64][]byte{}}
		t.files[s.URI+s.Version+form] = f
	}
	return f
}

func (f *memTierFile) Held(off, most int64) (n int64) {
	f.tier.mu.Lock()
	defer f.tier.mu.Unlock()
	for n < most {
		b := f.blocks[off+n]
		n += int64(len(b))
		if len(b) < image.Alignment {
			break
		}
	}
	return min(n, most)
}

func (f *memTierFile) Lend(off, n int64) (shard.Lease, error) {
	if f.Held(off, n) < n {
		return nil, errors.ErrUnsupported
	}
	f.tier.mu.Lock()
	defer f.tier.mu.Unlock()
	l := &memLease{tier: f.tier, off: off, b: make([]byte, 0, n)}
	for at := int64(0); at < n; at += image.Alignment {
		b := f.blocks[off+at]
		l.b = append(l.b, b[:min(int64(len(b)), n-at)]...)
	}
	f.tier.lent++
	f.tier.reads++
	return l, nil
}

func (*memTierFile) ReadAhead(context.Context, []shard.Span) {}
func (f *memTierFile) Again(l shard.Lease) error {
	if f.Held(l.(*memLease).off, int64(len(l.Bytes()))) < int64(len(l.Bytes())) {
		return errors.ErrUnsupported
	}
	return nil
}

func (f *memTierFile) Written() int64 { return 1 }

func (f *memTierFile) MayStay() bool { return !f.tier.busy }

func (f *memTierFile) MayKeep(int64) bool { return !f.tier.full }

func (f *memTierFile) Keep(_ context.Context, off int64, b []byte) error {
	f.tier.mu.Lock()
	defer f.tier.mu.Unlock()
	if f.tier.full {
		return ErrNotKept
	}
	if off%image.Alignment != 0 || off+int64(len(b)) > f.size {
		panic("a place outside of the file")
	}
	f.order = append(f.order, off)
	for at := 0; at < len(b); at += image.Alignment {
		if f.blocks[off+int64(at)] == nil {
			f.blocks[off+int64(at)] = slices.Clone(b[at:min(len(b), at+image.Alignment)])
		}
	}
	return nil
}

func (f *memTierFile) Discard(off, n int64) {
	f.tier.mu.Lock()
	defer f.tier.mu.Unlock()
	for at := off; at < off+n; at += image.Alignment {
		delete(f.blocks, at)
	}
}

type memLease struct {
	tier *memTier
	off  int64
	b    []byte
	over bool
}

func (l *memLease) Bytes() []byte           { return l.b }
func (l *memLease) Verify(shard.Span) error { return nil }
func (l *memLease) Forget(s shard.Span) {
	if s.Off < l.off || s.End() > l.off+int64(len(l.b)) {
		panic("pages that were not lent")
	}
}

func (l *memLease) Release() {
	l.tier.mu.Lock()
	defer l.tier.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	l.tier.lent--
	for i := range l.b {
		l.b[i] = 0xdb
	}
}

// keepAll keeps all row groups of a manifest, and returns how many columns of the first are kept.
func keepAll(t testing.TB, m *Reader) (kept int) {
	t.Helper()
	w := m.NewTierWriter()
	defer w.Close()
	for g := range m.Groups() {
		i, err := w.Keep(context.Background(), g, m.Keepable(g))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := w.Keep(context.Background(), g, m.Keepable(g)); err != nil || again.Wrote || again.Bytes != i.Bytes || !i.Wrote {
			t.Fatalf("kept once %+v, twice %+v, %v", i, again, err)
		}
		if g == 0 {
			kept = len(i.Columns)
		}
	}
	return kept
}

// Blocks whose columns were kept decoded hold what blocks hold that were decoded, in every form,
// whole and in slices, in any order, for all rows and some of them, in one part and several.
func TestTierEqualsDecoding(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	files := filesOfForms(t, rng)
	files["whole pages"] = writeRows(t, [][]everyRow{randomRows(9, 150)}, parquet.Compression(&parquet.Zstd))
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			tier := &memTier{}
			plain, d := openDecoder(t, file, Options{})
			m, k := openDecoder(t, file, Options{Tier: tier.open})
			if kept := keepAll(t, m); kept < len(m.Schema().Fields)-1 { // one may be null throughout
				t.Fatalf("%d of %d columns are kept", kept, len(m.Schema().Fields))
			}
			n := int(m.NumRows())
			for try := range 60 {
				lo, hi := 0, n
				if try%2 == 1 {
					lo = rng.IntN(n)
					hi = lo + 1 + rng.IntN(n-lo)
				}
				kept := hi - lo
				if try%5 > 2 {
					kept = rng.IntN(hi - lo + 1)
				}
				l, ends := inParts(rng, hi-lo, kept, 1+rng.IntN(4))
				if l.Parts == 1 {
					l, ends = Layout{Order: l.Order}, []int{kept}
				}
				u := Rows{Lo: int64(lo), Hi: int64(hi)}
				want, err := d.whole(fetch(t, plain, u), Layout{})
				if err != nil {
					t.Fatal(err)
				}
				raw, err := m.Fetch(context.Background(), u)
				if err != nil {
					t.Fatal(err)
				}
				if raw.tier == nil || raw.TierBytes() == 0 {
					t.Fatal("nothing came from the tier")
				}
				if try%3 == 0 {
					l, ends = Layout{InImage: try%2 == 0}, []int{hi - lo}
				}
				blocks, err := k.Decode(raw, l)
				if err != nil {
					t.Fatal(err)
				}
				raw.Release()
				order := l.Order
				for i := range hi - lo {
					if l.Order == nil {
						order = append(order, uint32(i))
					}
				}
				compareParts(t, rng, m.Schema(), blocks, want, order, ends)
				want.Release()
			}
			if tier.lent != 0 {
				t.Errorf("%d leases are not released", tier.lent)
			}
		})
	}
}
